"""The lecture's figures, from the reference solutions: prints lecture → obtained for each item."""

from __future__ import annotations

import importlib
import subprocess
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


@pytest.fixture
def a4() -> Iterator[Any]:
    """tiledlayout."""
    yield from _import_from("a4_layout", ["tiledlayout"])


def test_l_padding_and_the_table_of_slots(a4):
    (tl,) = a4
    shares = [
        100 * tl.efficiency(tl.parse(f"{array}:T({rows},128)}}"))
        for array, rows in (
            ("f32[1024,128]{1,0", 8),
            ("f32[1024,64]{1,0", 8),
            ("bf16[4,1024]{1,0", 16),
            ("f32[1,4096]{1,0", 8),
            ("bf16[24,100]{1,0", 16),
        )
    ]
    show("L, 6", "100, 50, 25, 12.5 and 58.6 %", ", ".join(f"{share:.1f}" for share in shares) + " %")
    assert [round(share, 1) for share in shares] == [100.0, 50.0, 25.0, 12.5, 58.6]
    layout = tl.parse("f32[3,5]{1,0:T(2,2)}")
    table = [[int(tl.linear_index(layout, (row, column))) for column in range(5)] for row in range(3)]
    show("L, table", "0 1 4 5 8; 2 3 6 7 10; 12 13 16 17 20", table)
    assert table == [[0, 1, 4, 5, 8], [2, 3, 6, 7, 10], [12, 13, 16, 17, 20]]
    square = tl.parse("f32[4,4]{1,0:T(2,2)}")
    assert [int(tl.linear_index(square, place)) for place in ((2, 1), (1, 3))] == [9, 7]


@pytest.fixture
def a6() -> Iterator[Any]:
    """minispmd."""
    yield from _import_from("a6_sharding", ["minispmd"])


def test_n_local_shapes_and_copies(a6):
    (spmd,) = a6
    P, mesh = spmd.P, spmd.Mesh(batch=4, model=2)
    specs = [P("batch", None), P(None, "model"), P("batch", "model"), P(None, None)]
    found = [(spmd.local_shape((8, 6), spec, mesh), spmd.replication(spec, mesh)) for spec in specs]
    show("N", "(2,6) 2; (8,3) 4; (2,3) 1; (8,6) 8", found)
    assert found == [((2, 6), 2), ((8, 3), 4), ((2, 3), 1), ((8, 6), 8)]


def test_n_bytes_of_a_product(a6):
    from minispmd.program import in_words

    (spmd,) = a6
    P, ring = spmd.P, spmd.Mesh(x=4)
    rows, columns, whole = P("x", None), P(None, "x"), P(None, None)
    lecture, exercise = (8192, 8192, 1024), (4096, 4096, 4096)
    said = [
        "; ".join(map(in_words, spmd.partition_matmul(a, b, c, ring, shape)))
        for a, b, c, shape in (
            (rows, rows, rows, lecture),
            (columns, rows, whole, lecture),
            (columns, rows, rows, lecture),
            (columns, rows, whole, exercise),
            (columns, rows, rows, exercise),
        )
    ]
    show("N, 10", "24, 48 and 24 MiB; 96 and 48 MiB", " | ".join(said))
    for words, mebibytes in zip(said, (24, 48, 24, 96, 48), strict=True):
        assert f": {mebibytes} MiB a device" in words


def test_n_gpt2_on_eight_devices(a6):
    (spmd,) = a6
    gpt, gib = spmd.GPT2_MEDIUM, 2**30
    found = [
        spmd.train_state_bytes(gpt, 1) / gib,
        spmd.train_state_bytes(gpt, 2) / gib,
        spmd.gradient_bytes(gpt, 8, 1) / gib,
    ]
    milliseconds = 1e3 * spmd.gradient_bytes(gpt, 8, 1) / 1200e9
    show("N, 11", "5.29, 3.04, 2.31 GiB; 2.07 ms", [round(each, 2) for each in found] + [round(milliseconds, 2)])
    assert (spmd.parameter_count(gpt), spmd.sharded_parameter_count(gpt)) == (354_823_168, 301_989_888)
    assert [round(each, 2) for each in found] == [5.29, 3.04, 2.31]
    assert round(milliseconds, 2) == 2.07


def test_k_l_m_of_the_machine():
    """K, L, M, the schedules' distance from the bound, and the trace of the attention tile."""
    script = ROOT / "grading_tests" / "a3_machine" / "lecture_numbers.py"
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
