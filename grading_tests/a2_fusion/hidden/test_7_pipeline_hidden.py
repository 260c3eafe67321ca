"""Part 7, hidden: the pipeline on random programs."""

from __future__ import annotations

import math

import numpy as np
from given_minixla import interpret, text
from given_minixla.hlo import ELEMENTWISE, TRANSCENDENTAL
from given_minixla.programs import program
from given_minixla.roofline import TPU7X_CORE
from hypothesis import strategies as st

from autograder.kit import given, hint, leaderboard, number, probe, weight

import generators
import judge


@probe
def piped(module) -> str:
    """the whole pipeline over a module"""
    from minixla import pipeline, text

    return text.print_module(pipeline.optimize(text.parse(module)).module)


@number("7.3")
@weight(0.5)
@hint("A pass may leave work for one that ran before it. When is there nothing left to do?")
@given(module=generators.programs(25), seed=st.integers(0, 2**31), examples=25)
def test_pipeline_on_random_programs(student, module, seed):
    """random programs keep their values, become legal kernels and move no more bytes"""
    rng = np.random.default_rng(seed)
    after = judge.parsed(student(piped, text.print_module(module)), module)
    judge.same_signature(module, after)
    judge.kernels(module, after)
    inputs = generators.arguments(module, rng)
    judge.same_values(module, after, inputs, ulps=512, rule="the program computes the same")
    alone = judge.live(module)
    before, got = judge.traffic(alone, inputs)[1], judge.traffic(after, inputs, module)[1]
    if got > before:
        judge.fail(module, after, f"the kernels move {got:,} bytes; what is alive of the program moved {before:,}")


def work(module, computation, each):
    """One instruction's dot operations, other operations and transcendentals; a fusion's are its body's."""
    total = np.zeros(3)
    if each.opcode == "fusion":
        body = module.called(each)
        for inner in body.instructions:
            total += work(module, body, inner)
    elif each.opcode == "dot":
        left = computation[each.operands[0]].array_shape.dims
        summed = math.prod(left[axis] for axis in each.attribute("lhs_contracting_dims", ()))
        total[0] = 2 * each.array_shape.elements * summed
    elif each.opcode == "reduce":
        total[1] = computation[each.operands[0]].array_shape.elements - each.array_shape.elements
    elif each.opcode in ELEMENTWISE:
        total[2 if each.opcode in TRANSCENDENTAL else 1] = each.array_shape.elements
    return total


def modelled_seconds(module, arguments):
    """Time on one core: bytes as measured by running the kernels, work as counted here."""
    entry, seconds = module.entry_computation, 0.0
    for kernel in interpret.run_kernels(module, arguments).kernels:
        done = work(module, entry, entry[kernel.name])
        seconds += TPU7X_CORE.kernel_seconds(kernel.bytes_read + kernel.bytes_written, *done)
    return seconds


PROGRAMS = ("gelu_layer", "attention", "mlp_block", "training_step", "per_sample_gradients", "mini_attention")


@number("7.4")
@weight(0)
@hint("Time is the longest of memory, matrix unit and vector unit, summed over kernels.")
@leaderboard("modelled microseconds", "asc")
def test_modelled_time(student, rng, set_leaderboard_value=None):
    """leaderboard: the modelled time of the six programs, summed, in microseconds on one TPU7x core"""
    total = 0.0
    for name in PROGRAMS:
        module = program(name)
        after = judge.parsed(student(piped, text.print_module(module)), module)
        judge.kernels(module, after)
        small = generators.resized(module, {1024: 64, 512: 32}), generators.resized(after, {1024: 64, 512: 32})
        judge.same_values(
            *small, generators.arguments(small[0], rng), ulps=1024, rule="the program computes the same"
        )
        total += modelled_seconds(after, generators.arguments(after, rng))
    set_leaderboard_value(round(total * 1e6, 3))
