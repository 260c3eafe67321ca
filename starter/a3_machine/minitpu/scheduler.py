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
    # about 4 lines
    raise NotImplementedError("a3.5: collect the least distances through places and through queues")


# a3.5: who wrote and read each place last; results that wait in queues (about 41 lines)


def heads_and_tails(program: Program, machine: MachineSpec, edges: Sequence[Edge]) -> tuple[list[int], list[int]]:
    """For each operation: the earliest cycle it can be issued in, and the cycles from then to the end.

    Slots are ignored. A tail includes the operation's own `machine.completion`.
    """
    # about 7 lines
    raise NotImplementedError("a3.5: longest ways to and from each operation")


def lower_bounds(program: Program, machine: MachineSpec) -> Bounds:
    """The bounds on the cycles of any schedule with the program's own register names on the machine.

    Packing: in each kind of slot, of the operations with a head of at least a and a tail of at least
    b, the last one is issued in cycle a + ⌈count / capacity⌉ − 1 or later, and b cycles follow.
    """
    # about 20 lines
    raise NotImplementedError("a3.5: critical path, work for each slot, and for each slot all pairs (a, b)")


def list_schedule(
    program: Program, machine: MachineSpec, edges: Sequence[Edge], ahead: int | None = None
) -> list[list[Operation]]:
    """Bundles by list scheduling: each cycle takes, of the ready operations, those with the longest tails.

    `ahead`: how far to look in the program. An operation at position p may be issued only if
    p < first + ahead, where `first` is that of the first operation not issued so far; None is no limit.
    """
    # about 35 lines
    raise NotImplementedError("a3.5: heaps of what is too early, of what is too far ahead, and of what is ready")


# a3.5: edges by the operation they start from, and how many end at each (about 7 lines)


def schedule(program: Program, machine: MachineSpec) -> list[list[Operation]]:
    """Bundles that compute what the program computes, on this machine, in as few cycles as can be.

    Never needs more than `machine.registers` registers at once: if all operations could be
    hoisted a long program would, so the scheduler looks ahead less and less far. Outputs are live to
    the end. Raises RegisterPressureError if even that does not help.
    """
    # about 10 lines
    raise NotImplementedError("a3.5: list scheduling; while too many registers are live, look less far ahead")
