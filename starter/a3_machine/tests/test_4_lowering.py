"""Part 4: tile operations become LLO."""

from __future__ import annotations

import numpy as np
from given_minitpu.isa import V6E, MachineSpec
from given_minitpu.kernels import OUT, W1, W2, Y
from given_minitpu.llo import Program
from given_minitpu.tiles import Step, evaluate

from autograder.kit import check, hint, number, probe, weight

import generators
import judge

Rng = np.random.Generator


@probe
def lowered(steps, machine, tiles) -> judge.ProgramData:
    """lower of a tile program: the program as data."""
    from minitpu.lowering import lower

    import describe

    return lower(describe.steps(steps), describe.machine(machine), tiles).to_data()


def ask(student, steps: list[Step], machine: MachineSpec, tiles: int = 1) -> Program:
    """The program that the student's `lower` makes; at most a thousand operations a tile."""
    data = student(lowered, generators.plain_steps(steps), machine.to_data(), tiles)
    return judge.lowered(data, 1000 * tiles)


def judge_values(
    program: Program, steps: list[Step], machine: MachineSpec, memory: np.ndarray, relative: float, tiles: int = 1
) -> None:
    """Run the program one operation at a time; the rows that the tile program stores must be right."""
    got = judge.in_order(program, machine, memory)[: len(memory)]
    wanted = evaluate(steps, machine, memory, tiles)
    stored = slice(OUT, OUT + tiles * machine.sublanes)
    check.close(got[stored], wanted[stored], relative=relative, what="the tiles that are stored")
    got[stored] = wanted[stored]
    check.that(np.array_equal(got, wanted), "other rows of memory", expected="untouched", got="changed")


def on(machine: MachineSpec, *middle: Step) -> list[Step]:
    """Load x and y (rows of zeros and ones), do something that ends with a tile called z, store it."""
    return [Step("load", "x"), Step("load", "y", (), Y), *middle, Step("store", "", ("z",), OUT)]


@number("4.1")
@weight(2)
@hint("One operation for each step; a constant comes from constant(). Handout, part 4, elementwise.")
def test_elementwise_chains(student, rng):
    """random chains of elementwise steps: values, and one operation for each step"""
    names = ("add", "sub", "mul", "max", "greater", "scale", "shift", "reciprocal", "rsqrt")
    for _ in range(5):
        machine = generators.vector_machine(rng)
        memory = generators.memory_for(rng, machine)
        steps = generators.tile_program(rng, machine, memory, int(rng.integers(4, 12)), names)
        program = ask(student, steps, machine)
        judge_values(program, steps, machine, memory, 1e-5)
        constants = {step.number for step in steps if step.name in ("scale", "shift")}
        check.at_most(
            len(program.operations), len(steps) + len(constants), "operations: one for each step, constant"
        )


@number("4.2")
@weight(1)
@hint("e^x is 2^(x·log₂e): one vmul with a constant, one vpow2. Handout, part 4, exp.")
def test_exp_is_one_product_and_one_power(student, rng):
    """exp of a tile: one vmul, one vpow2"""
    machine = generators.vector_machine(rng)
    memory = generators.memory_for(rng, machine)
    steps = on(machine, Step("exp", "z", ("x",)))
    program = ask(student, steps, machine)
    judge_values(program, steps, machine, memory, 1e-5)
    counts = judge.opcodes(program)
    check.equal([counts["vmul"], counts["vpow2"]], [1, 1], "how many vmul and vpow2")


@number("4.3")
@weight(2)
@hint("Rotate by half the sublanes, combine, rotate by a quarter, … Handout, part 4, sublanes.")
def test_reductions_over_sublanes(student, rng):
    """column_sum and column_max: values in every sublane, log₂ rotations, as many operations to combine"""
    for sublanes in (8, 4, 2, 1):
        machine = generators.vector_machine(rng, sublanes=sublanes)
        memory = generators.memory_for(rng, machine) - np.float32(3)
        for name, opcode in (("column_sum", "vadd"), ("column_max", "vmax")):
            steps = on(machine, Step(name, "z", ("x",)))
            program = ask(student, steps, machine)
            judge_values(program, steps, machine, memory, 1e-5)
            counts, levels = judge.opcodes(program), sublanes.bit_length() - 1
            check.at_most(counts["vrot"], levels, f"vrot for {sublanes} sublanes")
            check.at_most(counts[opcode], levels, f"{opcode} for {sublanes} sublanes")
            check.at_most(counts["vxpose"] + counts["vbcast"], 0, "operations on the XLU")


@number("4.4")
@weight(3)
@hint("Transpose once, combine what is popped, reduce the sublanes, broadcast. Handout, part 4, lanes.")
def test_reductions_over_lanes(student, rng):
    """row_sum and row_max: values in every lane, one vxpose and one vbcast, no more than a chain of operations"""
    for sublanes, lanes in ((8, 32), (4, 32), (8, 8), (8, 128)):  # in 4, 8, 1 and 16 pieces
        machine = generators.vector_machine(rng, sublanes, lanes)
        memory = generators.memory_for(rng, machine) - np.float32(3)
        for name, opcode in (("row_sum", "vadd"), ("row_max", "vmax")):
            steps = on(machine, Step(name, "z", ("x",)))
            program = ask(student, steps, machine)
            judge_values(program, steps, machine, memory, 1e-5)
            counts, levels = judge.opcodes(program), machine.sublanes.bit_length() - 1
            check.at_most(counts["vxpose"] + counts["vbcast"], 2, "operations that move lanes (vxpose, vbcast)")
            check.at_most(counts["vpop.trf"], machine.blocks + 1, "pops")
            check.at_most(counts[opcode], machine.blocks + levels, f"{opcode}: a chain, and the rotate tree")
            check.at_most(counts["vrot"], levels, "vrot")


@number("4.5")
@weight(2)
@hint("vpack before every push and before vmatmul; the weights are pushed once. Handout, part 4, matmul.")
def test_products_of_tiles(student, rng):
    """matmul: values of bfloat16 operands, each block pushed once, one pop for each product"""
    for machine in (generators.vector_machine(rng, 8, 8), generators.vector_machine(rng, 4, 16), V6E):
        memory = generators.memory_for(rng, machine)
        middle = [Step("matmul", "p", ("x",), W1), Step("matmul", "q", ("x",), W2), Step("add", "z", ("p", "q"))]
        for steps in (on(machine, Step("matmul", "z", ("x",), W1)), on(machine, *middle)):
            program = ask(student, steps, machine)
            judge_values(program, steps, machine, memory, 1e-6)
            counts = judge.opcodes(program)
            matrices = sum(step.name == "matmul" for step in steps)
            check.equal(counts["vmatpush"], matrices * machine.blocks, "how many vmatpush")
            check.equal([counts["vmatmul"], counts["vpop.mrf"]], [matrices] * 2, "how many vmatmul and vpop.mrf")


@number("4.6")
@weight(1)
@hint("x where the mask is not 0, the constant elsewhere. Handout, part 4, elementwise.")
def test_masked_select(student, rng):
    """select: x where the mask is not 0, else a constant; one vsel"""
    machine = generators.vector_machine(rng)
    memory = generators.memory_for(rng, machine)
    memory[Y : Y + 2] *= -7  # a mask may be any number but 0
    for other in (-1e38, float(np.float32(rng.normal()))):
        steps = on(machine, Step("select", "z", ("y", "x"), other))
        program = ask(student, steps, machine)
        judge_values(program, steps, machine, memory, 1e-6)
        check.equal(judge.opcodes(program)["vsel"], 1, "how many vsel")


@number("4.7")
@weight(1)
@hint("load and store move on by one tile of rows each time, weights do not. Handout, part 4, tiles.")
def test_several_tiles(student, rng):
    """a kernel for several tiles: addresses move on, weights and constants are loaded once"""
    middle = [Step("matmul", "p", ("x",), W1), Step("scale", "q", ("p",), 0.75), Step("mul", "z", ("q", "y"))]
    for sublanes in (8, int(rng.choice([2, 4, 16]))):
        machine, tiles = generators.vector_machine(rng, sublanes), int(rng.integers(2, 6))
        memory = generators.memory_for(rng, machine)
        steps = on(machine, *middle)
        program = ask(student, steps, machine, tiles)
        judge_values(program, steps, machine, memory, 1e-6, tiles)
        counts = judge.opcodes(program)
        check.equal(counts["vmatpush"], machine.blocks, "how many vmatpush")
        check.at_most(counts["smov"], 1, "smov")
        check.equal(len(program.starts), tiles, "how often start_tile was called")
