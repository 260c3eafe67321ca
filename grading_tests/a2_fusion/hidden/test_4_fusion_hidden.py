"""Part 4, hidden: whole training programs, and programs that nobody wrote."""

from __future__ import annotations

import numpy as np
from given_minixla.programs import program
from hypothesis import strategies as st

from autograder.kit import check, given, hint, number, weight

import generators
import judge
from generators import Builder


def fused(student, module, rng, values=generators.tame):
    """The module fused, after what must hold of every fusion was judged."""
    after = judge.passed(student, "fusion", module, again=False)
    judge.kernels(module, after)
    judge.at_most(module, after, judge.count(module, "dot"), "dot", rule="a dot is never computed twice")
    judge.same_values(module, after, generators.arguments(module, rng, values), rule="fusion changes no bit")
    return after


def whole(student, name, rng, kernels, kibibytes):
    """A training program, cleaned, fused and held against its budget."""
    module = generators.shuffled(program(name), rng)
    after = fused(student, module, rng)
    inputs = generators.arguments(module, rng)
    before, got = judge.traffic(module, inputs), judge.traffic(after, inputs, module)
    few = check.fraction_within(got[0], full=kernels, none=before[0])
    light = check.fraction_within(got[1] / 1024, full=kibibytes, none=before[1] / 1024)
    check.partly(
        min(few, light),
        f"kernels and KiB of {name}",
        expected=f"{kernels}, {kibibytes}",
        got=f"{got[0]}, {got[1] / 1024}",
    )


@number("4.11")
@weight(2.5)
@hint(
    "A gradient's update belongs to the dot that makes the gradient; a value that two dots read is written once."
)
def test_training_step(student, rng):
    """a whole training step: 12 kernels, from 43 operations"""
    whole(student, "training_step_cleaned", rng, kernels=12, kibibytes=15_908 / 1024)


@number("4.12")
@weight(1.5)
@hint("The same rules as in a training step, with a batch axis in front. A reshape moves nothing.")
def test_per_sample_gradients(student, rng):
    """per-sample gradients of a small network: 8 kernels, from 31 operations"""
    module = generators.shuffled(program("per_sample_gradients_cleaned"), rng)
    after = fused(student, module, rng)
    inputs = generators.arguments(module, rng)
    before, got = judge.traffic(module, inputs)[0], judge.traffic(after, inputs, module)[0]
    check.within(got, full=8, none=before, what="kernels")


@number("4.13")
@weight(1.5)
@hint("No kernel may wait for another that waits for it; and recomputing must never cost more than it saves.")
@given(module=generators.programs(40), seed=st.integers(0, 2**31), examples=40)
def test_fusion_of_random_programs(student, module, seed):
    """random programs: legal kernels, the same bits, never more bytes than without fusion"""
    rng = np.random.default_rng(seed)
    module = judge.live(module)
    after = fused(student, module, rng, generators.nasty)
    inputs = generators.arguments(module, rng)
    before, got = judge.traffic(module, inputs), judge.traffic(after, inputs, module)
    if got[1] > before[1]:
        judge.fail(module, after, f"the kernels move {got[1]:,} bytes; unfused they moved {before[1]:,}")
    if got[0] > before[0]:
        judge.fail(module, after, f"there are {got[0]} kernels; unfused there were {before[0]}")


def elementwise_chain(rng, length):
    """A random elementwise program on one shape, of branches that join again, which one kernel can do."""
    build = Builder("chain")
    inputs = [build.parameter("f32", 16, 16), build.parameter("f32", 16, 16)]
    value = inputs[0]
    for _ in range(length // 2):
        branch = build.op(str(rng.choice(["negate", "abs", "tanh"])), value)
        other = branch if rng.integers(0, 3) else inputs[1]
        value = build.op(str(rng.choice(generators.BINARY[:3])), value, other)
    return build.module(value)


@number("4.14")
@weight(1)
@hint("Elementwise work of one shape with one output needs one kernel, however it branches and joins.")
def test_elementwise_programs_are_one_kernel(student, rng):
    """elementwise programs with many joins are one kernel that reads each input once"""
    for length in (6, 60, 200):
        module = judge.live(elementwise_chain(rng, length))
        after = fused(student, module, rng)
        kernels, moved = judge.traffic(after, generators.arguments(module, rng), module)
        check.that(
            (kernels, moved <= 3 * 1024) == (1, True),
            f"the kernels of {length} elementwise operations",
            expected="1 kernel that moves at most 3,072 bytes",
            got=f"{kernels} kernels that move {moved:,} bytes",
        )
