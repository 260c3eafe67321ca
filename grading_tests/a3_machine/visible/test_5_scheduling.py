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
import oracle

Rng = np.random.Generator


@probe
def graph(program, machine) -> list[tuple[int, int, int]]:
    """dependence_graph: before, after, distance of each edge."""
    from minitpu.scheduler import dependence_graph

    import describe

    return describe.edges(dependence_graph(describe.program(program), describe.machine(machine)))


def judge_graph(edges: list[tuple[int, int, int]], case: oracle.Case) -> None:
    """All that follows from the edges must be all that follows from the rules of the machine."""
    program, right = case.program, case.least
    count = len(program.operations)
    check.at_most(len(edges), count * count, "edges")
    direct = np.full((count, count), oracle.NEVER, np.int64)
    for before, after, distance in edges:
        fits = 0 <= before < after < count and abs(distance) < 100_000
        check.that(fits, "an edge", expected=f"0 ≤ before < after < {count}", got=[before, after, distance])
        direct[before, after] = max(direct[before, after], distance)
    theirs = oracle.implied(direct)
    if (right == theirs).all():
        return
    spread = np.abs(np.subtract(*np.indices(right.shape)))  # the nearest pair explains best
    before, after = np.unravel_index(np.where(right != theirs, spread, count).argmin(), right.shape)
    say = lambda least: (
        "no edge" if least[before, after] <= oracle.NEVER // 2 else f"{least[before, after]} cycles"
    )
    check.fail(
        f"the least distance from `{program.operations[before]}` to `{program.operations[after]}` "
        f"(operations {before} and {after}), over all paths",
        expected=say(right),
        got=say(theirs),
    )


def judge_graphs(student: Any, cases: list[oracle.Case]) -> None:
    """The graphs of several programs."""
    for case in cases:
        judge_graph(student(graph, case.program.to_data(), case.machine.to_data()), case)


@number("5.1")
@weight(3)
@hint("RAW: latency; WAR: 1 − latency of the writer; WAW: the difference of the latencies, plus 1. Part 5, edges.")
def test_dependences_through_registers(student, rng):
    """registers that are used over and over: what must come after what, and how long after"""
    judge_graphs(student, oracle.cases(rng, "registers", 6))


@number("5.2")
@weight(2)
@hint("Two accesses to memory depend on one another if they share a row and one of them writes. Part 5, edges.")
def test_dependences_through_memory(student, rng):
    """loads and stores of rows that overlap, or do not"""
    judge_graphs(student, oracle.cases(rng, "memory", 4))


@number("5.3")
@weight(2)
@hint(
    "The n-th pop of a queue takes its n-th result; pushes and pops keep their pace. Part 5, queues and weights."
)
def test_dependences_through_queues_and_weights(student, rng):
    """programs with products and transpositions, on random machines and with a queue that is used again"""
    for kind, count in {"a queue again": 3, "attention": 1, "rms_norm": 1, "rms_norm, teaching": 1}.items():
        judge_graphs(student, oracle.cases(rng, kind, count))


@probe
def bounds(program, machine) -> tuple[int, dict[str, int], int, int]:
    """lower_bounds: critical path, work by slot, packing, cycles."""
    from minitpu.scheduler import lower_bounds

    import describe

    found = lower_bounds(describe.program(program), describe.machine(machine))
    work = {str(slot): int(cycles) for slot, cycles in found.work.items() if cycles}
    return [int(found.critical_path), work, int(found.packing), int(found.cycles)]


@probe
def ways(program, machine) -> tuple[list[int], list[int]]:
    """heads_and_tails, from the edges of dependence_graph."""
    from minitpu.scheduler import dependence_graph, heads_and_tails

    import describe

    code, machine = describe.program(program), describe.machine(machine)
    heads, tails = heads_and_tails(code, machine, dependence_graph(code, machine))
    return [[int(head) for head in heads], [int(tail) for tail in tails]]


BOUNDS = ("on toy", "with few names", "on random machines", "of softmax", "of attention")


@number("5.4")
@weight(2)
@hint("Heads start at 0, tails at the operation's own completion; work is rounded up. Handout, part 5, bounds.")
def test_critical_path_and_work(student, rng):
    """heads and tails, the critical path, and the work of each slot over its capacity"""
    for kind in BOUNDS:
        (case,) = oracle.cases(rng, f"bounds {kind}", 1)
        for name, got, right in zip(
            ("head", "tail"),
            student(ways, case.program.to_data(), case.machine.to_data()),
            (case.heads, case.tails),
            strict=True,
        ):
            check.equal(len(got), len(right), f"the number of {name}s, {kind}")
            for operation, mine, wanted in zip(case.program.operations, got, right, strict=True):
                check.equal(mine, wanted, f"the {name} of `{operation}`, {kind}")
        critical_path, work, *_ = student(bounds, case.program.to_data(), case.machine.to_data())
        check.equal(critical_path, case.critical_path, f"the critical path, {kind}")
        check.equal(work, case.work, f"the work of each slot that is used, {kind}")


@number("5.5")
@weight(1)
@hint("For each slot and each pair (a, b), count the operations with head ≥ a and tail ≥ b. Part 5, bounds.")
def test_packing(student, rng):
    """the bound that looks at slots and paths together"""
    for kind in BOUNDS:
        (case,) = oracle.cases(rng, f"bounds {kind}", 1)
        _, _, packing, cycles = student(bounds, case.program.to_data(), case.machine.to_data())
        check.equal([packing, cycles], [case.packing, case.cycles], f"packing, and the best bound, {kind}")


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
@hint("Whoever reads too early gets the old value. The message says which operation took which value.")
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
@hint("Queues, weights and rows of memory have rules, too; a machine has so many registers, outputs take some.")
def test_schedules_with_all_units(student, rng):
    """the named programs on random machines with all units, on v6e, and on machines with 16 and 6 registers"""
    names = ["softmax", "rms_norm", "matmul", "attention"]
    programs = [named(name, 4) for name in names]
    machines = [generators.vector_machine(rng) for _ in programs]
    programs.append(programs[-1])
    machines.append(MachineSpec.from_data({**V6E.to_data(), "lanes": 32}))
    for lines, program, machine in zip(ask(student, programs, machines), programs, machines, strict=True):
        judge.judged(lines, program, machine, generators.memory_for(rng, machine))
    judge_few_registers(student, rng)


@probe
def schedule_or_refusal(program, machine) -> tuple[list[list[str]], list[int]]:
    """schedule: the bundles, or the fields needed and available of RegisterPressureError."""
    from minitpu.errors import RegisterPressureError
    from minitpu.scheduler import schedule

    import describe

    try:
        return [describe.lines(schedule(describe.program(program), describe.machine(machine))), []]
    except RegisterPressureError as refusal:
        return [[], [int(refusal.needed), int(refusal.available)]]


def judge_few_registers(student: Any, rng: Rng) -> None:
    """A program that takes 3 registers in its own order, 32 if all loads are hoisted; and one with 20 outputs."""
    fits = named("column_range", 8)
    for registers in (6, 16):  # looking 8 and 32 operations ahead is not too far
        few = MachineSpec.from_data({**TEACHING.to_data(), "registers": registers})
        lines, refusal = student(schedule_or_refusal, fits.to_data(), few.to_data())
        what = f"column_range for 8 tiles on {registers} registers"
        check.that(not refusal, what, expected="a schedule", got="a refusal")
        judge.judged(lines, fits, few, generators.memory_for(rng, few))
    outputs = [f"v{number}" for number in range(20)]
    lines = [f"{register} = vld [{int(rng.integers(64))}]" for register in outputs]
    wide = Program.from_data({"operations": lines, "outputs": outputs})
    _, refusal = student(schedule_or_refusal, wide.to_data(), few.to_data())
    check.that(
        refusal[:1] >= [20] and refusal[1:] == [16],
        "needed and available of the refusal of a program with 20 outputs on 16 registers",
        expected="at least 20, and 16",
        got=refusal or "a schedule",
    )


@number("5.8")
@weight(4)
@hint(
    "Among the operations that are ready, issue the one with the longest way to the end. Part 5, list scheduling."
)
def test_random_programs_on_the_toy_machine(student, rng):
    """50 random programs on toy: all cycles together at most 1.03 of the bounds (none of the points at 1.10)"""
    found = oracle.cases(rng, "toy", 50)
    lines = ask(student, [case.program for case in found], [TOY] * len(found))
    cycles = [
        judge.judged(bundles, case.program, TOY, generators.memory_for(rng, TOY, 64)).cycles
        for bundles, case in zip(lines, found, strict=True)
    ]
    judge.close_to_bounds(list(zip(cycles, [case.cycles for case in found], strict=True)), full=1.03, none=1.10)


@number("5.9")
@weight(1)
@hint("Programs may be empty; tails count cycles, not operations; a write may be issued before a read. Part 5.")
def test_small_and_wide_programs(student, rng):
    """no operation, one, many independent ones, registers written twice, one long way: no cycle too many"""
    long = int(rng.integers(10, 21))
    machine = MachineSpec.from_data(
        {**TOY.to_data(), "timings": {**TOY.to_data()["timings"], "vmul": ["mul", long, 1]}}
    )
    chains = [f"v{n} = vld [{n}]" for n in range(3)]  # two get additions, the last two multiplications
    chains += [f"v{n} = vadd v{n}, v{n}" for n in (0, 1) for _ in range(long + 4)]
    chains += ["v2 = vmul v2, v2", "v2 = vmul v2, v2", "v2 = vadd v2, v2"]
    reuse = ["v0 = vld [0]", "v1 = vadd v0, v0", "v0 = vmul v0, v0", "v0 = vmul v0, v0"]
    load = "v1 = vld [1]"
    cases = {
        "nothing": ([], 0),
        "one load": (["v0 = vld [3]"], 2),
        "30 independent loads": ([f"v{n} = vld [{n}]" for n in range(30)], 31),
        "a slow write, then a quick one": ([load, "v0 = vmul v1, v1", "v0 = vadd v1, v1"], 2 + long + 1),
        "a quick write, then a slow one": ([load, "v0 = vadd v1, v1", "v0 = vmul v1, v1"], 2 + long),
        "a read, then a slow write": (reuse, 2 + 2 * long),
        "two long chains of additions, one of two multiplications": (chains, 2 + 2 * long + 1),
    }
    programs = [
        Program.from_data({"operations": lines, "outputs": ["v0"][: len(lines)]}) for lines, _ in cases.values()
    ]
    answered = ask(student, programs, [machine] * len(programs))
    for (name, (_, cycles)), program, lines in zip(cases.items(), programs, answered, strict=True):
        done = judge.judged(lines, program, machine, generators.memory_for(rng, machine, 64))
        check.at_most(done.cycles, cycles, f"cycles of {name}")
