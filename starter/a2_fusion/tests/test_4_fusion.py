"""Part 4: fusion. Legal kernels, the same bits, few kernels and few bytes."""

from __future__ import annotations

import numpy as np
from given_minixla.programs import program
from hypothesis import strategies as st

from autograder.kit import check, given, hint, number, weight

import generators
import judge
from generators import Builder


def fused(student, module, rng, values=generators.tame, name="fusion"):
    """The module fused, after what must hold of every fusion was judged."""
    after = judge.passed(student, name, module, again=False)
    judge.kernels(module, after)
    judge.at_most(module, after, judge.count(module, "dot"), "dot", rule="a dot is never computed twice")
    judge.same_values(module, after, generators.arguments(module, rng, values), rule="fusion changes no bit")
    return after


def budget(module, after, rng, *, kernels, kibibytes, unfused):
    """Points for kernels and bytes: all within the budget, none where nothing is saved, linear between."""
    inputs = generators.arguments(module, rng)
    (before_kernels, before_bytes), (got_kernels, got_bytes) = (
        judge.traffic(one, inputs, module) for one in (module, after)
    )
    few = check.fraction_within(got_kernels, full=kernels, none=before_kernels)
    light = check.fraction_within(got_bytes / 1024, full=kibibytes, none=before_bytes / 1024)
    check.partly(
        min(few, light),
        f"kernels and bytes of {module.name} (unfused: {before_kernels} kernels, {unfused})",
        expected=f"at most {kernels} kernels that move at most {kibibytes:,.2f} KiB",
        got=f"{got_kernels} kernels that move {got_bytes / 1024:,.2f} KiB",
    )


def named(name, rng, sizes):
    """A named program at other sizes, with other names and in another order."""
    return generators.shuffled(generators.resized(program(name), sizes), rng)


@number("4.1")
@weight(3)
@hint(
    "The dot opens a kernel; what is elementwise on its result, of the same size, can be computed on the way out."
)
def test_gelu_is_one_kernel(student, rng):
    """a matrix product, its bias and GELU: one kernel, 225 KiB instead of 1953"""
    columns = int(rng.choice([192, 320, 448]))
    module = named("gelu_layer_cleaned", rng, {256: columns})
    after = fused(student, module, rng)
    kibibytes = 4 * (64 * 128 + 128 * columns + columns + 64 * columns) / 1024
    budget(module, after, rng, kernels=1, kibibytes=kibibytes, unfused="one kernel an equation")


@number("4.2")
@weight(4)
@hint(
    "Masked scores and row maxima leave the first kernel together; exp is computed in two kernels, stored in none."
)
def test_attention_is_three_kernels(student, rng):
    """attention: 3 kernels and 21.02 MiB instead of 9 and 61.02, at other sizes in proportion"""
    n, d = int(rng.choice([192, 320, 448])), int(rng.choice([64, 96]))
    module = named("attention", rng, {1024: n, 512: d})
    after = fused(student, module, rng)
    scores, rows, matrix = 4 * n * n, 4 * n, 4 * n * d
    first = 2 * matrix + n * n + scores + rows
    second = scores + rows + rows
    third = scores + 2 * rows + matrix + matrix
    kibibytes = (first + second + third) / 1024
    budget(module, after, rng, kernels=3, kibibytes=kibibytes, unfused="61.02 MiB at 1024 x 512")
    exps = judge.count(after, "exponential")
    check.at_most(exps, 2, "places where exp is computed")


@number("4.3")
@weight(3)
@hint(
    "A kernel per reduction of the layer norm, then a kernel per dot: what prepares a dot's operand goes into it."
)
def test_mlp_block_is_four_kernels(student, rng):
    """layer norm, two linear layers, GELU and the residual: 4 kernels, 8.5 MiB instead of 63.5"""
    rows, hidden = int(rng.choice([96, 160, 224])), int(rng.choice([320, 448]))
    module = named("mlp_block", rng, {512: rows, 1024: hidden})
    after = fused(student, module, rng)
    wide, tall = 256, rows
    x, h = 4 * tall * wide, 4 * tall * hidden
    mean = x + 4 * tall
    deviation = x + 2 * 4 * tall
    up = x + 2 * 4 * tall + 2 * 4 * wide + 4 * wide * hidden + 4 * hidden + h
    down = h + 4 * hidden * wide + 4 * wide + x + x
    kibibytes = (mean + deviation + up + down) / 1024
    budget(module, after, rng, kernels=4, kibibytes=kibibytes, unfused="63.53 MiB at 512 x 256 x 1024")


@number("4.4")
@weight(2)
@hint("Two reductions by rows, with a division and a square root between: what may share a pass over the data?")
def test_mini_attention_is_five_kernels(student, rng):
    """matmul, rms norm, softmax, matmul: at most 5 kernels"""
    rows = int(rng.choice([24, 40, 48]))
    module = named("mini_attention", rng, {16: rows})
    after = fused(student, module, rng)
    kernels, moved = judge.traffic(after, generators.arguments(module, rng), module)
    check.that(moved > 0 and kernels > 0, "the fused program", expected="kernels that move bytes", got=after.name)
    check.within(kernels, full=5, none=judge.traffic(module, generators.arguments(module, rng))[0], what="kernels")


@number("4.5")
@weight(1.5)
@hint("Siblings: neither reads the other, both read the same array in the same order. One kernel, two outputs.")
def test_sibling_reductions_share_a_pass(student, rng):
    """two reductions of one f32[a,b,c,d] over axes 0, 2, 3 are one kernel with two outputs"""
    dims = tuple(int(size) for size in rng.integers(3, 9, size=4))
    build = Builder("siblings")
    x = build.parameter("f32", *dims)
    mean = build.reduce(x, 0, 2, 3)
    square = build.reduce(build.op("multiply", x, x), 0, 2, 3)
    module = build.module(mean, square)
    after = fused(student, module, rng)
    kernels, moved = judge.traffic(after, generators.arguments(module, rng), module)
    elements = int(np.prod(dims))
    check.that(
        kernels == 1 and moved <= 4 * (elements + 2 * dims[1]),
        "the two reductions",
        expected=f"1 kernel that reads the {4 * elements:,} bytes of the input once",
        got=f"{kernels} kernels that move {moved:,} bytes",
    )
    build = Builder("elementwise_siblings")
    x = build.parameter("f32", *dims)
    module = build.module(build.op("exponential", x), build.op("tanh", x), build.op("multiply", x, x))
    after = fused(student, module, rng)
    check.equal(judge.traffic(after, generators.arguments(module, rng), module)[0], 1, "kernels of three siblings")


@number("4.6")
@weight(1.5)
@hint("A sum is complete only when its pass has ended. Who reads the sum, and how large is what it makes of it?")
def test_a_reduction_ends_its_pass(student, rng):
    """a statistic that is broadcast back to its rows cannot be in the kernel that computes it"""
    rows, columns = (int(size) for size in rng.integers(4, 30, size=2))
    build = Builder("softmax")
    x = build.parameter("f32", rows, columns)
    shifted = build.op("subtract", x, build.along(build.reduce(x, 1, opcode="maximum"), (rows, columns), 0))
    e = build.op("exponential", shifted)
    total = build.along(build.reduce(e, 1), (rows, columns), 0)
    module = build.module(build.op("divide", e, total))
    after = fused(student, module, rng)
    budget(
        module,
        after,
        rng,
        kernels=3,
        kibibytes=4 * (3 * rows * columns + rows + 2 * rows + 2 * rows + rows * columns) / 1024,
        unfused="one kernel an operation",
    )


@number("4.7")
@weight(0.5)
@hint("Look at every reader of the value, and at the module's outputs, before you decide that nobody needs it.")
def test_what_is_read_elsewhere_is_written(student, rng):
    """a value that a kernel makes on the way is written if the program returns it or another kernel reads it"""
    build = Builder("kept")
    a, b = build.parameter("f32", 6, 4), build.parameter("f32", 4, 4)
    h = build.dot(a, b)
    t = build.op("tanh", h)
    wide = build.op("exponential", t)
    again = build.dot(t, b)
    module = build.module(build.op("negate", wide), t, build.op("add", again, h), build.reduce(wide, 0))
    after = fused(student, module, rng)
    kernels, _ = judge.traffic(after, generators.arguments(module, rng), module)
    check.within(kernels, full=3, none=7, what="kernels")


@number("4.10")
@weight(0.5)
@hint("Count: what do two dots read if each makes the value itself, and what if it is written once?")
def test_what_several_kernels_need(student, rng):
    """a value of four arrays that two dots need is written once, not made in both of them"""
    n = int(rng.choice([8, 16, 24]))
    build = Builder("shared")
    a, b, c, d, u, v = (build.parameter("f32", n, n) for _ in range(6))
    value = build.op("tanh", build.op("add", build.op("multiply", a, b), build.op("multiply", c, d)))
    module = build.module(build.dot(value, u), build.dot(value, v))
    after = fused(student, module, rng)
    _, moved = judge.traffic(after, generators.arguments(module, rng), module)
    check.at_most(moved, 4 * n * n * (4 + 1 + 2 * 3), "bytes: four arrays read, one written, and two dots")


@number("4.8")
@weight(1)
@hint("One kernel runs over one set of indices. What would a kernel with an f32[] and an f32[10] output run over?")
def test_different_iteration_spaces_stay_apart(student, rng):
    """siblings of different size, random numbers and side effects are not fused into one kernel"""
    build = Builder("apart")
    x, y = build.parameter("f32"), build.parameter("f32", 10)
    small = build.op("exponential", x)
    large = build.op("exponential", build.op("add", y, build.along(x, (10,))))
    told = build.outfeed(build.op("negate", large))
    module = build.module(small, large, build.op("tanh", told))
    fused(student, module, rng)
    noise = build.op("rng", build.constant(0.0), build.constant(1.0), dims=(10,), distribution="rng_uniform")
    module = build.module(small, build.op("add", large, noise))
    after = judge.passed(student, "fusion", module, again=False)
    judge.kernels(module, after)
    judge.at_least(module, after, 1, "rng", rule="random numbers are drawn once, in an instruction of their own")


@number("4.9")
@weight(0.5)
@hint("Paste the program into the notebook, draw it before and after, and follow the value that is wrong.")
@given(module=generators.programs(15), seed=st.integers(0, 2**31), examples=20)
def test_small_random_programs(student, module, seed):
    """small random programs: legal kernels, the same bits, no more kernels and no more bytes than unfused"""
    rng = np.random.default_rng(seed)
    module = judge.live(module)
    after = fused(student, module, rng, generators.nasty)
    inputs = generators.arguments(module, rng)
    (old_kernels, old_bytes), (kernels, moved) = (judge.traffic(one, inputs, module) for one in (module, after))
    if kernels > old_kernels or moved > old_bytes:
        judge.fail(
            module,
            after,
            f"there are {kernels} kernels that move {moved:,} bytes; unfused {old_kernels} moved {old_bytes:,}",
        )
