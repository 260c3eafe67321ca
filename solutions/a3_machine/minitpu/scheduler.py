"""Scheduling: from a list of operations to bundles, for a machine that does not wait.

Everything that a schedule must respect is an edge of the dependence graph: operation `after` is
issued at least `distance` cycles after operation `before`. The distance may be negative, because
what counts is not when an operation is issued but when its result lands. No schedule that
keeps the names of registers is shorter than a few bounds that follow from the graph and the slots;
list scheduling comes close to them.
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
    """Cycles below which no schedule of a program can get with the program's own register names.

    `critical_path`: the longest way through the graph. `work`: for each kind of slot its operations
    over its capacity, rounded up, in any order; unused slots may be left out. `packing`: the best of
    the bounds that look at both. A schedule that renames registers may get below them.
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
    ### BEGIN SOLUTION a3.5: collect the least distances through places and through queues
    least: Distances = {}
    _through_places(program, machine, least)
    _through_queues(program, machine, least)
    return [Edge(before, after, distance) for (before, after), distance in least.items()]
    ### END SOLUTION


### BEGIN SOLUTION a3.5: who wrote and read each place last; results that wait in queues
Distances = dict[tuple[int, int], int]


def _demand(least: Distances, before: int, after: int, distance: int) -> None:
    least[before, after] = max(distance, least.get((before, after), distance))


def _through_places(program: Program, machine: MachineSpec, least: Distances) -> None:
    """RAW, WAR and WAW; it is enough to look back to the last write of a place and the reads since."""
    writer: dict[Place, int] = {}
    readers: dict[Place, list[int]] = defaultdict(list)
    for index, operation in enumerate(program.operations):
        latency = machine.latency(operation)
        for place in reads(operation, machine):
            if place in writer:  # the value must have landed
                _demand(least, writer[place], index, machine.latency(program.operations[writer[place]]))
            readers[place].append(index)
        for place in writes(operation, machine):
            for reader in readers.pop(place, []):
                if reader != index:  # it must not land before the old value is read
                    _demand(least, reader, index, 1 - latency)
            if place in writer:  # it must land after the old value
                before = program.operations[writer[place]]
                _demand(least, writer[place], index, machine.latency(before) - latency + 1)
                if operation.opcode == before.opcode == "vmatpush":
                    _demand(least, writer[place], index, machine.every(before))
            writer[place] = index


def _through_queues(program: Program, machine: MachineSpec, least: Distances) -> None:
    """The n-th pop of a queue takes the n-th result; senders stay in order, and so do pops."""
    results: dict[str, deque[tuple[int, int]]] = defaultdict(deque)  # sent and not yet popped
    sender: dict[str, int] = {}
    popper: dict[str, int] = {}
    for index, operation in enumerate(program.operations):
        if operation.results:
            if operation.dest in sender:
                _demand(least, sender[operation.dest], index, 1)
            sender[operation.dest] = index
            results[operation.dest].extend((index, number) for number in range(operation.results))
        if operation.opcode.startswith("vpop"):
            (queue,) = operation.sources
            if queue in popper:
                _demand(least, popper[queue], index, machine.every(program.operations[popper[queue]]))
            popper[queue] = index
            source, number = results[queue].popleft()
            _demand(least, source, index, machine.arrival(program.operations[source], number))


### END SOLUTION


def heads_and_tails(program: Program, machine: MachineSpec, edges: Sequence[Edge]) -> tuple[list[int], list[int]]:
    """For each operation: the earliest cycle it can be issued in, and the cycles from then to the end.

    Slots are ignored. A tail includes the operation's own `machine.completion`.
    """
    ### BEGIN SOLUTION a3.5: longest ways to and from each operation
    heads = [0] * len(program.operations)
    tails = [machine.completion(operation) for operation in program.operations]
    for before, after, distance in sorted(edges, key=lambda edge: edge.after):
        heads[after] = max(heads[after], heads[before] + distance)
    for before, after, distance in sorted(edges, key=lambda edge: -edge.before):
        tails[before] = max(tails[before], distance + tails[after])
    return heads, tails
    ### END SOLUTION


def lower_bounds(program: Program, machine: MachineSpec) -> Bounds:
    """The bounds on the cycles of any schedule with the program's own register names on the machine.

    Packing: in each kind of slot, of the operations with a head of at least a and a tail of at least
    b, the last one is issued in cycle a + ⌈count / capacity⌉ − 1 or later, and b cycles follow.
    """
    ### BEGIN SOLUTION a3.5: critical path, work for each slot, and for each slot all pairs (a, b)
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
    ### END SOLUTION


def list_schedule(
    program: Program, machine: MachineSpec, edges: Sequence[Edge], ahead: int | None = None
) -> list[list[Operation]]:
    """Bundles by list scheduling: each cycle takes, of the ready operations, those with the longest tails.

    `ahead`: how far to look in the program. An operation at position p may be issued only if
    p < first + ahead, where `first` is that of the first operation not issued so far; None is no limit.
    """
    ### BEGIN SOLUTION a3.5: heaps of what is too early, of what is too far ahead, and of what is ready
    operations = program.operations
    _, tails = heads_and_tails(program, machine, edges)
    after, missing = _followers(len(operations), edges)
    earliest = [0] * len(operations)
    early = [(0, index) for index, count in enumerate(missing) if not count]  # by cycle
    far: list[int] = []  # by position
    ready: dict[str, list[tuple[int, int]]] = defaultdict(list)  # by tail
    issued = [False] * len(operations)
    first = 0  # that has not been issued
    bundles: list[list[Operation]] = []
    while first < len(operations):
        bundle: list[Operation] = []
        room = Counter(machine.slots)
        while True:
            while early and early[0][0] <= len(bundles):
                heapq.heappush(far, heapq.heappop(early)[1])
            while far and (ahead is None or far[0] < first + ahead):
                index = heapq.heappop(far)
                heapq.heappush(ready[machine.slot(operations[index])], (-tails[index], index))
            slot = next((slot for slot, heap in ready.items() if heap and room[slot]), None)
            if slot is None:
                break
            _, index = heapq.heappop(ready[slot])
            bundle.append(operations[index])
            room[slot] -= 1
            issued[index] = True
            while first < len(operations) and issued[first]:
                first += 1
            for follower, distance in after[index]:
                earliest[follower] = max(earliest[follower], len(bundles) + distance)
                missing[follower] -= 1
                if not missing[follower]:
                    heapq.heappush(early, (earliest[follower], follower))
        bundles.append(bundle)
    return bundles
    ### END SOLUTION


### BEGIN SOLUTION a3.5: edges by the operation they start from, and how many end at each
def _followers(count: int, edges: Sequence[Edge]) -> tuple[list[list[tuple[int, int]]], list[int]]:
    after: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    missing = [0] * count
    for edge in edges:
        after[edge.before].append((edge.after, edge.distance))
        missing[edge.after] += 1
    return after, missing


### END SOLUTION


def schedule(program: Program, machine: MachineSpec) -> list[list[Operation]]:
    """Bundles that compute what the program computes, on this machine, in as few cycles as can be.

    Never needs more than `machine.registers` registers at once: if all operations could be
    hoisted a long program would, so the scheduler looks ahead less and less far. Outputs are live to
    the end. Raises RegisterPressureError if even that does not help.
    """
    ### BEGIN SOLUTION a3.5: list scheduling; while too many registers are live, look less far ahead
    edges = dependence_graph(program, machine)
    ahead = len(program.operations)
    while True:
        bundles = list_schedule(program, machine, edges, ahead)
        needed = max(live_registers(bundles, machine, program.outputs), default=0)
        if needed <= machine.registers:
            return bundles
        if ahead == 1:
            raise RegisterPressureError(needed, machine.registers)
        ahead //= 2
    ### END SOLUTION
