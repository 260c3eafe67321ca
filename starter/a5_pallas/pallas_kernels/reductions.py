"""Reductions: one output block stays in VMEM while the grid's last axis walks over what is to be reduced.

Three rules. The axis of the reduction comes last in the grid, so that all visits to an output block follow one
another: a TPU writes a block back when its index changes, and never reads it again. The first visit initialises,
for VMEM holds garbage. What a block holds beyond the array's edge is garbage too, and is replaced by the
reduction's identity, with `where` and not by a product: NaN times 0 is NaN.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from .interpreters import MATHEMATICS, Interpret, block_of

ROWS, COLUMNS = 128, 128
"""Blocks of the reductions over matrices, cut down to the matrix where that is smaller."""


# a5.2: room for what your reductions share (about 33 lines)


def colsum(x: jax.Array, *, interpret: Interpret = MATHEMATICS) -> jax.Array:
    """The sum of every column of x[M, N], as [N] of x's dtype: float32, bfloat16 or int32.

    bfloat16 is summed in float32 and rounded once.
    """
    # about 1 line
    raise NotImplementedError("a5.2: colsum")


def rowsum(x: jax.Array, *, interpret: Interpret = MATHEMATICS) -> jax.Array:
    """The sum of every row of x[M, N], as [M] of x's dtype: float32, bfloat16 or int32."""
    # about 1 line
    raise NotImplementedError("a5.2: rowsum")


def logsumexp(x: jax.Array, *, interpret: Interpret = MATHEMATICS) -> jax.Array:
    """log Σ exp of every row of x[M, N], as [M], in x's dtype: float32 or float64.

    *Online*: no more than a block of a row is held at a time. Scratch keeps, for each row, the largest value m
    so far and the sum l of exp(x − m); when m grows by a new block, l is rescaled by exp(m_old − m_new). A row
    that is −inf throughout gives −inf, not NaN; +inf does not occur.
    """
    # about 28 lines
    raise NotImplementedError("a5.2: logsumexp")


def sum_leading(x: jax.Array, *, interpret: Interpret = MATHEMATICS) -> jax.Array:
    """The sum of x[A, M, N] over its first axis, as [M, N], float32.

    The other two axes are cut into blocks as well. The kernel says by `dimension_semantics` which axes of its grid
    may run in any order or on several cores: all but the one that accumulates.
    """
    # about 16 lines
    raise NotImplementedError("a5.2: sum_leading")
