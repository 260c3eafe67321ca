"""Part 5: flash attention."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from given_pallas_kernels import reference

from autograder.kit import check, hint, number, probe, weight

import generators
import judge
import tied

EVEN = {"block_q": 128, "block_k": 128}
SMALL = {"block_q": 32, "block_k": 32}


def masked(causal, queries, keys):
    """The mask of a causal attention, or none."""
    return reference.causal_mask(queries, keys) if causal else None


@number("5.1")
@weight(3)
@hint(
    "When m grows, l and the weighted sum shrink by exp(m_old − m_new); divide once, at the end. Handout, part 5."
)
@pytest.mark.parametrize("causal", [False, True])
def test_attention(student, rng, causal):
    """attention, also causal, over several blocks of keys"""
    heads, length = (1, 512) if causal else (2, 256)
    q, k, v = generators.heads(rng, heads, length, length, 64)
    q = q * np.float32(4) + np.linspace(-3, 3, 64, dtype=np.float32)
    got = student(judge.results, "flash.flash_attention", [q, k, v], {**EVEN, "causal": causal}, judge.MATHEMATICS)
    judge.close(got.value, reference.attention(q, k, v, masked(causal, length, length)), "the output", ulps=128)
    report = judge.measured(got.program, "flash_attention")
    judge.only_kernels(report, "flash_attention")
    judge.legal(report, "flash_attention")
    rule = partial(reference.attention, mask=masked(causal, length, length))
    tied.computes(rng, got.program, [q, k, v], rule, "flash_attention", ulps=128)
    visits = 4 * 5 // 2 if causal else 2 * 2
    moved = heads * (2 * visits * 128 * 64 + 2 * length * 64 + length) * 4
    judge.earned(judge.traffic_fraction(report, 1.05 * moved, 1.6 * moved, "flash_attention"))


@number("5.2")
@weight(2)
@hint(
    "NaN: keys beyond the end get weight 0, and their values must be replaced, for 0 · NaN is NaN. Numbers that "
    "are off: when m grows, l and the weighted sum are both rescaled. Handout, part 5."
)
def test_attention_of_any_length(student, rng):
    """lengths that no block divides, a scale, different block sizes, bfloat16"""
    queries, keys = generators.ragged(rng, 40, 90), generators.ragged(rng, 200, 300)
    what = f"attention of {queries} queries to {keys} keys"
    q, k, v = generators.heads(rng, 2, queries, keys, 32)
    got = student(judge.results, "flash.flash_attention", [q, k, v], {**SMALL, "scale": 0.3}, judge.MATHEMATICS)
    judge.close(got.value, reference.attention(q, k, v, scale=0.3), what, ulps=64)
    q, k, v = (x.astype(generators.BFLOAT16) for x in (q * np.float32(0.1), k, v + np.float32(1)))
    options = {"block_q": 64, "block_k": 16}
    got = student(judge.results, "flash.flash_attention", [q, k, v], options, judge.MATHEMATICS)
    judge.close(got.value, reference.attention(q, k, v), f"{what} in bfloat16", ulps=1.0, dtype="bfloat16")


@probe
def forward(q, k, v, causal, block) -> list[np.ndarray]:
    """The output and the log-sum-exp of flash_forward."""
    import jax
    import numpy as np

    from pallas_kernels.flash import Settings, flash_forward

    settings = Settings(causal, q.shape[-1] ** -0.5, block, block, True)
    return [np.asarray(x) for x in jax.jit(lambda *arrays: flash_forward(*arrays, settings))(q, k, v)]


@number("5.3")
@weight(1)
@hint("The log-sum-exp is m + log l, of the scaled scores, in float32; −inf for a query that sees nothing.")
def test_log_sum_exp(student, rng):
    """flash_forward also gives the log-sum-exp of the scores"""
    q, k, v = generators.heads(rng, 2, 80, 64, 32)
    output, lse = student(forward, q, k, v, True, 32)
    mask = reference.causal_mask(80, 64)
    judge.close(output, reference.attention(q, k, v, mask), "the output", ulps=64)
    check.equal(np.isneginf(lse), np.broadcast_to(~mask.any(axis=1), (2, 80)), "where the log-sum-exp is −inf")
    judge.close(lse[:, 16:], reference.attention_lse(q, k, mask)[:, 16:], "the log-sum-exp", ulps=32)


@number("5.4")
@weight(3)
@hint("ds = p·(dp − delta)·scale. dq sums over keys, dk and dv over queries: beyond the end add nothing.")
@pytest.mark.parametrize("causal", [False, True])
def test_gradients_of_attention(student, rng, causal):
    """the gradients by q, k and v, for lengths that no block divides; causal, with queries that see nothing"""
    few, many = generators.ragged(rng, 129, 170), generators.ragged(rng, 190, 250)
    queries, keys = (many, few) if causal else (few, many)
    q, k, v = generators.heads(rng, 2, queries, keys, 64)
    do = generators.normal(rng, 2, queries, 64)
    got = student(
        judge.gradients, "flash.flash_attention", [q, k, v], do, {**EVEN, "causal": causal}, "mathematics"
    )
    rule = partial(reference.attention_gradient, mask=masked(causal, queries, keys))
    for name, mine, right in zip("qkv", got.values, rule(q, k, v, do), strict=True):
        judge.close(mine, right, f"the cotangent of {name}", ulps=128)
    judge.only_kernels(judge.measured(got.program, "the gradient of attention"), "the gradient of attention", 2)
    tied.computes(rng, got.program, [q, k, v, do], rule, "the gradient of attention", ulps=128)


@number("5.5")
@weight(2)
@hint("Query i sees key j if j ≤ i + Lk − Lq: the last query sees all. A query that sees nothing gives zeros.")
def test_causal_is_aligned_at_the_end(student, rng):
    """causal attention of fewer queries than keys, and of more"""
    for queries, keys in ((40, 100), (100, 40)):
        q, k, v = generators.heads(rng, 2, queries, keys, 32)
        options = {**SMALL, "causal": True}
        got = student(judge.results, "flash.flash_attention", [q, k, v], options, judge.MATHEMATICS)
        want = reference.attention(q, k, v, reference.causal_mask(queries, keys))
        judge.close(got.value, want, f"causal attention of {queries} queries to {keys} keys", ulps=64)


@number("5.6")
@weight(1)
@hint("Initialise before the first use, write when the last block is in. The interpreter's message says where.")
def test_attention_on_a_simulated_tpu(student, rng):
    """attention and its gradients on the simulated TPU, and lowered for a real one"""
    q, k, v = generators.heads(rng, 1, 256, 256, 64)
    do, options = generators.normal(rng, 1, 256, 64), {**EVEN, "causal": True}
    got = student(judge.gradients, "flash.flash_attention", [q, k, v], do, options, {"seed": 1})
    want = reference.attention_gradient(q, k, v, do, reference.causal_mask(256, 256))
    for name, mine, right in zip("qkv", got.values, want, strict=True):
        judge.close(mine, right, f"the cotangent of {name}", ulps=128)
    judge.lowers(
        student(judge.gradient_lowering_of, "flash.flash_attention", [q, k, v], options), "flash_attention"
    )
