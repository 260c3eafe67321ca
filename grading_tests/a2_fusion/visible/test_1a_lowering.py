"""Part 1a: from a jaxpr to a module in HLO."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.kit import check, hint, number, probe, weight

import judge
from jaxprs import Writer, run


@probe
def lowered(jaxpr) -> str:
    """a jaxpr, lowered to HLO"""
    from minixla import lower_jaxpr, text

    return text.print_module(lower_jaxpr.lower(jaxpr))


PLUMBING = ("parameter", "constant", "broadcast", "reshape", "tuple", "transpose", "convert")


def judged(student, jaxpr, rng, ulps=32):
    """The module that a jaxpr was lowered to, after its values and its length were judged."""
    module = judge.parsed(student(lowered, jaxpr))
    inputs = [rng.normal(size=var["shape"]).astype(var["dtype"]) for var in jaxpr["invars"]]
    expected = run(jaxpr, inputs)
    got = judge.run(module, inputs)
    check.equal(len(got), len(expected), "the number of outputs")
    for place, (have, want) in enumerate(zip(got, expected, strict=True)):
        check.close(have, np.asarray(want), ulps=ulps, what=f"output {place}")
    every = [each.opcode for each in module.entry_computation.instructions]
    work = [opcode for opcode in every if opcode not in PLUMBING]
    mine = [eqn for eqn in jaxpr["eqns"] if eqn["primitive"] not in PLUMBING]
    check.at_most(len(work), len(mine), "instructions beside constants, converts and operations that move data")
    return module


@number("1a.1")
@weight(1.5)
@hint("Which instruction repeats an array along new axes? In HLO nothing is repeated silently.")
def test_arithmetic_with_broadcasting(student, rng):
    """elementwise equations with literals, rows, columns of size 1 and scalars beside matrices"""
    m, n = (int(size) for size in rng.integers(2, 7, size=2))
    write = Writer("arithmetic")
    x, row, column = write.input("float32", m, n), write.input("float32", n), write.input("float32", m, 1)
    scalar = write.input("float32")
    y = write.eqn("add", write.eqn("mul", x, row), write.eqn("sub", column, scalar))
    z = write.eqn("div", 2.5, write.eqn("exp", write.eqn("neg", y)))
    w = write.eqn("tanh", write.eqn("add", column, row))
    table = write.eqn("mul", write.eqn("sin", z), rng.normal(size=(m, n)).astype("f"))
    total = write.eqn("add", write.eqn("cos", write.eqn("mul", scalar, 0.5)), table)
    square = write.eqn("sub", row, write.input("float32", n, n))
    judged(student, write.jaxpr(y, z, w, total, square), rng)


@number("1a.2")
@weight(1)
@hint("A reduce has a region and a value to start from. What is the least f32? keepdims needs a reshape.")
@pytest.mark.parametrize("keepdims", [False, True])
def test_reductions(student, rng, keepdims):
    """reduce_sum and reduce_max over one axis, several, all, with and without keepdims"""
    for axis in (0, -1, [0, 2], None):
        reductions(student, rng, axis, keepdims)


def reductions(student, rng, axis, keepdims):
    """Judge both reductions of an array over these axes."""
    shape = [int(size) for size in rng.integers(2, 6, size=3)]
    write = Writer("reductions")
    x = write.input("float32", *shape)
    outputs = [write.eqn(name, x, axis=axis, keepdims=keepdims) for name in ("reduce_sum", "reduce_max")]
    low = write.eqn("reduce_max", write.eqn("sub", x, 1e30), axis=axis, keepdims=keepdims)
    module = judged(student, write.jaxpr(*outputs, low), rng)
    check.equal(judge.count(module, "reduce"), 3, "instructions that reduce")


@number("1a.3")
@weight(1)
@hint("matmul's leading axes are batch axes. How does dot name them, and what if one operand has none?")
@pytest.mark.parametrize(
    ("left", "right"),
    [((4, 3), (3, 5)), ((3,), (3, 5)), ((4, 3), (3,)), ((3,), (3,)), ((2, 4, 3), (2, 3, 5)), ((2, 4, 3), (3, 5))],
    ids=str,
)
def test_products(student, rng, left, right):
    """dot of matrices, of vectors on either side, of batches, and of a batch with one matrix"""
    write = Writer("products")
    x, y = write.input("float32", *left), write.input("float32", *right)
    module = judged(student, write.jaxpr(write.eqn("dot", x, y)), rng)
    check.equal(judge.count(module, "dot"), 1, "dots")


@number("1a.4")
@weight(0.5)
@hint("permutation, shape, broadcast_dimensions, dtype: which attribute of HLO says the same?")
def test_moves_and_types(student, rng):
    """transpose, reshape, broadcast with dimensions, convert, comparisons and select"""
    a, b, c = (int(size) for size in rng.integers(2, 6, size=3))
    write = Writer("moves")
    x = write.input("float32", a, b, c)
    turned = write.eqn("transpose", x, permutation=[2, 0, 1])
    flat = write.eqn("reshape", turned, shape=[c * a, b])
    row = write.eqn("reduce_sum", flat, axis=0, keepdims=False)
    spread = write.eqn("broadcast", row, shape=[a, b, c], broadcast_dimensions=[1])
    mask = write.eqn("gt", x, spread)
    chosen = write.eqn("select", mask, x, spread)
    other = write.eqn("select", write.eqn("eq", x, 0.0), spread, x)
    wide = write.eqn("convert", chosen, dtype="float64")
    whole = write.eqn("convert", mask, dtype="int32")
    judged(student, write.jaxpr(flat, spread, chosen, other, wide, whole), rng)
