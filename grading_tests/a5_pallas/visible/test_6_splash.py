"""Part 6: splash attention and paged attention."""

from __future__ import annotations

from functools import partial

import msgspec
import numpy as np
import pytest
from given_pallas_kernels import reference

from autograder.kit import check, hint, limits, number, probe, weight

import generators
import judge
import tied

SKIP, PARTIAL, FULL = 0, 1, 2


class Tables(msgspec.Struct, frozen=True):
    """What mask_info says; the patterns are packed, eight places to a byte."""

    kinds: np.ndarray
    next_kv: np.ndarray
    next_pattern: np.ndarray
    patterns: np.ndarray
    count: int


@probe
def tables(mask, block_q, block_kv) -> Tables:
    """mask_info of a mask (which comes packed: its shape, and eight places to a byte)."""
    import numpy as np

    from pallas_kernels.splash import mask_info

    shape, packed = mask
    whole = np.unpackbits(packed, count=shape[0] * shape[1]).reshape(shape).astype(bool)
    info = mask_info(whole, block_q, block_kv)
    patterns = np.asarray(info.patterns).astype(bool)
    return {
        "kinds": np.asarray(info.kinds),
        "next_kv": np.asarray(info.next_kv),
        "next_pattern": np.asarray(info.next_pattern),
        "patterns": np.packbits(patterns),
        "count": int(patterns.shape[0]),
    }


def packed(mask):
    """A mask as it travels."""
    return [list(mask.shape), np.packbits(mask)]


def blocks_of(mask, block_q, block_kv):
    """The mask as [rows, columns, block_q, block_kv]."""
    rows, columns = (size // block for size, block in zip(mask.shape, (block_q, block_kv), strict=True))
    return mask.reshape(rows, block_q, columns, block_kv).swapaxes(1, 2)


def judge_tables(got, mask, block_q, block_kv):
    """Kinds are right, patterns are the different partial blocks, and the walk moves no block for nothing."""
    blocks = blocks_of(mask, block_q, block_kv)
    want = np.where(blocks.all((2, 3)), FULL, np.where(blocks.any((2, 3)), PARTIAL, SKIP))
    check.equal(got.kinds.tolist(), want.tolist(), "kinds")
    different = {blocks[place].tobytes() for place in zip(*np.nonzero(want == PARTIAL), strict=True)}
    check.equal(got.count, len(different), "the number of patterns")
    for name, table in (("next_kv", got.next_kv), ("next_pattern", got.next_pattern)):
        check.that(
            table.shape == want.shape and table.dtype == np.int32,
            f"shape and dtype of {name}",
            expected=f"i32{list(want.shape)}",
            got=f"{table.dtype}{list(table.shape)}",
        )
    columns = np.broadcast_to(np.arange(want.shape[1]), want.shape)
    computed = want != SKIP
    check.equal(got.next_kv[computed].tolist(), columns[computed].tolist(), "next_kv where the step computes")
    walk(got.next_kv, computed, want.shape[1], "next_kv")
    size = got.count * block_q * block_kv
    check.that(len(got.patterns) == -(-size // 8), "the patterns' shape", expected=f"{size} places", got="another")
    patterns = np.unpackbits(got.patterns, count=size).reshape(-1, block_q, block_kv).astype(bool)
    walk(got.next_pattern, want == PARTIAL, max(got.count, 1), "next_pattern")
    for place in zip(*np.nonzero(want == PARTIAL), strict=True):
        check.that(
            np.array_equal(patterns[got.next_pattern[place]], blocks[place]),
            f"the pattern that next_pattern names at {[int(i) for i in place]}",
            expected="that of the mask's block",
            got="another",
        )


def walk(table, wanted, limit, name):
    """Row by row, a table changes only to what some step wants (and perhaps once more behind the last)."""
    check.that(
        bool(((table >= 0) & (table < limit)).all()),
        f"the range of {name}",
        expected=f"0 to {limit - 1}",
        got="not",
    )
    flat = table.ravel()
    moved = 1 + int((np.diff(flat) != 0).sum())
    needed = flat[wanted.ravel()]
    least = 1 + int((np.diff(needed) != 0).sum()) if len(needed) else 1
    check.at_most(moved, least + 1, f"how many blocks the walk over {name} fetches, row by row")


@number("6.1")
@weight(2)
@hint("Skip, partial, full are 0, 1, 2; equal partial blocks share a pattern; skipped steps fetch nothing new.")
def test_mask_info(student, rng):
    """mask_info: the causal mask of 64 in blocks of 16, windows, and drawn masks"""
    causal = reference.causal_mask(64, 64)
    got = student(tables, packed(causal), 16, 16)
    check.equal(got.kinds.tolist(), [[1, 0, 0, 0], [2, 1, 0, 0], [2, 2, 1, 0], [2, 2, 2, 1]], "kinds, causal")
    check.equal(got.count, 1, "the number of patterns of a causal mask")
    judge_tables(got, causal, 16, 16)
    drawn = [generators.block_mask(rng, 5, 4, 16, 32) for _ in range(3)]
    for mask in (reference.window_mask(96, 40), np.ones((64, 64), bool), *drawn):
        judge_tables(student(tables, packed(mask), 16, 32), mask, 16, 32)


@number("6.2")
@weight(1)
@hint("Raise errors.EmptyRowError(row) for the first query that sees no key: its softmax would be 0 / 0.")
def test_rows_that_see_nothing_are_refused(student, rng):
    """a query that sees no key is an error"""
    mask = generators.block_mask(rng, 4, 4, 16, 16)
    rows = np.sort(rng.choice(64, size=2, replace=False))
    mask[rows] = False
    check.raised(student.error(tables, packed(mask), 16, 16), "EmptyRowError", row=int(rows[0]))


@number("6.3")
@weight(1)
@hint("Blocks need not be square: compare what a block shows, not where it lies.")
def test_the_lectures_mask(student):
    """causal 4096 × 4096 in blocks of 1024 × 2048: 6 of 8 blocks are computed, with 2 patterns"""
    mask = reference.causal_mask(4096, 4096)
    got = student(tables, packed(mask), 1024, 2048)
    check.equal(int((got.kinds != SKIP).sum()), 6, "blocks that are computed")
    check.equal(got.count, 2, "the number of patterns")
    judge_tables(got, mask, 1024, 2048)


BLOCKS = {"block_q": 128, "block_kv": 128}


def splash(student, arrays, options, how=judge.MATHEMATICS):
    """splash_attention on these arrays."""
    return student(judge.results, "splash.splash_attention", arrays, options, how)


@number("6.4")
@limits(answer_mib=24)  # patterns travel with the program
@weight(2)
@hint("A partial block takes the pattern that next_pattern names; pieces bound the scores. Handout, part 6.")
@pytest.mark.parametrize("kind", ["causal", "window", "drawn"])
def test_splash_attention(student, rng, kind):
    """splash attention: causal, a local window (in pieces of a block), and a drawn mask"""
    mask = {
        "causal": lambda: reference.causal_mask(384, 512),
        "window": lambda: reference.window_mask(512, 150),
        "drawn": lambda: generators.block_mask(rng, 3, 4, 128, 128),
    }[kind]()
    q, k, v = generators.heads(rng, 2, *mask.shape, 64)
    options = {**BLOCKS, "block_kv": 256, "block_kv_compute": 128} if kind == "window" else BLOCKS
    got = splash(student, [q, k, v], {**options, "mask": mask})
    judge.close(got.value, reference.attention(q, k, v, mask), "the output", ulps=64)
    for kernel in judge.only_kernels(judge.measured(got.program, "splash_attention"), "splash_attention"):
        scores = kernel.work.widest_dot
        if kind == "window":
            check.at_most(scores.size, 128 * 128, f"elements of the largest product in the kernel, {scores}")
    rule = partial(reference.attention, mask=mask)
    tied.computes(rng, got.program, [q, k, v], rule, "splash_attention", ulps=64)


@number("6.5")
@limits(answer_mib=24)  # patterns travel with the program
@weight(1)
@hint(
    "A query sees a key if the mask shows it and both are of one segment: compare the two, in full blocks as well."
)
def test_segments(student, rng):
    """splash attention over packed sequences"""
    mask = reference.causal_mask(256, 256)
    segments = generators.segments(rng, 256, 4)
    q, k, v = generators.heads(rng, 2, 256, 256, 64)
    got = splash(student, [q, k, v], {**BLOCKS, "mask": mask, "segments": [segments] * 2})
    want = reference.attention(q, k, v, mask & (segments[:, None] == segments))
    judge.close(got.value, want, "the output", ulps=64)


@number("6.6")
@weight(2)
@hint(
    "Behind a sequence's last page the table holds garbage, which an index map that follows it takes for a page: "
    "clamp the position in the table. Handout, part 6, pages."
)
def test_paged_attention(student, rng):
    """paged attention: sequences of different lengths, garbage where nothing is to be read, and is not fetched"""
    lengths = [1, int(rng.integers(17, 31)), 48]
    arguments = generators.paged(rng, lengths, 2, 2, 16, 32)
    got = student(judge.results, "decode.paged_attention", arguments, {}, {"seed": 1})
    judge.close(got.value, reference.paged_attention(*arguments), "the output", ulps=64)
    report = judge.measured(got.program, "paged_attention")
    judge.only_kernels(report, "paged_attention")
    judge.legal(report, "paged_attention")
    fetched = sum(t.moves for k in report.kernels for t in k.traffic if t.block.array.size == arguments[1].size)
    pages = sum(-(-length // 16) for length in lengths)
    check.at_most(fetched, 2 * 2 * pages, "pages of keys and values that are fetched, for two heads of each")
    tied.computes(rng, got.program, arguments, reference.paged_attention, "paged_attention", ulps=64)
