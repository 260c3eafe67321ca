"""Scheduling backwards: the program is placed from its end, each operation as late as it can be.

Time counts down to the end. An operation may be placed when all that follows it has been; of those that may, the
ones that come latest after the start of the program go first. Where too many registers are live, values are spilled.
First of all, registers are renamed, so that only RAW is left of the dependences through them.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
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


def place_backwards(program, machine, edges):
    """Bundles by list scheduling from the end, with the longest heads first."""
    operations = program.operations
    heads, _ = heads_and_tails(program, machine, edges)
    before = defaultdict(list)
    missing = [0] * len(operations)
    for edge in edges:
        before[edge.after].append((edge.before, edge.distance))
        missing[edge.before] += 1
    least = [machine.completion(operation) for operation in operations]
    waiting = sorted((least[i], i) for i in range(len(operations)) if not missing[i])
    ready = defaultdict(list)
    to_end = [0] * len(operations)
    placed, now = 0, 1
    while placed < len(operations):
        room = Counter(machine.slots)
        while True:
            while waiting and waiting[0][0] <= now:
                index = heapq.heappop(waiting)[1]
                heapq.heappush(ready[machine.slot(operations[index])], (-heads[index], -index))
            slot = next((slot for slot, heap in ready.items() if heap and room[slot]), None)
            if slot is None:
                break
            index = -heapq.heappop(ready[slot])[1]
            room[slot] -= 1
            to_end[index] = now
            placed += 1
            for earlier, distance in before[index]:
                least[earlier] = max(least[earlier], now + distance)
                missing[earlier] -= 1
                if not missing[earlier]:
                    heapq.heappush(waiting, (least[earlier], earlier))
        now += 1
    bundles = [[] for _ in range(max(to_end, default=0))]
    for index, distance in enumerate(to_end):
        bundles[len(bundles) - distance].append(operations[index])
    return bundles


def spill(program, machine, limit):
    """The program with values stored and loaded again, so that in its own order at most `limit` are live."""
    uses = defaultdict(list)
    for index, operation in enumerate(program.operations):
        for register in set(operation.sources):
            if register[0] == "v":
                uses[register].append(index)
    for register in program.outputs:
        uses[register].append(len(program.operations))
    made, spilled, current = [], {}, {}
    address, fresh = machine.spill_from, 1 + max(
        [int(operation.dest[1:]) for operation in program.operations if operation.dest[:1] == "v"], default=0
    )
    held = set()  # original names of the values that are in registers

    def make_room(needed):
        nonlocal address
        while len(held) > limit - 1:
            victim = max(held - needed, key=lambda register: uses[register][0] if uses[register] else 1 << 60)
            held.discard(victim)
            if uses[victim]:
                if victim not in spilled:
                    spilled[victim] = address
                    made.append(Operation("vst", "", (current[victim],), address))
                    address += machine.sublanes
                del current[victim]

    for operation in program.operations:
        vectors = [register for register in dict.fromkeys(operation.sources) if register[0] == "v"]
        for register in vectors:
            if register not in current:
                make_room(set(vectors))
                made.append(Operation("vld", f"v{fresh}", (), spilled[register]))
                current[register] = f"v{fresh}"
                held.add(register)
                fresh += 1
        made.append(
            Operation(
                operation.opcode,
                operation.dest,
                tuple(current.get(register, register) for register in operation.sources),
                operation.number,
            )
        )
        for register in vectors:
            uses[register].pop(0)
            if not uses[register]:
                held.discard(register)
        if operation.dest[:1] == "v":
            make_room({operation.dest})
            held.add(operation.dest)
            current[operation.dest] = operation.dest
    return Program(tuple(made), program.outputs, program.starts)


def rename(program):
    """The program with a register of its own for every value; the last value of a register keeps its name."""
    registers = {name for operation in program.operations for name in (operation.dest, *operation.sources)}
    fresh = 1 + max([int(name[1:]) for name in registers if name[:1] == "v"], default=0)
    last = {operation.dest: index for index, operation in enumerate(program.operations)}
    current, renamed = {}, []
    for index, operation in enumerate(program.operations):
        sources, dest = tuple(current.get(name, name) for name in operation.sources), operation.dest
        if dest[:1] == "v":
            current[dest] = dest if last[dest] == index else f"v{fresh + index}"
        renamed.append(replace(operation, dest=current.get(dest, dest), sources=sources))
    return replace(program, operations=tuple(renamed))


def schedule(program, machine):
    program = rename(program)
    edges = dependence_graph(program, machine)
    bundles = place_backwards(program, machine, edges)
    if max(live_registers(bundles, machine, program.outputs), default=0) <= machine.registers:
        return bundles
    for limit in (machine.registers - 2, machine.registers // 2, 4):
        smaller = spill(program, machine, limit)
        count = len(smaller.operations)
        edges = dependence_graph(smaller, machine)
        for window in (64, 16, 4, 1):
            ordered = [Edge(index - window, index, 0) for index in range(window, count)]
            bundles = place_backwards(smaller, machine, [*edges, *ordered])
            needed = max(live_registers(bundles, machine, program.outputs), default=0)
            if needed <= machine.registers:
                return bundles
    raise RegisterPressureError(needed, machine.registers)
