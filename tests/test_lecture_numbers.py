"""The lecture's figures, from the reference solutions: prints lecture → obtained for each item."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from autograder.project import ROOT


def _import_from(folder: str, names: list[str]) -> Iterator[list[ModuleType]]:
    paths = [str(ROOT / "solutions" / folder), str(ROOT / "grading_tests" / folder)]
    sys.path[:0] = paths
    try:
        yield [importlib.import_module(name) for name in names]
    finally:
        for path in paths:
            sys.path.remove(path)
        for name in list(sys.modules):
            if name.split(".")[0] in names:
                del sys.modules[name]


@pytest.fixture
def a1() -> Iterator[Any]:
    """minijax with the grader's own clean-up and the lecture's programs."""
    yield from _import_from("a1_tracer", ["minijax", "describe", "judge", "cleanup", "generators"])


def show(item: str, lecture: object, obtained: object) -> None:
    """Print one row of the comparison."""
    print(f"{item}: lecture {lecture} -> obtained {obtained}")


def as_data(modules: list[ModuleType], jaxpr: Any) -> Any:
    """A minijax jaxpr as the grader sees it."""
    import msgspec

    from autograder import wire

    _, describe, judge, *_ = modules
    plain = wire.decode_answer(wire.encode_answer(describe.jaxpr(jaxpr)))
    return msgspec.convert(plain, judge.Jaxpr, dec_hook=lambda kind, value: value)


EXAMPLE = """{ lambda ; a:f32[4,3] b:f32[3,2]. let
    c:f32[4,2] = dot a b
    d:f32[4,2] = tanh c
    e:f32[4,2] = mul d d
    f:f32[4] = reduce_sum[axis=-1 keepdims=False] e
  in (f,) }"""


def test_a_the_printed_jaxpr(a1):
    mj = a1[0]

    def f(x, w):
        h = mj.tanh(x @ w)
        return mj.sum(h * h, axis=-1)

    printed = str(mj.make_jaxpr(f)(np.zeros((4, 3), "f4"), np.zeros((3, 2), "f4")))
    show("A", "the text of section 2.1", "identical" if printed == EXAMPLE else printed)
    assert printed == EXAMPLE


def test_b_five_calls_trace_three_times(a1):
    mj, effects = a1[0], []
    jitted = mj.jit(lambda x: effects.append(1) or x * 2.0)
    for shape, dtype in [(4, "f4"), (4, "f4"), (7, "f4"), (4, "f8"), (4, "f4")]:
        jitted(np.ones(shape, dtype))
    stats = jitted.cache_stats()
    show("B", "3 traces, 3 side effects", f"{stats.misses} traces, {len(effects)} side effects")
    assert (stats.misses, len(effects)) == (3, 3)


def test_c_the_traced_gradient_has_nine_equations(a1):
    mj, _, judge, *_ = a1
    jaxpr = mj.make_jaxpr(mj.grad(lambda x: mj.sum(mj.tanh(x) * x)))(np.ones(3))
    left = len(judge.live_equations(as_data(a1, jaxpr)))
    show("C", "9 equations", f"{len(jaxpr.eqns)} raw, {left} after dead-code elimination")
    assert len(jaxpr.eqns) == 9
    assert left <= 8


def test_d_the_cross_entropy_agrees_with_jax(a1):
    import json

    mj, *_, generators = a1
    golden = json.loads((ROOT / "grading_tests/a1_tracer/hidden/golden_jax.json").read_text())
    worst = 0.0
    for case in golden:
        net = {name: np.array(value) for name, value in case["inputs"].items()}
        loss = lambda *params: generators.nll(mj, net["x"], net["y"], *params)  # noqa: E731
        value, grads = mj.value_and_grad(loss, argnums=(0, 1, 2))(net["w1"], net["b1"], net["w2"])
        for mine, theirs in zip((value, *grads), case["outputs"], strict=True):
            theirs = np.array(theirs)
            worst = max(worst, float(np.abs(mine - theirs).max() / np.abs(theirs).max()))
    show("D", "2.2e-16 (loss and gradients, PyTorch)", f"{worst:.1e} relative to JAX in float64")
    assert 0 < worst <= 1e-14


def test_e_predict_under_vmap(a1):
    mj = a1[0]
    predict = mj.vmap(lambda w, x: mj.tanh(x @ w), in_axes=(None, 0))
    jaxpr = mj.make_jaxpr(predict)(np.zeros((4, 3), "f4"), np.zeros((6, 4), "f4"))
    dot = next(eqn for eqn in jaxpr.eqns if eqn.primitive == "dot")
    obtained = " · ".join(str(atom.aval) for atom in dot.invars)
    show("E", "dot of f32[6,4] and f32[4,3]", obtained)
    assert obtained == "f32[6,4] · f32[4,3]"
    assert [eqn.primitive for eqn in jaxpr.eqns] == ["dot", "tanh"]


def test_f_per_sample_gradients(a1):
    mj, _, _, cleanup, generators = a1
    net = generators.network(np.random.default_rng(0), 16)

    def bits(w1, b1, w2, x, y):
        return generators.nll(mj, x, y, w1, b1, w2) / 0.6931472

    per_sample = mj.vmap(mj.grad(bits, argnums=(0, 1, 2)), in_axes=(None, None, None, 0, 0))
    jaxpr = mj.make_jaxpr(per_sample)(net["w1"], net["b1"], net["w2"], net["x"], net["y"])
    left = len(cleanup.clean(as_data(a1, jaxpr)).eqns)
    show("F", "48 raw, 31 after clean-up", f"{len(jaxpr.eqns)} raw, {left} after clean-up")
    assert (len(jaxpr.eqns), left) == (48, 31)


@pytest.fixture
def a2() -> Iterator[Any]:
    """minixla."""
    yield from _import_from("a2_fusion", ["minixla"])


def costs(name: str) -> tuple[Any, Any, Any, Any]:
    """A named program: the module, what the pipeline made of it, and their costs by the lecture's rule."""
    from minixla.cost_analysis import cost
    from minixla.pipeline import optimize
    from minixla.programs import program

    before = program(name)
    done = optimize(before)
    return before, done, cost(before), cost(done.module)


def test_g_the_redundant_gelu_layer(a2):
    from minixla.cost_analysis import cost
    from minixla.programs import program

    _, done, _, after = costs("gelu_layer")
    steps = done.statistics
    simple = [step for step in steps if step.name == "algebraic_simplifier"]
    gone = [-sum(step.opcodes.get(opcode, 0) for step in simple) for opcode in ("divide", "add")]
    gone += [
        sum(step.equations_before - step.equations_after for step in steps if step.name == name)
        for name in ("cse", "dce")
    ]
    left = next(step.equations_before for step in steps if step.name == "fusion")
    unfused = cost(program("gelu_layer_cleaned"))
    show(
        "G",
        "25 equations; 2 divisions, 1 addition, 9 shared, 2 dead; 13; 1 kernel; 1953 -> 225 KiB",
        f"{steps[0].equations_before} equations; {gone}; {left}; {len(after.kernels)} kernel; "
        f"{unfused.bytes / 1024} -> {after.bytes / 1024} KiB",
    )
    assert (steps[0].equations_before, gone, left, len(after.kernels)) == (25, [2, 1, 9, 2], 13, 1)
    assert (unfused.bytes, after.bytes) == (1953 * 1024, 225 * 1024)


def test_h_attention_in_three_kernels(a2):
    _, _, before, after = costs("attention")
    show(
        "H",
        "3 kernels, 61.02 -> 21.02 MiB, 2.15 G operations, 2.10 M transcendentals",
        f"{len(after.kernels)} kernels, {before.bytes / 2**20:.2f} -> {after.bytes / 2**20:.2f} MiB, "
        f"{after.flops:,} operations, {after.transcendentals:,} transcendentals",
    )
    assert (len(after.kernels), before.bytes, after.bytes) == (3, 63_979_520, 22_040_576)
    assert (after.flops, after.transcendentals) == (2_153_773_056, 2_097_152)


def test_i_the_mlp_block_in_four_kernels(a2):
    from minixla.interpret import equations

    module, _, before, after = costs("mlp_block")
    show(
        "I",
        "25 -> 4, 63.5 -> 8.5 MiB",
        f"{equations(module)} -> {len(after.kernels)}, "
        f"{before.bytes / 2**20:.2f} -> {after.bytes / 2**20:.2f} MiB",
    )
    assert (equations(module), len(after.kernels)) == (25, 4)
    assert (round(before.bytes / 2**20, 2), round(after.bytes / 2**20, 2)) == (63.53, 8.52)


def test_j_a_training_step_in_at_most_twelve_kernels(a2):
    from minixla.interpret import equations
    from minixla.programs import program

    _, _, _, after = costs("training_step")
    cleaned = equations(program("training_step_cleaned"))
    show("J", "43 -> 12 kernels", f"{cleaned} -> {len(after.kernels)} kernels, {after.bytes:,} bytes")
    assert cleaned == 43
    assert len(after.kernels) <= 12
    assert after.bytes <= 15_908


def test_mini_attention_in_five_kernels(a2):
    _, _, _, after = costs("mini_attention")
    show("mini-attention", "5 fusions", f"{len(after.kernels)} kernels")
    assert len(after.kernels) == 5


def test_m_storing_against_recomputing(a2):
    from minixla.roofline import TPU7X_CORE as core

    stored, recomputed = core.memory_seconds(4 * 2**20), core.vector_seconds(0, 2**20)
    show(
        "M",
        "279 FLOP a byte; 1.14 against 0.35 microseconds",
        f"{core.balance:.2f}; {stored * 1e6:.3f} against {recomputed * 1e6:.3f}",
    )
    assert round(core.balance, 2) == 279.08
    assert (round(stored * 1e6, 2), round(recomputed * 1e6, 2)) == (1.14, 0.35)
