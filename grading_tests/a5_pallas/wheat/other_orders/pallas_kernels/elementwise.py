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
    ### BEGIN SOLUTION a5.1: the blocks of a transpose
    read = pl.BlockSpec((block, block), lambda i, j: (j, i))
    written = pl.BlockSpec((block, block), lambda i, j: (i, j))
    return [read], written
    ### END SOLUTION


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
    ### BEGIN SOLUTION a5.1: the blocks of one head
    read = pl.BlockSpec((None, rows, columns), lambda i, j: (head, i, j))
    written = pl.BlockSpec((rows, columns), lambda i, j: (i, j))
    return [read], written
    ### END SOLUTION


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
    ### BEGIN SOLUTION a5.1: the blocks of a broadcast row
    blocks = pl.BlockSpec((rows, columns), lambda j, i: (i, j))
    row = pl.BlockSpec((1, columns), lambda j, i: (0, j))
    return [blocks, row], blocks
    ### END SOLUTION


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
    ### BEGIN SOLUTION a5.1: axpy

    def kernel(alpha_ref, beta_ref, x_ref, y_ref):
        y_ref[...] = alpha_ref[0] * x_ref[...] + beta_ref[0]

    scalar = pl.BlockSpec(memory_space=pltpu.SMEM)
    block = block_of(x.shape[0], BLOCK)
    vector = pl.BlockSpec((block,), lambda i: (i,))
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=(pl.cdiv(x.shape[0], block),),
        in_specs=[scalar, scalar, vector],
        out_specs=vector,
        interpret=interpret,
    )(alpha.reshape(1), beta.reshape(1), x)
    ### END SOLUTION


def relu_with_mask(x: jax.Array, *, interpret: Interpret = MATHEMATICS) -> tuple[jax.Array, jax.Array]:
    """max(x, 0) and, as int8, 1 where x > 0 and else 0: both from one kernel that reads x[M, N] once."""
    ### BEGIN SOLUTION a5.1: a kernel with two outputs

    def kernel(x_ref, y_ref, mask_ref):
        positive = x_ref[...] > 0
        y_ref[...] = jnp.where(positive, x_ref[...], jnp.zeros_like(x_ref))
        mask_ref[...] = positive.astype(jnp.int8)

    return _blockwise(
        kernel,
        [x],
        (jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct(x.shape, jnp.int8)),
        interpret,
    )
    ### END SOLUTION


def sgd_update(
    params: jax.Array, gradients: jax.Array, rate: jax.Array, *, interpret: Interpret = MATHEMATICS
) -> jax.Array:
    """params − rate·gradients, in place: the output takes the buffer of `params`.

    params and gradients are `[M, N]`, `rate` is of rank 0, all float32. The kernel tells XLA what it costs, by a
    `pl.CostEstimate`: a multiplication and a subtraction for each element, no transcendentals, and every input
    and output moved once, in bytes.
    """
    ### BEGIN SOLUTION a5.1: an update in place

    def kernel(params_ref, gradients_ref, rate_ref, new_ref):
        new_ref[...] = params_ref[...] - rate_ref[0] * gradients_ref[...]

    return _blockwise(
        kernel,
        [params, gradients],
        jax.ShapeDtypeStruct(params.shape, params.dtype),
        interpret,
        scalars=[rate.reshape(1)],
        input_output_aliases={0: 0},
        cost_estimate=pl.CostEstimate(
            flops=2 * params.size,
            transcendentals=0,
            bytes_accessed=(3 * params.size + 1) * params.dtype.itemsize,
        ),
    )
    ### END SOLUTION


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
    ### BEGIN SOLUTION a5.1: silu

    def kernel(x_ref, y_ref):
        x = x_ref[...].astype(jnp.promote_types(x_ref.dtype, jnp.float32))
        y_ref[...] = (x * jax.nn.sigmoid(x)).astype(y_ref.dtype)

    return _blockwise(kernel, [x], jax.ShapeDtypeStruct(x.shape, x.dtype), interpret)
    ### END SOLUTION


def silu_backward(x: jax.Array, dy: jax.Array, interpret: Interpret) -> jax.Array:
    """The cotangent of x from that of silu(x): dy·s·(1 + x·(1 − s)) with s = sigmoid(x), as a kernel."""
    ### BEGIN SOLUTION a5.3: the backward kernel of silu

    def kernel(x_ref, dy_ref, dx_ref):
        wide = jnp.promote_types(x_ref.dtype, jnp.float32)
        x, dy = x_ref[...].astype(wide), dy_ref[...].astype(wide)
        s = jax.nn.sigmoid(x)
        dx_ref[...] = (dy * s * (1 + x * (1 - s))).astype(dx_ref.dtype)

    return _blockwise(kernel, [x, dy], jax.ShapeDtypeStruct(x.shape, x.dtype), interpret)
    ### END SOLUTION


def _silu_keep(x: jax.Array, interpret: Interpret) -> tuple[jax.Array, jax.Array]:
    return silu_forward(x, interpret), x


def _silu_pull_back(interpret: Interpret, x: jax.Array, dy: jax.Array) -> tuple[jax.Array]:
    return (silu_backward(x, dy, interpret),)


_silu.defvjp(_silu_keep, _silu_pull_back)


### BEGIN SOLUTION a5.1: room for what your elementwise kernels share
def _blockwise(kernel, arrays, out_shape, interpret, scalars=(), **how):
    """Run an elementwise kernel on arrays of one shape [M, N], in blocks of up to 256 × 512."""
    rows, columns = arrays[0].shape
    block = (block_of(rows, 32), columns)
    spec = pl.BlockSpec(block, lambda i: (i, 0))
    scalar = pl.BlockSpec(memory_space=pltpu.SMEM)
    return pl.pallas_call(
        kernel,
        out_shape=out_shape,
        grid=(pl.cdiv(rows, block[0]),),
        in_specs=[spec] * len(arrays) + [scalar] * len(scalars),
        out_specs=jax.tree.map(lambda _: spec, out_shape),
        interpret=interpret,
        **how,
    )(*arrays, *scalars)


### END SOLUTION
