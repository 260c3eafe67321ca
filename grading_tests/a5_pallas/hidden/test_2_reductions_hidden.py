"""Part 2, hidden: narrow floats, small shapes, and how much is fetched and held."""

from __future__ import annotations

import numpy as np
from given_pallas_kernels import reference

from autograder.kit import hint, number, weight

import generators
import judge
import tied


@number("2.7")
@weight(1)
@hint("Sum bfloat16 in float32 and round once, when the last block is in.")
def test_sums_of_bfloat16(student, rng):
    """rowsum of bfloat16 is rounded once"""
    x = (rng.random((200, 300)) + 0.5).astype(generators.BFLOAT16)
    got = student(judge.results, "reductions.rowsum", [x], {}, judge.MATHEMATICS)
    judge.close(got.value, reference.wide(x).sum(axis=1), "rowsum", ulps=0.6, dtype="bfloat16")


@number("2.8")
@weight(2)
@hint(
    "Blocks, not whole arrays: every element is fetched once, VMEM holds a few blocks. Handout, part 2, budgets."
)
def test_reductions_stream(student, rng):
    """reductions of large arrays: fetched once, a few blocks at a time, legal on a TPU"""
    large = [[4096, 4096], "float32"]
    budget = 4096 * 4096 * 4
    worst = (1.0, "")
    for name, kind, rule in (
        ("colsum", large, lambda rows, x: x[:, rows].sum(axis=0, dtype=np.float64)),
        ("rowsum", large, lambda rows, x: x[rows].sum(axis=1, dtype=np.float64)),
        ("logsumexp", large, lambda rows, x: reference.logsumexp(x[rows])),
        ("sum_leading", [[8, 1024, 2048], "float32"], lambda rows, x: x[:, rows].sum(axis=0, dtype=np.float64)),
    ):
        arguments = [kind]
        plan = student(judge.program_of, f"reductions.{name}", arguments, {})
        report = judge.measured(plan, name)
        judge.only_kernels(report, name)
        judge.legal(report, name)
        judge.fits(report, 8 * judge.MIB, name)
        judge.lowers(student(judge.lowering_of, f"reductions.{name}", arguments, {}), name)
        out = 4 * 1024 * 2048 if name == "sum_leading" else 4 * 4096
        worst = min(worst, judge.traffic_fraction(report, 1.02 * (budget + out), 2 * budget, name))
        tied.computes_in_part(rng, plan, arguments, rule, name, ulps=64)
    judge.earned(worst)


@number("2.9")
@weight(1)
@hint("A block is cut down to the array where that is smaller, and one more than a block is two blocks.")
def test_reductions_of_small_shapes(student, rng):
    """reductions of single rows, columns and elements, and of one more than a block"""
    for shape, names in (
        ((1, 1), ("logsumexp",)),
        ((1, 200), ("rowsum",)),
        ((200, 1), ("colsum",)),
        ((129, 257), ("colsum", "logsumexp")),
    ):
        x = generators.normal(rng, *shape)
        sums = {"colsum": reference.wide(x).sum(axis=0), "rowsum": reference.wide(x).sum(axis=1)}
        for name in names:
            want = sums.get(name, reference.logsumexp(x))
            got = student(judge.results, f"reductions.{name}", [x], {}, judge.MATHEMATICS)
            judge.close(got.value, want, f"{name} of {list(shape)}", ulps=32)
