"""Attacks on what one assignment alone has: its evidence, and what a judge computes from it."""

from __future__ import annotations

from attacks import Attack, Naive, Unjudged
from attacks.catalogue.successes import bloats, doubles, gains

_EVERY, _WIRE = ("_every_function",), ("_wire",)

_TRACER = ("a1_tracer",)
_JAXPR_TESTS = ("test_jaxprs_compute_what_the_function_does", "test_the_function_runs_once")
_VALUE_TESTS = ("test_eval_jaxpr_equals_the_function",)

_JAXPRS = [
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

_MODULES = [
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

_KERNELS = [
    Attack(
        f"forged_program_{how}",
        f"Compute in plain jnp, and report the program of a kernel that {meaning}.",
        Unjudged("tied", "computes", gains),
        payload="forged_program",
        settings={"how": how},
        assignments=("a5_pallas",),
        file="pallas_kernels/elementwise.py",
        tests=("test_silu",),
    )
    for how, meaning in (
        ("decoy", "does nothing of the kind"),
        ("reciting", "copies the right values, which it captured"),
    )
]

ON_ONE_ASSIGNMENT: tuple[Attack, ...] = (
    *_JAXPRS,
    *_MODULES,
    *_KERNELS,
)
