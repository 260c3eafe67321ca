"""Tiles and pipelines: how large blocks should be, and the double buffering that `pallas_call` does, by hand.

A block of a product computes 2·bm·bk·bn operations on (bm + bn)·bk fetched elements, so its intensity grows with
the block and not with K. Blocks are bounded by VMEM, which holds two of each: while one is worked on, the next
arrives.
"""

from __future__ import annotations

from dataclasses import dataclass

import jax
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from .chips import Chip
from .interpreters import MATHEMATICS, Interpret


@dataclass(frozen=True)
class TileStats:
    """`intensity` in FLOPs for each byte fetched, `vmem_bytes` held."""

    intensity: float
    vmem_bytes: int


def tile_stats(bm: int, bk: int, bn: int, *, in_bytes: int = 2, out_bytes: int = 2) -> TileStats:
    """What blocks a[bm, bk], b[bk, bn] and y[bm, bn] of a matrix product mean.

    The intensity of a step: 2·bm·bk·bn FLOPs over the bytes of the two input blocks. VMEM holds both input blocks
    and the output block twice, and a float32 accumulator once. `in_bytes` and `out_bytes` are bytes of an element.
    """
    # about 5 lines
    raise NotImplementedError("a5.7: tile_stats")


def choose_tiles(shape: tuple[int, int, int], in_bytes: int, chip: Chip) -> tuple[int, int, int]:
    """The blocks `(bm, bk, bn)` for a product of `shape` = (M, K, N) that give the fewest grid steps on a chip.

    A block's size is a multiple of 128, or the whole dimension. By `tile_stats` (with `out_bytes` = `in_bytes`)
    the blocks fit into the chip's VMEM, and their intensity is at least the chip's ridge if that of any fitting
    blocks is. Steps are ⌈M/bm⌉·⌈K/bk⌉·⌈N/bn⌉.
    """
    # about 10 lines
    raise NotImplementedError("a5.7: choose_tiles")


CHUNK = 64
"""Rows that `add_manual_dma` copies at a time."""


def add_manual_dma(x: jax.Array, y: jax.Array, *, interpret: Interpret = MATHEMATICS) -> jax.Array:
    """x + y for x, y[M, N], float32, M a multiple of `CHUNK`: double buffering by hand.

    One kernel without a grid. All three arrays stay in HBM (`pl.BlockSpec(memory_space=pl.ANY)`). VMEM scratch
    holds two chunks of each; while the kernel adds one chunk, the next one of x and y is on its way, and so is
    the last sum on its way out. Every copy that is started is waited for, once; before anything touches its
    buffer again.
    """
    # about 41 lines
    raise NotImplementedError("a5.7: add_manual_dma")
