"""Part 4, hidden: traffic and memory, what is dequantised where, edges."""

from __future__ import annotations

import numpy as np
from given_pallas_kernels import reference

from autograder.kit import check, hint, number, weight

import generators
import judge
import tied


def some_rows(rng, plan, kinds, rule, what, **close):
    """The program computes the product: compared in a few rows of it, which the grader draws."""

    def part(rows, x, *others):
        return rule(x[rows], *others)

    tied.computes_in_part(rng, plan, kinds, part, what, **close)


@number("4.6")
@weight(2)
@hint("Which grid order lets a block stay, and how much VMEM do the blocks take? Handout, part 4, budgets.")
def test_traffic_and_memory_of_products(student, rng):
    """what a product fetches and holds, at the blocks that it is given"""
    bf16, blocks = "bfloat16", {"block_m": 512, "block_n": 512, "block_k": 512}
    kinds = [[[2048, 2048], bf16], [[2048, 2048], bf16]]
    plan = student(judge.program_of, "matmul.matmul", kinds, blocks)
    report = judge.measured(plan, "matmul")
    judge.only_kernels(report, "matmul")
    judge.legal(report, "matmul")
    some_rows(rng, plan, kinds, reference.matmul, "matmul", ulps=0.6, dtype=bf16)
    judge.fits(report, 8 * judge.MIB, "matmul")
    each = 2048 * 2048 * 2
    judge.earned(judge.traffic_fraction(report, 1.02 * (4 + 4 + 1) * each, 2 * 9 * each, "matmul"))


@number("4.7")
@weight(1)
@hint("A block of weights becomes floats inside of the kernel; HBM is read one byte for each weight.")
def test_weights_are_never_floats_as_a_whole(student, rng):
    """int8 weights are dequantised a block at a time"""
    kinds = [[[512, 2048], "float32"], [[2048, 4096], "int8"], [[4096], "float32"]]
    blocks = {"block_m": 512, "block_n": 512, "block_k": 512}
    plan = student(judge.program_of, "matmul.quantized_matmul", kinds, blocks)
    report = judge.measured(plan, "quantized_matmul")
    judge.only_kernels(report, "quantized_matmul")
    some_rows(rng, plan, kinds, reference.quantized_matmul, "quantized_matmul", ulps=64)
    judge.fits(report, 12 * judge.MIB, "quantized_matmul")
    largest = judge.largest_value(report)
    check.that(
        largest.size <= 512 * 4096,
        "quantized_matmul: the largest array that is made",
        expected="none larger than the result",
        got=str(largest),
    )
    moved = 2048 * 4096 + 8 * 512 * 2048 * 4 + 512 * 4096 * 4
    judge.earned(judge.traffic_fraction(report, 1.05 * moved, 1.6 * moved, "quantized_matmul"))


@number("4.8")
@weight(1)
@hint("A block larger than its dimension is cut down to it; a dimension of 1 is a dimension.")
def test_small_products(student, rng):
    """products with dimensions of 1, and smaller than a block"""
    for m, k, n in ((1, 300, 1), (70, 1, 130)):
        a, b = generators.normal(rng, m, k), generators.normal(rng, k, n)
        options = {"block_m": 64, "block_n": 128, "block_k": 128}
        got = student(judge.results, "matmul.matmul", [a, b], options, judge.MATHEMATICS)
        judge.close(got.value, reference.matmul(a, b), f"the product of [{m}, {k}] and [{k}, {n}]", ulps=32)
    x, weights = generators.normal(rng, 3, 5), rng.integers(-9, 9, size=(5, 2)).astype(np.int8)
    got = student(judge.results, "matmul.quantized_matmul", [x, weights, np.ones(2, "f4")], {}, judge.MATHEMATICS)
    judge.close(got.value, reference.matmul(x, weights), "a small quantised product", ulps=32)


@number("4.9")
@weight(1)
@hint("Block sizes are Python ints, used as they come; only where the dimension is smaller are they cut down.")
def test_block_sizes_are_used(student, rng):
    """the blocks are those that are asked for"""
    kinds = [[[1024, 768], "float32"], [[768, 1280], "float32"]]
    for bm, bk, bn in ((256, 128, 640), (128, 768, 256)):
        options = {"block_m": bm, "block_n": bn, "block_k": bk}
        plan = student(judge.program_of, "matmul.matmul", kinds, options)
        report = judge.measured(plan, "matmul")
        (kernel,) = judge.only_kernels(report, "matmul")
        outputs = [block.shape for block in kernel.call.outputs]
        check.equal(outputs, [[bm, bn]], f"the output's block for blocks of {bm}, {bk}, {bn}")
        check.at_most(kernel.vmem, 2 * 4 * (bm * bk + bk * bn + bm * bn) + 4 * bm * bn, "bytes of VMEM")
        some_rows(rng, plan, kinds, reference.matmul, "matmul", ulps=32)
