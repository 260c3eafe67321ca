"""Part 3, hidden: other dtypes, gradients as JAX has them, and what the kernels move."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from given_pallas_kernels import reference

from autograder.kit import check, hint, number, weight

import generators
import judge
import tied

GOLDEN = json.loads(Path(__file__).with_name("golden_jax.json").read_text("utf-8"))


def arguments_of(rng, dtype):
    """x, gamma, beta and a cotangent."""
    x, dy = (generators.normal(rng, 70, 96, dtype=dtype) for _ in range(2))
    gamma = rng.uniform(0.5, 1.5, size=96).astype(dtype)
    return x, gamma, generators.normal(rng, 96, dtype=dtype), dy


@number("3.8")
@weight(1)
@hint("Compute in jnp.promote_types(dtype, jnp.float32): float64 must not become float32 on the way.")
def test_float64_stays(student, rng):
    """float64 is not narrowed, forward or backward"""
    x, gamma, beta, dy = arguments_of(rng, np.float64)
    for kernel, arguments, cotangents in (
        ("normalise.softmax", [x], [reference.softmax_gradient(x, dy)]),
        ("normalise.layernorm", [x, gamma, beta], reference.layernorm_gradient(x, gamma, dy)),
    ):
        got = student(judge.gradients, kernel, arguments, dy, {}, judge.MATHEMATICS).values
        for mine, right in zip(got, cotangents, strict=False):
            judge.close(mine, right, f"a cotangent of {kernel}", ulps=512, dtype="float64")
    for kernel, arguments, value in (
        ("normalise.layernorm", [x, gamma, beta], reference.layernorm(x, gamma, beta)),
        ("normalise.rmsnorm", [x, gamma], reference.rmsnorm(x, gamma)),
    ):
        got = student(judge.results, kernel, arguments, {}, judge.MATHEMATICS).value
        judge.close(got, value, kernel, ulps=256, dtype="float64")


@number("3.9")
@weight(1)
@hint("Cast a block to float32 when it is read, and back when the result is written: one rounding.")
def test_bfloat16_computes_in_float32(student, rng):
    """bfloat16 is rounded once, at the end"""
    x, gamma, beta, _ = arguments_of(rng, generators.BFLOAT16)
    for kernel, arguments, value in (
        ("normalise.layernorm", [x, gamma, beta], reference.layernorm(x, gamma, beta)),
        ("normalise.rmsnorm", [x, gamma], reference.rmsnorm(x, gamma)),
    ):
        got = student(judge.results, kernel, arguments, {}, judge.MATHEMATICS).value
        judge.close(got, value, f"{kernel} of bfloat16", ulps=0.6, dtype="bfloat16")


def of_rows(rule, rows, x, *others):
    """The rule of these rows."""
    return rule(x[rows], *others)


def cotangents_of_rows(rows, *inputs):
    """The cotangent of x in these rows."""
    x, *gamma_and_beta, dy = inputs
    if not gamma_and_beta:
        return [reference.softmax_gradient(x[rows], dy[rows])]
    dx, _, _ = reference.layernorm_gradient(x[rows], gamma_and_beta[0], dy[rows])
    return [dx, None, None]


@number("3.10")
@weight(1)
@hint("A block of whole rows: fetched once, or twice by two kernels; written once. Handout, part 3, budgets.")
def test_rows_are_fetched_once(student, rng):
    """softmax and layernorm of large arrays: traffic, VMEM, legal blocks"""
    x, row = [[4096, 2048], "float32"], [[2048], "float32"]
    once, worst = 4096 * 2048 * 4, (1.0, "")
    for kernel, arguments, forward, backward, rule in (
        ("normalise.softmax", [x], 3, 6, reference.softmax),
        ("normalise.layernorm", [x, row, row], 3, 6, reference.layernorm),
        ("normalise.rmsnorm", [x, row], 3, None, reference.rmsnorm),
    ):
        plan = student(judge.program_of, kernel, arguments, {})
        report = judge.measured(plan, kernel)
        judge.only_kernels(report, kernel)
        judge.fits(report, 16 * judge.MIB, kernel)
        judge.lowers(student(judge.lowering_of, kernel, arguments, {}), kernel)
        worst = min(worst, judge.traffic_fraction(report, 1.02 * forward * once, 4 * once, kernel))
        tied.computes_in_part(rng, plan, arguments, partial(of_rows, rule), kernel, ulps=64)
        if backward:
            plan = student(judge.gradient_program_of, kernel, arguments, x, {})
            report = judge.measured(plan, kernel)
            judge.only_kernels(report, f"the gradient of {kernel}")
            judge.legal(report, f"the gradient of {kernel}")
            judge.fits(report, 16 * judge.MIB, f"the gradient of {kernel}")
            budget = (1.02 * backward * once, 8 * once)
            worst = min(worst, judge.traffic_fraction(report, *budget, f"the gradient of {kernel}"))
            what = f"the gradient of {kernel}"
            tied.computes_in_part(rng, plan, [*arguments, x], cotangents_of_rows, what, ulps=64)
    judge.earned(worst)


@number("3.11")
@weight(1)
@hint("The gradient is that of the formula in the docstring, eps included.")
@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["kernel"])
def test_gradients_are_those_of_jax(student, case):
    """gradients agree with JAX's own of the plain formulas"""
    arguments = [np.array(value, np.float32) for value in case["arguments"]]
    dy = np.array(case["cotangent"], np.float32)
    got = student(judge.gradients, case["kernel"], arguments, dy, {}, judge.MATHEMATICS).values
    check.that(len(got) == len(case["cotangents"]), "cotangents", expected=str(len(arguments)), got=len(got))
    for mine, right in zip(got, case["cotangents"], strict=True):
        judge.close(mine, np.array(right), "a cotangent", ulps=64)
