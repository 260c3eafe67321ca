"""Sizes, from the shape after the tiles."""

from __future__ import annotations

from .address import merge, physical, physical_shape


def _up(size, unit):
    return size + (-size) % unit


def padded_dims(layout):
    """Dims in physical order, in whole tiles."""
    sizes = physical(layout)
    if layout.tiles:
        sizes, *_ = merge(sizes, layout.tiles[0])
        numbers = [entry for entry in layout.tiles[0] if entry != "*"]
        for i in range(1, len(numbers) + 1):
            sizes[-i] = _up(sizes[-i], numbers[-i])
    return tuple(sizes)


def padded_elements(layout):
    """Slots."""
    slots = 1
    for size in physical_shape(layout):
        slots *= size
    return _up(slots, layout.tail_alignment)


def padded_bytes(layout):
    """Bytes."""
    return _up(padded_elements(layout) * layout.slot_bits, 8) // 8


def efficiency(layout):
    """Data over slots."""
    if padded_elements(layout) == 0:
        return 1.0
    return layout.elements / padded_elements(layout)


def vregs(layout):
    """Registers."""
    return _up(padded_bytes(layout), 4096) // 4096


def bytes_accessed(operands, results):
    """Bytes read and written."""
    total = 0
    for group in (operands, results):
        for layout in group:
            total += padded_bytes(layout)
    return total


def mxu_efficiency(contracted, columns):
    """Useful multiply-adds."""
    return (contracted / _up(contracted, 256)) * (columns / _up(columns, 256))
