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


### BEGIN SOLUTION a5.3: room for what your kernels over rows share
def _wide(ref):
    """A block in the dtype to compute in: float32 or wider."""
    return ref[...].astype(jnp.promote_types(ref.dtype, jnp.float32))


def _over_rows(kernel: Callable, x: jax.Array, *others: jax.Array, interpret: Interpret, sums: int = 0):
    """Run a kernel on blocks of whole rows of x[M, N]; the first output is like x.

    `others` are like x, or rows [1, N] that every step sees. `sums` more outputs are rows [1, N] in the wide
    dtype, which every step adds to.
    """
    rows, columns = x.shape
    block = block_of(rows, ROWS)

    def spec(array):
        if array.shape == x.shape:
            return pl.BlockSpec((block, columns), lambda i: (i, 0))
        return pl.BlockSpec((1, columns), lambda i: (0, 0))

    one_row = jax.ShapeDtypeStruct((1, columns), jnp.promote_types(x.dtype, jnp.float32))
    return pl.pallas_call(
        kernel,
        out_shape=(jax.ShapeDtypeStruct(x.shape, x.dtype), *[one_row] * sums),
        grid=(pl.cdiv(rows, block),),
        in_specs=[spec(x), *map(spec, others)],
        out_specs=(spec(x), *[pl.BlockSpec((1, columns), lambda i: (0, 0))] * sums),
        interpret=interpret,
    )(x, *others)


### END SOLUTION


def _in_two(statistics, kernel, x, rows, count, interpret):
    """A kernel for `count` numbers of each row of x, and one that uses them."""
    block = block_of(x.shape[0], ROWS)
    whole = pl.BlockSpec((block, x.shape[1]), lambda i: (i, 0))
    column = pl.BlockSpec((block, 1), lambda i: (i, 0))
    one = jax.ShapeDtypeStruct((x.shape[0], 1), jnp.promote_types(x.dtype, jnp.float32))
    grid = (pl.cdiv(x.shape[0], block),)
    found = pl.pallas_call(
        statistics, out_shape=[one] * count, grid=grid, in_specs=[whole], out_specs=[column] * count, interpret=interpret
    )(x)
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(x.shape, x.dtype),
        grid=grid,
        in_specs=[whole, *[column] * count, *[pl.BlockSpec((1, x.shape[1]), lambda i: (0, 0)) for _ in rows]],
        out_specs=whole,
        interpret=interpret,
    )(x, *found, *rows)


def softmax(x: jax.Array, *, interpret: Interpret = MATHEMATICS) -> jax.Array:
    """exp(x − max) / Σ exp(x − max) along the rows of x[M, N], with a backward kernel."""
    return _softmax(x, interpret)


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _softmax(x: jax.Array, interpret: Interpret) -> jax.Array:
    return softmax_forward(x, interpret)


def softmax_forward(x: jax.Array, interpret: Interpret) -> jax.Array:
    """The kernel of `softmax`."""
    ### BEGIN SOLUTION a5.3: softmax

    def statistics(x_ref, m_ref, l_ref):
        x = _wide(x_ref)
        m_ref[...] = jnp.max(x, axis=1, keepdims=True)
        l_ref[...] = jnp.sum(jnp.exp(x - m_ref[...]), axis=1, keepdims=True)

    def kernel(x_ref, m_ref, l_ref, y_ref):
        y_ref[...] = (jnp.exp(_wide(x_ref) - m_ref[...]) / l_ref[...]).astype(y_ref.dtype)

    return _in_two(statistics, kernel, x, [], 2, interpret)
    ### END SOLUTION


def softmax_backward(y: jax.Array, dy: jax.Array, interpret: Interpret) -> jax.Array:
    """The cotangent of x from y = softmax(x) and its cotangent: y·(dy − Σ dy·y), as a kernel."""
    ### BEGIN SOLUTION a5.3: the backward kernel of softmax

    def kernel(y_ref, dy_ref, dx_ref):
        y, dy = _wide(y_ref), _wide(dy_ref)
        dx_ref[...] = (y * (dy - jnp.sum(dy * y, axis=1, keepdims=True))).astype(dx_ref.dtype)

    return _over_rows(kernel, y, dy, interpret=interpret)[0]
    ### END SOLUTION


def _softmax_keep(x, interpret):
    """The result, and what is kept of the forward pass for the backward pass: the residual."""
    ### BEGIN SOLUTION a5.3: what softmax keeps
    y = softmax_forward(x, interpret)
    return y, y
    ### END SOLUTION


def _softmax_pull_back(interpret, kept, dy):
    """The cotangents of all differentiable arguments, as a tuple."""
    ### BEGIN SOLUTION a5.3: softmax pulled back
    return (softmax_backward(kept, dy, interpret),)
    ### END SOLUTION


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
    ### BEGIN SOLUTION a5.3: layernorm

    def statistics(x_ref, mean_ref, scale_ref):
        x = _wide(x_ref)
        mean = jnp.mean(x, axis=1, keepdims=True)
        mean_ref[...] = mean
        scale_ref[...] = lax.rsqrt(jnp.mean((x - mean) ** 2, axis=1, keepdims=True) + eps)

    def kernel(x_ref, mean_ref, scale_ref, gamma_ref, beta_ref, y_ref):
        n = (_wide(x_ref) - mean_ref[...]) * scale_ref[...]
        y_ref[...] = (n * _wide(gamma_ref) + _wide(beta_ref)).astype(y_ref.dtype)

    return _in_two(statistics, kernel, x, [gamma[None], beta[None]], 2, interpret)
    ### END SOLUTION


def layernorm_backward(
    x: jax.Array, gamma: jax.Array, dy: jax.Array, eps: float, interpret: Interpret
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The cotangents of x, gamma and beta from that of the result, as one kernel that reads x and dy once.

    With n = (x − mean)·s, s = 1/sqrt(variance + eps) and g = dy·gamma: dx = s·(g − mean(g) − n·mean(g·n)),
    dgamma = Σ dy·n and dbeta = Σ dy over the rows.
    """
    ### BEGIN SOLUTION a5.3: the backward kernel of layernorm
    rows = x.shape[0]

    def kernel(x_ref, dy_ref, gamma_ref, dx_ref, dgamma_ref, dbeta_ref):
        x, dy = _wide(x_ref), _wide(dy_ref)
        centred = x - jnp.mean(x, axis=1, keepdims=True)
        scale = lax.rsqrt(jnp.mean(centred * centred, axis=1, keepdims=True) + eps)
        n, g = centred * scale, dy * _wide(gamma_ref)
        mean_g, mean_gn = (jnp.mean(a, axis=1, keepdims=True) for a in (g, g * n))
        dx_ref[...] = (scale * (g - mean_g - n * mean_gn)).astype(dx_ref.dtype)

        @pl.when(pl.program_id(0) == 0)
        def _():
            dgamma_ref[...] = jnp.zeros_like(dgamma_ref)
            dbeta_ref[...] = jnp.zeros_like(dbeta_ref)

        inside = pl.program_id(0) * x.shape[0] + lax.broadcasted_iota(jnp.int32, x.shape, 0) < rows
        dgamma_ref[...] += jnp.sum(jnp.where(inside, dy * n, 0), axis=0, keepdims=True)
        dbeta_ref[...] += jnp.sum(jnp.where(inside, dy, 0), axis=0, keepdims=True)

    dx, dgamma, dbeta = _over_rows(kernel, x, dy, gamma[None], interpret=interpret, sums=2)
    return dx, dgamma[0].astype(gamma.dtype), dbeta[0].astype(gamma.dtype)
    ### END SOLUTION


def _layernorm_keep(x, gamma, beta, eps, interpret):
    """The result, and the residual."""
    ### BEGIN SOLUTION a5.3: what layernorm keeps
    return layernorm_forward(x, gamma, beta, eps, interpret), (x, gamma)
    ### END SOLUTION


def _layernorm_pull_back(eps, interpret, kept, dy):
    """The cotangents of x, gamma and beta."""
    ### BEGIN SOLUTION a5.3: layernorm pulled back
    x, gamma = kept
    return layernorm_backward(x, gamma, dy, eps, interpret)
    ### END SOLUTION


_layernorm.defvjp(_layernorm_keep, _layernorm_pull_back)


def rmsnorm(
    x: jax.Array, weight: jax.Array, *, eps: float = 1e-6, interpret: Interpret = MATHEMATICS
) -> jax.Array:
    """x / sqrt(mean(x²) + eps) · weight along the rows of x[M, N]; weight is [N].

    Under `vmap`, Pallas adds an axis to the grid and a squeezed dimension to the blocks; nothing is to do for it.
    """
    ### BEGIN SOLUTION a5.3: rmsnorm

    def kernel(x_ref, weight_ref, y_ref):
        x = _wide(x_ref)
        scale = lax.rsqrt(jnp.mean(x * x, axis=1, keepdims=True) + eps)
        y_ref[...] = (x * scale * _wide(weight_ref)).astype(y_ref.dtype)

    return _over_rows(kernel, x, weight[None], interpret=interpret)[0]
    ### END SOLUTION
