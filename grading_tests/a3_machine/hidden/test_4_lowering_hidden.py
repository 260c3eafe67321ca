"""Part 4, hidden: whole programs, on machines of several shapes."""

from __future__ import annotations

from given_minitpu.isa import V6E
from given_minitpu.kernels import KERNELS, OUT
from given_minitpu.tiles import evaluate

from autograder.kit import check, hint, number, probe, weight

import generators
import judge


@probe
def lowered(steps, machine, tiles) -> judge.ProgramData:
    """lower of a tile program: the program as data."""
    from minitpu.lowering import lower

    import describe

    return lower(describe.steps(steps), describe.machine(machine), tiles).to_data()


EVERYTHING = (
    *("add", "sub", "mul", "max", "greater", "scale", "shift", "reciprocal", "rsqrt", "select", "exp"),
    *("row_sum", "row_max", "column_sum", "column_max", "matmul"),
)


@number("4.8")
@weight(2)
@hint("Steps of every kind in one program: each must leave the queues empty and the other registers alone.")
def test_random_tile_programs(student, rng):
    """random tile programs of all steps, on registers of 8 × 128, 8 × 32 and 4 × 16"""
    for sublanes, lanes in ((8, 128), (8, 32), (4, 16), (8, 32)):
        machine = generators.vector_machine(rng, sublanes, lanes)
        memory = generators.memory_for(rng, machine)
        steps = generators.tile_program(rng, machine, memory, int(rng.integers(6, 14)), EVERYTHING)
        data = student(lowered, generators.plain_steps(steps), machine.to_data(), 1)
        got = judge.in_order(judge.lowered(data, 2000), machine, memory)[OUT : OUT + sublanes]
        wanted = evaluate(steps, machine, memory)[OUT : OUT + sublanes]
        check.close(got, wanted, relative=1e-4, what="the tile that is stored")


BLOCKS, LEVELS = V6E.blocks, 3
ROW = 2 * BLOCKS + 3 + 2 * LEVELS  # a reduction over lanes, with a chain of adds that starts from a constant

# Operations for constants and weights, and for each tile, as the handout counts them.
BUDGETS = {
    "gelu": (4, 12),
    "softmax": (2, 2 * ROW + 7),
    "rms_norm": (3, ROW + 7),
    "column_range": (1, 4 * LEVELS + 4),
    "matmul": (3 * BLOCKS, 5),
    "attention": (6 * BLOCKS + 3, 2 * ROW + 15),
}


@number("4.9")
@weight(1)
@hint("Weights and constants once for all tiles; a reduction takes no more than a chain. Handout, part 4, tiles.")
def test_named_kernels_stay_in_their_budgets(student, rng):
    """the named kernels for one and for three tiles, on v6e: values, and no more operations than the reference"""
    memory = generators.memory_for(rng, V6E)
    for name, steps in KERNELS.items():
        for tiles in (1, 3):
            data = student(lowered, generators.plain_steps(steps), V6E.to_data(), tiles)
            program = judge.lowered(data, 3000)
            stored = slice(OUT, OUT + tiles * V6E.sublanes)
            got = judge.in_order(program, V6E, memory)[: len(memory)][stored]
            # A probability may fall on the other side of a bfloat16 tie: up to 2^-8 of the largest sum.
            tolerance = 2.0**-7 if name == "attention" else 1e-5
            check.close(got, evaluate(steps, V6E, memory, tiles)[stored], relative=tolerance, what=f"{name}")
            once, each = BUDGETS[name]
            check.at_most(len(program.operations), once + tiles * each, f"operations of {name} for {tiles} tiles")
