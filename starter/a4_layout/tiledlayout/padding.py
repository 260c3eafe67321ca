"""Padding: what a tiled array takes, and how much of it is data.

Tiles come whole. So a dimension is rounded up to a multiple of its tile, and sub-tiles may round
up once more. Everything here is arithmetic on Python's integers: it is exact for any size, and
no array is made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from .address import levels, physical_shape
from .layout import ArrayLayout
from .operations import REGISTER_BYTES

MXU_SIZE = 256


def padded_dims(layout: ArrayLayout) -> tuple[int, ...]:
    """The dimensions in *physical* order, each rounded up to a multiple of the first tile.

    Where the tile has more dimensions than the array, ones are in front of the array's first; where
    it has a `*`, the dimensions are merged. bf16[24,100]{1,0:T(16,128)} gives (32, 128).
    """
    # about 2 lines
    raise NotImplementedError("a4.3: the shape before the first tile, in whole tiles")


def padded_elements(layout: ArrayLayout) -> int:
    """The number of slots, padding of all tiles and the tail alignment included."""
    # about 2 lines
    raise NotImplementedError("a4.3: count the slots, then align the end")


def padded_bytes(layout: ArrayLayout) -> int:
    """Bytes of all slots, the last byte maybe not full."""
    # about 1 line
    raise NotImplementedError("a4.3: bits, rounded up to bytes")


def efficiency(layout: ArrayLayout) -> float:
    """The part of the slots that holds elements, from 0 to 1; 1 if there are no slots."""
    # about 2 lines
    raise NotImplementedError("a4.3: elements over slots")


def vregs(layout: ArrayLayout) -> int:
    """How many vector registers of 8 × 128 × 32 bits the padded array fills, the last one maybe in part."""
    # about 1 line
    raise NotImplementedError("a4.3: bytes, rounded up to registers")


def bytes_accessed(operands: Iterable[ArrayLayout], results: Iterable[ArrayLayout]) -> int:
    """Bytes that an operation moves if it reads each operand and writes each result once, padding included."""
    # about 1 line
    raise NotImplementedError("a4.3: everything read and everything written")


def mxu_efficiency(contracted: int, columns: int) -> float:
    """The part of a 256 × 256 systolic array's multiply-adds that is not spent on padding, from 0 to 1.

    `contracted` and `columns`: the dimensions of the right operand of a matrix product, at least 1,
    both rounded up to a multiple of 256. A head dimension of 192 leaves a quarter idle.
    """
    # about 2 lines
    raise NotImplementedError("a4.3: data over what is computed")
