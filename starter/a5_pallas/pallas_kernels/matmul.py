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


# a5.4: room for what your products share (about 23 lines)


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
    # about 19 lines
    raise NotImplementedError("a5.4: matmul")


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
    # about 13 lines
    raise NotImplementedError("a5.4: quantized_matmul")
