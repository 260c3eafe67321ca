"""Part 1: the algebraic simplifier, on small programs made for one rule each."""

from __future__ import annotations

import numpy as np
import pytest

from autograder.kit import hint, number, weight

import generators
import judge
from generators import Builder

SIMPLIFIER = "algebraic_simplifier"


def simplified(student, module, rng, *, ulps=0, values=generators.nasty, **options):
    """What is alive of the module simplified, after its values were compared on values of the awkward kind."""
    after = judge.passed(student, SIMPLIFIER, module, **options)
    for _ in range(4):
        judge.same_values(module, after, generators.arguments(module, rng, values), ulps=ulps)
    return judge.live(after)


@number("1.1")
@weight(2)
@hint("1/c is rounded once, the product once more. Is 1/c a normal number? Look through the broadcast of c.")
def test_division_by_a_constant_becomes_a_multiplication(student, rng):
    """x / c becomes x · (1/c) where the reciprocal is a normal number, and stays a division elsewhere"""
    for power in (2.0, -8.0, 0.25, 2.0**-126, 2.0**-127, 2.0**100):
        build = Builder()
        x = build.parameter("f32", 5, 7)
        module = build.module(build.op("divide", x, build.spread(power, x)))
        after = simplified(student, module, rng)
        judge.at_most(
            module, after, 0, "divide", rule="dividing by a power of two is multiplying by its reciprocal"
        )
    build = Builder()
    x, y = build.parameter("f32", 64), build.parameter("f64", 9)
    odd = float(np.float32(rng.uniform(1.1, 9.0)))
    a, b = build.op("divide", x, build.spread(odd, x)), build.op("divide", y, build.spread(odd, y))
    module = build.module(a, b)
    after = simplified(student, module, rng, ulps=1, values=generators.tame)
    judge.at_most(module, after, 0, "divide", rule="dividing by a constant is multiplying by its reciprocal")
    build = Builder()
    x = build.parameter("f32", 64)
    module = build.module(*(build.op("divide", x, build.spread(c, x)) for c in (odd, 3.0, -4.0)))
    after = judge.passed(student, SIMPLIFIER, module, fast=False)
    judge.same_values(module, after, [generators.tame(rng, "f32", 64)], rule="without `fast` every bit stays")
    judge.at_most(module, after, 2, "divide", rule="dividing by a power of two is exact, `fast` or not")
    for constant in (1e-40, 2.0**127, 3e38, 0.0, -0.0, np.inf, np.nan):
        build = Builder()
        x = build.parameter("f32", 40)
        module = build.module(build.op("divide", x, build.spread(constant, x)))
        after = simplified(student, module, rng)
        judge.at_least(module, after, 1, "divide", rule=f"1/{constant} is no normal number, so the division stays")


def no_ops(build: Builder, x: str, dims: tuple[int, ...]) -> str:
    """x through operations that change nothing."""
    flat = build.op("reshape", x, dims=dims)
    turned = build.op("transpose", flat, dims=dims, dimensions=tuple(range(len(dims))))
    same = build.op("broadcast", turned, dims=dims, dimensions=tuple(range(len(dims))))
    return build.op("convert", same)


@number("1.2")
@weight(1.5)
@hint("Each rule on its own, then again on what it leaves: x·1 may become visible only after -(-x) is gone.")
def test_identities_disappear(student, rng):
    """x + 0, x - 0, x·1, x/1, -(-x), operations that move nothing, transposes that cancel"""
    dims = tuple(int(size) for size in rng.integers(2, 6, size=3))
    build = Builder()
    x = build.parameter("f32", *dims)
    y = build.op("add", x, build.spread(0.0, x))
    y = build.op("subtract", y, build.spread(0.0, x))
    y = build.op("multiply", build.spread(1.0, x), y)
    y = build.op("negate", build.op("negate", y))
    y = build.op("divide", no_ops(build, y, dims), build.spread(1.0, x))
    turned = build.op("transpose", y, dims=(dims[2], dims[0], dims[1]), dimensions=(2, 0, 1))
    back = build.op("transpose", turned, dims=dims, dimensions=(1, 2, 0))
    module = build.module(build.op("tanh", back))
    after = judge.passed(student, SIMPLIFIER, module)
    moved = ("add", "subtract", "multiply", "divide", "negate", "transpose", "reshape", "convert", "broadcast")
    live = judge.live(after)
    judge.at_most(module, live, 0, *moved, rule="an operation that changes nothing is gone")
    judge.same_values(module, after, [generators.tame(rng, "f32", *dims)])


@number("1.3")
@weight(1)
@hint("Which way does the permutation go? Compose before you compare with the identity.")
def test_transposes_compose(student, rng):
    """two transposes become one, and none only if they cancel; other moves of data stay"""
    dims = (2, 3, 4)
    for first in [(1, 2, 0), (2, 0, 1), (0, 2, 1)]:
        for second in [(1, 2, 0), (2, 0, 1), (1, 0, 2)]:
            build = Builder()
            x = build.parameter("f32", *dims)
            once = build.op("transpose", x, dims=tuple(dims[axis] for axis in first), dimensions=first)
            sizes = build.shapes[once].dims
            twice = build.op("transpose", once, dims=tuple(sizes[axis] for axis in second), dimensions=second)
            module = build.module(twice)
            after = simplified(student, module, rng)
            left = 0 if [first[axis] for axis in second] == [0, 1, 2] else 1
            judge.at_most(module, after, left, "transpose", rule="transposes of transposes are one")
    build = Builder()
    x = build.parameter("f32", 4, 4)
    spread = build.along(build.op("transpose", x, dims=(4, 4), dimensions=(1, 0)), (4, 4, 2), 0, 1)
    module = build.module(build.op("reshape", spread, dims=(16, 2)))
    simplified(student, module, rng)


@number("1.4")
@weight(2)
@hint("Put NaN, an infinity or a number beside its neighbour 1e20 times larger into the rule you used.")
@pytest.mark.parametrize("dtype", ["f32", "bf16"])
def test_what_floats_forbid_stays(student, rng, dtype):
    """x·0, x - x, x/x and x + (y - x) are not what they are for real numbers"""
    build = Builder()
    x, y = build.parameter(dtype, 50), build.parameter(dtype, 50)
    zero = build.op("multiply", x, build.spread(0.0, x))
    nothing = build.op("subtract", x, x)
    one = build.op("divide", x, x)
    other = build.op("add", x, build.op("subtract", y, x))
    under = build.op("divide", build.spread(0.0, x), x)
    apart = build.op("multiply", build.op("multiply", x, build.spread(3.0, x)), build.spread(1e30, x))
    module = build.module(zero, nothing, one, other, under, apart)
    after = simplified(student, module, rng)
    judge.at_least(module, after, 4, "multiply", "subtract", rule="nothing here is a constant or an input")


@number("1.5")
@weight(1.5)
@hint("A shift rounds toward minus infinity, division toward zero. Which element types have no sign?")
def test_integers_divide_by_their_own_rules(student, rng):
    """u32 / 2^k becomes a shift; signed division keeps rounding toward zero; other divisors stay"""
    for dtype in ("u32", "u8"):
        power = int(rng.integers(1, 7))
        build = Builder()
        x = build.parameter(dtype, 100)
        module = build.module(build.op("divide", x, build.spread(2**power, x)))
        after = simplified(student, module, rng)
        judge.at_most(module, after, 0, "divide", rule=f"an unsigned division by {2**power} is a shift by {power}")
    for dtype, divisor in (("s32", 8), ("s32", 3), ("u32", 7), ("s8", 2), ("s32", -4), ("u32", 1), ("s32", 1)):
        build = Builder()
        x = build.parameter(dtype, 100)
        quotient = build.op("divide", x, build.spread(divisor, x))
        sums = build.op("add", build.op("multiply", quotient, build.spread(1, x)), build.spread(0, x))
        simplified(student, build.module(sums), rng)


@number("1.6")
@weight(1)
@hint("-0.0 + 0.0 is 0.0. Which of x + 0, x - 0, x + (-0) and 0 + x keep the sign of zero?")
def test_signed_zero_is_kept_unless_fast(student, rng):
    """with fast=False x + 0.0 stays, while x - 0.0 and x + (-0.0) go; with fast=True all go"""
    for fast in (True, False):
        build = Builder()
        x = build.parameter("f32", 30)
        kept = build.op("add", x, build.spread(0.0, x))
        left = build.op("add", build.spread(0.0, x), x)
        gone = build.op("subtract", x, build.spread(0.0, x))
        also = build.op("add", x, build.spread(-0.0, x))
        module = build.module(kept, left, gone, also)
        after = judge.passed(student, SIMPLIFIER, module, fast=fast)
        live = judge.live(after)
        judge.at_most(
            module, live, 0 if fast else 2, "add", "subtract", rule=f"an exact identity goes (fast={fast})"
        )
        values = generators.nasty(rng, "f32", 30)
        if not fast:
            values[:4] = [-0.0, 0.0, np.nan, -np.inf]
            judge.same_values(module, after, [values], rule="without `fast` the sign of zero is kept")
        else:
            judge.same_values(module, after, [np.where(values == 0, np.float32(1), values)])


@number("1.7")
@weight(1)
@hint("c·a + c·b = c·(a + b) holds to the last bit only if multiplying by c never rounds.")
def test_factoring_only_where_exact(student, rng):
    """c·a + c·b becomes c·(a + b) for a positive power of two, and stays for any other c"""
    for constant, left in ((0.125, 1), (4.0, 1), (-4.0, 2), (0.1, 2), (3.0, 2)):
        build = Builder()
        a, b = build.parameter("f32", 60), build.parameter("f32", 60)
        c = build.spread(constant, a)
        total = build.op("add", build.op("multiply", a, c), build.op("multiply", c, b))
        module = build.module(total)
        after = simplified(student, module, rng, values=generators.tame)
        values = generators.tame(rng, "f32", 60)
        judge.same_values(module, after, [values, -values])
        if left == 1:
            judge.at_most(
                module, after, 1, "multiply", rule=f"{constant} is a positive power of two: factor it out"
            )
    build = Builder()
    a, b = build.parameter("f32", 60), build.parameter("f32", 60)
    scaled = build.op(
        "add", build.op("multiply", a, build.spread(0.5, a)), build.op("multiply", b, build.spread(0.25, a))
    )
    simplified(student, build.module(scaled), rng, values=generators.tame)


@number("1.8")
@weight(1)
@hint("A reshape keeps the order of elements, so an elementwise operation does not care on which side it is.")
def test_reshapes_move_outward(student, rng):
    """reshapes move past elementwise operations towards the outputs, so that arithmetic sits together"""
    rows, columns = (int(size) for size in rng.integers(2, 7, size=2))
    build = Builder()
    x, y = build.parameter("f32", rows, columns), build.parameter("f32", rows, columns)
    a = build.op("reshape", build.op("exponential", x), dims=(rows * columns,))
    b = build.op("reshape", build.op("tanh", y), dims=(rows * columns,))
    total = build.op("multiply", build.op("add", a, b), build.spread(0.5, a))
    module = build.module(build.op("negate", total))
    after = simplified(student, module, rng)
    judge.at_most(module, after, 1, "reshape", rule="reshapes of both operands become one of the result")
    entry = after.entry_computation
    behind = {name for each in entry.instructions if each.opcode == "reshape" for name in entry.users()[each.name]}
    late = sorted(entry[name].opcode for name in behind if entry[name].opcode not in ("tuple", "reshape"))
    if late:
        judge.fail(module, after, f"no arithmetic comes after the reshape; {', '.join(late)} does")
