"""Judges schedules that came back as data, on the given machine.

Nothing here is taken on the student's word: lines are parsed by the given parser, bundles run on the given
machine beside the program as it is written, and cycles are counted there. What a schedule is compared with, the
bounds, comes from `oracle.py`.
"""

from __future__ import annotations

from collections import Counter, defaultdict

import msgspec
import numpy as np
from given_minitpu.errors import LLOError, MachineError
from given_minitpu.isa import MachineSpec, Operation, Place, parse, reads, writes
from given_minitpu.llo import Program
from given_minitpu.machine import Run, one_at_a_time, run
from given_minitpu.registers import live_registers

from autograder.kit import check

MAX_LINE = 100  # characters


class ProgramData(msgspec.Struct, frozen=True):
    """A program of LLO, as `Program.to_data` writes it."""

    operations: list[str]
    outputs: list[str]
    starts: list[int]


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
    """Fail, and say which operation takes another value than it should."""
    reason = misread(bundles, program, machine) or "another value, though no operation alone is to blame"
    check.fail(
        f"{what} after the schedule", expected="what the program leaves there, one operation at a time", got=reason
    )


def misread(bundles: list[list[Operation]], program: Program, machine: MachineSpec) -> str:
    """The first operation that reads what another one wrote than in the program, in words; else the first place
    that is left by another; "" if there is none, or if registers were renamed.
    """
    queued: dict[Operation, list[int]] = defaultdict(list)
    for number, operation in enumerate(program.operations):
        queued[operation].append(number)
    issued: dict[int, int] = {}  # the cycle of each operation of the program
    for cycle, bundle in enumerate(bundles):
        for operation in bundle:
            if not queued[operation]:
                return ""
            issued[queued[operation].pop(0)] = cycle
    lands = {index: cycle + machine.latency(program.operations[index]) for index, cycle in issued.items()}
    writers: dict[Place, list[int]] = defaultdict(list)
    seen: dict[tuple[int, Place], int | None] = {}  # who wrote what an operation reads, in the program
    for number, operation in enumerate(program.operations):
        for place in _touched(operation, machine, "reads"):
            seen[number, place] = writers[place][-1] if writers[place] else None
        for place in _touched(operation, machine, "writes"):
            writers[place].append(number)

    def left(place: Place, cycle: float) -> int | None:
        """Whose value stands in a place in a cycle of the schedule."""
        there = [index for index in writers[place] if lands[index] <= cycle]
        return max(there, key=lands.__getitem__, default=None)

    def by(index: int | None) -> str:
        if index is None:
            return "what stood there at the start"
        return f"that of `{program.operations[index]}` (bundle {issued[index]}, there from cycle {lands[index]})"

    for (index, place), right in sorted(seen.items(), key=lambda read: issued[read[0][0]]):
        got = left(place, issued[index])
        if got != right:
            reader = f"`{program.operations[index]}` (bundle {issued[index]})"
            return f"{reader} takes for {_named(place)} {by(got)}; in the program it takes {by(right)}"
    for place, indices in writers.items():
        got = left(place, float("inf"))
        if indices and got != indices[-1]:  # not of places that are only read
            return f"the last value of {_named(place)} is {by(got)}; in the program it is {by(indices[-1])}"
    return ""


def _touched(operation: Operation, machine: MachineSpec, how: str) -> list[Place]:
    """The places that it reads or writes, weights block by block."""
    if how == "writes" and operation.opcode == "vmatpush":
        return [f"{operation.sources[0]}, block {operation.index}"]
    places = (reads if how == "reads" else writes)(operation, machine)
    if operation.opcode == "vmatmul":
        matrix = operation.sources[0]
        places = [place for place in places if place != matrix]
        places += [f"{matrix}, block {block}" for block in range(machine.blocks)]
    return places


def _named(place: Place) -> str:
    return place if isinstance(place, str) else f"row {place}"


def judged(lines: list[list[str]], program: Program, machine: MachineSpec, memory: np.ndarray) -> Run:
    """A schedule as it came back, checked and run."""
    return execute(schedule(lines, program, machine), program, machine, memory)


def close_to_bounds(found: list[tuple[int, int]], *, full: float, none: float) -> None:
    """Points for cycles and bounds W of programs: for all together or for the worst of them, whichever is less.

    A single program costs nothing up to 1.10·W + 1 cycles, and all from 1.40·W + 1 on. Cycles may be below W where
    registers were renamed.
    """
    total, least = (sum(column) for column in zip(*found, strict=True))
    cycles, bound = max(found, key=lambda one: (one[0] - 1) / one[1])
    fraction = min(
        check.fraction_within(round(total / least, 4), full=full, none=none),
        check.fraction_within(round((cycles - 1) / bound, 4), full=1.10, none=1.40),
    )
    check.partly(
        fraction,
        "cycles over bounds W: of all programs together, and of the one that is furthest from its bound",
        expected=f"at most {full} of all; of one at most 1.10 and a cycle",
        got=f"{total} over {least} = {total / least:.4f}; {cycles} over {bound} = {cycles / bound:.4f}",
    )


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
