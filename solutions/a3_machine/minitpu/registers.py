"""Register pressure: how many vector registers are live at once.

A value lives in its register from the cycle in which it lands to the last cycle that reads it,
both inclusive. In a straight line of bundles these are intervals, and intervals can share
registers greedily: as many registers suffice as there are values live at the busiest moment.
So a schedule may use any names, and all that matters is that this number is not above
`MachineSpec.registers`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from .isa import MachineSpec, Operation


def live_registers(
    bundles: Sequence[Sequence[Operation]], machine: MachineSpec, outputs: Iterable[str] = ()
) -> list[int]:
    """How many vector registers are live in each cycle, as long as anything is under way.

    `outputs`: registers whose final values are results, and live to the end.
    """
    lands: dict[str, list[int]] = defaultdict(list)  # when values land in a register
    reads: dict[str, list[int]] = defaultdict(list)  # when it is read
    for cycle, bundle in enumerate(bundles):
        for operation in bundle:
            if operation.dest.startswith("v"):
                lands[operation.dest].append(cycle + machine.latency(operation))
            for register in operation.sources:
                reads[register].append(cycle)
    end = max([len(bundles), *(cycle for cycles in lands.values() for cycle in cycles)], default=0)
    for register in outputs:
        reads[register].append(end)
    changes = [0] * (end + 2)
    for register, landings in lands.items():
        for first, last in _lives(sorted(landings), reads[register]):
            changes[first] += 1
            changes[last + 1] -= 1
    live, counts = 0, []
    for change in changes[:-1]:
        live += change
        counts.append(live)
    return counts


def _lives(landings: list[int], reads: list[int]) -> Iterable[tuple[int, int]]:
    """First and last cycle of each value of one register: a read belongs to the latest landing before it."""
    pending = sorted(reads)
    for number, first in enumerate(landings):
        until = landings[number + 1] if number + 1 < len(landings) else float("inf")
        last = first
        while pending and pending[0] < until:
            last = max(last, pending.pop(0))
        yield first, last
