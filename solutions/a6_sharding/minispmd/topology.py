"""The wires: a torus of devices, each linked to its neighbours along every axis.

A link goes one way, from a device to a neighbour; two neighbours have one link each way. Axes of size 3 and more
may wrap around, which makes each line of devices a ring. A message to a device that is no neighbour travels over
the links between: along the first axis first, the shorter way round, upwards if both ways are as long.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

Link = tuple[int, int]


@dataclass(frozen=True)
class Torus:
    """Devices in a box of these sizes, numbered with the first axis slowest; `wrap`: whether lines are rings."""

    sizes: tuple[int, ...]
    wrap: bool = True

    @property
    def size(self) -> int:
        """The number of devices."""
        return math.prod(self.sizes)

    def place(self, device: int) -> list[int]:
        """The device's coordinates."""
        coordinates = []
        for size in reversed(self.sizes):
            device, coordinate = divmod(device, size)
            coordinates.append(coordinate)
        return coordinates[::-1]

    def at(self, coordinates: Iterable[int]) -> int:
        """The device at these coordinates."""
        device = 0
        for coordinate, size in zip(coordinates, self.sizes, strict=True):
            device = device * size + coordinate
        return device

    def route(self, source: int, target: int) -> tuple[Link, ...]:
        """The links that a message passes, in order; none from a device to itself."""
        return _route(self, source, target)


@lru_cache(maxsize=1 << 16)
def _route(torus: Torus, source: int, target: int) -> tuple[Link, ...]:
    here, goal = torus.place(source), torus.place(target)
    links: list[Link] = []
    for axis, size in enumerate(torus.sizes):
        upwards = (goal[axis] - here[axis]) % size
        step, count = (1, upwards) if upwards <= size - upwards else (-1, size - upwards)
        if not torus.wrap or size < 3:
            step, count = (1 if goal[axis] > here[axis] else -1), abs(goal[axis] - here[axis])
        for _ in range(count):
            before = torus.at(here)
            here[axis] = (here[axis] + step) % size
            links.append((before, torus.at(here)))
    return tuple(links)
