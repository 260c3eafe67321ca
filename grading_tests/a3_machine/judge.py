"""Judges schedules that came back as data, on the given machine.

Nothing here is taken on the student's word: lines are parsed by the given parser, bundles run on the given
machine beside the program as it is written, cycles are counted there, and the bound is worked out here. The
bound and the constraints are computed from pairs of operations, in quadratic time.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise

import msgspec
import numpy as np
from given_minitpu.errors import LLOError, MachineError
from given_minitpu.isa import MachineSpec, Operation, Place, parse, reads, writes
from given_minitpu.llo import Program
from given_minitpu.machine import Run, one_at_a_time, run
from given_minitpu.registers import live_registers

from autograder.kit import check

NEVER = -(1 << 40)  # a distance that demands nothing
MAX_LINE = 100  # characters


class ProgramData(msgspec.Struct, frozen=True):
    """A program of LLO, as `Program.to_data` writes it."""

    operations: list[str]
    outputs: list[str]
    starts: list[int]


# ---------------------------------------------------------------- constraints and bounds


def distances(program: Program, machine: MachineSpec) -> np.ndarray:
    """The least distance from each operation to each later one that a rule of the machine demands directly."""
    code = program.operations
    least = np.full((len(code), len(code)), NEVER, np.int64)

    def demand(before: int, after: int, distance: int) -> None:
        least[before, after] = max(least[before, after], distance)

    touching: dict[Place, list[tuple[int, bool]]] = defaultdict(list)
    sent: dict[str, list[tuple[int, int]]] = defaultdict(list)
    popped: dict[str, list[int]] = defaultdict(list)
    for index, one in enumerate(code):
        for is_write, places in ((False, reads(one, machine)), (True, writes(one, machine))):
            for place in places:
                touching[place].append((index, is_write))
        sent[one.dest] += [(index, number) for number in range(one.results)]
        if one.opcode in ("vpop.mrf", "vpop.trf"):
            popped[one.sources[0]].append(index)
    for users in touching.values():
        for position, (after, writes_it) in enumerate(users):
            for before, wrote_it in users[:position]:
                if before != after and (writes_it or wrote_it):
                    late = machine.latency(code[after]) - 1 if writes_it else 0
                    demand(before, after, (machine.latency(code[before]) if wrote_it else 0) - late)
                    if code[before].opcode == code[after].opcode == "vmatpush":
                        demand(before, after, machine.every(code[before]))
    for queue, pops in popped.items():
        for (source, number), pop in zip(sent[queue], pops, strict=True):
            demand(source, pop, machine.arrival(code[source], number))
        for before, after in pairwise(pops):
            demand(before, after, machine.every(code[before]))
    for senders in sent.values():
        for (before, _), (after, _) in pairwise(senders):
            if before != after:
                demand(before, after, 1)
    return least


def implied(least: np.ndarray) -> np.ndarray:
    """The least distances that follow from direct ones, over any number of steps."""
    longest = least.copy()
    for after in range(len(longest)):
        for middle in np.flatnonzero(longest[:after, after] > NEVER):
            through = longest[:, middle] + longest[middle, after]
            better = (longest[:, middle] > NEVER) & (through > longest[:, after])
            longest[better, after] = through[better]
    return longest


class Bound:
    """What no schedule can be shorter than: critical path, work of each slot, packing, and W, the best of them."""

    def __init__(self, program: Program, machine: MachineSpec) -> None:
        least = distances(program, machine)
        count = len(program.operations)
        heads = np.zeros(count, np.int64)
        tails = np.array([machine.completion(operation) for operation in program.operations], np.int64)
        for index in range(count):
            heads[index] = (heads[:index] + least[:index, index]).max(initial=0)
        for index in reversed(range(count)):
            tails[index] = (tails[index + 1 :] + least[index, index + 1 :]).max(initial=tails[index])
        slots = np.array([machine.slot(operation) for operation in program.operations])
        self.critical_path = int((heads + tails).max(initial=0))
        self.work = {str(slot): -(-int((slots == slot).sum()) // machine.slots[slot]) for slot in set(slots)}
        self.packing = 0
        for slot in self.work:
            mine = slots == slot
            for head in set(heads[mine].tolist()):
                longest = np.sort(tails[mine & (heads >= head)])[::-1]  # the k-th cannot be issued before …
                cycles = head + np.arange(len(longest)) // machine.slots[slot] + longest
                self.packing = max(self.packing, int(cycles.max()))
        self.cycles = max(self.critical_path, self.packing, *self.work.values())


# ---------------------------------------------------------------- schedules


def operation_of(line: str) -> Operation:
    """The operation that a line says; fails as a check if it says none."""
    try:
        return parse(line[: MAX_LINE + 1])
    except LLOError as error:
        check.fail("a line of LLO", expected="an operation", got=str(error))


def schedule(lines: list[list[str]], program: Program, machine: MachineSpec) -> list[list[Operation]]:
    """The bundles that came back; fails as a check if they are not a schedule of the program."""
    longest = 2 * len(one_at_a_time(program.operations, machine)) + 1000
    size = sum(map(len, lines))
    if len(lines) > longest or size > 4 * len(program.operations) + 100:
        check.fail(
            "the size of the schedule",
            expected=f"the program's {len(program.operations)} operations, in at most {longest} bundles",
            got=f"{size} operations in {len(lines)} bundles",
        )
    bundles = [[operation_of(line) for line in bundle] for bundle in lines]
    wanted = Counter((operation.opcode, operation.number) for operation in program.operations)
    for bundle in bundles:
        for operation in bundle:
            spill = operation.opcode in ("vst", "vld") and operation.index >= machine.spill_from
            if not spill:
                wanted[operation.opcode, operation.number] -= 1
    lost = [f"{opcode} {number}" for (opcode, number), count in wanted.items() if count > 0]
    extra = [f"{opcode} {number}" for (opcode, number), count in wanted.items() if count < 0]
    if lost or extra:
        check.fail(
            "the operations of the schedule",
            expected="those of the program, each as often as there (and spills)",
            got=f"missing: {', '.join(lost[:5]) or 'none'}; too many: {', '.join(extra[:5]) or 'none'}",
        )
    return bundles


def execute(bundles: list[list[Operation]], program: Program, machine: MachineSpec, memory: np.ndarray) -> Run:
    """Run a schedule, and the program one operation at a time; fails as a check unless both leave the same."""
    wanted = run(one_at_a_time(program.operations, machine), machine, memory)
    try:
        got = run(bundles, machine, memory)
    except MachineError as error:
        check.fail("running the schedule", expected="bundles that the machine accepts", got=str(error))
    for register in program.outputs:
        if register not in got.registers or not _same(got.registers[register], wanted.registers[register]):
            _differs(f"register {register}", bundles, program, machine)
    theirs, ours = got.memory[: machine.spill_from], wanted.memory[: machine.spill_from]
    for row in np.flatnonzero((theirs.view(np.uint32) != ours.view(np.uint32)).any(axis=1)):
        if not _same(theirs[row], ours[row]):
            _differs(f"row {row} of memory", bundles, program, machine)
    live = max(live_registers(bundles, machine, program.outputs), default=0)
    if live > machine.registers:
        check.fail("the registers that are live at once", expected=f"at most {machine.registers}", got=str(live))
    return got


def _same(got: np.ndarray, wanted: np.ndarray) -> bool:
    return got.shape == wanted.shape and np.array_equal(got, wanted, equal_nan=True)


def _differs(what: str, bundles: list[list[Operation]], program: Program, machine: MachineSpec) -> None:
    """Fail, and say which operations stand too close to one another."""
    reason = violation(bundles, program, machine) or "each operation alone seems to be in time"
    check.fail(
        f"{what} after the schedule", expected="what the program leaves there, one operation at a time", got=reason
    )


def violation(bundles: list[list[Operation]], program: Program, machine: MachineSpec) -> str:
    """The first two operations that are closer than they may be, in words; "" if there are none to be found."""
    issued: dict[Operation, list[int]] = defaultdict(list)
    for cycle, bundle in enumerate(bundles):
        for operation in bundle:
            issued[operation].append(cycle)
    try:
        cycles = np.array([issued[operation].pop(0) for operation in program.operations])
    except IndexError:
        return ""  # registers were renamed
    early = cycles[np.newaxis, :] - cycles[:, np.newaxis] < distances(program, machine)
    if not early.any():
        return ""
    before, after = min(np.argwhere(early).tolist(), key=lambda pair: cycles[pair[1]])
    first, second = program.operations[before], program.operations[after]
    distance = distances(program, machine)[before, after]
    return (
        f"`{second}` (bundle {cycles[after]}) must be at least {distance} cycles "
        f"after `{first}` (bundle {cycles[before]})"
    )


def judged(lines: list[list[str]], program: Program, machine: MachineSpec, memory: np.ndarray) -> Run:
    """A schedule as it came back, checked and run."""
    return execute(schedule(lines, program, machine), program, machine, memory)


# ---------------------------------------------------------------- lowered programs


def lowered(data: ProgramData, limit: int) -> Program:
    """A program that came back; fails as a check if it is no program, or has more operations than `limit`."""
    check.at_most(len(data.operations), limit, "operations")
    return Program(tuple(map(operation_of, data.operations)), (), tuple(data.starts))


def in_order(program: Program, machine: MachineSpec, memory: np.ndarray) -> np.ndarray:
    """What a program leaves in memory, run one operation at a time; a refusal of the machine fails as a check."""
    for operation in program.operations:
        if operation.opcode not in machine.timings:
            check.fail("the operations", expected=f"operations that {machine.name} has", got=str(operation))
    try:
        return run(one_at_a_time(program.operations, machine), machine, memory).memory
    except MachineError as error:
        check.fail("running the program as it is written", expected="a program that works", got=str(error))


def opcodes(program: Program) -> Counter[str]:
    """How often each opcode occurs."""
    return Counter(operation.opcode for operation in program.operations)
