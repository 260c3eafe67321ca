"""Packing: for each place in a tile, the elements at this place of all tiles are one strided slice."""

from __future__ import annotations

import itertools

import numpy as np

from .address import merge, physical, physical_shape, split
from .errors import LayoutError, MismatchError
from .padding import padded_bytes, padded_elements


def _raw(layout):
    return np.dtype(f"V{max(8, layout.type.bits) // 8}") if layout.type.bits > 64 else np.dtype(
        f"u{max(8, layout.type.bits) // 8}"
    )


def _check(layout):
    if layout.slot_bits != layout.type.bits and not (layout.type.bits < 8 and layout.slot_bits == 8):
        raise LayoutError("value", f"slots of {layout.slot_bits} bits for elements of {layout.type.bits}")


def _tile(values, tile, hole, back=None):
    """One tile on an array; with `back`, the array after the tile is copied back into one like `values`."""
    merged, *_ = merge(values.shape, tile)
    outside, counts, numbers = split(merged, tile)
    whole = np.full(outside + [c * t for c, t in zip(counts, numbers, strict=True)], hole, values.dtype)
    whole[tuple(slice(size) for size in merged)] = values.reshape(merged)
    tiles = np.empty(outside + counts + numbers, values.dtype) if back is None else back
    for place in itertools.product(*map(range, numbers)):
        steps = tuple(slice(p, None, t) for p, t in zip(place, numbers, strict=True))
        if back is None:
            tiles[(..., *place)] = whole[(..., *steps)]
        else:
            whole[(..., *steps)] = tiles[(..., *place)]
    if back is None:
        return tiles
    return whole[tuple(slice(size) for size in merged)].reshape(values.shape)


def pack(array, layout, fill=0):
    """The bytes of an array."""
    _check(layout)
    if array.shape != layout.dims or array.dtype != layout.type.numpy:
        raise MismatchError(f"{layout.type.numpy}{list(layout.dims)}", f"{array.dtype}{list(array.shape)}")
    raw = _raw(layout)
    values = np.frombuffer(np.ascontiguousarray(array).tobytes(), raw).reshape(layout.dims)
    if layout.type.bits < 8:
        values = values & ((1 << layout.type.bits) - 1)
    values = values.transpose(layout.minor_to_major[::-1])
    hole = np.frombuffer(bytes([fill]) * raw.itemsize, raw)[0]
    if layout.slot_bits < 8:
        hole = np.uint8(255)
    for tile in layout.tiles:
        values = _tile(values, tile, hole)
    slots = np.full(padded_elements(layout), hole, raw)
    slots[: values.size] = values.reshape(-1)
    if layout.slot_bits >= 8:
        return slots.tobytes()
    data = bytearray([fill]) * padded_bytes(layout)
    view = np.frombuffer(data, np.uint8)
    per_byte = 8 // layout.slot_bits
    mask = (1 << layout.slot_bits) - 1
    for lane in range(per_byte):
        some = slots[lane::per_byte]
        filled = np.flatnonzero(some != 255)
        keep = 0xFF ^ (mask << (lane * layout.slot_bits))
        view[filled] = (view[filled] & keep) | (some[filled] << (lane * layout.slot_bits))
    return bytes(data)


def unpack(data, layout):
    """The array in some bytes."""
    _check(layout)
    if len(data) != padded_bytes(layout):
        raise MismatchError(f"{padded_bytes(layout)} bytes", f"{len(data)} bytes")
    raw = _raw(layout)
    if layout.slot_bits >= 8:
        slots = np.frombuffer(data, raw)
    else:
        per_byte = 8 // layout.slot_bits
        slots = np.empty(len(data) * per_byte, np.uint8)
        for lane in range(per_byte):
            slots[lane::per_byte] = np.frombuffer(data, np.uint8) >> (lane * layout.slot_bits)
    if layout.type.bits < 8:
        slots = slots & ((1 << layout.type.bits) - 1)
    shapes = [tuple(physical(layout))]
    for tile in layout.tiles:
        merged, *_ = merge(shapes[-1], tile)
        outside, counts, numbers = split(merged, tile)
        shapes.append(tuple(outside + counts + numbers))
    size = 1
    for n in physical_shape(layout):
        size *= n
    values = slots[:size].reshape(shapes[-1])
    for tile, shape in zip(reversed(layout.tiles), reversed(shapes[:-1]), strict=True):
        values = _tile(np.empty(shape, raw), tile, np.zeros((), raw)[()], back=values)
    inverse = [layout.minor_to_major[::-1].index(dim) for dim in range(layout.rank)]
    return np.frombuffer(values.transpose(inverse).tobytes(), layout.type.numpy).reshape(layout.dims).copy()
