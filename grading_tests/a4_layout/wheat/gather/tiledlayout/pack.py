"""Packing by a gather: each slot asks which element lies in it, a piece of memory at a time."""

from __future__ import annotations

import numpy as np

from .address import delinearize, linear_index
from .errors import LayoutError, MismatchError
from .padding import padded_bytes, padded_elements

_PIECE = 1 << 19


def _known(layout):
    if layout.slot_bits not in ({8, layout.type.bits} if layout.type.bits < 8 else {layout.type.bits}):
        raise LayoutError("value", f"slots of {layout.slot_bits} bits for {layout.dtype}")


def _as_bytes(array, layout):
    """One row of bytes for each element."""
    width = max(8, layout.type.bits) // 8
    rows = np.frombuffer(np.ascontiguousarray(array).tobytes(), np.uint8).reshape(-1, width)
    return rows & np.uint8((1 << layout.type.bits) - 1) if layout.type.bits < 8 else rows


def pack(array, layout, fill=0):
    """The bytes of an array."""
    _known(layout)
    if array.dtype != layout.type.numpy or array.shape != layout.dims:
        raise MismatchError(f"{layout.type.numpy}{list(layout.dims)}", f"{array.dtype}{list(array.shape)}")
    elements = _as_bytes(array, layout)
    total = padded_elements(layout)
    steps = [int(np.prod(layout.dims[dim + 1 :], dtype=np.int64)) for dim in range(layout.rank)]
    slots = np.full((total, elements.shape[1]), fill, np.uint8)
    filled = np.zeros(total, bool)
    for start in range(0, total, _PIECE):
        stop = min(total, start + _PIECE)
        index, here = delinearize(layout, np.arange(start, stop))
        number = index @ np.array(steps, np.int64)
        slots[start:stop][here] = elements[number[here]]
        filled[start:stop] = here
    bits = layout.slot_bits
    if bits >= 8:
        return slots.tobytes()
    per_byte = 8 // bits
    extra = padded_bytes(layout) * per_byte - total
    codes = np.concatenate([slots[:, 0], np.zeros(extra, np.uint8)]).reshape(-1, per_byte).astype(int)
    there = np.concatenate([filled, np.zeros(extra, bool)]).reshape(-1, per_byte)
    parts = np.array([(fill >> (bits * i)) % (1 << bits) for i in range(per_byte)])
    return (np.where(there, codes, parts) * (1 << (bits * np.arange(per_byte)))).sum(axis=1).astype(np.uint8).tobytes()


def unpack(data, layout):
    """The array in some bytes."""
    _known(layout)
    if len(data) != padded_bytes(layout):
        raise MismatchError(f"{padded_bytes(layout)} bytes", f"{len(data)} bytes")
    bits = layout.slot_bits
    raw = np.frombuffer(data, np.uint8)
    if bits < 8:
        raw = (raw[:, None] // (1 << (bits * np.arange(8 // bits)))).astype(np.uint8).reshape(-1)
    slots = raw.reshape(-1, max(8, layout.type.bits) // 8)
    out = np.zeros((layout.elements, slots.shape[1]), np.uint8)
    for start in range(0, layout.elements, _PIECE):
        number = np.arange(start, min(layout.elements, start + _PIECE))
        index = np.zeros((len(number), layout.rank), np.int64)
        rest = number
        for dim in reversed(range(layout.rank)):
            index[:, dim] = rest % layout.dims[dim]
            rest = rest // layout.dims[dim]
        out[number] = slots[linear_index(layout, index)]
    if layout.type.bits < 8:
        out = out & np.uint8((1 << layout.type.bits) - 1)
    return np.frombuffer(out.tobytes(), layout.type.numpy).reshape(layout.dims).copy()
