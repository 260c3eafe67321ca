"""Packing by strides: the slots of all elements come from one open grid of coordinates, row block by row block."""

from __future__ import annotations

import numpy as np

from .address import strides_of
from .errors import LayoutError, MismatchError
from .padding import padded_bytes

_AT_ONCE = 1 << 20  # elements


def _blocks(layout):
    """Parts of the array along its first dimension, with the slots of their elements."""
    strides = strides_of(layout)
    if layout.rank == 0:
        yield (), np.asarray(strides.offsets([]))
        return
    rest = max(1, layout.elements // max(1, layout.dims[0]))
    step = max(1, _AT_ONCE // rest)
    grid = np.ogrid[tuple(slice(size) for size in layout.dims)] if layout.rank > 1 else [np.arange(layout.dims[0])]
    grid = [axis.astype(np.int64) for axis in grid]
    for start in range(0, layout.dims[0], step):
        part = slice(start, start + step)
        axes = [grid[0][part], *grid[1:]]
        shape = np.broadcast_shapes(*(axis.shape for axis in axes))
        yield part, np.broadcast_to(strides.offsets(axes), shape)


def _check(layout):
    wide = layout.slot_bits == layout.type.bits or (layout.slot_bits == 8 and layout.type.bits < 8)
    if not wide:
        raise LayoutError("value", f"slots of {layout.slot_bits} bits cannot hold {layout.dtype}")


def _dtype(layout):
    return np.dtype({8: "u1", 16: "u2", 32: "u4", 64: "u8", 128: "c16"}[max(8, layout.type.bits)])


def pack(array, layout, fill=0):
    """The bytes of an array."""
    _check(layout)
    if (array.dtype, array.shape) != (layout.type.numpy, layout.dims):
        raise MismatchError(f"{layout.type.numpy}{list(layout.dims)}", f"{array.dtype}{list(array.shape)}")
    codes = np.ascontiguousarray(array).reshape(layout.dims).view(_dtype(layout))
    slots = strides_of(layout).slots
    if layout.type.bits < 8:
        codes = codes & np.uint8(2**layout.type.bits - 1)
    if layout.slot_bits >= 8:
        image = np.frombuffer(bytearray([fill]) * (slots * codes.dtype.itemsize), codes.dtype)
        for part, at in _blocks(layout):
            image[at] = codes[part]
        return image.tobytes()
    bits = layout.slot_bits
    loose = np.unpackbits(np.full(padded_bytes(layout), fill, np.uint8), bitorder="little")
    for part, at in _blocks(layout):
        for bit in range(bits):
            loose[at * bits + bit] = codes[part] >> bit & 1
    return np.packbits(loose, bitorder="little").tobytes()


def unpack(data, layout):
    """The array in some bytes."""
    _check(layout)
    if len(data) != padded_bytes(layout):
        raise MismatchError(f"{padded_bytes(layout)} bytes", f"{len(data)} bytes")
    dtype = _dtype(layout)
    codes = np.zeros(layout.dims, dtype)
    if layout.slot_bits < 8:
        loose = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
        for part, at in _blocks(layout):
            value = sum(loose[at * layout.slot_bits + bit] << bit for bit in range(layout.slot_bits))
            codes[part] = value
    else:
        image = np.frombuffer(data, dtype)
        for part, at in _blocks(layout):
            codes[part] = image[at]
    if layout.type.bits < 8:
        codes &= np.uint8(2**layout.type.bits - 1)
    return codes.view(layout.type.numpy)
