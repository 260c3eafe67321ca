"""The paper exercises of a5_pallas. Numbers are drawn from the class seed."""

from __future__ import annotations

import random
from typing import Any

from autograder.paper import Exercise

MIB = 1 << 20
RIDGE = 240  # FLOPs a byte, of a v5e
ORDERS = ["(i, j, k)", "(k, i, j)", "(j, i, k)", "(i, k, j)"]


def drawn(seed: int) -> dict[str, Any]:
    """What the exercises of one class are about."""
    rng = random.Random(seed)
    grid = [rng.randint(3, 6), rng.randint(3, 6)]
    tile = [128 * rng.choice([1, 2, 4, 6, 8]) for _ in range(3)]
    return {
        "grid": grid,
        "step": [rng.randrange(1, grid[0]), rng.randrange(1, grid[1])],
        "block": [8 * rng.choice([2, 4, 6]), 128 * rng.choice([1, 2, 3])],
        "orders": rng.sample(ORDERS, len(ORDERS)),
        "steps": [rng.randint(2, 5), rng.randint(2, 5), rng.randint(2, 4)],
        "tile": tile,
        "length": 2048 * rng.choice([2, 4, 8]),
    }


def tile_figures(bm: int, bk: int, bn: int) -> tuple[float, float]:
    """Intensity in FLOPs a byte, and MiB of VMEM, of bfloat16 blocks."""
    fetched = 2 * (bm * bk + bk * bn)
    return 2 * bm * bk * bn / fetched, (2 * fetched + 2 * 2 * bm * bn + 4 * bm * bn) / MIB


def waste(length: int, block: int) -> float:
    """The part of the computed scores that a causal mask hides, in square blocks."""
    rows = length // block
    return 1 - length * (length + 1) / (rows * (rows + 1) * block * block)


def exercises(seed: int) -> list[Exercise]:
    """The exercises of one class."""
    d = drawn(seed)
    (i, j), (rows, columns), (m, n, k) = d["step"], d["block"], d["steps"]
    letters = dict(zip("abcd", d["orders"], strict=True))
    intensity, mib = tile_figures(*d["tile"])
    return [
        Exercise(
            name="region",
            title="What a step sees",
            prompt=(
                f"A kernel has the grid `{tuple(d['grid'])}`, and one of its inputs has "
                f"`pl.BlockSpec(({rows}, {columns}), lambda i, j: (j, i))`. Which elements of that input does "
                f"step `({i}, {j})` see? Give the first row, the row behind the last, the first column, and the "
                "column behind the last."
            ),
            form="a list of four integers",
            answer=[j * rows, (j + 1) * rows, i * columns, (i + 1) * columns],
        ),
        Exercise(
            name="masks",
            title="Who needs a mask?",
            prompt=(
                "No size here is a multiple of its block. Which of these kernels give wrong results if nothing is "
                "masked?\n\n"
                "- `a`: `y = 2·x`, elementwise\n"
                "- `b`: column sums, in blocks of rows\n"
                "- `c`: softmax of rows, a block holding whole rows\n"
                "- `d`: a product whose M and N are no multiples, but K is\n"
                "- `e`: a product whose K is no multiple\n"
                "- `f`: the gradient of layernorm's gamma, in blocks of whole rows"
            ),
            form='a list of letters, such as ["a", "b"]',
            answer=["b", "e", "f"],
        ),
        Exercise(
            name="order",
            title="The order of the grid",
            prompt=(
                "A product accumulates in its output's block, whose index map gives `(i, j)`; `k` counts blocks "
                "along K. In which of these orders may the grid have its axes, so that a TPU computes the right "
                "product?\n\n" + "\n".join(f"- `{letter}`: `{order}`" for letter, order in letters.items())
            ),
            form='a list of letters, such as ["a", "b"]',
            answer=sorted(letter for letter, order in letters.items() if order.endswith("k)")),
        ),
        Exercise(
            name="fetches",
            title="Counting fetches",
            prompt=(
                f"A product has the grid `(i, j, k)` of `({m}, {n}, {k})` steps; the block of a is `(i, k)`, that "
                "of b is `(k, j)`. A block is fetched when its index differs from the step before. How many "
                "blocks of a and of b are fetched? And how many if a block spans all of K, so that the grid is "
                f"`({m}, {n}, 1)`?"
            ),
            form="a list of four integers: [a, b, a, b]",
            answer=[m * n * k, m * n * k, m, m * n],
        ),
        Exercise(
            name="tiles",
            title="A tile's figures",
            prompt=(
                f"A bfloat16 product works in tiles of `(bm, bk, bn) = {tuple(d['tile'])}`. What is the intensity "
                "of a step, in FLOPs for each byte of a and b? How many MiB of VMEM do the tiles take, with two "
                "buffers for each input and for the bfloat16 output, and a float32 accumulator? And is a step "
                f"bound by computing or by memory on a v5e, whose ridge is {RIDGE} FLOPs a byte?"
            ),
            form='a list of two numbers, right to 0.01, and "computing" or "memory", such as [64, 0.25, "memory"]',
            answer=[intensity, mib, "computing" if intensity >= RIDGE else "memory"],
        ),
        Exercise(
            name="waste",
            title="Large blocks under a causal mask",
            prompt=(
                f"A causal mask of {d['length']:,} × {d['length']:,} is worked through in square blocks; blocks "
                "in which nothing is visible are skipped, all others are computed whole. Which part of the "
                "computed scores is hidden by the mask, with blocks of 2,048 and with blocks of 512?"
            ),
            form="a list of two numbers between 0 and 1, right to 0.005",
            answer=[round(waste(d["length"], 2048), 4), round(waste(d["length"], 512), 4)],
        ),
    ]
