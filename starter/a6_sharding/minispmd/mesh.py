"""The mesh: devices in a box whose sides have names.

Devices are numbered in the order of the axes, the first axis slowest: with `Mesh(batch=4, model=2)`, device 5
has coordinates batch 2, model 1. A *group* along some axes is a set of devices that differ in these axes only;
its order is that of the axes as given, the first one slowest ("major first").
"""

from __future__ import annotations

import math
from collections.abc import Iterable


class Mesh:
    """`Mesh(batch=4, model=2)`: axis names and sizes, in order. Immutable and hashable.

    `axis_names`: a tuple of str. `shape`: a tuple of sizes ≥ 1. `size`: the number of devices.
    """

    def __init__(self, **sizes: int) -> None:
        if not sizes or any(size < 1 for size in sizes.values()):
            raise ValueError(f"a mesh needs at least one axis, each of size 1 or more, but got {sizes}.")
        self.axis_names: tuple[str, ...] = tuple(sizes)
        self.shape: tuple[int, ...] = tuple(sizes.values())
        self.size: int = math.prod(self.shape)

    def __repr__(self) -> str:
        return (
            f"Mesh({', '.join(f'{name}={size}' for name, size in zip(self.axis_names, self.shape, strict=True))})"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash((self.axis_names, self.shape))

    def axis_size(self, name: str) -> int:
        """The size of one axis."""
        return self.shape[self.axis_names.index(name)]

    def size_of(self, axes: Iterable[str]) -> int:
        """The product of the sizes of several axes; 1 for none."""
        return math.prod(self.axis_size(name) for name in axes)

    def coordinates(self, device: int) -> dict[str, int]:
        """Where a device is: its coordinate along each axis."""
        found: dict[str, int] = {}
        for name, size in zip(reversed(self.axis_names), reversed(self.shape), strict=True):
            device, found[name] = divmod(device, size)
        return {name: found[name] for name in self.axis_names}

    def device_at(self, coordinates: dict[str, int]) -> int:
        """The device at these coordinates, one for each axis."""
        device = 0
        for name, size in zip(self.axis_names, self.shape, strict=True):
            device = device * size + coordinates[name]
        return device

    def position(self, device: int, axes: Iterable[str]) -> int:
        """The device's number along several axes, the first of them slowest; 0 for none."""
        here, position = self.coordinates(device), 0
        for name in axes:
            position = position * self.axis_size(name) + here[name]
        return position

    def group(self, device: int, axes: Iterable[str]) -> tuple[int, ...]:
        """The devices that differ from this one in `axes` only, by their position along these axes."""
        axes, here = tuple(axes), self.coordinates(device)
        group = []
        for place in range(self.size_of(axes)):
            there = dict(here)
            for name in reversed(axes):
                place, there[name] = divmod(place, self.axis_size(name))
            group.append(self.device_at(there))
        return tuple(group)

    def groups(self, axes: Iterable[str]) -> list[tuple[int, ...]]:
        """All groups along `axes`, by their smallest device; every device is in one of them."""
        axes = tuple(axes)
        return sorted({self.group(device, axes) for device in range(self.size)}, key=min)
