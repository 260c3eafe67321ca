"""Part 3: normalisation over rows, and gradients."""

from __future__ import annotations

import numpy as np
import pytest
from given_pallas_kernels import reference

from autograder.kit import check, hint, number, probe, weight

import generators
import judge
import tied
from numpy_rules import DTYPES


@number("3.1")
@weight(2)
@hint("Subtract the row's maximum before exp, in float32 if x is narrower. Handout, part 3, precision.")
@pytest.mark.parametrize(("offset", "dtype"), [(0, "bfloat16"), (100, "float32"), (-300, "float32")])
def test_softmax(student, rng, offset, dtype):
    """softmax, of bfloat16, and of large and very negative values"""
    x = generators.normal(rng, generators.ragged(rng, 30, 90), generators.ragged(rng, 129, 300, 128))
    x = (np.float32(3) * x + np.float32(offset)).astype(DTYPES[dtype])
    got = student(judge.results, "normalise.softmax", [x], {}, judge.MATHEMATICS)
    ulps = 64 if dtype == "float32" else 0.6
    judge.close(got.value, reference.softmax(x), "softmax", ulps=ulps, dtype=dtype)
    judge.only_kernels(judge.measured(got.program, "softmax"), "softmax")
    tied.computes(rng, got.program, [x], reference.softmax, "softmax", ulps=ulps, dtype=dtype)


def affine(rng, columns):
    """gamma around 1 and beta around 0."""
    return rng.uniform(0.5, 1.0, size=columns).astype("f4"), generators.normal(rng, columns) * np.float32(0.1)


@number("3.2")
@weight(2)
@hint("The variance is the mean of (x − mean)²: centre first, then square. Handout, part 3.")
def test_layernorm(student, rng):
    """layernorm, and of rows with a mean of 10,000"""
    x = generators.normal(rng, generators.ragged(rng, 30, 60), 256)
    gamma, beta = affine(rng, 256)
    got = student(judge.results, "normalise.layernorm", [x, gamma, beta], {}, judge.MATHEMATICS)
    judge.close(got.value, reference.layernorm(x, gamma, beta), "layernorm", ulps=32)
    judge.only_kernels(judge.measured(got.program, "layernorm"), "layernorm")
    tied.computes(rng, got.program, [x, gamma, beta], reference.layernorm, "layernorm", ulps=32)
    x = (x + np.float32(1e4)).astype("f4")
    got = student(judge.results, "normalise.layernorm", [x, gamma, beta], {}, judge.MATHEMATICS).value
    off = float(np.abs(got - reference.layernorm(x, gamma, beta)).max())
    check.at_most(off, 2e-3, "layernorm of rows with a mean of 10,000: the largest error")


@number("3.3")
@weight(1)
@hint("Nothing is to do for vmap, if the kernel itself is right: see what it does to the grid. Handout, part 3.")
def test_rmsnorm_and_vmap(student, rng):
    """rmsnorm of f32[50,384], and of a batch of 4 by vmap"""
    x, weight = generators.normal(rng, 4, 50, 384), rng.uniform(0.5, 1.5, size=384).astype("f4")
    for how in (judge.MATHEMATICS, {"seed": 1}):
        one = student(judge.results, "normalise.rmsnorm", [x[0], weight], {}, how)
        judge.close(one.value, reference.rmsnorm(x[0], weight), "rmsnorm", ulps=32)
    batch = student(judge.mapped_results, "normalise.rmsnorm", [x, weight], {}, judge.MATHEMATICS, [0, None])
    judge.close(batch.value, reference.rmsnorm(x, weight), "rmsnorm of a batch", ulps=32)
    before, after = (judge.measured(run.program, "rmsnorm").kernels[0].call for run in (one, batch))
    check.equal(after.grid, [4, *before.grid], "the grid under vmap")
    check.equal(after.outputs[0].shape, [0, *before.outputs[0].shape], "the block under vmap (0: squeezed)")
    for run, given in ((one, x[0]), (batch, x)):
        tied.computes(rng, run.program, [given, weight], reference.rmsnorm, "rmsnorm", ulps=32)


def back(student, rng, kernel, arguments, dy, rule, ulps, how=judge.MATHEMATICS):
    """Cotangents of the arguments; forward and backward pass must both be kernels, which compute them."""
    got = student(judge.gradients, kernel, arguments, dy, {}, how)
    wanted = rule(*arguments, dy)
    names = {1: "x", 3: "x gamma beta"}[len(wanted)].split()
    check.that(len(got.values) == len(wanted), "the cotangents", expected=f"{len(wanted)}", got=len(got.values))
    for name, mine, right in zip(names, got.values, wanted, strict=True):
        judge.close(mine, right, f"the cotangent of {name}", ulps=ulps)
    what = f"the gradient of {kernel}"
    judge.only_kernels(judge.measured(got.program, what), what)
    tied.computes(rng, got.program, [*arguments, dy], rule, what, ulps=ulps)


@number("3.4")
@weight(2)
@hint("silu'(x) = s·(1 + x·(1 − s)), times the cotangent. The backward pass is a kernel as well. Handout, part 3.")
def test_gradient_of_silu(student, rng):
    """the gradient of silu, by a kernel"""
    shape = (generators.ragged(rng, 30, 90), generators.ragged(rng, 130, 250))
    x, dy = generators.normal(rng, *shape) * np.float32(3), generators.normal(rng, *shape)
    back(student, rng, "elementwise.silu", [x], dy, lambda x, dy: [reference.silu_gradient(x, dy)], ulps=32)


@number("3.5")
@weight(2)
@hint("dx = y·(dy − Σ dy·y): all it needs of the forward pass is y. Handout, part 3, residuals.")
def test_gradient_of_softmax(student, rng):
    """the gradient of softmax, by a kernel"""
    x = generators.normal(rng, generators.ragged(rng, 70, 150), generators.ragged(rng, 30, 200)) * np.float32(2)
    dy = generators.normal(rng, *x.shape)
    for how in (judge.MATHEMATICS, {"seed": 1}):
        back(
            student, rng, "normalise.softmax", [x], dy, lambda x, dy: [reference.softmax_gradient(x, dy)], 64, how
        )


@number("3.6")
@weight(2)
@hint("dgamma and dbeta sum over all rows: across the steps of the grid, and without rows beyond the edge.")
def test_gradient_of_layernorm(student, rng):
    """the gradients of layernorm by x, gamma and beta, across the grid"""
    x = generators.normal(rng, generators.ragged(rng, 130, 270), 256) * np.float32(2) + np.float32(1)
    dy, (gamma, beta) = generators.normal(rng, *x.shape), affine(rng, 256)

    def rule(x, gamma, beta, dy):
        return reference.layernorm_gradient(x, gamma, dy)

    for how in (judge.MATHEMATICS, {"seed": 1}):
        back(student, rng, "normalise.layernorm", [x, gamma, beta], dy, rule, 64, how)


@probe
def checked(kernel, arguments) -> None:
    """jax.test_util.check_grads, reverse mode, of a kernel at these arguments."""
    import describe

    return describe.checked(kernel, arguments)


@number("3.7")
@weight(1)
@hint("check_grads compares with finite differences. If only float64 fails, something computes in float32.")
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_check_grads(student, rng, dtype):
    """check_grads accepts the gradients, in float32 and in float64"""
    x = generators.normal(rng, 8, 16, dtype=dtype) * np.asarray(0.5, dtype)
    gamma, beta = (array.astype(dtype) for array in affine(rng, 16))
    student(checked, "normalise.layernorm", [x, gamma, beta])
    student(checked, "normalise.softmax", [x])
    student(checked, "elementwise.silu", [x])
