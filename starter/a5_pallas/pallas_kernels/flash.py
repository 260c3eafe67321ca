"""Flash attention: softmax(q·kᵀ)·v without ever holding a matrix of queries by keys.

A block of queries stays while the grid's last axis walks over blocks of keys. For every query, scratch keeps the
largest score m so far, the sum l of exp(score − m) and the sum of exp(score − m)·v. When m grows, both sums are
rescaled by exp(m_old − m_new); one division at the end gives the output. What is kept for the backward pass is
the log-sum-exp m + log l, one number for each query: probabilities are computed again from it, block by block,
once for dq (queries stay) and once for dk and dv (keys stay).
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from .interpreters import MATHEMATICS, Interpret, block_of


class Settings(NamedTuple):
    """What is known when a kernel is traced. `scale` multiplies the scores, block sizes are in elements."""

    causal: bool
    scale: float
    block_q: int
    block_k: int
    interpret: Interpret


def flash_attention(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    *,
    causal: bool = False,
    scale: float | None = None,
    block_q: int = 512,
    block_k: int = 1024,
    interpret: Interpret = MATHEMATICS,
) -> jax.Array:
    """softmax(scale·q·kᵀ)·v for each head: q[H, Lq, D], k[H, Lk, D], v[H, Lk, D], the result like q.

    float32 or bfloat16; any lengths ≥ 1; scores and sums are float32. `scale` is 1/√D unless given. With `causal`,
    the last query sees all keys: query i sees key j if j ≤ i + Lk − Lq. A query that sees none gives zeros. Block
    sizes are Python ints; larger ones than the lengths are cut down. Differentiable in q, k and v.
    """
    settings = Settings(causal, q.shape[-1] ** -0.5 if scale is None else scale, block_q, block_k, interpret)
    return _flash(q, k, v, settings)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def _flash(q: jax.Array, k: jax.Array, v: jax.Array, settings: Settings) -> jax.Array:
    return flash_forward(q, k, v, settings)[0]


def _flash_keep(q, k, v, settings):
    output, lse = flash_forward(q, k, v, settings)
    return output, (q, k, v, output, lse)


def _flash_pull_back(settings, kept, d_output):
    q, k, v, output, lse = kept
    return flash_backward(q, k, v, output, lse, d_output, settings)


_flash.defvjp(_flash_keep, _flash_pull_back)


# a5.5: room for what the three kernels share (about 47 lines)


def flash_forward(q: jax.Array, k: jax.Array, v: jax.Array, settings: Settings) -> tuple[jax.Array, jax.Array]:
    """The forward kernel: the output [H, Lq, D], and the log-sum-exp of the scores [H, Lq] in float32.

    A query that sees no key has a log-sum-exp of −inf.
    """
    # about 39 lines
    raise NotImplementedError("a5.5: the forward kernel")


def flash_backward(
    q: jax.Array,
    k: jax.Array,
    v: jax.Array,
    output: jax.Array,
    lse: jax.Array,
    d_output: jax.Array,
    settings: Settings,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """The cotangents of q, k and v from that of the output, by two kernels: one for dq, one for dk and dv.

    With p = exp(scores − lse) and delta = Σ d_output·output for each query: ds = p·(d_output·vᵀ − delta)·scale,
    dq = ds·k, dk = dsᵀ·q, dv = pᵀ·d_output.
    """
    # about 3 lines
    raise NotImplementedError("a5.5: the backward kernels")


# a5.5: room for the backward kernels (about 70 lines)
