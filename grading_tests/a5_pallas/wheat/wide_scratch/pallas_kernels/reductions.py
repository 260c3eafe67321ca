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


### BEGIN SOLUTION a5.2: room for what your reductions share
def _accumulator(dtype: jnp.dtype) -> jnp.dtype:
    """What sums are kept in: float32 for narrower floats, else the dtype itself."""
    return jnp.promote_types(dtype, jnp.float32) if jnp.issubdtype(dtype, jnp.floating) else jnp.dtype(dtype)


def _inside(block: jax.Array, start: jax.Array, size: int, axis: int) -> jax.Array:
    """Which elements of a block that starts at `start` along `axis` lie inside an array of that size."""
    return start + lax.broadcasted_iota(jnp.int32, block.shape, axis) < size


def _sum_over(x, axis, interpret):
    """Sum of x[M, N] over one axis, as an array of rank 2 whose reduced axis has size 1."""
    block = (block_of(x.shape[0], ROWS), block_of(x.shape[1], COLUMNS))
    wide, kept = _accumulator(x.dtype), 1 - axis

    def kernel(x_ref, y_ref):
        step = pl.program_id(1)

        @pl.when(step == 0)
        def _():
            y_ref[...] = jnp.zeros_like(y_ref)

        inside = _inside(x_ref, step * block[axis], x.shape[axis], axis)
        block_sum = jnp.where(inside, x_ref[...], jnp.zeros_like(x_ref)).astype(wide)
        y_ref[...] += jnp.sum(block_sum, axis=axis, keepdims=True)

    def shape_of(sizes):
        return tuple(1 if place == axis else size for place, size in enumerate(sizes))

    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(shape_of(x.shape), wide),
        grid=(pl.cdiv(x.shape[kept], block[kept]), pl.cdiv(x.shape[axis], block[axis])),
        in_specs=[pl.BlockSpec(block, (lambda i, j: (i, j)) if axis == 1 else (lambda j, i: (i, j)))],
        out_specs=pl.BlockSpec(shape_of(block), (lambda i, j: (i, 0)) if axis == 1 else (lambda j, i: (0, j))),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
        interpret=interpret,
    )(x).astype(x.dtype)


### END SOLUTION


def colsum(x: jax.Array, *, interpret: Interpret = MATHEMATICS) -> jax.Array:
    """The sum of every column of x[M, N], as [N] of x's dtype: float32, bfloat16 or int32.

    bfloat16 is summed in float32 and rounded once.
    """
    ### BEGIN SOLUTION a5.2: colsum
    return _sum_over(x, 0, interpret)[0]
    ### END SOLUTION


def rowsum(x: jax.Array, *, interpret: Interpret = MATHEMATICS) -> jax.Array:
    """The sum of every row of x[M, N], as [M] of x's dtype: float32, bfloat16 or int32."""
    ### BEGIN SOLUTION a5.2: rowsum
    return _sum_over(x, 1, interpret)[:, 0]
    ### END SOLUTION


def logsumexp(x: jax.Array, *, interpret: Interpret = MATHEMATICS) -> jax.Array:
    """log Σ exp of every row of x[M, N], as [M], in x's dtype: float32 or float64.

    *Online*: no more than a block of a row is held at a time. Scratch keeps, for each row, the largest value m
    so far and the sum l of exp(x − m); when m grows by a new block, l is rescaled by exp(m_old − m_new). A row
    that is −inf throughout gives −inf, not NaN; +inf does not occur.
    """
    ### BEGIN SOLUTION a5.2: logsumexp
    block = (block_of(x.shape[0], ROWS), block_of(x.shape[1], COLUMNS))

    def kernel(x_ref, y_ref, m_ref, l_ref):
        step = pl.program_id(1)

        @pl.when(step == 0)
        def _():
            m_ref[...] = jnp.full_like(m_ref, -jnp.inf)
            l_ref[...] = jnp.zeros_like(l_ref)

        inside = _inside(x_ref, step * block[1], x.shape[1], 1)
        values = jnp.where(inside, x_ref[...], -jnp.inf)
        m_old = m_ref[...]
        m_new = jnp.maximum(m_old, jnp.max(values, axis=1, keepdims=True))
        shift = jnp.where(m_new == -jnp.inf, 0, m_new)  # −inf − −inf would be NaN
        l_ref[...] = l_ref[...] * jnp.exp(m_old - shift) + jnp.sum(jnp.exp(values - shift), axis=1, keepdims=True)
        m_ref[...] = m_new

        @pl.when(step == pl.num_programs(1) - 1)
        def _():
            y_ref[...] = m_ref[...] + jnp.log(l_ref[...])

    column = (block[0], 1)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((x.shape[0], 1), x.dtype),
        grid=(pl.cdiv(x.shape[0], block[0]), pl.cdiv(x.shape[1], block[1])),
        in_specs=[pl.BlockSpec(block, lambda i, j: (i, j))],
        out_specs=pl.BlockSpec(column, lambda i, j: (i, 0)),
        scratch_shapes=[pltpu.VMEM(column, x.dtype), pltpu.VMEM(column, x.dtype)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "arbitrary")),
        interpret=interpret,
    )(x)[:, 0]
    ### END SOLUTION


def sum_leading(x: jax.Array, *, interpret: Interpret = MATHEMATICS) -> jax.Array:
    """The sum of x[A, M, N] over its first axis, as [M, N], float32.

    The other two axes are cut into blocks as well. The kernel says by `dimension_semantics` which axes of its grid
    may run in any order or on several cores: all but the one that accumulates.
    """
    ### BEGIN SOLUTION a5.2: sum_leading
    depth, rows, columns = x.shape
    block = (block_of(rows, 64), block_of(columns, COLUMNS))

    def kernel(x_ref, y_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            y_ref[...] = jnp.zeros_like(y_ref)

        y_ref[...] += x_ref[...]

    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((rows, columns), x.dtype),
        grid=(pl.cdiv(rows, block[0]), pl.cdiv(columns, block[1]), depth),
        in_specs=[pl.BlockSpec((None, *block), lambda i, j, a: (a, i, j))],
        out_specs=pl.BlockSpec(block, lambda i, j, a: (i, j)),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
        interpret=interpret,
    )(x)
    ### END SOLUTION
