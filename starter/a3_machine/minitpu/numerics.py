"""Numbers on a TPU: bfloat16 products, float32 sums, powers of two for powers of e.

A bfloat16 is the upper half of a float32: the same sign and exponent, and 7 bits of fraction
instead of 23. So rounding to it is arithmetic on the bits of the float32, and every bfloat16
is a float32 as well. Here they are kept as float32 arrays whose lower 16 bits are 0.
"""

from __future__ import annotations

import numpy as np

LOG2_E = np.float32(1.4426950408889634)


def round_to_bf16(x: np.ndarray) -> np.ndarray:
    """The nearest bfloat16 of each float32, ties to even, as float32 of the same shape.

    What is too large becomes inf; NaN stays NaN (any NaN), and -0.0 keeps its sign. Integer
    operations on the bits only.
    """
    # about 6 lines
    raise NotImplementedError("a3.1: add just under half of the last kept bit, so that ties go to even; cut; mind NaN")


def dot(x: np.ndarray, w: np.ndarray, accumulate: str = "float32") -> np.ndarray:
    """Dot products as an MXU makes them: of each row of x with the same row of w.

    x, w: float32 [batch, K], rounded to bfloat16 here. Products are exact in float32. They are
    added up from k = 0 to K - 1, starting at 0, in float32; with `accumulate="bfloat16"` the sum
    is rounded to bfloat16 after every addition. Returns float32 [batch]. Raises ValueError for
    another `accumulate`.
    """
    if accumulate not in ("float32", "bfloat16"):
        raise ValueError(f"accumulate is 'float32' or 'bfloat16', not {accumulate!r}")
    # about 7 lines
    raise NotImplementedError("a3.1: round both, then one addition for each k")


def exp_via_exp2(x: np.ndarray) -> np.ndarray:
    """e to the power x as the machine computes it, float32 in and out: 2 to the power x·log₂e.

    x: float32 of any shape. The product is rounded to float32, which costs accuracy where |x| is
    large. −inf gives 0.
    """
    # about 1 line
    raise NotImplementedError("a3.1: one product, one power of two, both in float32")
