"""Splash attention: flash attention that leaves out the blocks of a mask in which nothing is visible.

`mask_info` looks at a mask once, when the kernel is traced: which blocks are empty (skip), mixed (partial) or
all visible (full), and the different patterns of the mixed ones. The kernel gets these tables as *prefetched
scalars*: they lie in SMEM, the kernel branches on them, and index maps read them. A step that is skipped names
the block that the next working step needs, so it fetches nothing for itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from .errors import EmptyRowError
from .interpreters import MATHEMATICS, Interpret

SKIP, PARTIAL, FULL = 0, 1, 2


@dataclass(frozen=True)
class MaskInfo:
    """A mask in blocks: tables with a row for each block of queries, a column for each block of keys.

    `kinds`: int32, SKIP, PARTIAL or FULL. `next_kv`: int32, the block of keys that VMEM must hold at this step:
    its own if the step computes, else one that lets the walk over the table, row by row, fetch no block that is
    not computed. `patterns`: bool[n, block_q, block_kv], the different partial blocks. `next_pattern`: int32, in
    the same way, the pattern that VMEM must hold.
    """

    kinds: np.ndarray
    next_kv: np.ndarray
    next_pattern: np.ndarray
    patterns: np.ndarray


def mask_info(mask: np.ndarray, block_q: int, block_kv: int) -> MaskInfo:
    """Classify the blocks of mask[Lq, Lk], True where a query sees a key; the block sizes divide the lengths.

    Raises `EmptyRowError` for a query that sees no key: its softmax would be 0 / 0.
    """
    ### BEGIN SOLUTION a5.6: mask_info
    unseeing = np.flatnonzero(~mask.any(axis=1))
    if len(unseeing):
        raise EmptyRowError(int(unseeing[0]))
    rows, columns = mask.shape[0] // block_q, mask.shape[1] // block_kv
    blocks = mask.reshape(rows, block_q, columns, block_kv).swapaxes(1, 2)
    some, every = blocks.any(axis=(2, 3)), blocks.all(axis=(2, 3))
    kinds = np.where(every, FULL, np.where(some, PARTIAL, SKIP)).astype(np.int32)

    known: dict[bytes, int] = {}
    pattern = np.zeros_like(kinds)
    patterns: list[np.ndarray] = []
    for place in zip(*np.nonzero(kinds == PARTIAL), strict=True):
        content = blocks[place].tobytes()
        if content not in known:
            known[content] = len(patterns)
            patterns.append(blocks[place])
        pattern[place] = known[content]
    own_kv = np.broadcast_to(np.arange(columns, dtype=np.int32), kinds.shape)
    return MaskInfo(
        kinds,
        _next(own_kv, kinds != SKIP),
        _next(pattern, kinds == PARTIAL),
        np.array(patterns, bool).reshape(-1, block_q, block_kv),
    )
    ### END SOLUTION


### BEGIN SOLUTION a5.6: room for your helpers
def _next(table: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """For each place the entry of the last wanted place up to it; before the first one, the first."""
    places = np.flatnonzero(wanted)
    if not len(places):
        return np.zeros_like(table)
    last = (np.searchsorted(places, np.arange(table.size), side="right") - 1).clip(min=0)
    return table.ravel()[places[last]].reshape(table.shape)


### END SOLUTION


def active(mask, block_q, block_kv):
    """For each row of blocks: kinds and numbers of those that are computed, how many, and their patterns."""
    info = mask_info(mask, block_q, block_kv)
    counts = (info.kinds != SKIP).sum(axis=1).astype(np.int32)
    lists, kinds, which = (np.zeros((len(counts), counts.max()), np.int32) for _ in range(3))
    for i, count in enumerate(counts):
        (blocks,) = np.nonzero(info.kinds[i])
        lists[i, :count] = blocks
        kinds[i, :count] = info.kinds[i, blocks]
        which[i, :count] = info.next_pattern[i, blocks]
    patterns = info.patterns if len(info.patterns) else np.zeros((1, block_q, block_kv), bool)
    return kinds, lists, counts, which, patterns.astype(np.int8)


def splash_attention(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    mask: np.ndarray,
    *,
    segments: tuple[jax.Array, jax.Array] | None = None,
    scale: float | None = None,
    block_q: int = 512,
    block_kv: int = 1024,
    block_kv_compute: int | None = None,
    interpret: Interpret = MATHEMATICS,
) -> jax.Array:
    """softmax(scale·q·kᵀ)·v over what `mask` shows: q[H, Lq, D], k and v[H, Lk, D], the result like q.

    `mask` is a NumPy array bool[Lq, Lk], the same for all heads, with something visible in every row. `segments`
    are int32[Lq] and int32[Lk]: where given, a query also sees only keys of its own segment, of which there is at
    least one. Block sizes divide the lengths. `block_kv_compute` divides `block_kv`: a block of keys is fetched
    at once, and worked through in pieces of this size, so that no score matrix is wider. Skipped blocks are
    neither fetched nor computed. float32 or bfloat16, sums in float32.
    """
    ### BEGIN SOLUTION a5.6: splash_attention
    heads, queries, depth = q.shape
    piece = block_kv_compute or block_kv
    scale = depth**-0.5 if scale is None else scale
    kinds, lists, counts, which, patterns = active(mask, block_q, block_kv)

    def kernel(kinds_ref, lists_ref, counts_ref, which_ref, q_ref, k_ref, v_ref, pattern_ref, *refs):
        *segment_refs, o_ref, m_ref, l_ref, sum_ref = refs
        i, place = pl.program_id(1), pl.program_id(2)

        @pl.when(place == 0)
        def _():
            m_ref[...] = jnp.full_like(m_ref, -jnp.inf)
            l_ref[...] = jnp.zeros_like(l_ref)
            sum_ref[...] = jnp.zeros_like(sum_ref)

        @pl.when(place < counts_ref[i])
        def _():
            full = kinds_ref[i, place] == FULL

            def body(n, carry):
                part = pl.ds(n * piece, piece)
                s = _dot(q_ref[...], k_ref[part, :], 1) * scale
                s = jnp.where(full | (pattern_ref[:, part] != 0), s, -jnp.inf)
                if segment_refs:
                    q_segment, kv_segment = segment_refs
                    s = jnp.where(q_segment[...] == kv_segment[:, part], s, -jnp.inf)
                _update(s, v_ref[part, :], m_ref, l_ref, sum_ref)
                return carry

            lax.fori_loop(0, block_kv // piece, body, 0)

        @pl.when(place == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = (sum_ref[...] / l_ref[...]).astype(o_ref.dtype)

    def here(i, place, lists_ref, counts_ref):
        return lists_ref[i, jnp.minimum(place, counts_ref[i] - 1)]

    rows = pl.BlockSpec((None, block_q, depth), lambda h, i, p, *_: (h, i, 0))
    keys = pl.BlockSpec((None, block_kv, depth), lambda h, i, p, k, l, c, w: (h, here(i, p, l, c), 0))
    specs = [rows, keys, keys, pl.BlockSpec((None, block_q, block_kv), lambda h, i, p, k, l, c, w: (w[i, p], 0, 0))]
    inputs = [q, k, v, patterns]
    if segments is not None:
        inputs += [segments[0][:, None], segments[1][None, :]]
        specs.append(pl.BlockSpec((block_q, 1), lambda h, i, p, *_: (i, 0)))
        specs.append(pl.BlockSpec((1, block_kv), lambda h, i, p, k, l, c, w: (0, here(i, p, l, c))))
    column = pltpu.VMEM((block_q, 1), jnp.float32)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=4,
            grid=(heads, queries // block_q, lists.shape[1]),
            in_specs=specs,
            out_specs=rows,
            scratch_shapes=[column, column, pltpu.VMEM((block_q, depth), jnp.float32)],
        ),
        interpret=interpret,
    )(kinds, lists, counts, which, *inputs)
    ### END SOLUTION


### BEGIN SOLUTION a5.6: room for the online softmax
def _dot(a, b, axis):
    """A product in float32 that contracts the last axis of a with an axis of b."""
    return lax.dot_general(a, b, (((1,), (axis,)), ((), ())), preferred_element_type=jnp.float32)


def _update(s, v, m_ref, l_ref, sum_ref):
    """Take scores and values of some more keys into the running maximum, sum and weighted sum."""
    m_old = m_ref[...]
    m_new = jnp.maximum(m_old, jnp.max(s, axis=1, keepdims=True))
    shift = jnp.where(m_new == -jnp.inf, 0, m_new)  # nothing seen yet
    p, rescale = jnp.exp(s - shift), jnp.exp(m_old - shift)
    l_ref[...] = l_ref[...] * rescale + jnp.sum(p, axis=1, keepdims=True)
    sum_ref[...] = sum_ref[...] * rescale + _dot(p.astype(v.dtype), v, 0)
    m_ref[...] = m_new


### END SOLUTION
