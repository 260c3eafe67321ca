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
