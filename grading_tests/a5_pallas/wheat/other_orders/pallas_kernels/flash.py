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


### BEGIN SOLUTION a5.5: room for what the three kernels share
class Blocks:
    """How the kernels cut up queries and keys, and what a block of one sees of a block of the other."""

    def __init__(self, q, k, settings):
        self.heads, self.queries, self.depth = q.shape
        self.keys = k.shape[1]
        self.causal, self.scale = settings.causal, settings.scale
        self.bq, self.bk = block_of(self.queries, settings.block_q), block_of(self.keys, settings.block_k)
        self.q_steps, self.k_steps = pl.cdiv(self.queries, self.bq), pl.cdiv(self.keys, self.bk)
        self.shift = self.keys - self.queries

    def last_k(self, i):
        """The last block of keys that block i of queries sees."""
        if not self.causal:
            return self.k_steps - 1
        return jnp.clip((i * self.bq + self.bq - 1 + self.shift) // self.bk, 0, self.k_steps - 1)

    def first_q(self, j):
        """The first block of queries that sees block j of keys."""
        return jnp.clip((j * self.bk - self.shift) // self.bq, 0, self.q_steps - 1) if self.causal else 0

    def any_visible(self, i, j):
        """Whether some query of block i sees some key of block j."""
        return j * self.bk <= i * self.bq + self.bq - 1 + self.shift if self.causal else True

    def scores(self, q, k, i, j):
        """Scores of a block, −inf where a key is not seen or a query or key lies beyond the end."""
        s = _dot(q, k, (1, 1)) * self.scale
        query = i * self.bq + lax.broadcasted_iota(jnp.int32, s.shape, 0)
        key = j * self.bk + lax.broadcasted_iota(jnp.int32, s.shape, 1)
        seen = (key < self.keys) & (query < self.queries)
        if self.causal:
            seen &= key <= query + self.shift
        return jnp.where(seen, s, -jnp.inf)

    def load_q(self, ref, i):
        """A block of something with a row for each query; zeros beyond the end."""
        return _zero_beyond(ref[...], i * self.bq, self.queries)

    def load_k(self, ref, j):
        """A block of something with a row for each key; zeros beyond the end."""
        return _zero_beyond(ref[...], j * self.bk, self.keys)


def _zero_beyond(block, start, size):
    row = start + lax.broadcasted_iota(jnp.int32, block.shape, 0)
    return jnp.where(row < size, block, jnp.zeros_like(block))


def _dot(a, b, contract):
    """A product in float32 (or wider) that contracts one axis of each operand."""
    wide = jnp.promote_types(a.dtype, jnp.float32)
    return lax.dot_general(
        a, b.astype(a.dtype), (((contract[0],), (contract[1],)), ((), ())), preferred_element_type=wide
    )


def _finite(x):
    """x with 0 for −inf, to be subtracted: −inf − −inf would be NaN."""
    return jnp.where(x == -jnp.inf, 0, x)


### END SOLUTION


def flash_forward(q: jax.Array, k: jax.Array, v: jax.Array, settings: Settings) -> tuple[jax.Array, jax.Array]:
    """The forward kernel: the output [H, Lq, D], and the log-sum-exp of the scores [H, Lq] in float32.

    A query that sees no key has a log-sum-exp of −inf.
    """
    ### BEGIN SOLUTION a5.5: the forward kernel
    b = Blocks(q, k, settings)
    wide = jnp.promote_types(q.dtype, jnp.float32)

    def kernel(q_ref, k_ref, v_ref, o_ref, lse_ref, m_ref, l_ref, sum_ref):
        i, j = pl.program_id(0), pl.program_id(2)

        @pl.when(j == 0)
        def _():
            m_ref[...] = jnp.full_like(m_ref, -jnp.inf)
            l_ref[...] = jnp.zeros_like(l_ref)
            sum_ref[...] = jnp.zeros_like(sum_ref)

        @pl.when(b.any_visible(i, j))
        def _():
            s = b.scores(q_ref[...], k_ref[...], i, j)
            m_old = m_ref[...]
            m_new = jnp.maximum(m_old, jnp.max(s, axis=1, keepdims=True))
            p = jnp.exp(s - _finite(m_new))
            rescale = jnp.exp(m_old - _finite(m_new))
            l_ref[...] = l_ref[...] * rescale + jnp.sum(p, axis=1, keepdims=True)
            v = b.load_k(v_ref, j)
            sum_ref[...] = sum_ref[...] * rescale + _dot(p.astype(v.dtype), v, (1, 0))
            m_ref[...] = m_new

        @pl.when(j == b.k_steps - 1)
        def _():
            total = l_ref[...]
            o_ref[...] = (sum_ref[...] / jnp.where(total == 0, 1, total)).astype(o_ref.dtype)
            lse_ref[...] = m_ref[...] + jnp.log(total)

    rows = pl.BlockSpec((None, b.bq, b.depth), lambda i, h, j: (h, i, 0))
    keys = pl.BlockSpec((None, b.bk, b.depth), lambda i, h, j: (h, jnp.minimum(j, b.last_k(i)), 0))
    column = pltpu.VMEM((b.bq, 1), wide)
    output, lse = pl.pallas_call(
        kernel,
        out_shape=(jax.ShapeDtypeStruct(q.shape, q.dtype), jax.ShapeDtypeStruct((*q.shape[:2], 1), wide)),
        grid=(b.q_steps, b.heads, b.k_steps),
        in_specs=[rows, keys, keys],
        out_specs=(rows, pl.BlockSpec((None, b.bq, 1), lambda i, h, j: (h, i, 0))),
        scratch_shapes=[column, column, pltpu.VMEM((b.bq, b.depth), wide)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
        interpret=settings.interpret,
    )(q, k, v)
    return output, lse[..., 0]
    ### END SOLUTION


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
    ### BEGIN SOLUTION a5.5: the backward kernels
    lse = lse[..., None]
    dq = _flash_dq(q, k, v, output, lse, d_output, settings)
    return (dq, *_flash_dkv(q, k, v, output, lse, d_output, settings))
    ### END SOLUTION


### BEGIN SOLUTION a5.5: room for the backward kernels
def _gradients(b, i, j, q_ref, k_ref, v_ref, o_ref, lse_ref, do_ref):
    """p and ds of block (i, j), and the blocks of q, k and d_output that they are multiplied with."""
    q, o, do = b.load_q(q_ref, i), b.load_q(o_ref, i), b.load_q(do_ref, i)
    k, v = b.load_k(k_ref, j), b.load_k(v_ref, j)
    p = jnp.exp(b.scores(q, k, i, j) - _finite(b.load_q(lse_ref, i)))
    delta = jnp.sum(do.astype(p.dtype) * o.astype(p.dtype), axis=1, keepdims=True)
    ds = p * (_dot(do, v, (1, 1)) - delta) * b.scale
    return p, ds, q, k, do


def _flash_dq(q, k, v, output, lse, do, settings):
    """The kernel for dq: a block of queries stays, blocks of keys pass."""
    b = Blocks(q, k, settings)

    def kernel(*refs):
        *inputs, dq_ref, sum_ref = refs
        i, j = pl.program_id(0), pl.program_id(2)

        @pl.when(j == 0)
        def _():
            sum_ref[...] = jnp.zeros_like(sum_ref)

        @pl.when(b.any_visible(i, j))
        def _():
            _, ds, _, k, _ = _gradients(b, i, j, *inputs)
            sum_ref[...] += _dot(ds.astype(k.dtype), k, (1, 0))

        @pl.when(j == b.k_steps - 1)
        def _():
            dq_ref[...] = sum_ref[...].astype(dq_ref.dtype)

    def rows(width):
        return pl.BlockSpec((None, b.bq, width), lambda i, h, j: (h, i, 0))

    keys = pl.BlockSpec((None, b.bk, b.depth), lambda i, h, j: (h, jnp.minimum(j, b.last_k(i)), 0))
    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype),
        grid=(b.q_steps, b.heads, b.k_steps),
        in_specs=[rows(b.depth), keys, keys, rows(b.depth), rows(1), rows(b.depth)],
        out_specs=rows(b.depth),
        scratch_shapes=[pltpu.VMEM((b.bq, b.depth), lse.dtype)],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
        interpret=settings.interpret,
    )(q, k, v, output, lse, do)


def _flash_dkv(q, k, v, output, lse, do, settings):
    """The kernel for dk and dv: a block of keys stays, blocks of queries pass."""
    b = Blocks(q, k, settings)

    def kernel(*refs):
        *inputs, dk_ref, dv_ref, dk_sum, dv_sum = refs
        j, i = pl.program_id(0), pl.program_id(2)

        @pl.when(i == 0)
        def _():
            dk_sum[...] = jnp.zeros_like(dk_sum)
            dv_sum[...] = jnp.zeros_like(dv_sum)

        @pl.when(b.any_visible(i, j))
        def _():
            p, ds, q, _, do = _gradients(b, i, j, *inputs)
            dk_sum[...] += _dot(ds.astype(q.dtype), q, (0, 0))
            dv_sum[...] += _dot(p.astype(do.dtype), do, (0, 0))

        @pl.when(i == b.q_steps - 1)
        def _():
            dk_ref[...] = dk_sum[...].astype(dk_ref.dtype)
            dv_ref[...] = dv_sum[...].astype(dv_ref.dtype)

    def rows(width):
        return pl.BlockSpec((None, b.bq, width), lambda j, h, i: (h, jnp.maximum(i, b.first_q(j)), 0))

    keys = pl.BlockSpec((None, b.bk, b.depth), lambda j, h, i: (h, j, 0))
    scratch = pltpu.VMEM((b.bk, b.depth), lse.dtype)
    return pl.pallas_call(
        kernel,
        out_shape=(jax.ShapeDtypeStruct(k.shape, k.dtype), jax.ShapeDtypeStruct(v.shape, v.dtype)),
        grid=(b.k_steps, b.heads, b.q_steps),
        in_specs=[rows(b.depth), keys, keys, rows(b.depth), rows(1), rows(b.depth)],
        out_specs=(keys, keys),
        scratch_shapes=[scratch, scratch],
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
        interpret=settings.interpret,
    )(q, k, v, output, lse, do)


### END SOLUTION
