"""Part 1: constant folding."""

from __future__ import annotations

import numpy as np

from autograder.kit import hint, number, weight

import generators
import judge
from generators import Builder

FOLDING = "constant_folding"


@number("1.10")
@weight(1.5)
@hint("Go through the instructions in order: an operand may have become a constant a moment ago.")
def test_literals_fold(student, rng):
    """arithmetic on constants becomes one constant, through broadcasts, reshapes and reductions"""
    a, b = rng.normal(size=(2, 3, 4)).astype("f")
    build = Builder()
    x = build.parameter("f32", 3)
    left, right = build.constant(a), build.constant(b)
    product = build.op("multiply", left, build.op("exponential", right))
    total = build.reduce(build.op("subtract", product, build.spread(float(rng.normal()), left)), 1)
    spread = build.op("select", build.op("compare", total, build.spread(0.0, total), direction="GT"), total, total)
    module = build.module(build.op("add", x, build.op("reshape", build.op("negate", spread), dims=(3,))))
    after = judge.passed(student, FOLDING, module)
    judge.same_values(module, after, generators.arguments(module, rng))
    left_over = [each.opcode for each in judge.live(after).entry_computation.instructions]
    if sorted(left_over) != ["add", "constant", "parameter"]:
        judge.fail(module, after, "what depends on constants alone is one constant")


@number("1.11")
@weight(1)
@hint("Compare the bytes of the result with the limit and with the bytes of the constants that it is made of.")
def test_folding_does_not_blow_up(student, rng):
    """no literal of more than 1 KiB appears that was not there; one of exactly 1 KiB may"""
    for elements, folds in ((256, True), (257, False)):
        build = Builder()
        x = build.parameter("f32", elements)
        half = build.op("exponential", build.constant(float(rng.normal())))
        spread = build.op("negate", build.along(half, (elements,)))
        left, right = (build.constant(rng.normal(size=elements).astype("f")) for _ in range(2))
        product = build.op("multiply", left, right)
        module = build.module(build.op("add", build.op("add", x, spread), product))
        after = judge.passed(student, FOLDING, module)
        judge.same_values(module, after, generators.arguments(module, rng))
        judge.no_new_literals(module, after, 1024)
        judge.at_most(module, judge.live(after), 0, "exponential", rule="the small part folds in either case")
        if folds:
            judge.at_most(
                module,
                judge.live(after),
                0,
                "negate",
                "multiply",
                rule=f"{4 * elements} bytes are not too many to fold",
            )


@number("1.12")
@weight(1.5)
@hint("Fold with the element type's own arithmetic, and let the parts of the program that you do not know alone.")
def test_folding_keeps_special_values(student, rng):
    """1/0, 0/0, -0, integer division by zero, overflow and bf16 rounding fold to what running them gives"""
    build = Builder()
    x = build.parameter("f32", 2)
    zero, minus = build.constant(0.0), build.constant(-0.0)
    outputs = [
        build.op("divide", build.constant(1.0), zero),
        build.op("divide", build.constant(1.0), minus),
        build.op("divide", zero, minus),
        build.op("multiply", minus, build.constant(2.0)),
        build.op("add", zero, minus),
        build.op("add", build.constant(3e38), build.constant(3e38)),
        build.op("log", build.constant(-1.0)),
        build.op("multiply", build.constant(1.0078125, "bf16"), build.constant(1.0078125, "bf16")),
        build.op("add", build.constant(2**31 - 1, "s32"), build.constant(1, "s32")),
        build.op("divide", build.constant(-7, "s32"), build.constant(2, "s32")),
        build.op("divide", build.constant(7, "s32"), build.constant(0, "s32")),
        build.op("divide", build.constant(7, "u32"), build.constant(0, "u32")),
        build.op("subtract", build.constant(3, "u8"), build.constant(5, "u8")),
        build.op("convert", build.constant(float(rng.uniform(3, 9))), dtype="s32"),
        build.op("multiply", x, build.spread(0.0, x)),
        build.op("divide", x, x),
    ]
    module = build.module(*outputs)
    after = judge.passed(student, FOLDING, module)
    for values in ([np.inf, 2.0], [np.nan, 0.0]):
        judge.same_values(module, after, [np.array(values, "f")])
    judge.at_most(
        module, judge.live(after), 2, "divide", "multiply", "add", "log", "subtract", rule="constants fold"
    )
