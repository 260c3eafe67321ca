"""Attacks that want points, another report, or none: early ends, forged answers, strange values."""

from __future__ import annotations

from attacks import Attack, ByHeart, Naive
from attacks.catalogue.successes import bloats, gains, kills_bystander, no_report

_EVERY, _WIRE = ("_every_function",), ("_wire",)

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

ON_THE_VERDICT: tuple[Attack, ...] = (
    *_EXITS,
    *_LIES,
    *_STRANGE,
)
