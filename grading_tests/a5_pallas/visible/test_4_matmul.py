"""Part 4: matrix products."""

from __future__ import annotations

import numpy as np
import pytest
from given_pallas_kernels import reference

from autograder.kit import check, hint, number, weight

import generators
import judge
import tied
from numpy_rules import DTYPES

BLOCKS = {"block_m": 64, "block_n": 128, "block_k": 128}


@number("4.1")
@weight(2)
@hint("Both operands are masked along K: one is not enough, since 0 · NaN is NaN. Handout, part 4.")
def test_matmul(student, rng):
    """products of any M, N and K"""
    m, k, n = generators.ragged(rng, 65, 120), generators.ragged(rng, 129, 250), generators.ragged(rng, 129, 200)
    a, b = generators.normal(rng, m, k), generators.normal(rng, k, n)
    got = student(judge.results, "matmul.matmul", [a, b], BLOCKS, judge.MATHEMATICS)
    judge.close(got.value, reference.matmul(a, b), f"the product of [{m}, {k}] and [{k}, {n}]", ulps=32)
    report = judge.measured(got.program, "matmul")
    judge.only_kernels(report, "matmul")
    judge.legal(report, "matmul")
    tied.computes(rng, got.program, [a, b], reference.matmul, "matmul", ulps=32)


@number("4.2")
@weight(2)
@hint("Sum in float32 scratch, and round to bfloat16 once, at the last step along K. Handout, part 4.")
def test_matmul_of_bfloat16(student, rng):
    """products of bfloat16 are summed in float32 and rounded once"""
    a, b = (rng.random(shape).astype(generators.BFLOAT16) for shape in ((64, 1100), (1100, 128)))
    got = student(judge.results, "matmul.matmul", [a, b], BLOCKS, judge.MATHEMATICS)
    judge.close(got.value, reference.matmul(a, b), "the product", ulps=0.6, dtype="bfloat16")


@number("4.3")
@weight(2)
@hint("Bias and activation come once, after the last step along K, and before rounding. Handout, part 4.")
@pytest.mark.parametrize(("activation", "dtype"), [(None, "float32"), ("silu", "float32"), ("relu", "bfloat16")])
def test_bias_and_activation(student, rng, activation, dtype):
    """a fused bias and activation"""
    kind = DTYPES[dtype].type
    a, b = (generators.normal(rng, *shape, dtype=kind) for shape in ((40, 300), (300, 140)))
    bias = generators.normal(rng, 140, dtype=kind) * kind(10)
    options = {**BLOCKS, "bias": bias, "activation": activation}
    got = student(judge.results, "matmul.matmul", [a, b], options, judge.MATHEMATICS)
    want = reference.matmul(a, b, bias, activation)
    judge.close(got.value, want, "activation(a @ b + bias)", ulps=32 if dtype == "float32" else 0.6, dtype=dtype)


@number("4.4")
@weight(2)
@hint("Apply a column's scale inside of the kernel, to the block or to the finished column. Handout, part 4.")
def test_quantized_matmul(student, rng):
    """products with int8 weights and a scale for each column"""
    m, k, n = generators.ragged(rng, 3, 7), generators.ragged(rng, 129, 300), generators.ragged(rng, 129, 200)
    x = generators.normal(rng, m, k)
    weights = rng.integers(-127, 128, size=(k, n)).astype(np.int8)
    scales = (rng.random(n) * 0.1 + 0.01).astype("f4")
    got = student(judge.results, "matmul.quantized_matmul", [x, weights, scales], BLOCKS, judge.MATHEMATICS)
    judge.close(got.value, reference.quantized_matmul(x, weights, scales), "x @ (weights·scales)", ulps=64)
    for kernel in judge.only_kernels(judge.measured(got.program, "quantized_matmul"), "quantized_matmul"):
        floats = [str(b.array) for b in kernel.call.inputs if b.array.size >= k * n and "float" in b.array.dtype]
        check.equal(floats, [], "quantized_matmul: floats, as many as weights, that a kernel is given")
    arguments = [x, weights, scales]
    tied.computes(rng, got.program, arguments, reference.quantized_matmul, "quantized_matmul", ulps=64)


@number("4.5")
@weight(1)
@hint(
    "K last in the grid, and the first step along K initialises. The interpreter's message says where it stopped."
)
def test_products_on_a_simulated_tpu(student, rng):
    """a product on the simulated TPU; both lowered for a real one"""
    a, b = generators.normal(rng, 100, 200), generators.normal(rng, 200, 256)
    got = student(judge.results, "matmul.matmul", [a, b], BLOCKS, {"seed": 3})
    judge.close(got.value, reference.matmul(a, b), "the product", ulps=32)
    weights, scales = rng.integers(-127, 128, size=b.shape).astype(np.int8), np.ones(256, "f4")
    judge.lowers(student(judge.lowering_of, "matmul.matmul", [a, b], {**BLOCKS, "bias": b[0]}), "matmul")
    message = student(judge.lowering_of, "matmul.quantized_matmul", [a, weights, scales], BLOCKS)
    judge.lowers(message, "quantized_matmul")
