"""Packing: an array as the bytes that a tiled layout makes of it, and back.

The bytes are those of the slots in order, each little-endian; slots of less than a byte fill a byte
from its low bits up. Part 2 says where each element goes. But asking it for millions of elements one
by one takes minutes; the same move is a few reshapes and transposes of the whole array, one pair for
each tile, and those are done by NumPy at the speed of memory.
"""

from __future__ import annotations

import math

import numpy as np

from .address import Level, levels, physical_shape
from .errors import LayoutError, MismatchError
from .layout import ArrayLayout
from .padding import padded_bytes, padded_elements

# What moves is bits, not numbers: an unsigned integer for each width (complex for the widest).
_BITS = {8: "<u1", 16: "<u2", 32: "<u4", 64: "<u8", 128: "<c16"}


def pack(array: np.ndarray, layout: ArrayLayout, fill: int = 0) -> bytes:
    """The array's bytes in this layout, padding included: `padded_bytes(layout)` of them.

    `array`: dtype and shape of the layout; it stays as it is. `fill`: a byte, 0 to 255. Memory is as if
    it had been filled with this byte before the elements were written, so it is seen in the padding: in slots
    without an element and, below a byte, in the bits that no slot takes.
    A slot of a byte that holds an element of 2 or 4 bits has zeros above them, whatever NumPy has there.
    Raises `MismatchError` for an array of another dtype or shape, and `LayoutError` (rule
    `"value"`) for slots that are neither as wide as the element nor, below a byte, a byte.
    """
    _check_slots(layout)
    # about 12 lines
    raise NotImplementedError("a4.4: physical order, pad and split for each tile, then bytes")


def unpack(data: bytes, layout: ArrayLayout) -> np.ndarray:
    """The array that was packed; what is in the padding does not matter.

    Padding are also the bits above an element of 2 or 4 bits in a slot of a byte: they are ignored.
    `data`: `padded_bytes(layout)` bytes. Returns an array of the layout's dtype and shape.
    Raises `MismatchError` for another number of bytes, and `LayoutError` as `pack` does.
    """
    _check_slots(layout)
    # about 16 lines
    raise NotImplementedError("a4.4: the same steps, backwards")


def _check_slots(layout: ArrayLayout) -> None:
    if layout.slot_bits != layout.type.bits and (layout.type.bits >= 8 or layout.slot_bits != 8):
        allowed = f"{layout.type.bits} or 8" if layout.type.bits < 8 else f"{layout.type.bits}"
        given = f"slots of {layout.slot_bits} bits for {layout.dtype}"
        raise LayoutError("value", f"{given}: they can be packed with {allowed} bits")


# a4.4: bits of an array, one tile on an array, slots below a byte (about 41 lines)
