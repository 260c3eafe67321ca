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
    # about 23 lines
    raise NotImplementedError("a5.6: mask_info")


# a5.6: room for your helpers (about 7 lines)


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
    # about 53 lines
    raise NotImplementedError("a5.6: splash_attention")


# a5.6: room for the online softmax (about 12 lines)
