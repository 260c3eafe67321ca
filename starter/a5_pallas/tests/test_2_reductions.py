"""Part 2: reductions, and what lies beyond an array's edge."""

from __future__ import annotations

import numpy as np
import pytest
from given_pallas_kernels import reference

from autograder.kit import check, hint, number, weight

import generators
import judge
import tied

SHUFFLED = {"seed": 3}


@number("2.1")
@weight(2)
@hint("Reduction axis last in the grid, first visit initialises, rows beyond the edge masked. Handout, part 2.")
def test_colsum(student, rng):
    """colsum of bfloat16, of f32[300,256] and of a shape that no block divides, in both interpreters"""
    drawn = (generators.ragged(rng, 200, 300), generators.ragged(rng, 129, 250))
    x = (rng.random(drawn) + 0.5).astype(generators.BFLOAT16)
    got = student(judge.results, "reductions.colsum", [x], {}, judge.MATHEMATICS)
    sums = reference.wide(x).sum(axis=0)
    judge.close(got.value, sums, "the column sums of bfloat16, rounded once", ulps=0.6, dtype="bfloat16")
    for shape, how in ((drawn, judge.MATHEMATICS), ((300, 256), SHUFFLED)):
        x = generators.normal(rng, *shape) + np.float32(1)
        got = student(judge.results, "reductions.colsum", [x], {}, how)
        judge.close(got.value, reference.wide(x).sum(axis=0), f"the column sums of {list(shape)}", ulps=32)
    report = judge.measured(got.program, "colsum")
    judge.only_kernels(report, "colsum")
    judge.legal(report, "colsum")
    tied.computes(rng, got.program, [x], lambda x: reference.wide(x).sum(axis=0), "colsum", ulps=32)


@number("2.2")
@weight(2)
@hint("The same along the other axis: which index comes last in the grid now? Handout, part 2.")
def test_rowsum(student, rng):
    """rowsum of shapes that no block divides, in both interpreters"""
    drawn = (generators.ragged(rng, 129, 200), generators.ragged(rng, 129, 300))
    for shape, how in (((96, 300), judge.MATHEMATICS), (drawn, SHUFFLED)):
        x = generators.normal(rng, *shape) - np.float32(1)
        got = student(judge.results, "reductions.rowsum", [x], {}, how)
        judge.close(got.value, reference.wide(x).sum(axis=1), f"the row sums of {list(shape)}", ulps=32)
    report = judge.measured(got.program, "rowsum")
    judge.only_kernels(report, "rowsum")
    judge.legal(report, "rowsum")
    tied.computes(rng, got.program, [x], lambda x: reference.wide(x).sum(axis=1), "rowsum", ulps=32)


@number("2.3")
@weight(2)
@hint("The identity of max is −inf, not 0. When m grows, l shrinks by exp(m_old − m_new). Handout, part 2.")
@pytest.mark.parametrize("offset", [50, -200])
def test_logsumexp(student, rng, offset):
    """logsumexp: long rows of large and of very negative values"""
    x = generators.normal(rng, generators.ragged(rng, 20, 60), generators.ragged(rng, 300, 700, 128))
    x = x * np.float32(4) + np.float32(offset) + np.linspace(-20, 20, x.shape[1], dtype=np.float32)
    got = student(judge.results, "reductions.logsumexp", [x], {}, SHUFFLED if offset > 0 else judge.MATHEMATICS)
    judge.close(got.value, reference.logsumexp(x), "the log-sum-exp of rows", ulps=16)
    report = judge.measured(got.program, "logsumexp")
    judge.only_kernels(report, "logsumexp")
    judge.legal(report, "logsumexp")
    tied.computes(rng, got.program, [x], reference.logsumexp, "logsumexp", ulps=16)


@number("2.4")
@weight(1)
@hint("−inf − (−inf) is NaN. What should be subtracted as long as nothing but −inf was seen? Handout, part 2.")
def test_rows_of_minus_infinity(student, rng):
    """logsumexp of rows that are −inf in part, in the first blocks, or throughout"""
    x = generators.normal(rng, 24, 400)
    x[3], x[7, :300], x[11, 200:] = -np.inf, -np.inf, -np.inf
    x[15] = np.where(rng.random(400) < 0.5, -np.inf, x[15])
    got = student(judge.results, "reductions.logsumexp", [x], {}, judge.MATHEMATICS).value
    check.equal([float(got[3])], [-np.inf], "the log-sum-exp of a row of −inf")
    rest = np.arange(24) != 3
    judge.close(got[rest], reference.logsumexp(x[rest]), "the log-sum-exp of the other rows", ulps=16)


def either(semantics, grid):
    """The words of the axes, with axes of a single step written as the axis behind them: both words are right."""
    words = list(semantics)
    for axis in reversed(range(min(len(words), len(grid)))):
        if grid[axis] == 1:
            words[axis] = words[axis + 1] if axis + 1 < len(words) else "arbitrary"
    return words


@number("2.5")
@weight(2)
@hint(
    '"parallel" says that steps may come in any order: true of an axis only if no step needs another one\'s work.'
)
def test_sum_leading(student, rng):
    """sum over the first axis, with the axes that may run in parallel declared so"""
    for how, columns in ((judge.MATHEMATICS, 384), ({"seed": 1}, 200)):
        x = generators.normal(rng, 5, generators.ragged(rng, 65, 120), columns)
        got = student(judge.results, "reductions.sum_leading", [x], {}, how)
        judge.close(got.value, reference.wide(x).sum(axis=0), "the sum over the first axis", ulps=16)
    report = judge.measured(got.program, "sum_leading")
    judge.only_kernels(report, "sum_leading")
    judge.legal(report, "sum_leading")
    for kernel in report.kernels:
        follows = {axis for traffic in kernel.traffic if traffic.output for axis in traffic.axes}
        want = ["parallel" if axis in follows else "arbitrary" for axis in range(len(kernel.call.grid))]
        check.equal(
            either(kernel.call.semantics, kernel.call.grid),
            either(want, kernel.call.grid),
            f"dimension_semantics of the grid {tuple(kernel.call.grid)}; an axis of one step may be either",
        )
    tied.computes(rng, got.program, [x], lambda x: reference.wide(x).sum(axis=0), "sum_leading", ulps=16)


@number("2.6")
@weight(1)
@hint("Zeros of the block's dtype: jnp.zeros_like. Integers are summed as integers: float32 holds 24 bits.")
def test_sums_of_integers(student, rng):
    """colsum and rowsum of large int32, whose garbage is not NaN but the smallest number"""
    rows = 2 * int(rng.integers(65, 100)) + 1  # odd, for an even number of smallest integers adds up to 0
    x = rng.integers(-5_000_000, 5_000_000, size=(rows, 301)).astype(np.int32)  # float32 has no room for the sums
    got = student(judge.results, "reductions.colsum", [x], {}, judge.MATHEMATICS)
    check.close(got.value, x.sum(axis=0, dtype=np.int32), ulps=1, what="the column sums")
    got = student(judge.results, "reductions.rowsum", [x], {}, judge.MATHEMATICS)
    check.close(got.value, x.sum(axis=1, dtype=np.int32), ulps=1, what="the row sums")
