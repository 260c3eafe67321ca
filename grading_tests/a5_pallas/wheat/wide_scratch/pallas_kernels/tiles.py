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
    ### BEGIN SOLUTION a5.7: tile_stats
    fetched = (bm * bk + bk * bn) * in_bytes
    return TileStats(
        intensity=2 * bm * bk * bn / fetched,
        vmem_bytes=2 * fetched + 2 * bm * bn * out_bytes + 4 * bm * bn,
    )
    ### END SOLUTION


def choose_tiles(shape: tuple[int, int, int], in_bytes: int, chip: Chip) -> tuple[int, int, int]:
    """The blocks `(bm, bk, bn)` for a product of `shape` = (M, K, N) that give the fewest grid steps on a chip.

    A block's size is a multiple of 128, or the whole dimension. By `tile_stats` (with `out_bytes` = `in_bytes`)
    the blocks fit into the chip's VMEM, and their intensity is at least the chip's ridge if that of any fitting
    blocks is. Steps are ⌈M/bm⌉·⌈K/bk⌉·⌈N/bn⌉.
    """
    ### BEGIN SOLUTION a5.7: choose_tiles
    sizes = [np.unique(np.minimum(size, np.arange(128, size + 128, 128))) for size in shape]
    tiles = np.meshgrid(*sizes, indexing="ij")
    stats = tile_stats(*tiles, in_bytes=in_bytes, out_bytes=in_bytes)
    steps = np.prod([-(-size // tile) for size, tile in zip(shape, tiles, strict=True)], axis=0)
    fits = np.asarray(stats.vmem_bytes <= chip.vmem_bytes)
    reaches = fits & (stats.intensity >= chip.ridge)
    allowed = reaches if reaches.any() else fits
    best = np.argmin(np.where(allowed, steps, np.inf))
    bm, bk, bn = (int(tile.flat[best]) for tile in tiles)
    return bm, bk, bn
    ### END SOLUTION


CHUNK = 64
"""Rows that `add_manual_dma` copies at a time."""


def add_manual_dma(x: jax.Array, y: jax.Array, *, interpret: Interpret = MATHEMATICS) -> jax.Array:
    """x + y for x, y[M, N], float32, M a multiple of `CHUNK`: double buffering by hand.

    One kernel without a grid. All three arrays stay in HBM (`pl.BlockSpec(memory_space=pl.ANY)`). VMEM scratch
    holds two chunks of each; while the kernel adds one chunk, the next one of x and y is on its way, and so is
    the last sum on its way out. Every copy that is started is waited for, once; before anything touches its
    buffer again.
    """
    ### BEGIN SOLUTION a5.7: add_manual_dma
    steps = x.shape[0] // CHUNK

    def kernel(x_hbm, y_hbm, z_hbm, x_buffer, y_buffer, z_buffer, arrived, left):
        def loads(step):
            slot, rows = lax.rem(step, 3), pl.ds(step * CHUNK, CHUNK)
            return [
                pltpu.make_async_copy(source.at[rows], target.at[slot], arrived.at[slot])
                for source, target in ((x_hbm, x_buffer), (y_hbm, y_buffer))
            ]

        def store(step):
            slot = lax.rem(step, 2)
            return pltpu.make_async_copy(z_buffer.at[slot], z_hbm.at[pl.ds(step * CHUNK, CHUNK)], left.at[slot])

        def start(step):
            @pl.when(step < steps)
            def _():
                for load in loads(step):
                    load.start()

        start(0)
        start(1)

        def body(step, carry):
            for load in loads(step):
                load.wait()
            start(step + 2)

            @pl.when(step >= 2)
            def _():
                store(step - 2).wait()

            z_buffer[lax.rem(step, 2)] = x_buffer[lax.rem(step, 3)] + y_buffer[lax.rem(step, 3)]
            store(step).start()
            return carry

        lax.fori_loop(0, steps, body, 0)

        @pl.when(steps >= 2)
        def _():
            store(max(steps - 2, 0)).wait()

        store(steps - 1).wait()

    anywhere = pl.BlockSpec(memory_space=pl.ANY)
    two, three = (pltpu.VMEM((slots, CHUNK, x.shape[1]), x.dtype) for slots in (2, 3))
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        in_specs=[anywhere, anywhere],
        out_specs=anywhere,
        scratch_shapes=[three, three, two, pltpu.SemaphoreType.DMA((3,)), pltpu.SemaphoreType.DMA((2,))],
        interpret=interpret,
    )(x, y)
    ### END SOLUTION
