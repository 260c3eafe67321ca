"""The pipeline: the passes in an order in which each prepares the next.

Simplifying comes first, since it makes expressions alike that were written differently; folding
and sharing follow, and what they leave unread goes last. These four are repeated until none changes
anything. Then the program is small, and fusion decides about what is really needed; and once it is
known what goes through memory, it can be weighed which values are worth it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from . import algebraic_simplifier, constant_folding, cse, dce, fusion, rematerialization
from .hlo import Module
from .interpret import equations
from .roofline import TPU7X_CORE
from .text import dump_name, print_module

Pass = Callable[[Module], tuple[Module, bool]]
MAX_ROUNDS = 8

CLEANUP: dict[str, Pass] = {
    "algebraic_simplifier": algebraic_simplifier.run,
    "constant_folding": constant_folding.run,
    "cse": cse.run,
    "dce": dce.run,
}
FUSION: dict[str, Pass] = {
    "fusion": fusion.run,
    "rematerialization": lambda module: rematerialization.recompute_for_bandwidth(module, TPU7X_CORE),
}


@dataclass(frozen=True, slots=True)
class PassStatistics:
    """What one run of a pass did.

    `instructions_…` counts all instructions of all computations, `equations_…` those that compute
    something (`interpret.equations`, the lecture's count). `opcodes`: for each opcode how many more
    there are now; those that are as many as before are left out.
    """

    name: str
    instructions_before: int
    instructions_after: int
    equations_before: int
    equations_after: int
    opcodes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Optimized:
    """The optimised module, and what each pass did, in the order in which they ran."""

    module: Module
    statistics: tuple[PassStatistics, ...]


def optimize(module: Module, dump: Callable[[str, str], None] | None = None) -> Optimized:
    """Clean up until nothing changes, fuse, and recompute what is not worth its way through memory.

    `dump`, if given, is called with a file name and a text: the module before all passes, after each
    pass, and in the end, numbered and named as XLA does it.
    """
    run = _Run(module, dump)
    run.write("before_optimizations")
    ### BEGIN SOLUTION a2.7: rounds of the cleanup passes until one changes nothing, then the others
    for _ in range(MAX_ROUNDS):
        changes = [run.apply(name, each) for name, each in CLEANUP.items()]
        if not any(changes):
            break
    for name, each in FUSION.items():
        run.apply(name, each)
    ### END SOLUTION
    run.write("after_optimizations")
    return Optimized(run.module, tuple(run.statistics))


class _Run:
    """The module as it is now, and the record of what was done to it."""

    def __init__(self, module: Module, dump: Callable[[str, str], None] | None) -> None:
        self.module = module
        self.statistics: list[PassStatistics] = []
        self._dump = dump
        self._dumps = 0

    def apply(self, name: str, each: Pass) -> bool:
        """Put the module through a pass, note the statistics, dump the result; returns whether it changed."""
        before = self.module
        self.module, changed = each(before)
        ### BEGIN SOLUTION a2.7: compare the module before and after
        old, new = _opcodes(before), _opcodes(self.module)
        change = {opcode: new[opcode] - old[opcode] for opcode in sorted(old | new) if new[opcode] != old[opcode]}
        self.statistics.append(
            PassStatistics(name, old.total(), new.total(), equations(before), equations(self.module), change)
        )
        ### END SOLUTION
        self.write(name)
        return changed

    def write(self, stage: str) -> None:
        """Dump the module as it is at this stage."""
        if self._dump is not None:
            self._dump(dump_name(self.module, self._dumps, stage), print_module(self.module))
        self._dumps += 1


def _opcodes(module: Module) -> Counter[str]:
    return Counter(it.opcode for computation in module.computations for it in computation.instructions)
