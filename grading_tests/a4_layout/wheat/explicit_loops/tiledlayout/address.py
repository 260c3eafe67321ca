"""Addresses by recursion: what the first tile does to an index, then the rest of the tiles on what comes out."""

from __future__ import annotations

import numpy as np

from .errors import OutOfBoundsError


def merge(sizes, tile, values=None):
    """Sizes (and values) after putting ones in front and merging what stars merge; and how they were merged."""
    missing = max(0, len(tile) - len(sizes))
    sizes = [1] * missing + list(sizes)
    values = None if values is None else [0] * missing + list(values)
    outside = len(sizes) - len(tile)
    runs = [[i] for i in range(outside)]
    run = []
    for i, entry in enumerate(tile):
        run.append(outside + i)
        if entry != "*":
            runs.append(run)
            run = []
    out_sizes, out_values = [], []
    for run in runs:
        size, value = 1, 0
        for i in run:
            size *= sizes[i]
            if values is not None:
                value = value * sizes[i] + values[i]
        out_sizes.append(size)
        out_values.append(value)
    return out_sizes, out_values, runs, sizes, missing


def split(sizes, tile):
    """The sizes after a tile, whose stars are gone; the numbers of the tile."""
    numbers = [entry for entry in tile if entry != "*"]
    outside = len(sizes) - len(numbers)
    counts = []
    for i, t in enumerate(numbers):
        full, rest = divmod(sizes[outside + i], t)
        counts.append(full + 1 if rest else full)
    return sizes[:outside], counts, numbers


def shape_after(sizes, tiles):
    """The shape after all of these tiles."""
    if not tiles:
        return list(sizes)
    merged, _, _, _, _ = merge(sizes, tiles[0])
    outside, counts, numbers = split(merged, tiles[0])
    return shape_after(outside + counts + numbers, tiles[1:])


def place(sizes, values, tiles):
    """The slot of an index."""
    if not tiles:
        slot = 0
        for i in range(len(sizes)):
            slot = slot * sizes[i] + values[i]
        return slot
    merged, values, _, _, _ = merge(sizes, tiles[0], values)
    outside, counts, numbers = split(merged, tiles[0])
    first = len(outside)
    tile_values, inside_values = [], []
    for i in range(len(numbers)):
        tile_values.append(values[first + i] // numbers[i])
        inside_values.append(values[first + i] - tile_values[i] * numbers[i])
    return place(outside + counts + numbers, values[:first] + tile_values + inside_values, tiles[1:])


def find(sizes, slot, tiles):
    """The index in a slot, and whether it is one."""
    if not tiles:
        values = []
        for size in reversed(sizes[1:]):
            values.append(slot % size if size else slot)
            slot = slot // size if size else slot
        if sizes:
            values.append(slot)
        return values[::-1], np.ones(np.shape(slot), bool)
    merged, _, runs, unmerged, missing = merge(sizes, tiles[0])
    outside, counts, numbers = split(merged, tiles[0])
    values, good = find(outside + counts + numbers, slot, tiles[1:])
    first, rank = len(outside), len(numbers)
    for i in range(rank):
        values[first + i] = values[first + i] * numbers[i] + values[first + rank + i]
    original = [None] * len(unmerged)
    for value, size, run in zip(values[: first + rank], merged, runs, strict=True):
        good = good & (value < size)
        for i in reversed(run[1:]):
            original[i] = value % max(1, unmerged[i])
            value = value // max(1, unmerged[i])
        original[run[0]] = value
    return original[missing:], good


def physical(layout):
    """Sizes in physical order."""
    return [layout.dims[dim] for dim in reversed(layout.minor_to_major)]


def physical_shape(layout):
    """The shape after all tiles."""
    return tuple(shape_after(physical(layout), layout.tiles))


def linear_index(layout, index):
    """The slot of each element."""
    index = np.asarray(index)
    index = index.astype(np.int64) if index.size else np.zeros(index.shape, np.int64)
    if index.ndim == 0 or index.shape[-1] != layout.rank:
        raise OutOfBoundsError(index.shape[-1:], (layout.rank,))
    for dim, size in enumerate(layout.dims):
        bad = (index[..., dim] < 0) | (index[..., dim] >= size)
        if bad.any():
            everywhere = ((index < 0) | (index >= np.array(layout.dims))).any(axis=-1)
            raise OutOfBoundsError(index[everywhere][0], layout.dims)
    values = [index[..., dim] for dim in reversed(layout.minor_to_major)]
    slots = place(physical(layout), values, layout.tiles)
    return np.array(np.broadcast_to(slots, index.shape[:-1]), np.int64)


def delinearize(layout, offset):
    """The element in each slot, and whether there is one."""
    offset = np.array(offset, np.int64)
    total = 1
    for size in physical_shape(layout):
        total *= size
    padded = total
    while padded % layout.tail_alignment:
        padded += 1
    wrong = (offset < 0) | (offset >= padded)
    if wrong.any():
        raise OutOfBoundsError((offset[wrong].reshape(-1)[0],), (padded,))
    values, good = find(physical(layout), offset % max(total, 1), layout.tiles)
    good = np.broadcast_to(good & (offset < total), offset.shape)
    index = np.full((*offset.shape, layout.rank), -1, np.int64)
    for dim, value in zip(reversed(layout.minor_to_major), values, strict=True):
        index[..., dim] = np.where(good, value, -1)
    return index, good
