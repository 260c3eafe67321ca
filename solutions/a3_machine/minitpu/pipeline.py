"""Overlap: while one tile is computed, the next is on its way in and the last on its way out.

There are three engines: a DMA queue from HBM to VMEM, the core, and a DMA queue back. Each does
one thing at a time, in order. What keeps them from running freely is memory: a tile sits in one
buffer from the start of its load to the end of its store, and copies of weights need VMEM from
the moment they start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Event(NamedTuple):
    """What an engine ("load", "compute" or "store") does to a tile in a buffer, in cycles start ≤ t < end."""

    engine: str
    tile: int
    buffer: int
    start: int
    end: int


def timeline(tiles: int, load: int, compute: int, store: int, buffers: int) -> list[Event]:
    """The events of a pipeline over `tiles` tiles, each as early as can be, for `buffers` buffers.

    `load`, `compute`, `store`: cycles for each tile, at least 1. Tile t uses buffer t mod
    `buffers`, which is free again when the tile that had it before has been stored. The makespan
    is the end of the last event.
    """
    ### BEGIN SOLUTION a3.6: each event starts when its engine, its tile and its buffer are ready
    events: list[Event] = []
    engine_free = {"load": 0, "compute": 0, "store": 0}
    buffer_free = [0] * buffers
    for tile in range(tiles):
        buffer = tile % buffers
        ready = buffer_free[buffer]
        for engine, cycles in (("load", load), ("compute", compute), ("store", store)):
            start = max(ready, engine_free[engine])
            ready = engine_free[engine] = start + cycles
            events.append(Event(engine, tile, buffer, start, ready))
        buffer_free[buffer] = ready
    return events
    ### END SOLUTION


@dataclass(frozen=True)
class Kernel:
    """A fused kernel: the values it reads, and the values it makes with their sizes in bytes of VMEM."""

    name: str
    cycles: int
    reads: tuple[str, ...]
    makes: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Copy:
    """A copy from HBM to VMEM of value `name`: its size in bytes, and the cycles of its transfer."""

    name: str
    size: int
    cycles: int


class Command(NamedTuple):
    """A command of the top-level program: "copy-start" or "copy-done" of a copy, or "call" of a kernel."""

    what: str
    name: str


def top_level_program(kernels: Sequence[Kernel], copies: Sequence[Copy], vmem: int) -> list[Command]:
    """Calls of the kernels in their order, with each copy started early and awaited late.

    A copy is done directly before the call of the first kernel that reads it; another `copy-done` may
    stand between, a `copy-start` not. It takes its `size` in VMEM during every call from its
    copy-start to the last that reads it. A value that a kernel makes takes its bytes during that
    call and those up to the last that reads it (up to the end if none does). No call sees more than
    `vmem` bytes taken, and no copy-start could stand before one call more without breaking that.
    Every copy is read, and there is room for all of them when each starts directly before its first
    use; values that nobody makes or copies are read from HBM.
    """
    ### BEGIN SOLUTION a3.6: bytes taken during each kernel; each copy goes back while it fits
    last_read = {name: index for index, kernel in enumerate(kernels) for name in kernel.reads}
    taken = [0] * len(kernels)
    for index, kernel in enumerate(kernels):
        for name, size in kernel.makes:
            for during in range(index, last_read.get(name, len(kernels) - 1) + 1):
                taken[during] += size
    first_read: dict[str, int] = {}
    for index, kernel in enumerate(kernels):
        for name in kernel.reads:
            first_read.setdefault(name, index)
    in_order = sorted(copies, key=lambda copy: first_read[copy.name])
    for copy in in_order:
        for during in range(first_read[copy.name], last_read[copy.name] + 1):
            taken[during] += copy.size
    starts: dict[str, int] = {}
    for copy in in_order:
        start = first_read[copy.name]
        while start > 0 and taken[start - 1] + copy.size <= vmem:
            start -= 1
            taken[start] += copy.size
        starts[copy.name] = start
    program: list[Command] = []
    for index, kernel in enumerate(kernels):
        program += [Command("copy-start", copy.name) for copy in in_order if starts[copy.name] == index]
        program += [Command("copy-done", copy.name) for copy in in_order if first_read[copy.name] == index]
        program.append(Command("call", kernel.name))
    return program
    ### END SOLUTION
