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
        # about 2 lines
        raise NotImplementedError("a4.2: the product of each group")

    @property
    def counts(self) -> tuple[int, ...]:
        """How many tiles there are along each tiled dimension, the last one maybe not full."""
        # about 1 line
        raise NotImplementedError("a4.2: sizes over tile sizes, rounded up")

    @property
    def padded(self) -> tuple[int, ...]:
        """The shape after merging, the tiled dimensions rounded up to whole tiles."""
        # about 2 lines
        raise NotImplementedError("a4.2: counts times tile sizes")

    @property
    def after(self) -> tuple[int, ...]:
        """The shape after the tile."""
        # about 1 line
        raise NotImplementedError("a4.2: all counts, then all tile sizes")

    def forward(self, coordinates: list[np.ndarray]) -> list[np.ndarray]:
        """An index into `before`, less the ones, becomes one into `after`: one array for each dimension."""
        # about 10 lines
        raise NotImplementedError("a4.2: ones in front, merge, divide with remainder")

    def backward(self, coordinates: list[np.ndarray]) -> tuple[list[np.ndarray], np.ndarray]:
        """The way back, and a bool array: whether there is anything but padding at this index."""
        # about 13 lines
        raise NotImplementedError("a4.2: multiply and add, compare with the size, split what was merged")


def levels(layout: ArrayLayout) -> list[Level]:
    """The chain of a layout, one level for each tile; each starts from the shape after the one before."""
    # about 17 lines
    raise NotImplementedError("a4.2: ones in front, a group for each number of the tile")


@functools.lru_cache(maxsize=1024)
def physical_shape(layout: ArrayLayout) -> tuple[int, ...]:
    """The shape in which the slots are counted row by row, after all tiles; it includes the padding.

    f32[3,5]{1,0:T(2,2)} gives (2, 3, 2, 2). The tail alignment is no part of it.
    """
    # about 2 lines
    raise NotImplementedError("a4.2: the shape after the last tile")


def linear_index(layout: ArrayLayout, index: ArrayLike) -> np.ndarray:
    """The slot of each element: int64 `[...]` for indices `[..., rank]` in logical order.

    `index`: integers that int64 holds, for example one tuple, or one row for each element; always as
    many in a row as there are dimensions. A scalar has the index `()`, or `[..., 0]` for several.
    Works for any number of slots below 2⁶³.
    Raises `OutOfBoundsError` with the first index that is out of bounds.
    """
    # about 6 lines
    raise NotImplementedError("a4.2: to physical order, through every level, then row by row")


def delinearize(layout: ArrayLayout, offset: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The element in each slot: an index int64 `[..., rank]` in logical order, and `filled`, bool `[...]`.

    `offset`: integers `[...]` that int64 holds. Where a slot is padding, `filled` is False and the
    index is all −1. The slots that the tail alignment adds are padding, too.
    Raises `OutOfBoundsError` with the first offset that is not below the number of slots, padding
    and tail included; its `index` and `dims` are tuples of one number.
    """
    # about 13 lines
    raise NotImplementedError("a4.2: back through the levels, noting where an index is out of bounds")


# a4.2: helpers: rows of a shape, bounds (about 19 lines)
