"""The paper exercises of a2_fusion. Sizes and constants are drawn from the class seed."""

from __future__ import annotations

import random
from typing import Any

from autograder.paper import Exercise

MEBIBYTE = 1 << 20
HBM = 3.686e12  # bytes a second, of one TensorCore
VPU = 1024 * 4 * 2.2e9  # elementary vector operations a second: lanes of all sublanes, times ALUs, times clock
EXP = 3  # vector operations of one exponential


def drawn(seed: int) -> dict[str, Any]:
    """What the exercises of one class are about."""
    rng = random.Random(seed)
    return {
        "n": rng.choice([1024, 1536, 2048, 3072]),
        "d": rng.choice([64, 128, 256]),
        "rows": rng.choice([48, 80, 112]),
        "columns": rng.choice([256, 384, 640]),
        "power": rng.choice([4.0, 8.0, 16.0]),
        "odd": rng.choice([3.0, 5.0, 7.0]),
        "length": rng.choice([2048, 4096, 8192]),
    }


def exercises(seed: int) -> list[Exercise]:
    """The exercises of one class."""
    d = drawn(seed)
    n, wide = d["n"], d["d"]
    rows, columns, length = d["rows"], d["columns"], d["length"]
    return [
        Exercise(
            name="unfused",
            title="What the first kernel of attention saves",
            prompt=(
                f"Attention on `q, k, v: f32[{n},{wide}]` and `mask: pred[{n},{n}]` computes "
                "`s = select(mask, q·kᵀ, -1e38)` and `m = reduce_max(s)` by rows. One kernel can do all of it "
                "and write `s` and `m`. Without fusion the dot, the select and the reduction are a kernel each. "
                "How many MiB (2²⁰ bytes) does the version of three kernels move more than the fused one?"
            ),
            form="one number, in MiB",
            answer=12 * n * n / MEBIBYTE,
        ),
        Exercise(
            name="suffices",
            title="What the last kernel must read",
            prompt=(
                "The last kernel computes `exp(s - m) / l · v`, where `l` holds the rows' sums of exponentials. "
                "Suppose that the first kernel may write something else than `s`. As a matter of information, "
                "whatever a kernel may hold: from which of these can the result be computed, and nothing else?\n\n"
                "- `a`: `s`, `m`, `l`, `v`\n"
                "- `b`: the raw scores `q·kᵀ`, `m`, `l`, `v`\n"
                "- `c`: the raw scores `q·kᵀ`, `mask`, `m`, `l`, `v`\n"
                "- `d`: `q`, `k`, `mask`, `m`, `l`, `v`\n"
                "- `e`: `q`, `k`, `s`'s row maxima `m`, `l`, `v`"
            ),
            form='a list of letters, such as ["a", "b"]',
            answer=["a", "c", "d"],
        ),
        Exercise(
            name="counting",
            title="Bytes by the lecture's rule",
            prompt=(
                f"`y = select(p, x·x + b, 0.0)` with `x: f32[{rows},{columns}]`, `b: f32[{columns}]`, "
                f"`p: pred[{rows},{columns}]`. Each kernel is charged the bytes of the set of distinct arrays it "
                "reads plus the bytes it writes; a literal costs nothing and so does repeating `b` along the "
                "rows. How many bytes are moved by the three kernels multiply, add, select, and how many by one "
                "kernel that does it all?"
            ),
            form="a list of two integers: [three kernels, one kernel]",
            answer=_counted(rows, columns),
        ),
        Exercise(
            name="recompute",
            title="Store it or compute it again?",
            prompt=(
                f"A kernel computes `e = exp(x)` for an `f32[{length},{length}]` that it has in registers, and a "
                "later kernel that reads `x` anyway needs `e` once more. Storing `e` costs the write (reading it "
                "back costs what reading `x` costs). HBM moves 3.686·10¹² bytes a second; the vector unit does "
                "1024·4·2.2·10⁹ operations a second, and an exponential takes three of them. How many "
                "microseconds does the write take, and how many the second exponential?"
            ),
            form="a list of two numbers: [write, exponential], in microseconds",
            answer=[4 * length**2 / HBM * 1e6, EXP * length**2 / VPU * 1e6],
        ),
        Exercise(
            name="exact",
            title="Which rewrites are exact?",
            prompt=(
                "Which of these give the same bits for every `f32` value of `x`, NaN, infinities, zeros of either "
                "sign and subnormal numbers among them? (All NaNs count as the same. No result is flushed to "
                "zero.)\n\n"
                f"- `a`: `x / {d['power']}` → `x · {1 / d['power']}`\n"
                f"- `b`: `x / {d['odd']}` → `x · (1 / {d['odd']})`, the reciprocal rounded to f32\n"
                "- `c`: `x · 0` → `0`\n"
                "- `d`: `-(-x)` → `x`\n"
                "- `e`: `x - x` → `0`\n"
                "- `f`: `x + 0.0` → `x`\n"
                "- `g`: `x - 0.0` → `x`\n"
                "- `h`: `x / x` → `1`"
            ),
            form='a list of letters, such as ["a", "b"]',
            answer=["a", "d", "g"],
        ),
    ]


def _counted(rows: int, columns: int) -> list[int]:
    whole, row = 4 * rows * columns, 4 * columns
    mask = rows * columns
    return [2 * whole + (2 * whole + row) + (2 * whole + mask), whole + row + mask + whole]
