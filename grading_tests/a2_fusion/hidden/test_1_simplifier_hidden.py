"""Part 1, hidden: simplifier and folding on programs that nobody wrote."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from autograder.kit import given, hint, number, weight

import generators
import judge
from generators import Builder

CONSTANTS = {
    "add": [0.0, -0.0, 3.0],
    "subtract": [0.0, -0.0, 3.0],
    "multiply": [0.0, 1.0, 2.0, float("inf")],
    "divide": [1.0, -0.5, 4.0, 3.0],
}


@st.composite
def decorated(draw):
    """A random program in which operations that change little stand between the others."""
    build = Builder("decorated")
    values = [build.parameter("f32", 3, 4), build.parameter("f32", 3, 4)]
    for step in draw(st.lists(st.integers(0, 9), min_size=2, max_size=14)):
        x, y = (values[-1 - draw(st.integers(0, min(3, len(values)) - 1))] for _ in range(2))
        if step < 4:
            opcode = list(CONSTANTS)[step]
            c = build.spread(draw(st.sampled_from(CONSTANTS[opcode])), x)
            made = build.op(opcode, c, x) if draw(st.booleans()) and step != 3 else build.op(opcode, x, c)
        elif step == 4:
            made = build.op("negate", x)
        elif step == 5:
            turned = build.op("transpose", x, dims=(4, 3), dimensions=(1, 0))
            made = build.op("transpose", build.op("negate", turned), dims=(3, 4), dimensions=(1, 0))
        elif step == 6:
            flat = build.op("reshape", x, dims=(12,))
            made = build.op("reshape", build.op("tanh", flat), dims=(3, 4))
        else:
            made = build.op(["add", "multiply", "maximum"][step - 7], x, y)
        values.append(made)
    return build.module(*dict.fromkeys(values[-1 - draw(st.integers(0, 2)) :][::-1]))


@number("1.9")
@weight(1)
@hint("Take the smallest program you can think of that has two of your rules one after the other.")
@given(module=decorated(), seed=st.integers(0, 2**31), examples=40)
def test_simplifier_keeps_every_bit(student, module, seed):
    """random programs with constants, transposes and reshapes give the same bits after simplification"""
    rng = np.random.default_rng(seed)
    after = judge.passed(student, "algebraic_simplifier", module, fast=False)
    judge.same_values(module, after, generators.arguments(module, rng, generators.nasty))


@st.composite
def constant_programs(draw):
    """A random program in which half of the inputs are constants."""
    module = draw(generators.programs(18, dots=False))
    entry, rng = module.entry_computation, np.random.default_rng(draw(st.integers(0, 2**31)))
    frozen = [each.name for each in entry.parameters if draw(st.booleans())]
    changed, kept = [], 0
    for each in entry.instructions:
        if each.name in frozen:
            values = generators.nasty(rng, "f32", *each.array_shape.dims)
            changed.append(generators.constant(each.name, values, "f32"))
        elif each.opcode == "parameter":
            changed.append(each.with_attributes(index=kept))
            kept += 1
        else:
            changed.append(each)
    return module.with_entry(changed)


@number("1.13")
@weight(1)
@hint("Evaluate with the given interpreter, or as it does: one operation, one rounding.")
@given(module=constant_programs(), seed=st.integers(0, 2**31), examples=30)
def test_folding_keeps_every_bit(student, module, seed):
    """random programs with constant inputs give the same bits after folding, and nothing foldable is left"""
    rng = np.random.default_rng(seed)
    after = judge.passed(student, "constant_folding", module)
    judge.same_values(module, after, generators.arguments(module, rng, generators.nasty))
    judge.no_new_literals(module, after, 1024)
    judge.nothing_foldable(module, after)


@number("1.14")
@weight(1)
@hint("Some instructions must not be evaluated while compiling, whatever their operands are.")
def test_folding_leaves_what_is_not_a_value(student, rng):
    """rng and side effects stay, even on constants; the operands of a fusion's body are not known"""
    build = Builder()
    low, high = build.constant(0.0), build.constant(float(rng.uniform(1, 2)))
    noise = build.op("rng", low, high, dims=(3,), distribution="rng_uniform")
    told = build.outfeed(build.op("exponential", build.constant(0.5)))
    x = build.parameter("f32", 3)
    module = build.module(build.op("add", x, noise), told)
    after = judge.passed(student, "constant_folding", module)
    judge.at_least(module, after, 1, "rng", rule="random numbers are drawn when the program runs")
    judge.at_least(module, after, 1, "custom-call", rule="a side effect stays")
    judge.at_most(module, judge.live(after), 0, "exponential", rule="its operand folds")
