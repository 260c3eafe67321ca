"""Part 1a, hidden: random jaxprs, and what is easily forgotten."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from autograder.kit import check, given, hint, number, probe, weight

import judge
from jaxprs import Writer, random_jaxprs, run


@probe
def lowered(jaxpr) -> str:
    """a jaxpr, lowered to HLO"""
    from minixla import lower_jaxpr, text

    return text.print_module(lower_jaxpr.lower(jaxpr))


@number("1a.5")
@weight(1)
@hint("Broadcast each operand to the result's shape first; only then is the operation elementwise.")
@given(jaxpr=random_jaxprs(), seed=st.integers(0, 2**31), examples=40)
def test_random_jaxprs(student, jaxpr, seed):
    """random jaxprs compute what NumPy computes"""
    rng = np.random.default_rng(seed)
    inputs = [rng.normal(size=var["shape"]).astype(var["dtype"]) for var in jaxpr["invars"]]
    expected = run(jaxpr, inputs)
    got = judge.run(judge.parsed(student(lowered, jaxpr)), inputs)
    check.equal(len(got), len(expected), "the number of outputs")
    for have, want in zip(got, expected, strict=True):
        want = np.asarray(want)
        if np.isfinite(want).all() and np.abs(want).max(initial=0) < 1e4:
            check.close(have, want, ulps=256)


@number("1a.6")
@weight(1)
@hint("An output may be an input or a literal; a value may be returned twice; an input may be unused.")
def test_unusual_outputs(student, rng):
    """outputs that are inputs, literals, or one value twice; unused inputs stay parameters; dtypes are kept"""
    write = Writer("outputs")
    x, unused = write.input("float64", 3), write.input("int32", 2, 2)
    y = write.eqn("mul", x, 0.1)
    jaxpr = write.jaxpr(y, x, y)
    jaxpr["outvars"].append({"literal": 2.5, "shape": [], "dtype": "float32"})
    jaxpr["outvars"].append({"literal": [1, 2], "shape": [2], "dtype": "int32"})
    module = judge.parsed(student(lowered, jaxpr))
    inputs = [rng.normal(size=3), rng.integers(0, 9, size=(2, 2)).astype("int32")]
    check.equal(len(module.entry_computation.parameters), 2, f"parameters ({unused} is not read, but passed)")
    got = judge.run(module, inputs)
    expected = run(jaxpr, inputs)
    check.equal(len(got), len(expected), "the number of outputs")
    for have, want in zip(got, expected, strict=True):
        check.close(have, np.asarray(want), ulps=2)
