"""The grader carries reported programs out: honest ones give JAX's values, and any other one ends in a verdict."""

from __future__ import annotations

import importlib
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from autograder.kit.given_code import GivenCode
from autograder.kit.student import SandboxedStudent
from autograder.kit.verdicts import CheckFailed
from autograder.project import ROOT, Assignment
from autograder.sandbox.host import Sandbox
from autograder.sandbox.limits import Limits

JAX_PYTHON = ROOT / ".venv-worker-jax" / "bin" / "python"
MODULES = ["tied", "judge", "generators", "numpy_rules", "shape_rules", "replay"]
MODULES += [f"replay_{part}" for part in ("control", "grid", "memory", "needs")]


@pytest.fixture(scope="module")
def a5() -> Iterator[Any]:
    """The judge of a5_pallas and what it carries programs out with."""
    assignment = Assignment("a5_pallas")
    given = GivenCode(assignment.starter, assignment.facts)
    given.install()
    sys.path.insert(0, str(assignment.tests))
    try:
        names = {"program": "given_pallas_kernels.program", "reference": "given_pallas_kernels.reference"}
        names |= {name: name for name in MODULES}
        yield SimpleNamespace(**{name: importlib.import_module(module) for name, module in names.items()})
    finally:
        sys.path.remove(str(assignment.tests))
        for name in MODULES:
            sys.modules.pop(name, None)
        given.remove()


# --- honest programs ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def solution(
    tmp_path_factory: pytest.TempPathFactory, open_to_workers: Callable[[Path], None]
) -> Iterator[SandboxedStudent]:
    """A worker with the reference solution."""
    if not JAX_PYTHON.exists():
        pytest.skip("`make setup` makes this environment")
    assignment, base = Assignment("a5_pallas"), tmp_path_factory.mktemp("replay")
    open_to_workers(base)
    work, scratch = base / "work", base / "scratch"
    shutil.copytree(assignment.solution / "pallas_kernels", work / "pallas_kernels")
    for path in assignment.tests.glob("*.py"):
        shutil.copy(path, work)
    (work / "pallas_kernels" / "ways.py").write_text(WAYS)
    scratch.mkdir()
    for path in (work, *work.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    sandbox = Sandbox(JAX_PYTHON, work, scratch, preload=assignment.facts.worker.preload)
    student = SandboxedStudent(lambda: sandbox.open(Limits(seconds=120, memory_mib=1024, answer_mib=24)))
    yield student
    student.close()
    sandbox.close()


def _normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


MASK = np.arange(48) <= np.arange(32)[:, None] + 16
KERNELS: list[tuple[str, list[np.ndarray], dict[str, Any]]] = [
    ("elementwise.silu", [_normal(33, 140)], {}),
    ("elementwise.axpy", [_normal(300), _normal(), _normal()], {}),
    ("reductions.colsum", [_normal(150, 140)], {}),
    ("reductions.logsumexp", [_normal(20, 300)], {}),
    ("normalise.layernorm", [_normal(20, 64), _normal(64), _normal(64)], {}),
    ("matmul.matmul", [_normal(70, 140), _normal(140, 130)], {"block_m": 64, "block_n": 128, "block_k": 128}),
    ("flash.flash_attention", [_normal(2, 40, 32)] * 3, {"block_q": 16, "block_k": 16, "causal": True}),
    (
        "splash.splash_attention",
        [_normal(1, 32, 32), _normal(1, 48, 32), _normal(1, 48, 32)],
        {"block_q": 16, "block_kv": 16, "mask": MASK},
    ),
    ("tiles.add_manual_dma", [_normal(128, 128), _normal(128, 128)], {}),
]


@pytest.mark.parametrize(("kernel", "arguments", "options"), KERNELS, ids=[kernel[0] for kernel in KERNELS])
def test_carried_out_a_program_gives_what_jax_gives(
    a5: Any, solution: SandboxedStudent, kernel: str, arguments: list[np.ndarray], options: dict[str, Any]
) -> None:
    """One kernel of every part, blocks that do not divide arrays and copies by hand among them."""
    ran = solution(a5.judge.results, kernel, arguments, options, "mathematics")
    (again,) = a5.tied.carried_out(a5.replay.Replay(ran.program, 1e9), arguments, kernel)
    assert again.dtype == ran.value.dtype
    np.testing.assert_allclose(again, ran.value, rtol=2e-5, atol=2e-5 * np.abs(ran.value).max())


def test_gradients_and_page_tables_can_be_carried_out(a5: Any, solution: SandboxedStudent) -> None:
    """Several kernels after one another, and prefetched scalars with garbage in them."""
    rng = np.random.default_rng(0)
    arguments = [_normal(2, 40, 32)] * 3
    options = {"block_q": 16, "block_k": 16, "causal": True}
    ran = solution(a5.judge.gradients, "flash.flash_attention", arguments, arguments[0], options, "mathematics")
    found = a5.tied.carried_out(a5.replay.Replay(ran.program, 1e9), [*arguments, arguments[0]], "it")
    for again, value in zip(found, ran.values, strict=True):
        np.testing.assert_allclose(again, value, rtol=2e-5, atol=2e-5 * np.abs(value).max())
    paged = a5.generators.paged(rng, [1, 20, 48], 2, 2, 16, 32)
    ran = solution(a5.judge.results, "decode.paged_attention", paged, {}, "mathematics")
    a5.tied.computes(rng, ran.program, paged, a5.reference.paged_attention, "it", ulps=64)


# --- what kernels may be made of ----------------------------------------------------------------------------

WAYS = """
import jax
import numpy as np
from jax import lax
from jax import numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu


def low(x):
    return lax.broadcasted_iota(jnp.int32, x.shape, 0) < 4


def stack(x, y):
    y[...] = jnp.stack([x[i] * i for i in range(16)], axis=0) + jnp.stack([x[:, i] for i in range(128)], axis=1)


def unstack(x, y):
    for i, column in enumerate(reversed(jnp.unstack(x[...], axis=1))):
        y[:, i] = column


def prints(x, y):
    pl.debug_print("{}", x[0, 0])
    y[...] = x[...] + 1


def load(x, y):
    y[...] = pltpu.load(x.at[...])
    pltpu.store(y.at[pl.ds(8, 8)], pltpu.load(x.at[pl.ds(0, 8)]))


def masked(x, y):
    y[...] = x[...]
    pltpu.store(y.at[...], 2 * x[...], mask=low(x))
    y[...] += jnp.where(low(x), pltpu.load(x.at[...], mask=low(x)), 0)


def column_major(x, y):
    y[...] = jnp.ravel(x[...], order="F").reshape(16, 128)


def checkpoint(x, y):
    y[...] = jax.checkpoint(lambda v: v * 2)(x[...])


def last_row(x, y):
    y[...] = x[...]
    y[-1] = x[-2]
    y[3, pl.ds(0, 64)] = x[-1, pl.ds(64, 64)]


def along(x, y):
    places = lax.broadcasted_iota(jnp.int32, x.shape, 1)
    turned = jnp.take_along_axis(x[...], (places + lax.broadcasted_iota(jnp.int32, x.shape, 0)) % 128, axis=1)
    y[...] = turned + jnp.take_along_axis(x[...], places % 16, axis=0)


def run(x, which, interpret):
    return pl.pallas_call(globals()[which], out_shape=x, interpret=interpret)(x)


def captures(x, size, interpret):
    def kernel(x_ref, constant, y_ref):
        y_ref[...] = x_ref[...] + constant[0:16, 0:128]

    constant = np.arange(size * 128, dtype=np.float32).reshape(size, 128)
    return pl.pallas_call(kernel, out_shape=x, interpret=interpret)(x, constant)
"""
FOLLOWED = "stack unstack prints load masked column_major checkpoint last_row along".split()


@pytest.mark.parametrize("which", FOLLOWED)
def test_ways_to_write_a_kernel_are_followed(a5: Any, solution: SandboxedStudent, which: str) -> None:
    """What right kernels are made of, other than the reference's."""
    x = _normal(16, 128)
    ran = solution(a5.judge.results, "ways.run", [x], {"which": which}, "mathematics")
    (again,) = a5.tied.carried_out(a5.replay.Replay(ran.program, 1e9), [x], which)
    np.testing.assert_allclose(again, ran.value, rtol=2e-5, atol=2e-5)
    assert a5.judge.only_kernels(a5.judge.measured(ran.program, which), which)


def test_captured_arrays_travel_up_to_a_limit(a5: Any, solution: SandboxedStudent) -> None:
    """8 MiB of constants are carried out; of more, the message says what was captured."""
    x = _normal(16, 128)
    ran = solution(a5.judge.results, "ways.captures", [x], {"size": 1 << 14}, "mathematics")
    (again,) = a5.tied.carried_out(a5.replay.Replay(ran.program, 1e9), [x], "it")
    np.testing.assert_allclose(again, ran.value, rtol=2e-5)
    ran = solution(a5.judge.results, "ways.captures", [x], {"size": 1 << 16}, "mathematics")
    with pytest.raises(CheckFailed, match=r"captures a float32\[65536,128\].*16 MiB"):
        a5.tied.carried_out(a5.replay.Replay(ran.program, 1e9), [x], "it")


# --- forged and hostile ones -------------------------------------------------------------------------------


def plus(a5: Any, more: float = 1.0) -> Any:
    """x + more of f32[20,128], by a kernel in blocks of 8 rows."""
    program = a5.program
    kind, block = program.Type([20, 128], "float32"), program.Type([8, 128], "float32", "vmem")
    value, index = program.Type([8, 128], "float32"), program.Type([], "int32")
    whole, view = program.Literal(0, "int32"), lambda ref: [program.View(ref, [])]
    outer = program.Body([kind, kind], [0], [], [program.Equation("pallas_call", [0], [1], call=0)], [1])
    equations = [
        program.Equation("get", [0], [2], views=view(0)),
        program.Equation("add", [2, program.Literal(more, "float32")], [3]),
        program.Equation("swap", [1, 3], [4], views=view(1)),
    ]
    kernel = program.Body([block, block, value, value, value], [0, 1], [], equations, [])
    place = program.Body([index], [0], [], [], [0, whole])
    blocks = [program.Block(name, kind, [8, 128], "vmem", 2) for name in "xy"]
    call = program.Call("plus", [3], [], blocks[:1], blocks[1:], [], 1, [], [])
    return program.Program([outer, kernel, place], [call], [])


def judged(a5: Any, plan: Any) -> str:
    """What the verdict on a program says that should be x + 1; empty if it passes."""
    x = _normal(20, 128)
    start = time.process_time()
    try:
        a5.tied.computes(np.random.default_rng(3), plan, [x], lambda x: x.astype(np.float64) + 1, "plus", ulps=4)
    except CheckFailed as failed:
        return str(failed)
    finally:
        assert time.process_time() - start < 10
    return ""


def test_a_right_program_passes_and_a_wrong_one_does_not(a5: Any) -> None:
    """The last block reaches beyond the array; what lies there does not matter."""
    assert judged(a5, plus(a5)) == ""
    assert "inputs that the grader draws" in judged(a5, plus(a5, more=1.01))


def test_recited_values_are_not_a_program(a5: Any) -> None:
    """A program that captured the right values of other inputs is wrong on these."""
    plan = plus(a5, more=0.0)
    outer, captured = plan.bodies[0], _normal(20, 128) + 1
    equations = [replace(outer.equations[0], operands=[2])]
    outer = replace(outer, types=[*outer.types, outer.types[0]], constants=[2], equations=equations)
    recited = replace(plan, bodies=[replace(outer, captured=[captured]), *plan.bodies[1:]])
    assert "values are wrong" in judged(a5, recited)


def test_a_few_blocks_are_enough_to_tell(a5: Any) -> None:
    """Of large arrays a part is carried out; a kernel whose blocks need one another is carried out in full."""
    rng, x = np.random.default_rng(4), _normal(20, 128)
    rule = lambda rows, x: x[rows].astype(np.float64) + 1  # noqa: E731
    a5.tied.computes_in_part(rng, plus(a5), [x], rule, "plus", ulps=4)
    with pytest.raises(CheckFailed, match="inputs that the grader draws"):
        a5.tied.computes_in_part(rng, plus(a5, more=1.01), [x], rule, "plus", ulps=4)
    sampled = a5.replay.Replay(plus(a5), 1e9, sample=rng)
    (part,) = a5.tied.carried_out(sampled, [x], "plus")
    assert int((~np.isnan(part)).sum()) == sampled.covered[x.size] < x.size
    with pytest.raises(CheckFailed, match="numbers in"):
        a5.tied.computes_in_part(rng, _silent(a5), [x], rule, "plus", ulps=4)


def _silent(a5: Any) -> Any:
    """The same program, which writes nothing: all of its results are garbage."""
    plan = plus(a5)
    kernel = replace(plan.bodies[1], equations=plan.bodies[1].equations[:2])
    return replace(plan, bodies=[plan.bodies[0], kernel, plan.bodies[2]])


def _with_equation(a5: Any, plan: Any, **changes: Any) -> Any:
    """The program with other facts in the kernel's second equation."""
    kernel = plan.bodies[1]
    equations = [kernel.equations[0], replace(kernel.equations[1], **changes), kernel.equations[2]]
    return replace(plan, bodies=[plan.bodies[0], replace(kernel, equations=equations), plan.bodies[2]])


def _nested(a5: Any, plan: Any) -> Any:
    """Sixty bodies, each of which runs the next one twice."""
    program, kind = a5.program, a5.program.Type([8, 128], "float32")
    twice = lambda number: [  # noqa: E731
        program.Equation("jit", [0], [1], bodies=[number + 1]),
        program.Equation("jit", [0], [2], bodies=[number + 1]),
    ]
    bodies = [program.Body([kind] * 3, [0], [], twice(number), [2]) for number in range(3, 43)]
    bodies.append(program.Body([kind], [0], [], [], [0]))
    changed = _with_equation(a5, plan, primitive="jit", operands=[2], bodies=[3])
    return replace(changed, bodies=[*changed.bodies, *bodies])


def _endless(a5: Any, plan: Any) -> Any:
    program, flag = a5.program, a5.program.Type([], "bool")
    kind = program.Type([8, 128], "float32")
    turn = program.Body([kind], [0], [], [], [0])
    test = program.Body([kind, flag], [0], [], [], [program.Literal(True, "bool")])
    sizes = {"cond_nconsts": 0, "body_nconsts": 0}
    changed = _with_equation(a5, plan, primitive="while", operands=[2], bodies=[3, 4], params=sizes)
    return replace(changed, bodies=[*changed.bodies, turn, test])


def _huge_value(a5: Any, plan: Any) -> Any:
    kernel, huge = plan.bodies[1], a5.program.Type([1 << 30, 1 << 30], "float32")
    kernel = replace(kernel, types=[*kernel.types, huge])
    changed = replace(plan, bodies=[plan.bodies[0], kernel, plan.bodies[2]])
    return _with_equation(
        a5,
        changed,
        primitive="broadcast_in_dim",
        operands=[2],
        results=[5],
        params={"broadcast_dimensions": [0, 1]},
    )


def _call(plan: Any, **changes: Any) -> Any:
    return replace(plan, calls=[replace(plan.calls[0], **changes)])


def _cyclic(a5: Any, plan: Any) -> Any:
    return _with_equation(a5, plan, primitive="jit", operands=[2], bodies=[1])


HOSTILE: dict[str, tuple[Callable[[Any, Any], Any], str]] = {
    "a huge grid": (lambda a5, plan: _call(plan, grid=[1 << 30]), "more work"),
    "a grid beyond the array": (lambda a5, plan: _call(plan, grid=[5]), "outside of its array"),
    "a grid that is too short": (lambda a5, plan: _call(plan, grid=[2]), ""),
    "a huge value": (_huge_value, "more than the grader holds"),
    "bodies 2 to the power of 40 times": (_nested, "more work"),
    "an endless loop": (_endless, "more work"),
    "bodies in a circle": (_cyclic, "contain one another"),
    "an unknown primitive": (
        lambda a5, plan: _with_equation(a5, plan, primitive="conjure"),
        "the primitive 'conjure'",
    ),
    "a primitive that another can stand for": (
        lambda a5, plan: _with_equation(a5, plan, primitive="scatter"),
        "does not follow: write a part of a Ref",
    ),
    "random numbers": (
        lambda a5, plan: _call(plan, scratch=[a5.program.Type([], "key<fry>", "vmem")]),
        "random numbers",
    ),
    "operands that are not there": (lambda a5, plan: _with_equation(a5, plan, operands=[]), ""),
    "a dot_general without dimensions": (
        lambda a5, plan: _with_equation(a5, plan, primitive="dot_general", operands=[2, 2]),
        "makes no sense",
    ),
    "a Ref as a number": (lambda a5, plan: _with_equation(a5, plan, operands=[0, 0]), "of a Ref"),
    "scratch that is a number": (lambda a5, plan: _call(plan, scratch=[a5.program.Type([8], "float32")]), ""),
    "a foreign dtype": (
        lambda a5, plan: _call(plan, scratch=[a5.program.Type([8], "S160000000", "vmem")]),
        "more than the grader holds",
    ),
    "an alias of nothing": (lambda a5, plan: _call(plan, aliases=[[7, -1]]), "an alias of nothing"),
    "a constant that is too long": (
        lambda a5, plan: _with_equation(a5, plan, operands=[2, a5.program.Literal(1 << 200, "int32")]),
        "makes no sense",
    ),
    "no results": (lambda a5, plan: replace(plan, bodies=[replace(plan.bodies[0], outputs=[])]), ""),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_program_ends_in_a_verdict(a5: Any, name: str) -> None:
    """A sentence, soon, and no exception of any other kind."""
    change, said = HOSTILE[name]
    verdict = judged(a5, change(a5, plus(a5)))
    assert verdict
    assert said in verdict
