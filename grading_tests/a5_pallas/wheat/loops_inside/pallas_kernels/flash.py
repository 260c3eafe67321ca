"""Flash attention with a loop over keys inside of the kernel."""

from __future__ import annotations

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl

from .interpreters import MATHEMATICS, Interpret


class Settings(NamedTuple):
    causal: bool
    scale: float
    block_q: int
    block_k: int
    interpret: Interpret


def flash_attention(q, k, v, *, causal=False, scale=None, block_q=512, block_k=512, interpret=MATHEMATICS):
    return _flash(q, k, v, Settings(causal, q.shape[-1] ** -0.5 if scale is None else scale, block_q, block_k, interpret))


@functools.partial(jax.custom_vjp, nondiff_argnums=(3,))
def _flash(q, k, v, settings):
    return flash_forward(q, k, v, settings)[0]


def _keep(q, k, v, settings):
    output, lse = flash_forward(q, k, v, settings)
    return output, (q, k, v, output, lse)


def _pull_back(settings, kept, d_output):
    return flash_backward(*kept, d_output, settings)


_flash.defvjp(_keep, _pull_back)


def product(a, b, left, right):
    return lax.dot_general(a, b.astype(a.dtype), (((left,), (right,)), ((), ())), preferred_element_type=jnp.float32)


def iota(shape, axis):
    return lax.broadcasted_iota(jnp.int32, shape, axis)


def finite(x):
    return jnp.where(x == -jnp.inf, 0.0, x)


def piece(number, size, whole):
    """Where piece `number` begins; the last one is moved back to end with the array."""
    return jnp.minimum(number * size, whole - size)


def scores(q, k, first_q, first_k, fresh_k, settings, shift):
    """Scores; −inf where a key was seen in an earlier piece, or is hidden."""
    s = product(q, k, 1, 1) * settings.scale
    query, key = first_q + iota(s.shape, 0), first_k + iota(s.shape, 1)
    seen = key >= fresh_k
    if settings.causal:
        seen &= key <= query + shift
    return jnp.where(seen, s, -jnp.inf)


def key_pieces(first_q, bq, bk, keys, shift, causal):
    """How many pieces of keys a block of queries sees."""
    if not causal:
        return pl.cdiv(keys, bk)
    return jnp.clip(first_q + bq - 1 + shift, -1, keys - 1) // bk + 1


def flash_forward(q, k, v, settings):
    heads, queries, depth = q.shape
    keys = k.shape[1]
    bq, bk = min(settings.block_q, queries), min(settings.block_k, keys)

    def kernel(q_ref, k_ref, v_ref, o_ref, lse_ref):
        first_q = pl.program_id(1) * bq
        q = q_ref[...]

        def body(j, carry):
            m, l, total = carry
            at = pl.ds(piece(j, bk, keys), bk)
            s = scores(q, k_ref[at, :], first_q, piece(j, bk, keys), j * bk, settings, keys - queries)
            new = jnp.maximum(m, jnp.max(s, axis=1, keepdims=True))
            p, shrink = jnp.exp(s - finite(new)), jnp.exp(m - finite(new))
            v = v_ref[at, :]
            return new, l * shrink + jnp.sum(p, axis=1, keepdims=True), total * shrink + product(p.astype(v.dtype), v, 1, 0)

        start = (jnp.full((bq, 1), -jnp.inf), jnp.zeros((bq, 1)), jnp.zeros((bq, depth)))
        m, l, total = lax.fori_loop(0, key_pieces(first_q, bq, bk, keys, keys - queries, settings.causal), body, start)
        o_ref[...] = (total / jnp.where(l == 0, 1, l)).astype(o_ref.dtype)
        lse_ref[...] = m + jnp.log(l)

    rows = pl.BlockSpec((None, bq, depth), lambda h, i: (h, i, 0))
    whole = pl.BlockSpec((None, keys, depth), lambda h, i: (h, 0, 0))
    output, lse = pl.pallas_call(
        kernel,
        out_shape=(jax.ShapeDtypeStruct(q.shape, q.dtype), jax.ShapeDtypeStruct((heads, queries, 1), jnp.float32)),
        grid=(heads, pl.cdiv(queries, bq)),
        in_specs=[rows, whole, whole],
        out_specs=(rows, pl.BlockSpec((None, bq, 1), lambda h, i: (h, i, 0))),
        interpret=settings.interpret,
    )(q, k, v)
    return output, lse[..., 0]


def flash_backward(q, k, v, output, lse, d_output, settings):
    heads, queries, depth = q.shape
    keys = k.shape[1]
    bq, bk = min(settings.block_q, queries), min(settings.block_k, keys)
    shift = keys - queries
    lse = lse[..., None]

    def delta(do, o):
        return jnp.sum(do.astype(jnp.float32) * o.astype(jnp.float32), axis=1, keepdims=True)

    def dq_kernel(q_ref, k_ref, v_ref, o_ref, lse_ref, do_ref, dq_ref):
        first_q = pl.program_id(1) * bq
        q, do = q_ref[...], do_ref[...]

        def body(j, dq):
            at = pl.ds(piece(j, bk, keys), bk)
            s = scores(q, k_ref[at, :], first_q, piece(j, bk, keys), j * bk, settings, shift)
            p = jnp.exp(s - finite(lse_ref[...]))
            ds = p * (product(do, v_ref[at, :], 1, 1) - delta(do, o_ref[...])) * settings.scale
            return dq + product(ds.astype(k_ref.dtype), k_ref[at, :], 1, 0)

        pieces = key_pieces(first_q, bq, bk, keys, shift, settings.causal)
        dq_ref[...] = lax.fori_loop(0, pieces, body, jnp.zeros((bq, depth))).astype(dq_ref.dtype)

    def dkv_kernel(q_ref, k_ref, v_ref, o_ref, lse_ref, do_ref, dk_ref, dv_ref):
        first_k = pl.program_id(1) * bk
        k, v = k_ref[...], v_ref[...]

        def body(i, carry):
            dk, dv = carry
            first_q = piece(i, bq, queries)
            at = pl.ds(first_q, bq)
            q, do, o = q_ref[at, :], do_ref[at, :], o_ref[at, :]
            s = scores(q, k, first_q, first_k, 0, settings, shift)
            s = jnp.where(first_q + iota(s.shape, 0) >= i * bq, s, -jnp.inf)
            p = jnp.exp(s - finite(lse_ref[at, :]))
            ds = p * (product(do, v, 1, 1) - delta(do, o)) * settings.scale
            return dk + product(ds.astype(q.dtype), q, 0, 0), dv + product(p.astype(do.dtype), do, 0, 0)

        first = jnp.clip(first_k - shift, 0, queries - 1) // bq if settings.causal else 0
        zeros = jnp.zeros((bk, depth))
        dk, dv = lax.fori_loop(first, pl.cdiv(queries, bq), body, (zeros, zeros))
        dk_ref[...], dv_ref[...] = dk.astype(dk_ref.dtype), dv.astype(dv_ref.dtype)

    def rows(size, width):
        return pl.BlockSpec((None, size, width), lambda h, i: (h, i, 0))

    def whole(size, width):
        return pl.BlockSpec((None, size, width), lambda h, i: (h, 0, 0))

    inputs = (q, k, v, output, lse, d_output)
    dq = pl.pallas_call(
        dq_kernel,
        out_shape=jax.ShapeDtypeStruct(q.shape, q.dtype),
        grid=(heads, pl.cdiv(queries, bq)),
        in_specs=[rows(bq, depth), whole(keys, depth), whole(keys, depth), rows(bq, depth), rows(bq, 1), rows(bq, depth)],
        out_specs=rows(bq, depth),
        interpret=settings.interpret,
    )(*inputs)
    dk, dv = pl.pallas_call(
        dkv_kernel,
        out_shape=(jax.ShapeDtypeStruct(k.shape, k.dtype), jax.ShapeDtypeStruct(v.shape, v.dtype)),
        grid=(heads, pl.cdiv(keys, bk)),
        in_specs=[
            whole(queries, depth), rows(bk, depth), rows(bk, depth),
            whole(queries, depth), whole(queries, 1), whole(queries, depth),
        ],
        out_specs=(rows(bk, depth), rows(bk, depth)),
        interpret=settings.interpret,
    )(*inputs)
    return dq, dk, dv
