"""Sizes, from the digits and their strides."""

from __future__ import annotations

from .address import physical_shape, strides_of


def padded_dims(layout):
    """Dims in physical order, in whole tiles."""
    if not layout.tiles:
        return physical_shape(layout)
    numbers = [entry for entry in layout.tiles[0] if entry != "*"]
    sizes = strides_of(layout).first
    units = [1] * (len(sizes) - len(numbers)) + numbers
    return tuple(-(-size // unit) * unit for size, unit in zip(sizes, units, strict=True))


def padded_elements(layout):
    """Slots."""
    return strides_of(layout).slots


def padded_bytes(layout):
    """Bytes."""
    return (strides_of(layout).slots * layout.slot_bits + 7) // 8


def efficiency(layout):
    """Data over slots."""
    slots = strides_of(layout).slots
    return layout.elements / slots if slots else 1.0


def vregs(layout):
    """Registers."""
    return (padded_bytes(layout) + 4095) // 4096


def bytes_accessed(operands, results):
    """Bytes read and written."""
    return sum(map(padded_bytes, operands)) + sum(map(padded_bytes, results))


def mxu_efficiency(contracted, columns):
    """Useful multiply-adds."""
    rows, across = (contracted + 255) // 256, (columns + 255) // 256
    return contracted * columns / (65536 * rows * across)
