"""Blocks and elementwise kernels: which block each step of a grid gets, and kernels that need no more.

A kernel sees blocks; a BlockSpec says which. Its index map takes the grid's indices and gives *block* indices:
block `(i, j)` of blocks `(bm, bn)` begins at element `(i·bm, j·bn)`. Elementwise kernels need no masks: what a
block holds beyond the array's edge is garbage, and what is computed from it is dropped when it is written.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from .interpreters import MATHEMATICS, Interpret, block_of

BLOCK = 128
"""Elements of a block of `axpy`."""

Specs = tuple[list[pl.BlockSpec], pl.BlockSpec]
"""The BlockSpecs of a kernel's inputs, and that of its output."""


# Three puzzles: the kernel and its grid are given, the blocks are missing.


def transpose_specs(block: int) -> Specs:
    """Blocks for `transpose`: in step `(i, j)` of its grid, block `(i, j)` of the *output* is written.

    The output is x transposed, so what is read lies elsewhere.
    """
    # about 3 lines
    raise NotImplementedError("a5.1: the blocks of a transpose")


def transpose(x: jax.Array, *, block: int = 128, interpret: Interpret = MATHEMATICS) -> jax.Array:
    """x[M, N] transposed, square blocks at a time. `block` divides M and N."""

    def kernel(x_ref, y_ref):
        y_ref[...] = x_ref[...].T

    rows, columns = x.shape
    in_specs, out_specs = transpose_specs(block)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((columns, rows), x.dtype),
        grid=(columns // block, rows // block),
        in_specs=in_specs,
        out_specs=out_specs,
        interpret=interpret,
    )(x)


def head_specs(head: int, rows: int, columns: int) -> Specs:
    """Blocks for `take_head`, whose kernel sees `x_ref` and `y_ref` of shape `[rows, columns]`.

    x is `[heads, L, D]` and the output `[L, D]`; step `(i, j)` writes block `(i, j)` of the output. A dimension
    of x that the kernel does not see is squeezed: `None` in the block's shape.
    """
    # about 3 lines
    raise NotImplementedError("a5.1: the blocks of one head")


def take_head(x: jax.Array, head: int, *, rows: int = 64, interpret: Interpret = MATHEMATICS) -> jax.Array:
    """Twice the head number `head` of x[heads, L, D]. `rows` divides L, and D is a multiple of 128."""

    def kernel(x_ref, y_ref):
        y_ref[...] = 2 * x_ref[...]

    _, length, depth = x.shape
    in_specs, out_specs = head_specs(head, rows, 128)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((length, depth), x.dtype),
        grid=(length // rows, depth // 128),
        in_specs=in_specs,
        out_specs=out_specs,
        interpret=interpret,
    )(x)


def row_specs(rows: int, columns: int) -> Specs:
    """Blocks for `add_row`: x[M, N], row[1, N], and the output, in blocks of `[rows, columns]`.

    The grid is `(N / columns, M / rows)`: its first axis counts columns of blocks. A block of the row stays in
    VMEM while its column of blocks is worked through.
    """
    # about 3 lines
    raise NotImplementedError("a5.1: the blocks of a broadcast row")


def add_row(
    x: jax.Array, row: jax.Array, *, rows: int = 64, columns: int = 128, interpret: Interpret = MATHEMATICS
) -> jax.Array:
    """x[M, N] + row[1, N]; `rows` divides M, `columns` divides N."""

    def kernel(x_ref, row_ref, y_ref):
        y_ref[...] = x_ref[...] + row_ref[...]

    in_specs, out_specs = row_specs(rows, columns)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(x.shape[1] // columns, x.shape[0] // rows),
        in_specs=in_specs,
        out_specs=out_specs,
        interpret=interpret,
    )(x, row)


# Whole kernels.


def axpy(x: jax.Array, alpha: jax.Array, beta: jax.Array, *, interpret: Interpret = MATHEMATICS) -> jax.Array:
    """alpha·x + beta for a vector x[n] of any length n ≥ 1, in blocks of `BLOCK` elements.

    alpha and beta are arrays of rank 0 and of x's dtype. A kernel may not capture arrays, so they are inputs of
    the kernel as well, as arrays of one element; every step sees the same.
    """
    # about 13 lines
    raise NotImplementedError("a5.1: axpy")


def relu_with_mask(x: jax.Array, *, interpret: Interpret = MATHEMATICS) -> tuple[jax.Array, jax.Array]:
    """max(x, 0) and, as int8, 1 where x > 0 and else 0: both from one kernel that reads x[M, N] once."""
    # about 10 lines
    raise NotImplementedError("a5.1: a kernel with two outputs")


def sgd_update(
    params: jax.Array, gradients: jax.Array, rate: jax.Array, *, interpret: Interpret = MATHEMATICS
) -> jax.Array:
    """params − rate·gradients, in place: the output takes the buffer of `params`.

    params and gradients are `[M, N]`, `rate` is of rank 0, all float32. The kernel tells XLA what it costs, by a
    `pl.CostEstimate`: a multiplication and a subtraction for each element, no transcendentals, and every input
    and output moved once, in bytes.
    """
    # about 15 lines
    raise NotImplementedError("a5.1: an update in place")


# silu, and its gradient for part 3.


def silu(x: jax.Array, *, interpret: Interpret = MATHEMATICS) -> jax.Array:
    """x·sigmoid(x) for x[M, N] of a floating dtype, with a gradient that is a kernel, too (part 3).

    Computed in float32 where x is narrower, in x's own dtype otherwise; the result has x's dtype.
    """
    return _silu(x, interpret)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _silu(x: jax.Array, interpret: Interpret) -> jax.Array:
    return silu_forward(x, interpret)


def silu_forward(x: jax.Array, interpret: Interpret) -> jax.Array:
    """The kernel of `silu`."""
    # about 4 lines
    raise NotImplementedError("a5.1: silu")


def silu_backward(x: jax.Array, dy: jax.Array, interpret: Interpret) -> jax.Array:
    """The cotangent of x from that of silu(x): dy·s·(1 + x·(1 − s)) with s = sigmoid(x), as a kernel."""
    # about 6 lines
    raise NotImplementedError("a5.3: the backward kernel of silu")


def _silu_keep(x: jax.Array, interpret: Interpret) -> tuple[jax.Array, jax.Array]:
    return silu_forward(x, interpret), x


def _silu_pull_back(interpret: Interpret, x: jax.Array, dy: jax.Array) -> tuple[jax.Array]:
    return (silu_backward(x, dy, interpret),)


_silu.defvjp(_silu_keep, _silu_pull_back)


# a5.1: room for what your elementwise kernels share (about 15 lines)
