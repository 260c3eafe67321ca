"""The attacks, each with its control. A new one is a record here and a payload; see README.md."""

from __future__ import annotations

from attacks import Attack, ByHeart, Naive, Outcome, Without
from autograder.sandbox.limits import Defences

MEMORY_MIB, GRADER_MIB = 128, 256
"""Memory of one test while attacks are tried, and what a grader under attack may use at most."""

_EVERY, _WIRE = ("_every_function",), ("_wire",)
_HOARD = MEMORY_MIB + 128


def gains(outcome: Outcome) -> bool:
    """Points were given."""
    return outcome.score > 0


def doubles(outcome: Outcome) -> bool:
    """The toy homework's function `double` counts as right."""
    tests = outcome.report["tests"] if outcome.report else []
    return any(test["score"] > 0 for test in tests if "test_double" in test["name"])


def no_report(outcome: Outcome) -> bool:
    """Grading ended without valid results."""
    return outcome.report is None


def hangs(outcome: Outcome) -> bool:
    """Grading does not end by itself."""
    return outcome.hung


def bloats(outcome: Outcome) -> bool:
    """More memory was held than a test may have, by the submission or by its grader."""
    return "HELD" in outcome.said or outcome.peak_mib > GRADER_MIB


def leaks(outcome: Outcome) -> bool:
    """A planted secret can be read."""
    return bool(outcome.secrets)


def survives(outcome: Outcome) -> bool:
    """A process outlived grading."""
    return outcome.survivors > 0


def tampers(outcome: Outcome) -> bool:
    """A trusted file is not what it was."""
    return bool(outcome.changed)


def reaches_out(outcome: Outcome) -> bool:
    """Somebody outside was reached."""
    return outcome.heard


def kills_bystander(outcome: Outcome) -> bool:
    """A process of somebody else's died."""
    return outcome.bystander_died


def listens(outcome: Outcome) -> bool:
    """A port was opened."""
    return "LISTENING" in outcome.said


def borrows(outcome: Outcome) -> bool:
    """A package was imported that the assignment does not have."""
    return "BORROWED" in outcome.said


def hands_on(outcome: Outcome) -> bool:
    """A test could read what an earlier one left."""
    return "STASHED" in outcome.said


def paints(outcome: Outcome) -> bool:
    """Control sequences reach the reader's terminal."""
    return "\x1b]0;" in outcome.said


_EXITS = [
    Attack(
        "exit_at_import",
        "End the process with status 0 as soon as the module is imported.",
        Naive("unittest", no_report),
    ),
    Attack("exit_in_call", "End the process in the first call.", Naive("unittest", no_report), uses=_EVERY),
    Attack(
        "exit_like_a_broken_worker",
        "End with the status by which a worker says that it could not start, so that the grader blames itself.",
        Naive("unittest", no_report),
        payload="exit_at_import",
        settings={"code": 97},
    ),
    Attack(
        "killed_by_realtime_signal",
        "Die of a signal that has no name, so that naming it fails.",
        Naive("unittest", no_report),
        payload="killed_by_signal",
        settings={"signal": 40},
    ),
    Attack(
        "system_exit_at_import",
        "Raise a subclass of SystemExit at import, which `except Exception` lets through.",
        Naive("script", no_report),
        payload="exception_at_import",
        settings={"kind": "SystemExit"},
    ),
    Attack(
        "system_exit_in_call",
        "Raise a subclass of SystemExit in a call.",
        Naive("script", no_report),
        payload="exception_in_call",
        uses=_EVERY,
        settings={"kind": "SystemExit"},
    ),
    Attack(
        "keyboard_interrupt_at_import",
        "Raise a subclass of KeyboardInterrupt at import, as if staff had stopped the run.",
        Naive("unittest", no_report),
        payload="exception_at_import",
        settings={"kind": "KeyboardInterrupt"},
    ),
    Attack(
        "keyboard_interrupt_in_call",
        "Raise a subclass of KeyboardInterrupt in a call.",
        Naive("unittest", no_report),
        payload="exception_in_call",
        uses=_EVERY,
        settings={"kind": "KeyboardInterrupt"},
    ),
    Attack(
        "close_descriptors",
        "Close every descriptor, the grader's pipe and socket among them.",
        Naive("unittest", no_report),
    ),
    Attack(
        "deep_recursion",
        "Overflow the C stack, which no recursion limit guards.",
        Naive("unittest", no_report),
    ),
    Attack(
        "signal_storm",
        "Send signals to the grader, its parent and a bystander, then kill the own process group.",
        Naive("unittest", lambda outcome: no_report(outcome) or kills_bystander(outcome)),
    ),
]

_LIES = [
    Attack(
        "atexit_results",
        "Write the results file when the interpreter ends, after the grader did.",
        Naive("unittest", gains),
    ),
    Attack(
        "patched_assertions",
        "Replace the assertions of numpy.testing, unittest, pytest and the kit by functions that do nothing.",
        Naive("unittest", gains),
        uses=_EVERY,
    ),
    Attack(
        "patched_grader",
        "Patch the grader's own modules where they can be reached.",
        Naive("unittest", gains),
    ),
    Attack(
        "broken_worker",
        "Replace the functions that the grader needs in order to answer by ones that raise.",
        Naive("unittest", no_report),
    ),
    Attack("liar_eq", "Return objects that are equal to everything.", Naive("unittest", gains), uses=_EVERY),
    Attack(
        "liar_array_function",
        "Return objects that answer NumPy's functions themselves, with True.",
        Naive("unittest", gains),
        uses=_EVERY,
    ),
    Attack(
        "ndarray_subclass",
        "Return arrays of a subclass whose comparisons all hold.",
        Naive("unittest", gains),
        uses=_EVERY,
    ),
    Attack(
        "exception_names",
        "Raise an exception named after everything that graders treat specially: Skipped, Verdict, StopTest …",
        Naive("pytest", gains),
        uses=_EVERY,
    ),
    Attack(
        "forged_frames",
        "Write verdicts straight to the descriptor on which the grader listens.",
        Naive("child", gains),
        uses=_WIRE,
    ),
    Attack("frame_walk", "Find the expected value in the callers' frames.", Naive("unittest", gains), uses=_EVERY),
    Attack(
        "by_heart",
        "Recite the answers that were right on one seed.",
        ByHeart(gains),
        uses=_WIRE,
    ),
]

_SECRETS = [
    Attack("gc_hunt", "Search all objects of the process for a secret.", Naive("unittest", leaks)),
    Attack(
        "read_disk",
        "Read the tests, the submission's metadata and earlier results from their files.",
        Without(
            Defences(landlock=False, uid=False),
            leaks,
            "Landlock and file permissions each suffice",
        ),
    ),
    Attack(
        "read_proc",
        "Read the grader's environment, memory, descriptors and root through /proc.",
        Without(
            Defences(landlock=False, uid=False),
            leaks,
            "Landlock hides /proc, and another user's is closed anyway",
        ),
    ),
    Attack(
        "stash_on_disk",
        "Leave a probe's source on disk, for a later test to print.",
        Without(
            Defences(landlock=False, sweep=False),
            hands_on,
            "what Landlock does not prevent is swept away after each test",
        ),
    ),
    Attack(
        "stash_in_kernel",
        "Leave it in shared memory or on a key ring, which no sweep of files finds.",
        Without(Defences(seccomp=False), hands_on),
    ),
    Attack(
        "import_jax",
        "Import a package that the assignment does not have from somewhere else on the machine.",
        Without(Defences(landlock=False), borrows),
    ),
]

_DAMAGE = [
    Attack(
        "write_trusted_files",
        "Change, rename and open up the results, the tests and the metadata.",
        Without(
            Defences(landlock=False, uid=False),
            tampers,
            "Landlock and file permissions each suffice",
        ),
    ),
    Attack(
        "planted_symlink",
        "Plant links to trusted files in the working folder, for the clean-up to follow.",
        Naive("script", tampers),
    ),
    Attack(
        "deep_folder",
        "Nest folders so deeply that the clean-up fails.",
        Naive("script", no_report),
        slow=True,
    ),
    Attack("fork_bomb", "Fork without end.", Naive("unittest", survives)),
    Attack(
        "setsid_grandchild",
        "Leave a daemon behind: a grandchild in a session of its own.",
        Without(
            Defences(seccomp=False, sweep=False),
            survives,
            "what seccomp does not prevent is swept away after each test",
        ),
    ),
    Attack(
        "outliving_threads",
        "Start threads that outlive the call and keep the interpreter from ending.",
        Naive("unittest", hangs),
    ),
    Attack(
        "connect_out",
        "Send what was asked over the network.",
        Without(
            Defences(seccomp=False, landlock=False),
            reaches_out,
            "seccomp refuses sockets, Landlock (from ABI 4) connections",
        ),
    ),
    Attack(
        "listen",
        "Open a port.",
        Without(
            Defences(seccomp=False, landlock=False),
            listens,
            "seccomp refuses sockets, Landlock (from ABI 4) bound ports",
        ),
    ),
    Attack(
        "changed_limits",
        "Raise the resource limits, then lower those that the grader needs itself.",
        Naive("unittest", no_report),
    ),
    Attack(
        "terminal_escapes",
        "Print and raise control sequences that repaint the reader's terminal.",
        Naive("script", paints),
        uses=_EVERY,
    ),
]

_HOARDING = [
    Attack(
        "allocate_10gb",
        "Allocate ten gigabytes, and use more than is allowed.",
        Without(
            Defences(rlimits=False, memory_watch=False),
            bloats,
            "private memory is limited by the kernel and watched from outside",
        ),
        settings={"mib": _HOARD},
        slow=True,
    ),
    Attack(
        "shared_mapping",
        "Use shared memory, which RLIMIT_DATA does not count.",
        Without(Defences(memory_watch=False), bloats),
        settings={"mib": _HOARD},
        slow=True,
    ),
    Attack(
        "shared_mapping_in_silence",
        "The same with the output closed, so that the grader's wait always returns at once.",
        Without(Defences(memory_watch=False), bloats),
        payload="shared_mapping",
        settings={"mib": _HOARD, "quiet": True},
        slow=True,
    ),
    Attack(
        "shared_mapping_with_chatter",
        "The same while printing without pause, so that the grader never has time to look.",
        Without(Defences(memory_watch=False), bloats),
        payload="shared_mapping",
        settings={"mib": _HOARD, "chatter": True},
        slow=True,
    ),
    Attack(
        "endless_recursion",
        "Recurse without a limit until memory is used up.",
        Naive("script", bloats, {"levels": 2_000_000}),
        uses=_EVERY,
        settings={"levels": 10**12},
        slow=True,
        seconds=1.0,
    ),
    Attack(
        "gigabyte_of_output",
        "Print a gigabyte.",
        Naive("unittest", bloats, {"mib": 60}),
        payload="flood_of_output",
        settings={"mib": 500},
        slow=True,
    ),
    Attack(
        "oversized_frame",
        "Announce an answer of four gigabytes and start to send it.",
        Naive("child", bloats),
        uses=_WIRE,
    ),
]

_HANGING = [
    Attack(
        "swallow_everything",
        "Loop in a way that no exception and no polite signal ends.",
        Naive("unittest", hangs),
        slow=True,
        seconds=1.0,
    ),
    Attack(
        "half_frame",
        "Announce an answer and send a tenth of it.",
        Naive("child", hangs),
        uses=_WIRE,
        slow=True,
        seconds=1.0,
    ),
    Attack(
        "looping_repr",
        "Return an object that takes forever to be written down.",
        Naive("unittest", hangs),
        uses=_EVERY,
        settings={"how": "return"},
        slow=True,
        seconds=1.0,
    ),
    Attack(
        "looping_message",
        "Raise an exception whose message takes forever.",
        Naive("script", hangs),
        payload="looping_repr",
        uses=_EVERY,
        settings={"how": "raise"},
        slow=True,
        seconds=1.0,
    ),
]

_STRANGE = [
    Attack(
        "unreadable_exception",
        "Raise an exception that raises when asked for its name, ancestors, message or fields.",
        Naive("script", no_report),
        uses=_EVERY,
    ),
    Attack(
        "bad_text",
        "Print and raise lone surrogates, NULs and bytes that are not UTF-8.",
        Naive("script", no_report),
        uses=_EVERY,
    ),
    Attack(
        "huge_integer",
        "Answer with an integer of 5,000 digits, which Python refuses to print.",
        Naive("script", no_report),
        payload="strange_answers",
        uses=(*_EVERY, *_WIRE),
        settings={"kind": "huge"},
    ),
    Attack(
        "self_containing_answer",
        "Answer with a list that contains itself.",
        Naive("script", no_report),
        payload="strange_answers",
        uses=(*_EVERY, *_WIRE),
        settings={"kind": "self"},
    ),
    Attack(
        "deep_answer",
        "Answer with lists nested 100,000 deep, as an object.",
        Naive("script", no_report),
        payload="strange_answers",
        uses=(*_EVERY, *_WIRE),
        settings={"kind": "deep", "depth": 100_000},
    ),
    Attack(
        "deep_frame",
        "Answer with lists nested 100,000 deep, as bytes that no encoder would write.",
        Naive("script", no_report),
        payload="strange_answers",
        uses=(*_EVERY, *_WIRE),
        settings={"kind": "deep", "depth": 100_000, "raw": True},
    ),
    Attack(
        "just_deep_enough_frame",
        "Answer with lists nested just deep enough to be decoded, and too deep to be printed.",
        Naive("script", no_report, {"depth": 100_000}),
        payload="strange_answers",
        uses=(*_EVERY, *_WIRE),
        settings={"kind": "deep", "depth": 800, "raw": True},
        slow=True,
    ),
    Attack(
        "ten_million_elements",
        "Answer with a list of ten million elements.",
        Naive("script", bloats, {"count": 5_000_000}),
        payload="strange_answers",
        uses=(*_EVERY, *_WIRE),
        settings={"kind": "many", "count": 10_000_000},
        slow=True,
    ),
    Attack(
        "as_many_lists_as_fit",
        "Answer with as many empty lists as fit into the bytes allowed: small as bytes, large as objects.",
        Naive("script", bloats, {"count": 5_000_000}),
        payload="strange_answers",
        uses=(*_EVERY, *_WIRE),
        settings={"kind": "many", "raw": True},
        slow=True,
    ),
]

_TRACER = ("a1_tracer",)
_JAXPR_TESTS = ("test_jaxprs_compute_what_the_function_does", "test_the_function_runs_once")
_VALUE_TESTS = ("test_eval_jaxpr_equals_the_function",)

_A1 = [
    Attack(
        "patched_describe",
        "Patch the function that turns a jaxpr into data, to report a fixed one.",
        Naive("unittest", gains),
        payload="forged_describe",
        uses=_EVERY,
        settings={"how": "patch"},
        assignments=_TRACER,
        file="minijax/trace.py",
        tests=_JAXPR_TESTS,
    ),
    Attack(
        "forged_program",
        "Replace the functions that trace a kernel and write its program down, which run beside it.",
        Without(Defences(), gains),
        assignments=("a5_pallas",),
        file="pallas_kernels/elementwise.py",
        tests=("test_silu",),
        weakness="a kernel's program is written down by JAX, in the process of the student's code",
    ),
    Attack(
        "hard_coded_jaxpr",
        "Report the jaxpr that is printed in the lecture, without tracing anything.",
        Naive("unittest", gains),
        payload="forged_describe",
        uses=_EVERY,
        settings={"how": "patch"},
        assignments=_TRACER,
        file="minijax/trace.py",
        tests=("test_lecture_example",),
    ),
    Attack(
        "replaced_describe",
        "Put another module in the place of `describe`.",
        Naive("unittest", gains),
        payload="forged_describe",
        uses=_EVERY,
        settings={"how": "replace"},
        assignments=_TRACER,
        file="minijax/trace.py",
        tests=_JAXPR_TESTS,
    ),
    *(
        Attack(
            f"bomb_jaxpr_{size}",
            f"Report a small jaxpr whose execution by the grader {meaning}.",
            Naive("unittest", bloats, {"kind": "half"}),
            payload="bomb_jaxpr",
            uses=(*_EVERY, *_WIRE),
            settings={"kind": size},
            assignments=_TRACER,
            tests=("test_the_function_runs_once",),
        )
        for size, meaning in (
            ("half", "takes half a gigabyte"),
            ("huge", "asks for an exabyte"),
            ("many", "takes half a gigabyte in sixty steps"),
            ("text", "makes strings of half a gigabyte"),
        )
    ),
    *(
        Attack(
            name,
            tries,
            Naive("unittest", doubles),
            payload="altered_results",
            uses=_EVERY,
            settings={"how": how, "functions": ["eval_jaxpr", "double"]},
            assignments=_TRACER,
            file="minijax/trace.py",
            base="solution",
            tests=_VALUE_TESTS,
        )
        for name, how, tries in (
            ("nan_everywhere", "nan", "Return NaN, which is never further off than any tolerance."),
            ("wrong_dtype", "dtype", "Return the right values with another dtype."),
            ("wrong_shape", "shape", "Return the right values with an axis too many."),
        )
    ),
]

_A2 = [
    Attack(
        f"bomb_module_{kind}",
        f"Report a small module whose execution by the grader {meaning}.",
        Naive("unittest", bloats, {"kind": "half"}),
        payload="bomb_module",
        uses=(*_EVERY, *_WIRE),
        settings={"kind": kind},
        assignments=("a2_fusion",),
        file="minixla/cse.py",
        base="solution",
        tests=("test_same_work_is_done_once",),
    )
    for kind, meaning in (
        ("half", "takes half a gigabyte"),
        ("huge", "asks for an exabyte"),
        ("many", "takes two hundred arrays of four megabytes"),
        ("nested", "runs a fusion 2 to the power of 60 times"),
    )
]

ATTACKS: tuple[Attack, ...] = (
    *_EXITS,
    *_LIES,
    *_SECRETS,
    *_DAMAGE,
    *_HOARDING,
    *_HANGING,
    *_STRANGE,
    *_A1,
    *_A2,
)
