"""Normalisation over rows, with gradients: whole rows in a block, and backward passes that are kernels too.

A block holds whole rows, so a row is read once however many reductions it takes. `pallas_call` has no rule for
reverse mode; `custom_vjp` names a backward kernel. Two dangers. Rows beyond the array's edge do no harm in
kernels that keep rows apart, but the gradients of γ and β sum over all rows: garbage must not get in, and the sum
must be carried across the grid. And precision: narrow floats compute in float32, float64 stays float64.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl

from .interpreters import MATHEMATICS, Interpret, block_of

ROWS = 64
"""Rows of a block, cut down to the matrix where that is smaller."""


# a5.3: room for what your kernels over rows share (about 23 lines)


def softmax(x: jax.Array, *, interpret: Interpret = MATHEMATICS) -> jax.Array:
    """exp(x − max) / Σ exp(x − max) along the rows of x[M, N], with a backward kernel."""
    return _softmax(x, interpret)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _softmax(x: jax.Array, interpret: Interpret) -> jax.Array:
    return softmax_forward(x, interpret)


def softmax_forward(x: jax.Array, interpret: Interpret) -> jax.Array:
    """The kernel of `softmax`."""
    # about 5 lines
    raise NotImplementedError("a5.3: softmax")


def softmax_backward(y: jax.Array, dy: jax.Array, interpret: Interpret) -> jax.Array:
    """The cotangent of x from y = softmax(x) and its cotangent: y·(dy − Σ dy·y), as a kernel."""
    # about 4 lines
    raise NotImplementedError("a5.3: the backward kernel of softmax")


def _softmax_keep(x, interpret):
    """The result, and what is kept of the forward pass for the backward pass: the residual."""
    # about 2 lines
    raise NotImplementedError("a5.3: what softmax keeps")


def _softmax_pull_back(interpret, kept, dy):
    """The cotangents of all differentiable arguments, as a tuple."""
    # about 1 line
    raise NotImplementedError("a5.3: softmax pulled back")


_softmax.defvjp(_softmax_keep, _softmax_pull_back)


def layernorm(
    x: jax.Array, gamma: jax.Array, beta: jax.Array, *, eps: float = 1e-5, interpret: Interpret = MATHEMATICS
) -> jax.Array:
    """(x − mean) / sqrt(variance + eps) · gamma + beta along the rows of x[M, N]; gamma and beta are [N].

    The variance is the mean of (x − mean)²: E[x²] − E[x]² loses all digits where the mean is large. With a
    backward kernel, which also gives the gradients of gamma and beta.
    """
    return _layernorm(x, gamma, beta, eps, interpret)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def _layernorm(x: jax.Array, gamma: jax.Array, beta: jax.Array, eps: float, interpret: Interpret) -> jax.Array:
    return layernorm_forward(x, gamma, beta, eps, interpret)


def layernorm_forward(
    x: jax.Array, gamma: jax.Array, beta: jax.Array, eps: float, interpret: Interpret
) -> jax.Array:
    """The kernel of `layernorm`."""
    # about 6 lines
    raise NotImplementedError("a5.3: layernorm")


def layernorm_backward(
    x: jax.Array, gamma: jax.Array, dy: jax.Array, eps: float, interpret: Interpret
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The cotangents of x, gamma and beta from that of the result, as one kernel that reads x and dy once.

    With n = (x − mean)·s, s = 1/sqrt(variance + eps) and g = dy·gamma: dx = s·(g − mean(g) − n·mean(g·n)),
    dgamma = Σ dy·n and dbeta = Σ dy over the rows.
    """
    # about 17 lines
    raise NotImplementedError("a5.3: the backward kernel of layernorm")


def _layernorm_keep(x, gamma, beta, eps, interpret):
    """The result, and the residual."""
    # about 1 line
    raise NotImplementedError("a5.3: what layernorm keeps")


def _layernorm_pull_back(eps, interpret, kept, dy):
    """The cotangents of x, gamma and beta."""
    # about 2 lines
    raise NotImplementedError("a5.3: layernorm pulled back")


_layernorm.defvjp(_layernorm_keep, _layernorm_pull_back)


def rmsnorm(
    x: jax.Array, weight: jax.Array, *, eps: float = 1e-6, interpret: Interpret = MATHEMATICS
) -> jax.Array:
    """x / sqrt(mean(x²) + eps) · weight along the rows of x[M, N]; weight is [N].

    Under `vmap`, Pallas adds an axis to the grid and a squeezed dimension to the blocks; nothing is to do for it.
    """
    # about 5 lines
    raise NotImplementedError("a5.3: rmsnorm")
