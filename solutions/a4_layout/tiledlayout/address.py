"""Addresses: in which slot of memory an element lies, and which element lies in a slot.

A layout is a chain of shapes. It starts with the array's dimensions in physical order. Each tile
takes the last dimensions of the *whole current shape* and replaces each of them, of size n, by
⌈n/t⌉ (which tile) and t (where in the tile): first all the tile counts, then all the tile
dimensions. An index takes the same road as the shape, by division with remainder. The last shape
is stored row by row.

A `Level` is one tile on one shape; `levels` is the chain. Packing and padding use them, too.

The invariant: every element has a slot of its own, and a slot without an element is padding.
Slots are counted in elements, not bytes. Nothing here ever allocates the array.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .errors import OutOfBoundsError
from .layout import STAR, ArrayLayout


@dataclass(frozen=True)
class Level:
    """One tile applied to one shape.

    `before`: the shape, with `ones` ones in front if the tile has more dimensions than it.
    `groups`: for each dimension after merging by `*`, how many of `before` are merged into it.
    `tile`: the tile's numbers, which apply to the last dimensions after merging.

    f32[2,3,4]{2,1,0:T(*,2)}: before (2, 3, 4), ones 0, groups (1, 2), tile (2,); merged (2, 12),
    padded (2, 12), after (2, 6, 2).
    """

    before: tuple[int, ...]
    ones: int
    groups: tuple[int, ...]
    tile: tuple[int, ...]

    @property
    def fixed(self) -> int:
        """How many dimensions stay outside the tile."""
        return len(self.groups) - len(self.tile)

    @property
    def merged(self) -> tuple[int, ...]:
        """The shape after merging."""
        ### BEGIN SOLUTION a4.2: the product of each group
        sizes = iter(self.before)
        return tuple(math.prod(itertools.islice(sizes, count)) for count in self.groups)
        ### END SOLUTION

    @property
    def counts(self) -> tuple[int, ...]:
        """How many tiles there are along each tiled dimension, the last one maybe not full."""
        ### BEGIN SOLUTION a4.2: sizes over tile sizes, rounded up
        return tuple(-(-size // t) for size, t in zip(self.merged[self.fixed :], self.tile, strict=True))
        ### END SOLUTION

    @property
    def padded(self) -> tuple[int, ...]:
        """The shape after merging, the tiled dimensions rounded up to whole tiles."""
        ### BEGIN SOLUTION a4.2: counts times tile sizes
        whole = (count * t for count, t in zip(self.counts, self.tile, strict=True))
        return self.merged[: self.fixed] + tuple(whole)
        ### END SOLUTION

    @property
    def after(self) -> tuple[int, ...]:
        """The shape after the tile."""
        ### BEGIN SOLUTION a4.2: all counts, then all tile sizes
        return self.merged[: self.fixed] + self.counts + self.tile
        ### END SOLUTION

    def forward(self, coordinates: list[np.ndarray]) -> list[np.ndarray]:
        """An index into `before`, less the ones, becomes one into `after`: one array for each dimension."""
        ### BEGIN SOLUTION a4.2: ones in front, merge, divide with remainder
        rest = [np.zeros((), np.int64)] * self.ones + coordinates
        sizes = self.before
        merged = []
        for count in self.groups:
            merged.append(_ravel(rest[:count], sizes[:count]))
            rest, sizes = rest[count:], sizes[count:]
        tiled = merged[self.fixed :]
        which = [coordinate // t for coordinate, t in zip(tiled, self.tile, strict=True)]
        where = [coordinate % t for coordinate, t in zip(tiled, self.tile, strict=True)]
        return merged[: self.fixed] + which + where
        ### END SOLUTION

    def backward(self, coordinates: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
        """The way back, and a bool array: whether there is anything but padding at this index."""
        ### BEGIN SOLUTION a4.2: multiply and add, compare with the size, split what was merged
        rank = len(self.tile)
        which, where = coordinates[self.fixed : self.fixed + rank], coordinates[self.fixed + rank :]
        tiled = [c * t + w for c, t, w in zip(which, self.tile, where, strict=True)]
        inside = np.asarray(True)
        split: list[np.ndarray] = []
        sizes = self.before
        for coordinate, size, count in zip(
            coordinates[: self.fixed] + tiled, self.merged, self.groups, strict=True
        ):
            inside = inside & (coordinate < size)
            split += _unravel(coordinate, sizes[:count])
            sizes = sizes[count:]
        return split[self.ones :], inside
        ### END SOLUTION


def levels(layout: ArrayLayout) -> list[Level]:
    """The chain of a layout, one level for each tile; each starts from the shape after the one before."""
    ### BEGIN SOLUTION a4.2: ones in front, a group for each number of the tile
    shape = tuple(layout.dims[dim] for dim in layout.major_to_minor)
    chain = []
    for tile in layout.tiles:
        ones = max(0, len(tile) - len(shape))
        before = (1,) * ones + shape
        groups = [1] * (len(before) - len(tile))
        stars = 0
        for entry in tile:  # a run of stars and the number that ends it are one group
            if entry == STAR:
                stars += 1
            else:
                groups.append(stars + 1)
                stars = 0
        sizes = tuple(entry for entry in tile if isinstance(entry, int))
        chain.append(Level(before, ones, tuple(groups), sizes))
        shape = chain[-1].after
    return chain
    ### END SOLUTION


@functools.lru_cache(maxsize=1024)
def physical_shape(layout: ArrayLayout) -> tuple[int, ...]:
    """The shape in which the slots are counted row by row, after all tiles; it includes the padding.

    f32[3,5]{1,0:T(2,2)} gives (2, 3, 2, 2). The tail alignment is no part of it.
    """
    ### BEGIN SOLUTION a4.2: the shape after the last tile
    chain = levels(layout)
    return chain[-1].after if chain else tuple(layout.dims[dim] for dim in layout.major_to_minor)
    ### END SOLUTION


def linear_index(layout: ArrayLayout, index: ArrayLike) -> np.ndarray:
    """The slot of each element: int64 `[...]` for indices `[..., rank]` in logical order.

    `index`: integers that int64 holds, for example one tuple, or one row for each element; always as
    many in a row as there are dimensions. A scalar has the index `()`, or `[..., 0]` for several.
    Works for any number of slots below 2⁶³.
    Raises `OutOfBoundsError` with the first index that is out of bounds.
    """
    ### BEGIN SOLUTION a4.2: to physical order, through every level, then row by row
    indices = np.asarray(index, dtype=np.int64)
    _check_bounds(indices, layout.dims)
    coordinates = [indices[..., dim] for dim in layout.major_to_minor]
    for level in levels(layout):
        coordinates = level.forward(coordinates)
    return np.broadcast_to(_ravel(coordinates, physical_shape(layout)), indices.shape[:-1]).copy()
    ### END SOLUTION


def delinearize(layout: ArrayLayout, offset: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The element in each slot: an index int64 `[..., rank]` in logical order, and `filled`, bool `[...]`.

    `offset`: integers `[...]` that int64 holds. Where a slot is padding, `filled` is False and the
    index is all −1. The slots that the tail alignment adds are padding, too.
    Raises `OutOfBoundsError` with the first offset that is not below the number of slots, padding
    and tail included; its `index` and `dims` are tuples of one number.
    """
    ### BEGIN SOLUTION a4.2: back through the levels, noting where an index is out of bounds
    offsets = np.asarray(offset, dtype=np.int64)
    tiled = math.prod(physical_shape(layout))
    slots = -(-tiled // layout.tail_alignment) * layout.tail_alignment
    _check_bounds(offsets[..., np.newaxis], (slots,))
    filled = offsets < tiled
    coordinates = _unravel(np.where(filled, offsets, 0), physical_shape(layout))
    for level in reversed(levels(layout)):
        coordinates, inside = level.backward(coordinates)
        filled = filled & inside
    index = np.zeros((*offsets.shape, layout.rank), np.int64)
    for dim, coordinate in zip(layout.major_to_minor, coordinates, strict=True):
        index[..., dim] = coordinate
    return np.where(filled[..., np.newaxis], index, -1), np.asarray(filled)
    ### END SOLUTION


### BEGIN SOLUTION a4.2: helpers: rows of a shape, bounds
def _ravel(coordinates: list[np.ndarray], sizes: tuple[int, ...]) -> np.ndarray:
    """Row-major position in a shape."""
    position = np.zeros((), np.int64)
    for coordinate, size in zip(coordinates, sizes, strict=True):
        position = position * size + coordinate
    return position


def _unravel(position: np.ndarray, sizes: tuple[int, ...]) -> list[np.ndarray]:
    """Row-major coordinates in `sizes`; the first one takes what is too much."""
    coordinates = []
    for size in reversed(sizes[1:]):
        coordinates.append(position % max(size, 1))
        position = position // max(size, 1)
    return [*([position] if sizes else []), *reversed(coordinates)]


def _check_bounds(indices: np.ndarray, dims: tuple[int, ...]) -> None:
    if indices.shape[-1:] != (len(dims),):
        raise OutOfBoundsError(indices.shape[-1:], (len(dims),))
    wrong = ((indices < 0) | (indices >= np.asarray(dims, np.int64))).any(axis=-1)
    if wrong.any():
        raise OutOfBoundsError(indices[wrong][0].tolist(), dims)


### END SOLUTION
