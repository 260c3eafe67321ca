"""Part 5, hidden: how close to the bounds, register pressure, and list scheduling by its rule."""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Any

import numpy as np
from given_minitpu.isa import TEACHING, TOY, MachineSpec
from given_minitpu.llo import Program
from given_minitpu.machine import one_at_a_time
from given_minitpu.programs import NAMES
from given_minitpu.programs import program as named
from given_minitpu.registers import live_registers

from autograder.kit import check, hint, leaderboard, number, probe, weight

import generators
import judge
import oracle


@probe
def schedules(programs, machines) -> list[list[list[str]]]:
    """schedule of each program on its machine: bundles as lists of lines."""
    from minitpu.scheduler import schedule

    import describe

    return [
        describe.lines(schedule(describe.program(program), describe.machine(machine)))
        for program, machine in zip(programs, machines, strict=True)
    ]


def ratio(
    student: Any, rng: np.random.Generator, programs: list[Program], machines: list[MachineSpec]
) -> list[Any]:
    """Cycles and bound of each program."""
    got = student(schedules, [p.to_data() for p in programs], [m.to_data() for m in machines])
    check.equal(len(got), len(programs), "the number of schedules")
    return [
        (judge.judged(lines, p, m, generators.memory_for(rng, m)).cycles, oracle.bound(p, m).cycles)
        for lines, p, m in zip(got, programs, machines, strict=True)
    ]


@number("5.10")
@weight(1)
@hint("python -m minitpu.report shows how far each named program is from its bound. Handout, part 5, targets.")
@leaderboard("attention tile cycles", "asc")
def test_named_programs_come_close_to_their_bounds(student, rng, set_leaderboard_value=None):
    """the named programs for 1, 4 and 8 tiles on the teaching machine: at most 1.10 of the bound"""
    cases = [(name, tiles) for name in NAMES for tiles in (1, 4, 8)]
    found = ratio(student, rng, [named(*case) for case in cases], [TEACHING] * len(cases))
    set_leaderboard_value(found[cases.index(("attention", 8))][0])
    worst = max(cycles / bound for cycles, bound in found)
    check.within(round(worst, 4), full=1.10, none=1.40, what="cycles over bound, of the worst named program")


@number("5.11")
@weight(1)
@hint("The priority must know the machine: latencies are drawn anew for each program. Part 5, list scheduling.")
def test_random_programs_on_random_machines(student, rng):
    """50 random programs, each on a machine of its own: at most 1.02 of the bounds (none of the points at 1.05)"""
    programs, machines = [], []
    while len(programs) < 50:
        machine = generators.scalar_machine(rng)
        program = generators.random_program(rng, int(rng.integers(40, 121)), loads=0.15)
        if generators.has_one_bottleneck(oracle.bound(program, machine)):
            programs.append(program)
            machines.append(machine)
    found = ratio(student, rng, programs, machines)
    judge.close_to_bounds(found, full=1.02, none=1.05)


@number("5.12")
@weight(1)
@hint("A write may be issued before the last read of the old value, if it lands after it. Part 5, edges.")
def test_random_programs_that_reuse_registers(student, rng):
    """50 random programs with twelve registers on toy: at most 1.06 of the bounds (none of the points at 1.10)"""
    programs = [
        generators.random_program(rng, int(rng.integers(40, 121)), names=12, mix=generators.TOY_MIX)
        for _ in range(50)
    ]
    found = ratio(student, rng, programs, [TOY] * len(programs))
    total, least = (sum(column) for column in zip(*found, strict=True))
    check.within(round(total / least, 4), full=1.06, none=1.10, what="cycles over bounds")


@probe
def schedule_or_refusal(program, machine) -> tuple[list[list[str]], list[int]]:
    """schedule: the bundles, or the fields of RegisterPressureError."""
    from minitpu.errors import RegisterPressureError
    from minitpu.scheduler import schedule

    import describe

    try:
        return [describe.lines(schedule(describe.program(program), describe.machine(machine))), []]
    except RegisterPressureError as refusal:
        return [[], [int(refusal.needed), int(refusal.available)]]


@number("5.13")
@weight(1)
@hint("Count live registers; look ahead less far, spill, or raise RegisterPressureError. Part 5, registers.")
def test_no_more_registers_than_there_are(student, rng):
    """long and wide programs: at most 64 registers live at once, or RegisterPressureError"""
    wide = [f"v{n} = vld [{n * 8}]" for n in range(90)] + [f"v{n + 90} = vadd v{n}, v{89 - n}" for n in range(90)]
    wide += [f"vst v{n + 90}, [{1000 + n * 8}]" for n in range(90)]
    fits = [line for n in range(90) for line in (wide[n], f"v{n + 90} = vadd v{n}, v{n}", wide[180 + n])]
    few = MachineSpec.from_data({**TEACHING.to_data(), "registers": 12})
    programs = [Program.from_data({"operations": lines}) for lines in (wide, fits)]
    for program, machine in ((programs[0], TEACHING), (programs[1], TEACHING), (named("attention", 8), few)):
        alone = live_registers(one_at_a_time(program.operations, machine), machine, program.outputs)
        lines, refusal = student(schedule_or_refusal, program.to_data(), machine.to_data())
        if refusal:
            say = "a schedule: it fits if operations are issued in the program's order"
            check.that(2 * max(alone) > machine.registers, "the answer", expected=say, got="a refusal")
            expected = f"more than there are, and {machine.registers}"
            check.that(
                refusal[0] > refusal[-1] == machine.registers,
                "needed and available of the refusal",
                expected=expected,
                got=refusal,
            )
            continue
        judge.judged(lines, program, machine, generators.memory_for(rng, machine, 2000))


@probe
def listed(cases) -> list[list[list[str]]]:
    """list_schedule of each program on its machine, with its edges, looking so far ahead."""
    from minitpu.scheduler import Edge, list_schedule

    import describe

    return [
        describe.lines(
            list_schedule(
                describe.program(program), describe.machine(machine), [Edge(*edge) for edge in edges], ahead
            )
        )
        for program, machine, edges, ahead in cases
    ]


def issue_cycles(lines: list[list[str]], program: Program) -> np.ndarray:
    """The cycle in which each operation is issued; equal ones are issued in the program's order."""
    waiting: dict[str, deque[int]] = defaultdict(deque)
    for index, operation in enumerate(program.operations):
        waiting[str(operation)].append(index)
    issued = np.zeros(len(program.operations), int)
    for cycle, bundle in enumerate(lines):
        for line in bundle:
            check.that(bool(waiting[line]), "an operation", expected="one of the program, once", got=line[:100])
            issued[waiting[line].popleft()] = cycle
    lost = [line for line, indices in waiting.items() if indices]
    check.that(not lost, "the operations", expected="all of the program", got=f"without {', '.join(lost[:3])}")
    return issued


def judge_rule(
    lines: list[list[str]], program: Program, machine: MachineSpec, least: np.ndarray, ahead: int | None
) -> None:
    """Every cycle issues what is ready and in reach, the longest tails first, as long as there are slots."""
    count, tails = len(program.operations), np.array(oracle.bound(program, machine).tails)
    check.at_most(len(lines), len(one_at_a_time(program.operations, machine)) + 100, "bundles")
    issued = issue_cycles(lines, program)
    ready = (issued[:, None] + least).max(axis=0, initial=0)  # when the edges allow it
    known = np.where(least > oracle.NEVER, issued[:, None], -1).max(axis=0)  # the cycle of its last predecessor
    slots = np.array([machine.slot(operation) for operation in program.operations])
    reach = count if ahead is None else ahead
    for cycle in range(len(lines)):
        here, later = issued == cycle, issued > cycle
        first, then = np.flatnonzero(here | later).min(initial=count), np.flatnonzero(later).min(initial=count)
        for one in np.flatnonzero(here):
            what = f"`{program.operations[one]}` (operation {one}), looking {ahead} ahead"
            check.at_most(int(ready[one]), cycle, f"the cycle from which edges allow {what}")
            check.that(
                one < then + reach, what, expected=f"issued when {one - reach + 1} is the first", got="earlier"
            )
        for slot, capacity in machine.slots.items():
            mine = here & (slots == slot)
            check.at_most(int(mine.sum()), capacity, f"operations for {slot} in cycle {cycle}")
            left = (
                later & (slots == slot) & (ready <= cycle) & (known <= cycle) & (np.arange(count) < then + reach)
            )
            for one in np.flatnonzero(left):
                what = f"cycle {cycle}, in which `{program.operations[one]}` is ready, looking {ahead} ahead"
                check.that(mine.sum() == capacity, what, expected=f"no free slot for {slot}", got="a free one")
                if known[one] < cycle and one < first + reach:  # it was ready when the cycle began
                    shortest = int(tails[mine].min())
                    check.that(
                        shortest >= tails[one], what, expected=f"tails of {tails[one]} at least", got=shortest
                    )


@number("5.14")
@weight(1)
@hint("Whatever is ready, in reach and has a slot is issued, the longest tails first. Part 5, list scheduling.")
def test_list_scheduling_by_its_rule(student, rng):
    """list_schedule with given edges, looking any distance ahead: what each cycle issues, and what it leaves"""
    cases = []
    for turn in range(12):
        machine = generators.scalar_machine(rng)
        program = generators.random_program(
            rng, int(rng.integers(20, 50)), loads=0.2, stores=0.1, names=(0, 6)[turn % 2]
        )
        ahead = int(rng.integers(1, 25)) if turn % 4 else None
        cases.append((program, machine, oracle.distances(program, machine), ahead))
    asked = []
    for program, machine, least, ahead in cases:
        edges = [[int(a), int(b), int(least[a, b])] for a, b in np.argwhere(least > oracle.NEVER)]
        asked.append([program.to_data(), machine.to_data(), edges, ahead])
    got = student(listed, asked)
    check.equal(len(got), len(cases), "the number of schedules")
    for lines, (program, machine, least, ahead) in zip(got, cases, strict=True):
        judge_rule(lines, program, machine, least, ahead)
