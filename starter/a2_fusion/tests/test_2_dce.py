"""Part 2: dead code elimination."""

from __future__ import annotations

from autograder.kit import hint, number, weight

import generators
import judge
from generators import Builder


@number("2.10")
@weight(1.5)
@hint("Start from what must stay (the root, side effects), and mark what they need.")
def test_dead_instructions_go(student, rng):
    """what no output and no side effect needs is gone, to the end of every chain; parameters and outputs stay"""
    build = Builder()
    x, y = build.parameter("f32", 4), build.parameter("f32", 4)
    dead = x
    for _ in range(int(rng.integers(3, 9))):
        dead = build.op("tanh", build.op("add", dead, build.spread(2.0, dead)))
    told = build.outfeed(build.op("exponential", x))
    module = build.module(build.op("negate", x), build.op("sqrt", build.op("abs", x)), x)
    after = judge.passed(student, "dce", module)
    judge.same_values(module, after, generators.arguments(module, rng))
    judge.at_most(module, after, 0, "tanh", "constant", "broadcast", "add", rule="nothing needs it")
    judge.at_least(module, after, 1, "custom-call", rule=f"%{told} is seen outside the program")
    judge.at_least(module, after, 1, "exponential", rule=f"%{told} reads it")
    judge.at_least(module, after, 2, "parameter", rule=f"the caller passes %{y}, read or not")


def fused(build: Builder, outputs: list[str], *operands: str) -> list[str]:
    """A fusion with an instruction for each name in `outputs`, of its parameters in turn; its results."""
    body = Builder("body")
    inside = [body.parameter("f32", 8) for _ in operands]
    body.outputs = tuple(body.op(opcode, inside[place % len(inside)]) for place, opcode in enumerate(outputs))
    return build.fusion(body, "kLoop", *operands)


@number("2.11")
@weight(1.5)
@hint("An output of a fusion that nobody takes costs its computation and its write. Renumber the others.")
def test_dead_outputs_of_fusions_go(student, rng):
    """outputs of a fusion that nobody reads are gone from its tuple; the others keep their values"""
    opcodes = ["exponential", "tanh", "negate", "abs"]
    for kept in ([0, 2], [3], [1, 2, 3], [0, 1, 2, 3]):
        build = Builder()
        x, y = build.parameter("f32", 8), build.parameter("f32", 8)
        parts = fused(build, opcodes, x, y)
        module = build.module(*(build.op("sqrt", parts[number]) for number in kept))
        after = judge.passed(student, "dce", module)
        judge.same_values(module, after, generators.arguments(module, rng))
        judge.at_most(module, after, len(kept), *opcodes, rule="an output that nobody reads is not computed")
        judge.at_most(
            module, after, len(kept) if len(kept) > 1 else 0, "get-tuple-element", rule="nobody reads it"
        )


@number("2.12")
@weight(1)
@hint("When an output goes, a parameter of the body may go; then the operand, and what made it.")
def test_dead_parameters_of_fusions_go(student, rng):
    """an operand that a fusion's body no longer needs is dropped, and what computed it goes, too"""
    build = Builder()
    x, y = build.parameter("f32", 8), build.parameter("f32", 8)
    costly = build.op("exponential", build.op("log", y))
    parts = fused(build, ["tanh", "negate", "abs"], x, costly, x)
    module = build.module(parts[0], parts[2])
    after = judge.passed(student, "dce", module)
    judge.same_values(module, after, generators.arguments(module, rng))
    judge.at_most(module, after, 0, "exponential", "log", "negate", rule="no live output of the fusion needs it")
    (call,) = (each for each in after.entry_computation.instructions if each.opcode == "fusion")
    body = after.called(call)
    if len(body.parameters) > 2:
        judge.fail(module, after, f"the body needs two parameters; it has {len(body.parameters)}")
