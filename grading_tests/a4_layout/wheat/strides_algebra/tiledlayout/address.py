"""Addresses as a sum of digits times strides. The digits are found from the layout alone, before any index."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from .errors import OutOfBoundsError


class Strides:
    """A layout as digits. Node i of `nodes` is (size, what it is made of); `digits` are the nodes in memory order."""

    def __init__(self, layout):
        self.layout = layout
        self.nodes = [(size, ("dim",)) for size in layout.dims]
        self.digits = list(layout.minor_to_major)[::-1]
        for number, tile in enumerate(layout.tiles):
            self.apply(tile)
            if number == 0:
                self.first = [self.nodes[i][0] for i in self.before]
        self.strides = []
        stride = 1
        for node in reversed(self.digits):
            self.strides.insert(0, stride)
            stride *= self.nodes[node][0]
        self.slots = stride + (-stride) % layout.tail_alignment
        self.tiled_slots = stride

    def node(self, size, *made):
        self.nodes.append((size, made))
        return len(self.nodes) - 1

    def apply(self, tile):
        while len(self.digits) < len(tile):
            self.digits.insert(0, self.node(1, "one"))
        position = len(self.digits) - len(tile)
        run, tiled = [], []
        for digit, entry in zip(self.digits[position:], tile, strict=True):
            run.append(digit)
            if entry == "*":
                continue
            if len(run) > 1:
                size = 1
                for part in run:
                    size *= self.nodes[part][0]
                run = [self.node(size, "merge", tuple(run))]
            tiled.append((run[0], entry))
            run = []
        self.before = self.digits[:position] + [node for node, _ in tiled]
        highs = [self.node((self.nodes[node][0] + t - 1) // t, "high", node, t) for node, t in tiled]
        lows = [self.node(t, "low", node, t) for node, t in tiled]
        self.digits = self.digits[:position] + highs + lows

    def offsets(self, axes):
        """The slots of elements whose coordinates are these arrays, one for each logical dimension."""
        values = []
        for number, (_, made) in enumerate(self.nodes):
            match made:
                case ("dim",):
                    values.append(axes[number])
                case ("one",):
                    values.append(np.int64(0))
                case ("high", node, t):
                    values.append(values[node] // t)
                case ("low", node, t):
                    values.append(values[node] % t)
                case ("merge", parts):
                    total = np.int64(0)
                    for part in parts:
                        total = total * self.nodes[part][0] + values[part]
                    values.append(total)
        total = np.int64(0)
        for digit, stride in zip(self.digits, self.strides, strict=True):
            if stride and self.nodes[digit][0] > 1:
                total = total + values[digit] * stride
        return total

    def elements(self, offsets):
        """The coordinates of the elements in these slots, and whether they exist."""
        values = {}
        for digit, stride in zip(self.digits, self.strides, strict=True):
            size = self.nodes[digit][0]
            values[digit] = offsets // max(stride, 1) % max(size, 1)
        good = offsets < self.tiled_slots
        for number in reversed(range(len(self.nodes))):
            size, made = self.nodes[number]
            value = values[number]
            match made:
                case ("low", node, t):
                    values[node] = value
                case ("high", node, t):
                    values[node] = values[node] + value * t
                case ("merge", parts):
                    good = good & (value < size)
                    for part in reversed(parts):
                        values[part] = value % max(self.nodes[part][0], 1)
                        value = value // max(self.nodes[part][0], 1)
                    continue
            if made[0] != "merge":
                good = good & (value < size)
        return [values[dim] for dim in range(self.layout.rank)], good


@lru_cache(maxsize=512)
def strides_of(layout):
    """The digits of a layout."""
    return Strides(layout)


def physical_shape(layout):
    """The sizes of the digits."""
    strides = strides_of(layout)
    return tuple(strides.nodes[digit][0] for digit in strides.digits)


def linear_index(layout, index):
    """The slot of each element."""
    index = np.asarray(index).astype(np.int64)
    dims = np.array(layout.dims, np.int64)
    if index.shape[-1:] != (layout.rank,):
        raise OutOfBoundsError(index.shape[-1:], (layout.rank,))
    for row in index[((index < 0) | (index >= dims)).any(axis=-1)][:1]:
        raise OutOfBoundsError(row, layout.dims)
    axes = [index[..., dim] for dim in range(layout.rank)]
    return np.zeros(index.shape[:-1], np.int64) + strides_of(layout).offsets(axes)


def delinearize(layout, offset):
    """The element in each slot, and whether there is one."""
    offset = np.asarray(offset).astype(np.int64)
    strides = strides_of(layout)
    for wrong in offset[(offset < 0) | (offset >= strides.slots)].reshape(-1)[:1]:
        raise OutOfBoundsError((wrong,), (strides.slots,))
    axes, good = strides.elements(offset)
    index = np.stack(axes, axis=-1) if axes else np.zeros((*offset.shape, 0), np.int64)
    return np.where(good[..., None], index, -1), good
