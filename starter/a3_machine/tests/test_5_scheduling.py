"""Part 5: dependences, bounds, and bundles."""

from __future__ import annotations

from typing import Any

import numpy as np
from given_minitpu.isa import TEACHING, TOY, V6E, MachineSpec
from given_minitpu.llo import Program
from given_minitpu.programs import program as named

from autograder.kit import check, hint, number, probe, weight

import generators
import judge

Rng = np.random.Generator


@probe
def graph(program, machine) -> list[tuple[int, int, int]]:
    """dependence_graph: before, after, distance of each edge."""
    from minitpu.scheduler import dependence_graph

    import describe

    return describe.edges(dependence_graph(describe.program(program), describe.machine(machine)))


def judge_graph(edges: list[tuple[int, int, int]], program: Program, machine: MachineSpec) -> None:
    """All that follows from the edges must be all that follows from the rules of the machine."""
    count = len(program.operations)
    check.at_most(len(edges), count * count, "edges")
    theirs = np.full((count, count), judge.NEVER, np.int64)
    for before, after, distance in edges:
        fits = 0 <= before < after < count and abs(distance) < 100_000
        check.that(fits, "an edge", expected=f"0 ≤ before < after < {count}", got=[before, after, distance])
        theirs[before, after] = max(theirs[before, after], distance)
    direct = judge.distances(program, machine)
    mine, theirs = judge.implied(direct), judge.implied(theirs)
    if (mine == theirs).all():
        return
    spread = np.abs(np.subtract(*np.indices(mine.shape)))  # the nearest pair explains best
    before, after = np.unravel_index(np.where(mine != theirs, spread, count).argmin(), mine.shape)
    say = lambda least: "no edge" if least[before, after] <= judge.NEVER // 2 else f"{least[before, after]} cycles"
    check.fail(
        f"the least distance from `{program.operations[before]}` to `{program.operations[after]}` "
        f"(operations {before} and {after}), over all paths",
        expected=say(mine),
        got=say(theirs),
    )


@number("5.1")
@weight(3)
@hint("RAW: latency; WAR: 1 − latency of the writer; WAW: the difference of the latencies, plus 1. Part 5, edges.")
def test_dependences_through_registers(student, rng):
    """registers that are used over and over: what must come after what, and how long after"""
    for _ in range(6):
        machine = generators.scalar_machine(rng)
        program = generators.random_program(rng, int(rng.integers(8, 40)), names=int(rng.integers(3, 8)))
        judge_graph(student(graph, program.to_data(), machine.to_data()), program, machine)


@number("5.2")
@weight(2)
@hint("Two accesses to memory depend on one another if they share a row and one of them writes. Part 5, edges.")
def test_dependences_through_memory(student, rng):
    """loads and stores of rows that overlap, or do not"""
    for _ in range(4):
        machine = generators.vector_machine(rng, sublanes=8, lanes=8)
        program = generators.random_program(rng, 30, loads=0.3, stores=0.4, rows=40, mix=("vadd",))
        judge_graph(student(graph, program.to_data(), machine.to_data()), program, machine)


@number("5.3")
@weight(2)
@hint(
    "The n-th pop of a queue takes its n-th result; pushes and pops keep their pace. Part 5, queues and weights."
)
def test_dependences_through_queues_and_weights(student, rng):
    """programs with products and transpositions, on random machines and with a queue that is used again"""
    again = [
        *("v0 = vld [0]", "q0 = vxpose v0, 3", "q0 = vbcast v0", "v1 = vpop.trf q0", "v2 = vpop.trf q0"),
        *("v3 = vpop.trf q0", "v4 = vpop.trf q0", "vmatpush m0, v1, 0", "q1 = vmatmul m0, v2", "v5 = vpop.mrf q1"),
        *("vmatpush m0, v3, 1", "vmatpush m0, v4, 0", "q1 = vmatmul m0, v5", "v6 = vpop.mrf q1"),
    ]
    cases = [
        Program.from_data({"operations": again, "outputs": ["v6"]}),
        named("attention", 1),
        named("rms_norm", 1),
    ]
    for program in cases:
        for machine in (generators.vector_machine(rng), V6E if program is cases[0] else TEACHING):
            judge_graph(student(graph, program.to_data(), machine.to_data()), program, machine)


@probe
def bounds(program, machine) -> tuple[int, dict[str, int], int, int]:
    """lower_bounds: critical path, work by slot, packing, cycles."""
    from minitpu.scheduler import lower_bounds

    import describe

    found = lower_bounds(describe.program(program), describe.machine(machine))
    work = {str(slot): int(cycles) for slot, cycles in found.work.items() if cycles}
    return [int(found.critical_path), work, int(found.packing), int(found.cycles)]


def cases_for_bounds(rng: Rng) -> list[tuple[Program, MachineSpec]]:
    """Programs of several kinds with machines for them."""
    return [
        (generators.random_program(rng, 60, loads=0.2), TOY),
        (generators.random_program(rng, 50, names=8), generators.scalar_machine(rng)),
        (generators.random_program(rng, 60, loads=0.2), generators.scalar_machine(rng)),
        (named("softmax", 4), TEACHING),
        (named("attention", 1), generators.vector_machine(rng)),
    ]


@number("5.4")
@weight(2)
@hint("The longest path ends when the last operation has landed; work is rounded up. Handout, part 5, bounds.")
def test_critical_path_and_work(student, rng):
    """the critical path, and the work of each slot over its capacity"""
    for program, machine in cases_for_bounds(rng):
        critical_path, work, *_ = student(bounds, program.to_data(), machine.to_data())
        right = judge.Bound(program, machine)
        check.equal(critical_path, right.critical_path, "the critical path")
        check.equal(work, right.work, "the work of each slot that is used")


@number("5.5")
@weight(1)
@hint("For each slot and each pair (a, b), count the operations with head ≥ a and tail ≥ b. Part 5, bounds.")
def test_packing(student, rng):
    """the bound that looks at slots and paths together"""
    for program, machine in cases_for_bounds(rng):
        _, _, packing, cycles = student(bounds, program.to_data(), machine.to_data())
        right = judge.Bound(program, machine)
        check.equal([packing, cycles], [right.packing, right.cycles], "packing, and the best bound")


@probe
def schedules(programs, machines) -> list[list[list[str]]]:
    """schedule of each program on its machine: bundles as lists of lines."""
    from minitpu.scheduler import schedule

    import describe

    return [
        describe.lines(schedule(describe.program(program), describe.machine(machine)))
        for program, machine in zip(programs, machines, strict=True)
    ]


def ask(student, programs: list[Program], machines: list[MachineSpec]) -> list[list[list[str]]]:
    """The student's schedules of the programs."""
    got = student(schedules, [p.to_data() for p in programs], [m.to_data() for m in machines])
    check.equal(len(got), len(programs), "the number of schedules")
    return got


@number("5.6")
@weight(2)
@hint("Whoever reads too early gets the old value. The message names two operations that are too close.")
def test_schedules_compute_what_programs_do(student, rng):
    """random programs with few registers and overlapping memory, on random machines"""
    programs = [
        generators.random_program(
            rng, int(rng.integers(5, 90)), loads=0.15, stores=0.15, names=int(rng.integers(4, 12))
        )
        for _ in range(20)
    ]
    machines = [generators.scalar_machine(rng) for _ in programs]
    for lines, program, machine in zip(ask(student, programs, machines), programs, machines, strict=True):
        judge.judged(lines, program, machine, generators.memory_for(rng, machine, 64))


@number("5.7")
@weight(1)
@hint("Capacities count within each bundle; queues, weights and rows of memory have rules, too. Part 5, edges.")
def test_schedules_with_all_units(student, rng):
    """the named programs on random machines with all units, and on v6e"""
    names = ["softmax", "rms_norm", "matmul", "attention"]
    programs = [named(name, 4) for name in names]
    machines = [generators.vector_machine(rng) for _ in programs]
    wide = [MachineSpec.from_data({**V6E.to_data(), "lanes": 32})]
    for lines, program, machine in zip(
        ask(student, [*programs, programs[-1]], machines + wide),
        [*programs, programs[-1]],
        machines + wide,
        strict=True,
    ):
        judge.judged(lines, program, machine, generators.memory_for(rng, machine))


@number("5.8")
@weight(4)
@hint(
    "Among the operations that are ready, issue the one with the longest way to the end. Part 5, list scheduling."
)
def test_random_programs_on_the_toy_machine(student, rng):
    """50 random programs on toy: all cycles together at most 1.03 of the bounds (none of the points at 1.10)"""
    programs = []
    while len(programs) < 50:
        program = generators.random_program(rng, int(rng.integers(40, 121)), loads=0.2, mix=generators.TOY_MIX)
        if generators.has_one_bottleneck(judge.Bound(program, TOY)):
            programs.append(program)
    judge_batch(student, rng, programs, [TOY] * 50, full=1.03, none=1.10, cap=True)


def judge_batch(
    student: Any,
    rng: Rng,
    programs: list[Program],
    machines: list[MachineSpec],
    full: float,
    none: float,
    cap: bool,
) -> None:
    """Schedules of many programs: valid, none far from its bound, and points for all cycles together."""
    total = least = 0
    answers = ask(student, programs, machines)
    for place, (lines, program, machine) in enumerate(zip(answers, programs, machines, strict=True)):
        done = judge.judged(lines, program, machine, generators.memory_for(rng, machine, 64))
        bound = judge.Bound(program, machine).cycles
        if cap and place < len(programs):
            check.at_most(
                done.cycles, round(1.10 * bound + 1, 1), f"cycles of program {place}, whose bound W is {bound}"
            )
        total, least = total + done.cycles, least + bound
    check.within(round(total / least, 4), full=full, none=none, what=f"cycles over bounds: {total} over {least}")
