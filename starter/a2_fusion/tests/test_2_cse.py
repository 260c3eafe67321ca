"""Part 2: common subexpression elimination."""

from __future__ import annotations

import numpy as np

from autograder.kit import hint, number, weight

import generators
import judge
from generators import Builder


@number("2.1")
@weight(2)
@hint(
    "Two instructions are the same if opcode, operands (after sharing), attributes and whole shape are the same."
)
def test_same_work_is_done_once(student, rng):
    """equal instructions are shared, all the way down a chain; unequal ones are not"""
    build = Builder()
    x, y = build.parameter("f32", 4, 4), build.parameter("f32", 4, 4)
    chain = list(rng.permutation(["exponential", "tanh", "negate", "abs", "sqrt"]))

    def copy(start: str) -> str:
        for opcode in chain:
            start = build.op(str(opcode), start)
        return build.op("multiply", start, build.spread(float(np.float32(1.5)), start))

    copies = [copy(x) for _ in range(4)]
    module = build.module(*copies, copy(y), build.op("transpose", copies[1], dims=(4, 4), dimensions=(1, 0)))
    after = judge.passed(student, "cse", module)
    judge.same_values(module, after, generators.arguments(module, rng))
    live = judge.live(after)
    judge.at_most(
        module, live, 10, *map(str, chain), rule="four equal chains are one, the fifth reads another input"
    )
    judge.at_most(module, live, 1, "constant", rule="equal constants are one")


@number("2.2")
@weight(1.5)
@hint("Which fields did you leave out of the key?")
def test_what_differs_in_one_field_stays(student, rng):
    """what differs in an attribute, in dtype or shape, or in a parameter of a fusion's body alone is not shared"""
    build = Builder()
    x = build.parameter("f32", 3, 3)
    kept = [
        build.reduce(x, 0),
        build.reduce(x, 1),
        build.reduce(x, 1, opcode="maximum"),
        build.op("transpose", x, dims=(3, 3), dimensions=(1, 0)),
        build.op("transpose", x, dims=(3, 3), dimensions=(0, 1)),
        build.op("convert", x, dtype="bf16"),
        build.op("convert", x, dtype="f64"),
        build.op("reshape", x, dims=(9,)),
        build.op("reshape", x, dims=(9, 1)),
        build.op("compare", x, build.spread(0.5, x), direction="GT"),
        build.op("compare", x, build.spread(0.5, x), direction="LT"),
    ]
    row = build.parameter("f32", 3)
    kept += [build.along(row, (3, 3), 0), build.along(row, (3, 3), 1)]
    module = build.module(*kept)
    after = judge.passed(student, "cse", module)
    judge.same_values(module, after, generators.arguments(module, rng, generators.nasty))
    build = Builder()
    x, y = build.parameter("f32", 3), build.parameter("f32", 3)
    calls = []
    for operands in ((x,), (x, y), (y, x)):
        body = Builder("body")
        inside = [body.parameter("f32", 3) for _ in operands]
        body.outputs = (body.op("tanh", inside[0]),)
        calls += build.fusion(body, "kLoop", *operands)
    module = build.module(*calls)
    judge.same_values(module, judge.passed(student, "cse", module), generators.arguments(module, rng))


@number("2.3")
@weight(1)
@hint("Give commutative operations a key in which the order of operands does not matter; name them one by one.")
def test_commutative_operands_may_swap(student, rng):
    """add, multiply, maximum, minimum, and, or, xor share swapped operands; subtract, divide, compare do not"""
    free, fixed = ["add", "multiply", "maximum", "minimum"], ["subtract", "divide"]
    build = Builder()
    x, y = build.parameter("f32", 20), build.parameter("f32", 20)
    p, q = build.parameter("pred", 20), build.parameter("pred", 20)
    outputs = [build.op(opcode, *pair) for opcode in free + fixed for pair in ((x, y), (y, x))]
    outputs += [build.op(opcode, *pair) for opcode in ("and", "or", "xor") for pair in ((p, q), (q, p))]
    outputs += [build.op("compare", *pair, direction="GT") for pair in ((x, y), (y, x))]
    module = build.module(*outputs)
    after = judge.passed(student, "cse", module)
    judge.same_values(module, after, generators.arguments(module, rng, generators.tame))
    live = judge.live(after)
    judge.at_most(module, live, 7, *free, "and", "or", "xor", rule="swapped operands of a commutative operation")


@number("2.4")
@weight(1)
@hint("Compare the bytes of literals. 0.0 == -0.0 is true, and NaN == NaN is false.")
def test_constants_are_compared_by_bits(student, rng):
    """0.0 and -0.0 differ, a NaN is shared with itself, and 1.0 is not 1"""
    build = Builder()
    x = build.parameter("f32", 6)
    zeros = [build.op("divide", x, build.spread(value, x)) for value in (0.0, -0.0, np.nan, np.nan, 1.0)]
    others = [
        build.constant(1, "s32"),
        build.constant(1, "u32"),
        build.constant(1.0, "f64"),
        build.constant(1, "s32"),
    ]
    module = build.module(*zeros, *others)
    after = judge.passed(student, "cse", module)
    judge.same_values(module, after, generators.arguments(module, rng, generators.nasty))
    judge.at_most(
        module, judge.live(after), 7, "constant", rule="the two NaNs are one constant, and the two s32 1s"
    )


@number("2.5")
@weight(1)
@hint("Ask `is_pure` before you look anything up.")
def test_impure_instructions_are_never_shared(student, rng):
    """rng draws anew each time, and a side effect happens as often as it is written"""
    build = Builder()
    x = build.parameter("f32", 5)
    low, high = build.constant(0.0), build.constant(1.0)
    noise = [build.op("rng", low, high, dims=(5,), distribution="rng_uniform") for _ in range(2)]
    told = [build.outfeed(build.op("exponential", x)) for _ in range(2)]
    module = build.module(build.op("add", *noise), *told)
    after = judge.passed(student, "cse", module)
    judge.at_least(module, after, 2, "rng", rule="each rng draws its own numbers")
    judge.at_least(module, after, 2, "custom-call", rule="each side effect stays")
    judge.at_most(module, judge.live(after), 1, "exponential", rule="what they read may be shared")


@number("2.6")
@weight(0.5)
@hint("The same value in seven element types: which of the 20 instructions are equal in all fields?")
def test_xla_counts_eighteen(student):
    """the example of XLA's own tests: 42 in seven element types, of which two are the same, 20 → 18"""
    build = Builder()
    kinds = ["u32", "s32", "u64", "s64", "f64", "f32", "f32"]
    converted = [build.op("convert", build.constant(42, kind), dtype="f32") for kind in kinds]
    total = converted[0]
    for each in converted[1:]:
        total = build.op("add", total, each)
    module = build.module(total)
    after = judge.passed(student, "cse", module)
    judge.same_values(module, after, [])
    judge.at_most(module, judge.live(after), 18, rule="one constant and one convert are there twice")
    judge.at_least(module, judge.live(after), 18, *judge.opcodes(module), rule="nothing else is the same")
