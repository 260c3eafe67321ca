"""Part 5, hidden: ragged gradients, structure, traffic, narrow floats."""

from __future__ import annotations

from functools import partial

from given_pallas_kernels import reference

from autograder.kit import check, hint, number, weight

import generators
import judge
import tied


@number("5.7")
@weight(1)
@hint("In the backward kernels queries beyond the end are summed into dk and dv: they must add nothing.")
def test_gradients_of_any_length(student, rng):
    """gradients for lengths that no block divides, of fewer queries than keys"""
    queries, keys = 40, 75
    q, k, v = generators.heads(rng, 2, queries, keys, 32)
    do = generators.normal(rng, 2, queries, 32)
    options = {"block_q": 16, "block_k": 32, "causal": True}
    got = student(judge.gradients, "flash.flash_attention", [q, k, v], do, options, judge.MATHEMATICS).values
    want = reference.attention_gradient(q, k, v, do, reference.causal_mask(queries, keys))
    for name, mine, right in zip("qkv", got, want, strict=True):
        judge.close(mine, right, f"the cotangent of {name}", ulps=128)


LONG = [[[1, 4096, 128], "bfloat16"]] * 3
WIDE = {"block_q": 512, "block_k": 512}


def of_queries(causal, rows, q, k, v):
    """Attention of a few of the queries."""
    mask = reference.causal_mask(4096, 4096)[rows] if causal else None
    return reference.attention(q[:, rows], k, v, mask)


def gradient_by_q(rows, q, k, v, do):
    """The cotangents of a few of the queries of causal attention."""
    mask = reference.causal_mask(4096, 4096)[rows]
    return [reference.attention_gradient(q[:, rows], k, v, do[:, rows], mask)[0], None, None]


@number("5.8")
@weight(2)
@hint("No array of queries by keys, forward or backward: only blocks of it, inside of kernels. Handout, part 5.")
def test_nothing_is_as_large_as_queries_by_keys(student, rng):
    """no array of queries by keys; the work is in kernels, whose blocks fit into VMEM"""
    for causal in (False, True):
        options = {**WIDE, "causal": causal}
        forward = student(judge.program_of, "flash.flash_attention", LONG, options)
        backward = student(judge.gradient_program_of, "flash.flash_attention", LONG, LONG[0], options)
        for plan, what, kernels in ((forward, "attention", 1), (backward, "the gradient of attention", 2)):
            report = judge.measured(plan, what)
            judge.only_kernels(report, what, kernels)
            judge.legal(report, what)
            judge.fits(report, 16 * judge.MIB, what)
            largest = judge.largest_value(report)
            check.that(
                largest.size <= 4096 * 4096 // 8,
                f"{what} of 4,096 queries and keys: the largest array",
                expected="far less than 4,096 × 4,096 elements",
                got=str(largest),
            )
    what, inputs = "the gradient of causal attention", [*LONG, LONG[0]]
    tied.computes_in_part(rng, backward, inputs, gradient_by_q, what, ulps=1, dtype="bfloat16", axis=1)


@number("5.9")
@weight(2)
@hint("A causal step that computes nothing need not fetch: let its index map name a block that is there already.")
def test_traffic_of_attention(student, rng):
    """keys and values are fetched once for each block of queries, and not at all where nothing is seen"""
    worst = (1.0, "")
    for causal, visits in ((False, 8 * 8), (True, 8 * 9 // 2)):
        plan = student(judge.program_of, "flash.flash_attention", LONG, {**WIDE, "causal": causal})
        what = "causal attention" if causal else "attention"
        report = judge.measured(plan, what)
        judge.only_kernels(report, what)
        block, queries = 512 * 128 * 2, 4096 * 128 * 2
        moved = 2 * visits * block + 2 * queries + 4096 * 4
        worst = min(worst, judge.traffic_fraction(report, 1.05 * moved, 1.6 * moved, what))
        rule = partial(of_queries, causal)
        tied.computes_in_part(rng, plan, LONG, rule, what, ulps=1, dtype="bfloat16", axis=1)
    judge.earned(worst)


@number("5.10")
@weight(1)
@hint("Scores, m, l and the weighted sum are float32, whatever q, k and v are.")
def test_attention_of_bfloat16(student, rng):
    """attention of bfloat16, with sums in float32"""
    q, k, v = generators.heads(rng, 1, 128, 512, 64, dtype=generators.BFLOAT16)
    q = (q * generators.BFLOAT16(0.1)).astype(generators.BFLOAT16)
    v = (v + generators.BFLOAT16(1)).astype(generators.BFLOAT16)
    got = student(
        judge.results, "flash.flash_attention", [q, k, v], {"block_q": 128, "block_k": 128}, judge.MATHEMATICS
    )
    judge.close(got.value, reference.attention(q, k, v), "the output", ulps=1.0, dtype="bfloat16")
