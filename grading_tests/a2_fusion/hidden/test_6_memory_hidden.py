"""Part 6, hidden: random schedules, and copies against the best that trying all starts can find."""

from __future__ import annotations

import numpy as np
from given_minixla import text
from given_minixla.liveness import peak_memory
from hypothesis import strategies as st

from autograder.kit import check, given, hint, number, probe, weight

import generators
import judge
import memory
from generators import Builder


@probe
def assigned(module) -> memory.Assigned:
    """offsets for the buffers of a scheduled module"""
    from minixla import buffer_assignment, text

    got = buffer_assignment.assign_buffers(text.parse(module))
    offsets = {name: [int(offset), int(size)] for name, (offset, size) in got.offsets.items()}
    return {"offsets": offsets, "total": int(got.total_bytes)}


@number("6.6")
@weight(1)
@hint("An assignment is right if no two arrays that are alive together share a byte; draw the lives as bars.")
@given(module=generators.programs(30), examples=30)
def test_buffers_of_random_schedules(student, module):
    """random schedules: no two living arrays overlap, and little more than the peak is used"""
    scheduled = judge.live(module).replace(is_scheduled=True)
    got = student(assigned, text.print_module(scheduled))
    memory.check_assignment(scheduled, got)
    check.at_most(got.total, 1.5 * peak_memory(scheduled), "bytes in all, beside the peak of living arrays")


@st.composite
def layered(draw):
    """A schedule of kernels, each of which multiplies by a weight of its own; the weights are to be prefetched."""
    count = draw(st.integers(2, 6))
    build = Builder("layers")
    side = draw(st.sampled_from([4, 8]))
    value = build.parameter("f32", side, side)
    weights = []
    for layer in range(count):
        for _ in range(draw(st.integers(0, 1))):
            value = build.op("tanh", value)
        if len(weights) < 3 or layer == 0:
            wide = draw(st.sampled_from([1, 2, 4]))
            weight_ = build.parameter("f32", side * wide, side)
            weights.append(weight_)
            low = build.op("slice", weight_, dims=(side, side), starts=(0, 0), limits=(side, side), strides=(1, 1))
            value = build.dot(value, low)
    budget = draw(st.integers(1, 12)) * 4 * side * side
    return build.module(value, is_scheduled=True), weights, budget


@number("6.7")
@weight(2)
@hint(
    "One kernel that is over the budget spoils all. Go back from the last kernel: which copies must start there?"
)
@given(drawn=layered(), seed=st.integers(0, 2**31), examples=30)
def test_copies_overlap_as_much_as_they_can(student, drawn, seed):
    """random schedules and budgets: never over the budget, nothing left out that fits, the best starts"""
    module, weights, budget = drawn
    after = judge.passed(
        student, "memory_space", module, function="assign_memory_space", vmem_bytes=budget, prefetch=weights
    )
    rng = np.random.default_rng(seed)
    judge.same_values(module, after, generators.arguments(module, rng))
    memory.check_vmem(module, after, budget)
    found = memory.copies(module, after, weights)
    memory.check_nothing_left_out(module, after, budget)
    got, best = memory.overlap(after, found), memory.best_overlap(after, found, budget)
    if got < best:
        judge.fail(module, after, f"copies overlap {got} kernels, summed; with other starts they overlap {best}")
