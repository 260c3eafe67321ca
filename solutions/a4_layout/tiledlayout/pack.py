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
    ### BEGIN SOLUTION a4.4: physical order, pad and split for each tile, then bytes
    if array.dtype != layout.type.numpy or array.shape != layout.dims:
        raise MismatchError(f"{layout.type.numpy}{list(layout.dims)}", f"{array.dtype}{list(array.shape)}")
    bits = layout.slot_bits
    codes = _as_bits(array, layout)
    padding = _padding(layout, fill)
    slots = codes.transpose(layout.major_to_minor)
    for level in levels(layout):
        slots = _split(_padded(slots.reshape(level.merged), level, padding), level)
    flat = slots.reshape(-1)
    tail = np.full(padded_elements(layout) - flat.size, padding, flat.dtype)
    flat = np.concatenate([flat, tail]) if tail.size else flat
    return flat.tobytes() if bits >= 8 else _squeeze(flat, bits, fill)
    ### END SOLUTION


def unpack(data: bytes, layout: ArrayLayout) -> np.ndarray:
    """The array that was packed; what is in the padding does not matter.

    Padding are also the bits above an element of 2 or 4 bits in a slot of a byte: they are ignored.
    `data`: `padded_bytes(layout)` bytes. Returns an array of the layout's dtype and shape.
    Raises `MismatchError` for another number of bytes, and `LayoutError` as `pack` does.
    """
    _check_slots(layout)
    ### BEGIN SOLUTION a4.4: the same steps, backwards
    if len(data) != padded_bytes(layout):
        raise MismatchError(f"{padded_bytes(layout)} bytes", f"{len(data)} bytes")
    bits = layout.slot_bits
    flat = np.frombuffer(data, _BITS[max(bits, 8)])
    if bits < 8:
        flat = _stretch(flat, bits)
    shape = physical_shape(layout)
    slots = flat[: math.prod(shape)].reshape(shape)
    for level in reversed(levels(layout)):
        whole = _join(slots, level)
        slots = whole[tuple(slice(size) for size in level.merged)]
        slots = slots.reshape(level.before[level.ones :])
    codes = np.array(slots.transpose(np.argsort(layout.major_to_minor)), order="C")
    if layout.type.bits < 8:
        codes &= np.uint8((1 << layout.type.bits) - 1)
    return codes.view(layout.type.numpy)
    ### END SOLUTION


def _check_slots(layout: ArrayLayout) -> None:
    if layout.slot_bits != layout.type.bits and (layout.type.bits >= 8 or layout.slot_bits != 8):
        allowed = f"{layout.type.bits} or 8" if layout.type.bits < 8 else f"{layout.type.bits}"
        given = f"slots of {layout.slot_bits} bits for {layout.dtype}"
        raise LayoutError("value", f"{given}: they can be packed with {allowed} bits")


### BEGIN SOLUTION a4.4: bits of an array, one tile on an array, slots below a byte
_HOLE = 255  # stands for padding while slots below a byte have a byte each; no code is as large


def _as_bits(array: np.ndarray, layout: ArrayLayout) -> np.ndarray:
    """The elements as unsigned integers of their width, at least a byte."""
    width = max(8, layout.type.bits)
    codes = np.ascontiguousarray(array).reshape(array.shape).view(_BITS[width])
    return codes if layout.type.bits >= 8 else codes & np.uint8((1 << layout.type.bits) - 1)


def _padding(layout: ArrayLayout, fill: int) -> np.generic:
    if layout.slot_bits < 8:
        return np.uint8(_HOLE)
    return np.frombuffer(bytes([fill]) * (layout.slot_bits // 8), _BITS[layout.slot_bits])[0]


def _padded(slots: np.ndarray, level: Level, padding: np.generic) -> np.ndarray:
    """The array in the corner of one that holds whole tiles."""
    if level.padded == level.merged:
        return slots
    whole = np.full(level.padded, padding, slots.dtype)
    whole[tuple(slice(size) for size in level.merged)] = slots
    return whole


def _order(level: Level) -> list[int]:
    """Where the axes of the shape after the tile are among outer, count, size, count, size, …"""
    first, end = level.fixed, level.fixed + 2 * len(level.tile)
    return [*range(first), *range(first, end, 2), *range(first + 1, end, 2)]


def _split(whole: np.ndarray, level: Level) -> np.ndarray:
    """Each tiled axis becomes two, which tile and where in it; the counts go before the sizes."""
    pairs = [size for pair in zip(level.counts, level.tile, strict=True) for size in pair]
    return whole.reshape(*level.merged[: level.fixed], *pairs).transpose(_order(level))


def _join(slots: np.ndarray, level: Level) -> np.ndarray:
    """The inverse of `_split`."""
    return slots.transpose(np.argsort(_order(level))).reshape(level.padded)


def _squeeze(flat: np.ndarray, bits: int, fill: int) -> bytes:
    """Several slots into a byte, from the low bits up; holes and the end show the fill."""
    per_byte = 8 // bits
    slots = np.full(-(-flat.size // per_byte) * per_byte, _HOLE, np.uint8)
    slots[: flat.size] = flat
    rows = slots.reshape(-1, per_byte)
    shifts = np.arange(per_byte, dtype=np.uint8) * np.uint8(bits)
    filling = (np.uint8(fill) >> shifts) & np.uint8((1 << bits) - 1)
    return np.bitwise_or.reduce(np.where(rows == _HOLE, filling, rows) << shifts, axis=1).tobytes()


def _stretch(data: np.ndarray, bits: int) -> np.ndarray:
    """The inverse of `_squeeze`: one byte for each slot."""
    shifts = np.arange(8 // bits, dtype=np.uint8) * np.uint8(bits)
    return ((data[:, np.newaxis] >> shifts) & np.uint8((1 << bits) - 1)).reshape(-1)


### END SOLUTION
