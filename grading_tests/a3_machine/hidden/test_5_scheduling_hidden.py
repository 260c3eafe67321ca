"""Part 5, hidden: how close to the bounds, and register pressure."""

from __future__ import annotations

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
@weight(2)
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
    for cycles, bound in found:
        check.at_most(cycles, round(1.10 * bound + 1, 1), f"cycles of one program, whose bound W is {bound}")
    total, least = (sum(column) for column in zip(*found, strict=True))
    check.within(round(total / least, 4), full=1.02, none=1.05, what="cycles over bounds")


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
