"""Packing by a gather: each slot asks which element lies in it, a piece of memory at a time."""

from __future__ import annotations

import numpy as np

from .address import delinearize, linear_index
from .errors import LayoutError, MismatchError
from .padding import padded_bytes, padded_elements

_PIECE = 1 << 16


def _known(layout):
    if layout.slot_bits not in ({8, layout.type.bits} if layout.type.bits < 8 else {layout.type.bits}):
        raise LayoutError("value", f"slots of {layout.slot_bits} bits for {layout.dtype}")


def _codes(layout):
    """The dtype of an element's bits."""
    width = max(8, layout.type.bits) // 8
    return np.dtype(f"V{width}") if width > 8 else np.dtype(f"u{width}")


def _as_codes(array, layout):
    """The bits of each element, in row-major order."""
    rows = np.frombuffer(np.ascontiguousarray(array).tobytes(), _codes(layout))
    return rows & np.uint8((1 << layout.type.bits) - 1) if layout.type.bits < 8 else rows


def pack(array, layout, fill=0):
    """The bytes of an array."""
    _known(layout)
    if array.dtype != layout.type.numpy or array.shape != layout.dims:
        raise MismatchError(f"{layout.type.numpy}{list(layout.dims)}", f"{array.dtype}{list(array.shape)}")
    elements = _as_codes(array, layout)
    total = padded_elements(layout)
    steps = [int(np.prod(layout.dims[dim + 1 :], dtype=np.int64)) for dim in range(layout.rank)]
    slots = np.frombuffer(bytearray([fill]) * (total * elements.itemsize), elements.dtype)
    filled = np.zeros(total, bool)
    for start in range(0, total, _PIECE):
        stop = min(total, start + _PIECE)
        index, here = delinearize(layout, np.arange(start, stop))
        number = np.zeros(stop - start, np.int64)
        for dim, step in enumerate(steps):
            number += index[:, dim] * step
        if here.all():
            slots[start:stop] = elements[number]
        else:
            slots[start:stop][here] = elements[number[here]]
        filled[start:stop] = here
    bits = layout.slot_bits
    if bits >= 8:
        return slots.tobytes()
    per_byte = 8 // bits
    extra = padded_bytes(layout) * per_byte - total
    codes = np.concatenate([slots, np.zeros(extra, np.uint8)]).reshape(-1, per_byte).astype(int)
    there = np.concatenate([filled, np.zeros(extra, bool)]).reshape(-1, per_byte)
    parts = np.array([(fill >> (bits * i)) % (1 << bits) for i in range(per_byte)])
    return (np.where(there, codes, parts) * (1 << (bits * np.arange(per_byte)))).sum(axis=1).astype(np.uint8).tobytes()


def unpack(data, layout):
    """The array in some bytes."""
    _known(layout)
    if len(data) != padded_bytes(layout):
        raise MismatchError(f"{padded_bytes(layout)} bytes", f"{len(data)} bytes")
    bits = layout.slot_bits
    slots = np.frombuffer(data, _codes(layout))
    if bits < 8:
        slots = (slots[:, None] // (1 << (bits * np.arange(8 // bits)))).astype(np.uint8).reshape(-1)
    inner = int(np.prod(layout.dims[1:], dtype=np.int64))
    out = np.zeros(layout.elements, slots.dtype)
    if layout.rank == 0:
        out[0] = slots[linear_index(layout, ())]
    rest = np.argwhere(np.ones(layout.dims[1:], bool)) if layout.rank else None
    step = max(1, _PIECE // max(1, inner))
    for start in range(0, layout.dims[0] if layout.rank else 0, step):
        stop = min(layout.dims[0], start + step)
        index = np.empty((stop - start, inner, layout.rank), np.int64)
        index[..., 0] = np.arange(start, stop)[:, None]
        index[..., 1:] = rest
        out[start * inner : stop * inner] = slots[linear_index(layout, index)].reshape(-1)
    if layout.type.bits < 8:
        out = out & np.uint8((1 << layout.type.bits) - 1)
    return np.frombuffer(out.tobytes(), layout.type.numpy).reshape(layout.dims).copy()
