"""Part 1: blocks, and kernels that need no more."""

from __future__ import annotations

import numpy as np
import pytest
from given_pallas_kernels import reference

from autograder.kit import check, hint, number, weight

import generators
import judge
import tied
from numpy_rules import DTYPES

BOTH = [judge.MATHEMATICS, {"seed": 1}]


def moves(report):
    """How many blocks each operand of the only kernel fetched or wrote, in order."""
    (kernel,) = report.kernels
    return [traffic.moves for traffic in kernel.traffic]


@number("1.1")
@weight(1)
@hint("Index maps give block indices. What is written at (i, j) was read at (j, i). Handout, part 1, the puzzles.")
def test_transpose_puzzle(student, rng):
    """puzzle: the blocks of a transpose"""
    x = generators.normal(rng, 96, 64)
    got = student(judge.results, "elementwise.transpose", [x], {"block": 32}, {"seed": 1})
    judge.close(got.value, x.T, "x transposed", ulps=1)
    report = judge.measured(got.program, "transpose")
    judge.legal(report, "transpose")
    check.equal(moves(report), [6, 6], "blocks fetched and written by a grid of 6 steps")
    tied.computes(rng, got.program, [x], np.transpose, "transpose", ulps=1)


@number("1.2")
@weight(1)
@hint("A dimension of size None is squeezed: the kernel does not see it, and its index counts single elements.")
def test_head_puzzle(student, rng):
    """puzzle: one head, with a squeezed dimension"""
    x = generators.normal(rng, 3, 64, 256)
    head = int(rng.integers(1, 3))
    got = student(judge.results, "elementwise.take_head", [x], {"head": head, "rows": 32}, {"seed": 1})
    judge.close(got.value, 2 * reference.wide(x[head]), f"twice head {head}", ulps=1)
    report = judge.measured(got.program, "take_head")
    judge.legal(report, "take_head")
    (kernel,) = report.kernels
    check.equal(kernel.loaded, x[0].nbytes, "bytes that are fetched: those of one head")
    tied.computes(rng, got.program, [x], lambda x: 2 * reference.wide(x[head]), "take_head", ulps=1)


@number("1.3")
@weight(1)
@hint("The grid's first axis counts columns here: look which index of the grid comes first in row_specs.")
def test_row_puzzle(student, rng):
    """puzzle: a row that stays while its column of blocks passes"""
    x, row = generators.normal(rng, 128, 384), generators.normal(rng, 1, 384)
    got = student(judge.results, "elementwise.add_row", [x, row], {"rows": 64, "columns": 128}, {"seed": 1})
    judge.close(got.value, reference.wide(x) + row, "x + row", ulps=1)
    report = judge.measured(got.program, "add_row")
    judge.legal(report, "add_row")
    check.equal(moves(report), [6, 3, 6], "blocks of x and of the row that are fetched, and blocks written")
    tied.computes(rng, got.program, [x, row], lambda x, row: reference.wide(x) + row, "add_row", ulps=1)


@number("1.4")
@weight(2)
@hint("alpha and beta are inputs of the kernel; a captured array is an error. No mask is needed. Handout, part 1.")
def test_axpy(student, rng):
    """axpy: length 1000 and others, in blocks of 128, with scalars that change from call to call"""
    for length in (1000, generators.ragged(rng, 129, 700, 128)):
        x, (alpha, beta) = generators.normal(rng, length), generators.normal(rng, 2)
        for how in BOTH[: 2 if length == 1000 else 1]:
            got = student(judge.results, "elementwise.axpy", [x, np.array(alpha), np.array(beta)], {}, how)
            judge.close(got.value, reference.wide(alpha) * x + beta, f"axpy of length {length}", ulps=4)
        report = judge.measured(got.program, "axpy")
        judge.only_kernels(report, "axpy")
        judge.legal(report, "axpy")
        vectors = [block for block in report.kernels[0].call.inputs if block.array.shape == [length]]
        check.equal([block.shape for block in vectors], [[128]], "the blocks of x")
        arguments = [x, np.array(alpha), np.array(beta)]
        tied.computes(rng, got.program, arguments, lambda x, a, b: reference.wide(a) * x + b, "axpy", ulps=4)
    judge.lowers(student(judge.lowering_of, "elementwise.axpy", arguments, {}), "axpy")


@number("1.5")
@weight(1)
@hint("Two outputs: out_shape and out_specs are tuples, and the kernel has one more Ref. Handout, part 1.")
def test_relu_with_mask(student, rng):
    """two outputs of one kernel"""
    x = generators.normal(rng, generators.ragged(rng, 20, 60), 384)
    got = student(judge.results, "elementwise.relu_with_mask", [x], {}, {"seed": 1})
    y, mask = got.values
    check.close(y, np.maximum(x, 0), ulps=1, what="max(x, 0)")
    check.close(mask, (x > 0).astype(np.int8), ulps=1, what="the mask")
    report = judge.measured(got.program, "relu_with_mask")
    judge.only_kernels(report, "relu_with_mask")
    check.equal(len(report.kernels), 1, "kernels")
    check.at_most(report.kernels[0].loaded, x.nbytes, "bytes that are fetched")
    tied.computes(
        rng, got.program, [x], lambda x: [np.maximum(x, 0), (x > 0).astype(np.int8)], "relu_with_mask", ulps=1
    )


@number("1.6")
@weight(1)
@hint("exp(x) overflows for large x, exp(-x) for large -x. Narrow floats compute in float32 and are rounded once.")
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_silu(student, rng, dtype):
    """silu of float32, also of large values, and of bfloat16"""
    shape = (generators.ragged(rng, 30, 90), generators.ragged(rng, 130, 300, 128))
    x = generators.normal(rng, *shape, dtype=DTYPES[dtype])
    if dtype == "float32":
        x[:9] *= np.float32(200)
    got = student(judge.results, "elementwise.silu", [x], {}, judge.MATHEMATICS)
    ulps = 16 if dtype == "float32" else 0.6
    judge.close(got.value, reference.silu(x), "silu", ulps=ulps, dtype=dtype)
    judge.only_kernels(judge.measured(got.program, "silu"), "silu")
    tied.computes(rng, got.program, [x], reference.silu, "silu", ulps=ulps, dtype=dtype)


@number("1.7")
@weight(1)
@hint("input_output_aliases={input: output}; pl.CostEstimate counts as the docstring says. Handout, part 1.")
def test_sgd_update(student, rng):
    """an update in place, which says what it costs"""
    params, gradients = (generators.normal(rng, 64, 256) for _ in range(2))
    rate = np.float32(rng.uniform(0.01, 0.5))
    for how in BOTH:
        arguments = [params, gradients, np.array(rate)]
        got = student(judge.results, "elementwise.sgd_update", arguments, {}, how)
        judge.close(got.value, params - reference.wide(rate) * gradients, "the new parameters", ulps=4)
    (kernel,) = judge.only_kernels(judge.measured(got.program, "sgd_update"), "sgd_update")
    places = [place for place, block in enumerate(kernel.call.inputs) if block.array.shape == [64, 256]]
    check.equal(kernel.call.aliases, [[places[0], 0]], "input_output_aliases: which input gives its buffer")
    counted = (kernel.flops, 0, kernel.loaded + kernel.stored)
    names = ("flops", "transcendentals", "bytes_accessed")
    said = dict(zip(names, kernel.call.cost, strict=False)) if kernel.call.cost else None
    check.equal(said, dict(zip(names, counted, strict=True)), "the CostEstimate")
    tied.computes(rng, got.program, arguments, lambda p, g, r: p - reference.wide(r) * g, "sgd_update", ulps=4)
