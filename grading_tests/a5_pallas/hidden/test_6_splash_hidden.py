"""Part 6, hidden: what is skipped, what is held, and the simulated TPU."""

from __future__ import annotations

from functools import partial

import numpy as np
from given_pallas_kernels import reference

from autograder.kit import check, hint, limits, number, weight

import generators
import judge
import tied

HEADS, DEPTH = 2, 64


def skips(student, rng, mask, block_q, block_kv):
    """Skipped blocks are neither fetched nor computed, counted with the scalars that the kernel prefetches."""
    (queries, keys), options = mask.shape, {"block_q": block_q, "block_kv": block_kv, "mask": mask}
    kinds = [[[HEADS, length, DEPTH], "float32"] for length in (queries, keys, keys)]
    plan = student(judge.program_of, "splash.splash_attention", kinds, options)
    report = judge.measured(plan, "splash_attention")
    (kernel,) = judge.only_kernels(report, "splash_attention")
    judge.legal(report, "splash_attention")
    blocks = mask.reshape(queries // block_q, block_q, keys // block_kv, block_kv).any(axis=(1, 3))
    computed = HEADS * int(blocks.sum())
    check.that(
        not kernel.work.unknown,
        "splash_attention: what its steps do",
        expected="conditions that follow from grid indices and prefetched scalars",
        got=kernel.work.unknown[0] if kernel.work.unknown else "",
    )
    done = kernel.work.dots.sum() / (4 * block_q * block_kv * DEPTH)
    check.at_most(round(done, 3), computed, f"blocks that are computed, of {HEADS * blocks.size}")
    moved = int(kernel.work.loaded.sum()) + sum(
        traffic.bytes
        for traffic in kernel.traffic
        if not traffic.output and sorted(traffic.block.array.shape) == sorted([HEADS, keys, DEPTH])
    )
    spare = 2 * HEADS  # before the first and behind the last block that a head computes, another may be fetched
    budget = 2 * (computed + spare) * block_kv * DEPTH * 4
    check.at_most(moved, budget, "bytes of keys and values that are fetched")

    def rule(rows, q, k, v):
        return reference.attention(q[:, rows], k, v, mask[rows])

    tied.computes_in_part(rng, plan, kinds, rule, "splash_attention", ulps=64, axis=1)


@number("6.7")
@limits(answer_mib=24)  # patterns travel with the program
@weight(2)
@hint("A skipped step branches on its kind, and its index map names a block that VMEM holds anyway or needs next.")
def test_skipped_blocks_cost_nothing(student, rng):
    """skipped blocks are neither computed nor fetched"""
    skips(student, rng, reference.causal_mask(1024, 2048), 128, 512)
    skips(student, rng, reference.window_mask(1024, 200)[:512], 128, 128)
    skips(student, rng, generators.block_mask(rng, 4, 6, 128, 128), 128, 128)


@number("6.8")
@limits(answer_mib=24)  # patterns travel with the program
@weight(1)
@hint("A block of keys is fetched as a whole and worked through in pieces: no score matrix is wider than a piece.")
def test_pieces_of_a_block(student, rng):
    """block_kv_compute bounds the scores, and changes no value"""
    mask = reference.causal_mask(128, 512)
    options = {"block_q": 64, "block_kv": 512, "block_kv_compute": 128, "mask": mask}
    q, k, v = generators.heads(rng, 1, 128, 512, 64)
    got = student(judge.results, "splash.splash_attention", [q, k, v], options, judge.MATHEMATICS)
    judge.close(got.value, reference.attention(q, k, v, mask), "the output", ulps=64)
    report = judge.measured(got.program, "splash_attention")
    (kernel,) = judge.only_kernels(report, "splash_attention")
    scores = kernel.work.widest_dot
    check.at_most(scores.size, 64 * 128, f"elements of the largest product inside of the kernel, {scores}")
    blocks = [block.shape for block in kernel.call.inputs if block.array.shape == [1, 512, 64]]
    check.that(
        bool(blocks) and all(512 in shape for shape in blocks),
        "blocks of keys and values",
        expected="512 keys at once",
        got=str(blocks),
    )
    rule = partial(reference.attention, mask=mask)
    tied.computes(rng, got.program, [q, k, v], rule, "splash_attention", ulps=64)


@number("6.9")
@weight(1)
@hint("Steps behind a sequence's last page fetch nothing: their page is the one that is there. Handout, part 6.")
def test_only_pages_of_the_sequence_are_fetched(student, rng):
    """paged attention fetches every page that a sequence needs once, and no other"""
    page, depth, kv_heads = 16, 128, 2
    lengths = [int(n) for n in rng.integers(1, 150, size=3)]
    arguments = generators.paged(rng, lengths, kv_heads, 4, page, depth)
    got = student(judge.program_of, "decode.paged_attention", arguments, {})
    report = judge.measured(got, "paged_attention")
    (kernel,) = judge.only_kernels(report, "paged_attention")
    judge.legal(report, "paged_attention")
    pool = arguments[1].size
    moved = int(kernel.work.loaded.sum()) + sum(t.bytes for t in kernel.traffic if t.block.array.size == pool)
    pages = sum(-(-length // page) for length in lengths)
    check.at_most(moved, 2 * kv_heads * pages * page * depth * 4, "bytes of keys and values that are fetched")
    tied.computes(rng, got, arguments, reference.paged_attention, "paged_attention", ulps=64)


@number("6.10")
@limits(answer_mib=24)  # patterns travel with the program
@weight(1)
@hint("The interpreter's message says which block, in which step; that of lowering, which block is not legal.")
def test_splash_and_paged_attention_on_a_simulated_tpu(student, rng):
    """splash attention on the simulated TPU; both kernels lowered for a real one"""
    mask = reference.causal_mask(256, 384)
    q, k, v = generators.heads(rng, 1, 256, 384, 64)
    segments = [np.zeros(256, np.int32), np.zeros(384, np.int32)]
    options = {"block_q": 128, "block_kv": 128, "mask": mask}
    got = student(judge.results, "splash.splash_attention", [q, k, v], options, {"seed": 3})
    judge.close(got.value, reference.attention(q, k, v, mask), "the output", ulps=64)
    for extra in ({}, {"segments": segments}):
        message = student(judge.lowering_of, "splash.splash_attention", [q, k, v], {**options, **extra})
        judge.lowers(message, "splash_attention")
    arguments = generators.paged(rng, [40, 3], 2, 2, 16, 128)
    judge.lowers(student(judge.lowering_of, "decode.paged_attention", arguments, {}), "paged_attention")
