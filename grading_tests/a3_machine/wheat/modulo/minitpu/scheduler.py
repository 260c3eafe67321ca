"""Modulo scheduling: work that repeats for every tile starts every II cycles, as a loop would be pipelined.

The smallest II that the slots allow is tried first. One tile's operations are placed so that no slot is too full
modulo II; then tile k is the same, k · II cycles later. The ends of the pipeline, where slots are free, are closed
up by issuing in that order as early as can be. Programs that do not repeat are scheduled as a list.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .errors import RegisterPressureError
from .isa import MachineSpec, Operation, Place, reads, writes
from .llo import Program
from .registers import live_registers


class Edge(NamedTuple):
    """`after` is issued at least `distance` cycles after `before`; both are positions in the program."""

    before: int
    after: int
    distance: int


@dataclass(frozen=True)
class Bounds:
    """Cycles below which no schedule with a program's own registers can get.

    `critical_path`: the longest way through the graph. `work`: for each kind of slot, its operations
    over its capacity, rounded up. `packing`: the best of the bounds that look at both.
    """

    critical_path: int
    work: dict[str, int]
    packing: int

    @property
    def cycles(self) -> int:
        """The best bound, W."""
        return max([self.critical_path, self.packing, *self.work.values()])


def dependence_graph(program: Program, machine: MachineSpec) -> list[Edge]:
    """The edges that a schedule of the program must respect; those that follow from others may be left out.

    For places (registers, weights, rows of memory; see `isa.reads` and `isa.writes`) between a read
    and the write before it, and between a write and the reads and the write before it. For
    queues from the operation that sends a result to the pop that takes it, and from each operation
    that sends to, or pops, a queue to the next that does the same.
    """
    operations = program.operations
    longest: dict[tuple[int, int], int] = {}
    writer: dict[Place, int] = {}
    readers: dict[Place, list[int]] = defaultdict(list)
    results: dict[str, deque[tuple[int, int]]] = defaultdict(deque)  # sent and not yet popped
    sender: dict[str, int] = {}
    popper: dict[str, int] = {}

    def need(before: int, after: int, distance: int) -> None:
        longest[before, after] = max(distance, longest.get((before, after), distance))

    for index, operation in enumerate(operations):
        latency = machine.latency(operation)
        for place in reads(operation, machine):
            if place in writer:  # the value must have landed
                need(writer[place], index, machine.latency(operations[writer[place]]))
            readers[place].append(index)
        for place in writes(operation, machine):
            for reader in readers.pop(place, []):
                if reader != index:  # it must not land before the old value is read
                    need(reader, index, 1 - latency)
            if place in writer:  # it must land after the old value
                need(writer[place], index, machine.latency(operations[writer[place]]) - latency + 1)
                if operation.opcode == operations[writer[place]].opcode == "vmatpush":
                    need(writer[place], index, machine.every(operation))
            writer[place] = index
        if operation.results:
            if operation.dest in sender:
                need(sender[operation.dest], index, 1)
            sender[operation.dest] = index
            results[operation.dest].extend((index, number) for number in range(operation.results))
        if operation.opcode.startswith("vpop"):
            (queue,) = operation.sources
            if queue in popper:
                need(popper[queue], index, machine.every(operations[popper[queue]]))
            popper[queue] = index
            source, number = results[queue].popleft()
            need(source, index, machine.arrival(operations[source], number))
    return [Edge(before, after, distance) for (before, after), distance in longest.items()]


def heads_and_tails(program: Program, machine: MachineSpec, edges: Sequence[Edge]) -> tuple[list[int], list[int]]:
    """For each operation: the earliest cycle it can be issued in, and the cycles from then to the end.

    Slots are ignored. A tail includes the operation's own `machine.completion`.
    """
    heads = [0] * len(program.operations)
    tails = [machine.completion(operation) for operation in program.operations]
    for before, after, distance in sorted(edges, key=lambda edge: edge.after):
        heads[after] = max(heads[after], heads[before] + distance)
    for before, after, distance in sorted(edges, key=lambda edge: -edge.before):
        tails[before] = max(tails[before], distance + tails[after])
    return heads, tails


def lower_bounds(program: Program, machine: MachineSpec) -> Bounds:
    """The bounds on the cycles of any schedule of the program on the machine.

    Packing: in each kind of slot, of the operations with a head of at least a and a tail of at least
    b, the last one is issued in cycle a + ⌈count / capacity⌉ − 1 or later, and b cycles follow.
    """
    heads, tails = heads_and_tails(program, machine, dependence_graph(program, machine))
    by_slot: dict[str, list[int]] = defaultdict(list)
    for index, operation in enumerate(program.operations):
        by_slot[machine.slot(operation)].append(index)
    work, packing = {}, 0
    for slot, members in by_slot.items():
        capacity = machine.slots[slot]
        work[slot] = -(-len(members) // capacity)
        b = np.arange(max(tails[index] for index in members) + 1)
        count = np.zeros(len(b), int)  # of operations with head ≥ a, by tail
        members.sort(key=lambda index: -heads[index])
        for position, index in enumerate(members):
            count[tails[index]] += 1
            if position + 1 < len(members) and heads[members[position + 1]] == heads[index]:
                continue
            at_least = np.cumsum(count[::-1])[::-1]
            cycles = np.where(at_least > 0, heads[index] + -(-at_least // capacity) - 1 + b, 0)
            packing = max(packing, int(cycles.max()))
    critical_path = max((head + tail for head, tail in zip(heads, tails, strict=True)), default=0)
    return Bounds(critical_path, work, packing)


def place_all(program, machine, edges, order=None):
    """Bundles by list scheduling, in the order of longest tails or in the given order."""
    operations = program.operations
    _, tails = heads_and_tails(program, machine, edges)
    if order is not None:
        tails = [-cycle for cycle in order]
    after: dict[int, list[tuple[int, int]]] = defaultdict(list)
    missing = [0] * len(operations)
    for edge in edges:
        after[edge.before].append((edge.after, edge.distance))
        missing[edge.after] += 1
    earliest = [0] * len(operations)
    later = [(0, index) for index in range(len(operations)) if not missing[index]]  # a heap by cycle
    ready: dict[str, list[tuple[int, int]]] = defaultdict(list)  # heaps by tail
    bundles: list[list[Operation]] = []
    placed = 0
    while placed < len(operations):
        cycle, bundle = len(bundles), []
        room = Counter(machine.slots)
        while True:
            while later and later[0][0] <= cycle:
                index = heapq.heappop(later)[1]
                heapq.heappush(ready[machine.slot(operations[index])], (-tails[index], index))
            slot = next((slot for slot, heap in ready.items() if heap and room[slot]), None)
            if slot is None:
                break
            _, index = heapq.heappop(ready[slot])
            room[slot] -= 1
            bundle.append(operations[index])
            for follower, distance in after[index]:
                earliest[follower] = max(earliest[follower], cycle + distance)
                missing[follower] -= 1
                if not missing[follower]:
                    heapq.heappush(later, (earliest[follower], follower))
        bundles.append(bundle)
        placed += len(bundle)
    return bundles


def list_schedule(program, machine, edges, ahead=None):
    """Bundles by list scheduling forwards: the longest tail of all that is ready and in reach, until nothing is."""
    operations = program.operations
    _, tails = heads_and_tails(program, machine, edges)
    before = defaultdict(list)
    for edge in edges:
        before[edge.after].append(edge)
    issued, bundles = {}, []
    while len(issued) < len(operations):
        bundle, room = [], Counter(machine.slots)
        while left := [index for index in range(len(operations)) if index not in issued]:
            ready = [
                index
                for index in left
                if (ahead is None or index < left[0] + ahead) and room[machine.slot(operations[index])]
                and all(edge.before in issued and issued[edge.before] + edge.distance <= len(bundles) for edge in before[index])
            ]
            if not ready:
                break
            index = max(ready, key=tails.__getitem__)
            issued[index] = len(bundles)
            bundle.append(operations[index])
            room[machine.slot(bundle[-1])] -= 1
        bundles.append(bundle)
    return bundles


def _loop(program):
    """Positions before the loop, and for each tile the positions of its operations; None if tiles are not alike."""
    starts = [*program.starts, len(program.operations)]
    if len(program.starts) < 2:
        return None
    once = list(range(starts[0]))
    tiles = []
    for first, last in zip(starts, starts[1:]):
        once += [i for i in range(first, last) if program.operations[i].opcode == "smov"]
        tiles.append([i for i in range(first, last) if program.operations[i].opcode != "smov"])
    shape = [program.operations[i].opcode for i in tiles[0]]
    alike = all([program.operations[i].opcode for i in tile] == shape for tile in tiles)
    return (once, tiles) if alike and shape else None


def _place_tile(program, machine, tile, edges, interval):
    """Cycles of one tile's operations with no slot too full modulo `interval`, or None."""
    place = {index: number for number, index in enumerate(tile)}
    inner = [Edge(place[b], place[a], d) for b, a, d in edges if b in place and a in place]
    body = Program(tuple(program.operations[index] for index in tile))
    heads, tails = heads_and_tails(body, machine, inner)
    before = defaultdict(list)
    for edge in inner:
        before[edge.after].append(edge)
    full = Counter()
    at = []
    for number, operation in enumerate(body.operations):
        slot = machine.slot(operation)
        earliest = max([0, *(at[edge.before] + edge.distance for edge in before[number])])
        for cycle in range(earliest, earliest + interval):
            if full[slot, cycle % interval] < machine.slots[slot]:
                break
        else:
            return None
        full[slot, cycle % interval] += 1
        at.append(cycle)
    return at


def modulo_schedule(program, machine, edges, slack):
    """Cycles of all operations, with a tile every so many cycles; None if the program is no loop."""
    loop = _loop(program)
    if loop is None:
        return None
    once, tiles = loop
    work = Counter(machine.slot(program.operations[index]) for index in tiles[0])
    interval = max(-(-count // machine.slots[slot]) for slot, count in work.items()) + slack
    at = _place_tile(program, machine, tiles[0], edges, interval)
    if at is None:
        return None
    issued = {}
    place = {index: number for number, index in enumerate(once)}
    first = Program(tuple(program.operations[index] for index in once))
    inner = [Edge(place[b], place[a], d) for b, a, d in edges if b in place and a in place]
    where = defaultdict(list)
    for cycle, bundle in enumerate(place_all(first, machine, inner)):
        for operation in bundle:
            where[operation].append(cycle)
    for index in once:
        issued[index] = where[program.operations[index]].pop(0)
    for base in range(1000):
        cycles = dict(issued)
        for number, tile in enumerate(tiles):
            cycles.update({index: base + number * interval + cycle for index, cycle in zip(tile, at)})
        full = Counter((machine.slot(program.operations[index]), cycle) for index, cycle in cycles.items())
        fits = all(count <= machine.slots[slot] for (slot, _), count in full.items())
        if fits and all(cycles[a] - cycles[b] >= d for b, a, d in edges):
            return [cycles[index] for index in range(len(program.operations))]
    return None


def _cycles(bundles, machine):
    ends = [t + machine.completion(operation) for t, bundle in enumerate(bundles) for operation in bundle]
    return max(ends, default=0)


def schedule(program, machine):
    edges = dependence_graph(program, machine)
    orders = [modulo_schedule(program, machine, edges, slack) for slack in range(4)]
    found = []
    for order in (order for order in orders if order is not None):
        strict = [[] for _ in range(max(order) + 1)]
        for index, cycle in enumerate(order):
            strict[cycle].append(program.operations[index])
        found += [strict, place_all(program, machine, edges, order)]
    count = len(program.operations)
    for window in (count, 256, 64, 16, 1):
        ordered = [Edge(index - window, index, 0) for index in range(window, count)]
        found.append(place_all(program, machine, [*edges, *ordered]))
        good = [b for b in found if max(live_registers(b, machine, program.outputs), default=0) <= machine.registers]
        if good:
            return min(good, key=lambda bundles: _cycles(bundles, machine))
    needed = max(live_registers(found[-1], machine, program.outputs), default=0)
    raise RegisterPressureError(needed, machine.registers)
