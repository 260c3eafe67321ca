"""A layout as data: what `bf16[4,1024]{1,0:T(8,128)(2,1)}` says, in fields.

Everything is frozen and valid: a layout that breaks a rule cannot be made. The *logical* order of
dimensions is the order in `dims`; the *physical* order, from the most major dimension to the most
minor, is `major_to_minor`. Tiles apply to the physical order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .dtypes import ElementType, element_type
from .errors import LayoutError

STAR = "*"  # as a tile dimension: this dimension is merged into the next more minor one
Tile = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """The layout of one array.

    `dtype`: XLA's name of the element type. `dims`: sizes in logical order, `()` for a scalar.
    `minor_to_major`: a permutation of the dimensions, the fastest first. `tiles`: the outermost
    first; a tile's entries are ints from 1 up or `STAR`, and the last one is an int.
    `tail_alignment`: the number of slots is a multiple of it. `element_bits`: bits of a slot, 0 for
    the type's own. `memory_space`: 0 is HBM, 1 is VMEM.
    Raises `LayoutError` with the rule that is broken.
    """

    dtype: str
    dims: tuple[int, ...]
    minor_to_major: tuple[int, ...]
    tiles: tuple[Tile, ...] = ()
    tail_alignment: int = 1
    element_bits: int = 0
    memory_space: int = 0

    def __post_init__(self) -> None:
        element_type(self.dtype)
        if any(size < 0 for size in self.dims):
            raise LayoutError("dimension", f"{self.dims} has a negative size")
        if len(self.minor_to_major) != len(self.dims):
            given = f"{len(self.minor_to_major)} in minor-to-major {self.minor_to_major}"
            raise LayoutError("rank", f"{len(self.dims)} dimensions in {self.dims}, but {given}")
        if sorted(self.minor_to_major) != list(range(len(self.dims))):
            problem = f"{self.minor_to_major} does not name each of the {len(self.dims)} dimensions once"
            raise LayoutError("permutation", problem)
        for tile in self.tiles:
            _check_tile(tile)
        if self.tail_alignment < 1 or self.element_bits < 0 or self.memory_space < 0:
            given = f"L({self.tail_alignment}), E({self.element_bits}), S({self.memory_space})"
            raise LayoutError("value", f"{given}: L must be at least 1, E and S at least 0")

    @staticmethod
    def row_major(dtype: str, dims: Sequence[int], tiles: Sequence[Tile] = ()) -> ArrayLayout:
        """The layout whose last dimension is the fastest: `{1,0}` for two dimensions."""
        return ArrayLayout(dtype, tuple(dims), tuple(reversed(range(len(dims)))), tuple(tiles))

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.dims)

    @property
    def elements(self) -> int:
        """The number of elements, without padding."""
        return math.prod(self.dims)

    @property
    def type(self) -> ElementType:
        """The element type."""
        return element_type(self.dtype)

    @property
    def slot_bits(self) -> int:
        """Bits from one slot to the next: `element_bits`, else the type's own, at least a byte."""
        return self.element_bits or max(8, self.type.bits)

    @property
    def major_to_minor(self) -> tuple[int, ...]:
        """The dimensions in physical order, the slowest first."""
        return tuple(reversed(self.minor_to_major))


@dataclass(frozen=True, slots=True)
class TupleLayout:
    """The layouts of a tuple's elements, each of which is a layout or a tuple again."""

    elements: tuple[ArrayLayout | TupleLayout, ...]


def _check_tile(tile: Tile) -> None:
    if not tile or tile[-1] == STAR:
        raise LayoutError("tile", f"{tile}: the last dimension of a tile must be a number")
    for size in tile:
        if size != STAR and (not isinstance(size, int) or size < 1):
            raise LayoutError("tile", f"{tile}: a tile dimension is a number from 1 up, or {STAR!r}")
