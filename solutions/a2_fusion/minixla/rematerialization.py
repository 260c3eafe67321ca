"""Rematerialisation: compute a value again rather than keep it.

What is kept costs something: a kernel's result costs its bytes on the way to memory and on the way
back, and, until its last reader has run, room. Two passes weigh that against computing it again.
`recompute_for_bandwidth` looks at a fused module and saves time; `recompute_for_memory` looks at a
schedule and saves room. Neither changes a bit, since the same instructions give the same values.
"""

from __future__ import annotations

from collections.abc import Iterable

from .fusion_builder import build_fusions, open_fusions
from .hlo import ADDRESSING, ELEMENTWISE, TRANSCENDENTAL, Instruction, Module, is_pure, names_of
from .kernels import Kernel, KernelPlan
from .liveness import NAMING, Lives, memory_in_use
from .roofline import Machine

KEPT = frozenset({"dot", "reduce"})  # never cloned for bandwidth: they would read all their inputs again
MAX_CHAIN = 64  # instructions; more would never pay
COUNTED = ELEMENTWISE - TRANSCENDENTAL - {"copy"}


def recompute_for_bandwidth(module: Module, machine: Machine) -> tuple[Module, bool]:
    """Let the readers of a kernel's result compute it themselves where that is faster.

    That is so if moving the bytes that are saved takes `machine` longer than the vector operations
    that are added. The chain of instructions that makes the value is cloned into every kernel that
    reads it. Dots and reduces are never cloned, and what the module returns stays in memory. Also
    says whether anything has changed.
    """
    ### BEGIN SOLUTION a2.5: weigh every stored value, store all but those, and again until none is left
    plan = first = open_fusions(module)
    while dropped := worth_dropping(plan, machine):
        kernels = [
            Kernel(tuple(name for name in kernel.stores if name not in dropped), kernel.alone)
            for kernel in plan.kernels
        ]
        plan = KernelPlan(plan.module, kernels)
    return (module, False) if plan is first else (build_fusions(plan), True)
    ### END SOLUTION


def worth_dropping(plan: KernelPlan, machine: Machine) -> set[str]:
    """The stored values that their readers had better compute. None of them is computed from another."""
    weighing = _Weighing(plan, machine)
    for number, kernel in enumerate(plan.kernels):
        for value in () if kernel.alone else kernel.stores:
            weighing.weigh(number, value)
    return weighing.dropped


class _Weighing:
    """Which values of a plan need not be stored.

    `dropped`: those. `fixed`: values that must stay stored, among them what dropped values are
    computed from. For each kernel, by number and as things stand: `bodies`, the instructions that it
    runs, and `reads`, the arrays that it reads. `readers`: for each array the kernels that read it.
    """

    def __init__(self, plan: KernelPlan, machine: Machine) -> None:
        self.plan = plan
        self.machine = machine
        self.dropped: set[str] = set()
        self.fixed = plan.needed_in_memory()
        self.bodies: list[set[str]] = []
        self.reads: list[set[str]] = []
        self.readers: dict[str, list[int]] = {}
        for number in range(len(plan.kernels)):
            body = plan.body(number)
            self.bodies.append({it.name for it in body})
            self.reads.append({name for it in body for name in it.operands} - self.bodies[-1])
            for name in self.reads[-1]:
                self.readers.setdefault(name, []).append(number)

    def bytes_of(self, names: set[str]) -> int:
        """The sizes of arrays, together."""
        return sum(self.plan.entry[name].array_shape.bytes for name in names)

    def weigh(self, number: int, value: str) -> None:
        """Drop a value that kernel `number` stores if all its readers had better compute it."""
        ### BEGIN SOLUTION a2.5: bytes saved in each reader, operations added there, and what its kernel saves
        if value in self.fixed:
            return
        readers = self.readers.get(value, [])
        chain = self.plan.chain(value, MAX_CHAIN)
        inputs = {name for it in chain for name in it.operands} - {it.name for it in chain}
        inputs = {name for name in inputs if self.plan.in_memory(name)}
        if not (readers and chain) or inputs & self.dropped or any(it.opcode in KEPT for it in chain):
            return
        own = self.plan.entry[value].array_shape.bytes
        saved, seconds = own, 0.0
        for reader in readers:
            saved += own - self.bytes_of(inputs - self.reads[reader])
            seconds += self.seconds([it for it in chain if it.name not in self.bodies[reader]], value, reader)
        wanted = [name for name in self.plan.kernels[number].stores if name in self.readers or name in self.fixed]
        if wanted == [value]:  # then the whole kernel goes
            saved += self.bytes_of(inputs)
            seconds -= self.seconds(chain, value, number)
        if saved > 0 and self.machine.memory_seconds(saved) > seconds:
            self.dropped.add(value)
            self.fixed |= inputs
            for reader in readers:
                self.reads[reader] = self.reads[reader] - {value} | inputs
                self.bodies[reader] |= {it.name for it in chain}
        ### END SOLUTION

    def seconds(self, chain: Iterable[Instruction], value: str, number: int) -> float:
        """Time of the vector units for computing a chain in a kernel.

        A loop computes a value where it reads it. So if the kernel reads it as a larger array, a
        statistic of a row, say, broadcast along the row, it is computed as often as that has elements.
        """
        entry = self.plan.entry
        times, names = 1, [value]
        while names:
            for use in entry.users()[names.pop()]:
                if use in self.bodies[number] and entry[use].opcode in ADDRESSING:
                    times = max(times, entry[use].array_shape.elements)
                    names.append(use)
        operations = transcendentals = 0
        for it in chain:
            elements = max(it.array_shape.elements, times)
            transcendentals += elements * (it.opcode in TRANSCENDENTAL)
            operations += elements * (it.opcode in COUNTED)
        return self.machine.vector_seconds(operations, transcendentals)


def recompute_for_memory(module: Module, limit_bytes: int) -> tuple[Module, bool]:
    """Lower the peak memory of a scheduled module to the limit by computing values again, if possible.

    While the peak (`liveness.peak_memory`) is above the limit: take a value that waits across the
    peak for later readers, and put a clone of its instruction directly before each of these. Of the
    values for which that lowers the peak, the one that frees most there. Also says whether
    anything has changed; a module within the limit does not.
    """
    ### BEGIN SOLUTION a2.5: as long as it helps, free the largest value that waits across the peak
    changed = False
    while True:
        usage = memory_in_use(module)
        peak = max(usage, default=0)
        better = lower_at(module, usage.index(peak)) if peak > limit_bytes else None
        if better is None:
            return module, changed
        module, changed = better, True
    ### END SOLUTION


def lower_at(module: Module, position: int) -> Module | None:
    """The module with clones of one value that waits across a position, such that the peak is lower.

    Lower is also an equal peak at fewer positions. None if no value can be cloned to that end.
    """
    ### BEGIN SOLUTION a2.5: what each candidate frees at the position; try them in that order
    usage = memory_in_use(module)
    peak = max(usage), usage.count(max(usage))
    for it in waiting_across(module, position):
        candidate = clone_before_readers(module, it, position)
        usage = memory_in_use(candidate)
        if (max(usage), usage.count(max(usage))) < peak:
            return candidate
    return None
    ### END SOLUTION


def waiting_across(module: Module, position: int) -> list[Instruction]:
    """The instructions before a position whose value is read after it, not at it, and can be cloned.

    Those that free most come first: the value's bytes, less those of operands that would have to
    wait in its place. Not cloned are parameters, dots, what is not pure, and what others rename.
    """
    ### BEGIN SOLUTION a2.5: go through the live buffers; an operand that is dead by then counts against it
    entry = module.entry_computation
    lives = Lives(module)
    live = lives.buffers
    place = {it.name: number for number, it in enumerate(entry.instructions)}
    found: list[tuple[int, Instruction]] = []
    for it in entry.instructions[:position]:
        readers = [place[name] for name in entry.users()[it.name]]
        if (
            it.name not in live
            or it.name == entry.root
            or max(readers, default=-1) <= position
            or position in readers
        ):
            continue
        renamed = any(entry[name].opcode in NAMING and name != entry.root for name in entry.users()[it.name])
        if renamed or not is_pure(it) or it.opcode in ("parameter", "dot") or it.attribute("kind") == "kOutput":
            continue
        kept = [live[name].bytes for name in lives.behind(*it.operands) if live[name].last < position]
        freed = live[it.name].bytes - sum(kept)
        if freed > 0:
            found.append((freed, it))
    return [it for _, it in sorted(found, key=lambda pair: pair[0], reverse=True)]
    ### END SOLUTION


def clone_before_readers(module: Module, it: Instruction, position: int) -> Module:
    """The module with a clone of `it` directly before each of its readers after a position.

    The instruction itself stays if it has readers before.
    """
    entry = module.entry_computation
    names = names_of(entry)
    stays = any(it.name in each.operands for each in entry.instructions[:position])
    written: list[Instruction] = []
    for number, each in enumerate(entry.instructions):
        if number > position and it.name in each.operands:
            clone = it.replace(name=names.fresh(f"{it.name}.remat"))
            written.append(clone)
            each = each.renamed({it.name: clone.name})
        if each.name != it.name or stays:
            written.append(each)
    return module.with_entry(written)
