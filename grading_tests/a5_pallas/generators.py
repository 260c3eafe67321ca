"""Hard inputs for kernels: shapes that no block divides, masks, tables of pages. All from the run's seed."""

from __future__ import annotations

import ml_dtypes
import numpy as np

BFLOAT16 = ml_dtypes.bfloat16


def normal(rng: np.random.Generator, *shape: int, dtype: object = np.float32) -> np.ndarray:
    """A normally distributed array."""
    return rng.normal(size=shape).astype(dtype)


def ragged(rng: np.random.Generator, low: int, high: int, multiple: int = 8) -> int:
    """A size from `low` to `high` that is no multiple of `multiple`."""
    while True:
        size = int(rng.integers(low, high + 1))
        if size % multiple:
            return size


def heads(
    rng: np.random.Generator, count: int, queries: int, keys: int, depth: int, dtype: object = np.float32
) -> list[np.ndarray]:
    """q, k and v of an attention."""
    return [normal(rng, count, length, depth, dtype=dtype) for length in (queries, keys, keys)]


def block_mask(rng: np.random.Generator, rows: int, columns: int, block_q: int, block_kv: int) -> np.ndarray:
    """A mask of empty, full and mixed blocks, the mixed ones of few patterns; every query sees a key."""
    patterns = rng.random((3, block_q, block_kv)) < 0.5
    patterns[:, :, 0] = True
    kinds = rng.integers(0, 3, size=(rows, columns))
    kinds[np.arange(rows), rng.integers(0, columns, size=rows)] = rng.integers(1, 3, size=rows)
    kinds[0, :2] = (0, 1)  # an empty block comes first
    mask = np.zeros((rows, block_q, columns, block_kv), bool)
    for place in np.ndindex(rows, columns):
        i, j = place
        if kinds[place]:
            mask[i, :, j, :] = True if kinds[place] == 2 else patterns[rng.integers(0, 3)]
    return mask.reshape(rows * block_q, columns * block_kv)


def segments(rng: np.random.Generator, length: int, count: int) -> np.ndarray:
    """Segment numbers of a packed sequence, int32[length]."""
    cuts = np.sort(rng.choice(np.arange(1, length), size=count - 1, replace=False))
    return np.searchsorted(cuts, np.arange(length), side="right").astype(np.int32)


def paged(
    rng: np.random.Generator, lengths: list[int], kv_heads: int, group: int, page: int, depth: int
) -> list[np.ndarray]:
    """q, k_pages, v_pages, page_table and lengths, with garbage wherever nothing is to be read."""
    most = max(-(-length // page) for length in lengths) + 1
    pages = len(lengths) * most
    k, v = (normal(rng, kv_heads, pages, page, depth) for _ in range(2))
    table = rng.permutation(pages).reshape(len(lengths), most).astype(np.int32)
    for row, length in enumerate(lengths):
        used = -(-length // page)
        rest = table[row, used - 1]
        for array in (k, v):
            array[:, rest, (length - 1) % page + 1 :] = np.nan
            array[:, table[row, used:]] = np.nan
        table[row, used:] = rng.choice([-1, 2**30, pages])
    q = normal(rng, len(lengths), kv_heads * group, depth)
    return [q, k, v, table, np.array(lengths, np.int32)]
