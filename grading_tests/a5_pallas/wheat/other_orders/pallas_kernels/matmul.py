"""Matrix products: an accumulator stays in VMEM while the last grid axis walks along K.

The block of the output does not follow the K axis, so all its visits are consecutive. The accumulator is float32
scratch whatever the operands are: summing in bfloat16 would round at every step. Along M and N garbage beyond the
edge ends up in rows and columns that are never written; along K it would be summed into every element, so both
operands are masked there (one is not enough: 0 · NaN is NaN).
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from .interpreters import MATHEMATICS, Interpret, block_of

ACTIVATIONS: dict[str, Callable[[jax.Array], jax.Array]] = {
    "relu": lambda x: jnp.maximum(x, 0),
    "silu": lambda x: x * jax.nn.sigmoid(x),
}
"""What may be fused behind a product, by name."""


### BEGIN SOLUTION a5.4: room for what your products share
def _inside_k(block: jax.Array, axis: int, size: int) -> jax.Array:
    """The block with zeros where it reaches beyond the end of K, which lies along `axis`."""
    place = pl.program_id(2) * block.shape[axis] + lax.broadcasted_iota(jnp.int32, block.shape, axis)
    return jnp.where(place < size, block, jnp.zeros_like(block))


def _product(kernel, a, b, rows, out_dtype, blocks, interpret):
    """Run a kernel over blocks of a[M, K] and b[K, N] and of `rows`, arrays [1, N]; K is the last grid axis."""
    (m, k), n = a.shape, b.shape[1]
    bm, bn, bk = block_of(m, blocks[0]), block_of(n, blocks[1]), block_of(k, blocks[2])
    wide = jnp.promote_types(out_dtype, jnp.float32)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((m, n), out_dtype),
        grid=(pl.cdiv(n, bn), pl.cdiv(m, bm), pl.cdiv(k, bk)),
        in_specs=[
            pl.BlockSpec((bm, bk), lambda j, i, k: (i, k)),
            pl.BlockSpec((bk, bn), lambda j, i, k: (k, j)),
            *[pl.BlockSpec((1, bn), lambda j, i, k: (0, j)) for _ in rows],
        ],
        out_specs=pl.BlockSpec((bm, bn), lambda j, i, k: (i, j)),
        scratch_shapes=[pltpu.VMEM((bm, bn), wide)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
        interpret=interpret,
    )(a, b, *rows)


### END SOLUTION


def matmul(
    a: jax.Array,
    b: jax.Array,
    *,
    bias: jax.Array | None = None,
    activation: str | None = None,
    block_m: int = 512,
    block_n: int = 1024,
    block_k: int = 512,
    interpret: Interpret = MATHEMATICS,
) -> jax.Array:
    """activation(a[M, K] @ b[K, N] + bias[N]) for any M, N, K ≥ 1, in the dtype of a: float32 or bfloat16.

    The sum over K, the bias and the activation (a key of `ACTIVATIONS`, or none) are computed in float32 and
    rounded once. Block sizes are Python ints; a block larger than its dimension is cut down to it.
    """
    ### BEGIN SOLUTION a5.4: matmul
    size = a.shape[1]
    rows = [] if bias is None else [bias[None]]

    def kernel(a_ref, b_ref, *others):
        *bias_ref, y_ref, sum_ref = others
        step = pl.program_id(2)

        @pl.when(step == 0)
        def _():
            sum_ref[...] = jnp.zeros_like(sum_ref)

        left, right = _inside_k(a_ref[...], 1, size), _inside_k(b_ref[...], 0, size)
        sum_ref[...] += jnp.dot(left, right, preferred_element_type=sum_ref.dtype)

        @pl.when(step == pl.num_programs(2) - 1)
        def _():
            y = sum_ref[...]
            if bias_ref:
                y += bias_ref[0][...].astype(y.dtype)
            if activation is not None:
                y = ACTIVATIONS[activation](y)
            y_ref[...] = y.astype(y_ref.dtype)

    return _product(kernel, a, b, rows, a.dtype, (block_m, block_n, block_k), interpret)
    ### END SOLUTION


def quantized_matmul(
    x: jax.Array,
    weights: jax.Array,
    scales: jax.Array,
    *,
    block_m: int = 512,
    block_n: int = 512,
    block_k: int = 512,
    interpret: Interpret = MATHEMATICS,
) -> jax.Array:
    """x[M, K] @ (weights[K, N]·scales[N]) in the dtype of x, with int8 weights and float32 scales.

    The weights are dequantised a block at a time, inside of the kernel: no array of floats of their size is ever
    made, and HBM is read one byte for each weight.
    """
    ### BEGIN SOLUTION a5.4: quantized_matmul
    size = x.shape[1]

    def kernel(x_ref, weights_ref, scales_ref, y_ref, sum_ref):
        step = pl.program_id(2)

        @pl.when(step == 0)
        def _():
            sum_ref[...] = jnp.zeros_like(sum_ref)

        left = _inside_k(x_ref[...], 1, size)
        right = _inside_k(weights_ref[...], 0, size).astype(left.dtype)  # int8 is exact in bfloat16
        sum_ref[...] += jnp.dot(left, right, preferred_element_type=sum_ref.dtype)

        @pl.when(step == pl.num_programs(2) - 1)
        def _():
            y_ref[...] = (sum_ref[...] * scales_ref[...]).astype(y_ref.dtype)  # a column's scale leaves the sum

    return _product(kernel, x, weights, [scales[None]], x.dtype, (block_m, block_n, block_k), interpret)
    ### END SOLUTION
