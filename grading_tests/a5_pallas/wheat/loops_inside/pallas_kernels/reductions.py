"""Reductions that walk through whole rows or columns inside of the kernel."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from .interpreters import MATHEMATICS

PIECE = 128


def start_of(number, size, whole):
    """Where a piece begins; the last one is moved back to end with the array."""
    return jnp.minimum(number * size, whole - size)


def fresh(values, number, size, whole, axis, identity):
    """The piece, with the identity where an earlier piece was already."""
    place = start_of(number, size, whole) + lax.broadcasted_iota(jnp.int32, values.shape, axis)
    return jnp.where(place >= number * size, values, jnp.full_like(values, identity))


def wide_of(dtype):
    return jnp.promote_types(dtype, jnp.float32) if jnp.issubdtype(dtype, jnp.floating) else dtype


def colsum(x, *, interpret=MATHEMATICS):
    rows, columns = x.shape
    size, bc, wide = min(PIECE, rows), min(128, columns), wide_of(x.dtype)

    def kernel(x_ref, y_ref):
        def body(i, total):
            values = x_ref[pl.ds(start_of(i, size, rows), size), :]
            return total + jnp.sum(fresh(values, i, size, rows, 0, 0).astype(wide), axis=0, keepdims=True)

        total = lax.fori_loop(0, pl.cdiv(rows, size), body, jnp.zeros((1, bc), wide))
        y_ref[...] = total.astype(y_ref.dtype)

    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((1, columns), x.dtype),
        grid=(pl.cdiv(columns, bc),),
        in_specs=[pl.BlockSpec((rows, bc), lambda j: (0, j))],
        out_specs=pl.BlockSpec((1, bc), lambda j: (0, j)),
        interpret=interpret,
    )(x)[0]


def row_loop(x, out_dtype, start, step, finish, interpret):
    rows, columns = x.shape
    br, size = min(64, rows), min(PIECE, columns)

    def kernel(x_ref, y_ref):
        def body(j, carry):
            return step(carry, x_ref[:, pl.ds(start_of(j, size, columns), size)], j, size, columns)

        y_ref[...] = finish(lax.fori_loop(0, pl.cdiv(columns, size), body, start(br))).astype(y_ref.dtype)

    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((rows, 1), out_dtype),
        grid=(pl.cdiv(rows, br),),
        in_specs=[pl.BlockSpec((br, columns), lambda i: (i, 0))],
        out_specs=pl.BlockSpec((br, 1), lambda i: (i, 0)),
        interpret=interpret,
    )(x)[:, 0]


def rowsum(x, *, interpret=MATHEMATICS):
    wide = wide_of(x.dtype)

    def step(total, values, j, size, whole):
        return total + jnp.sum(fresh(values, j, size, whole, 1, 0).astype(wide), axis=1, keepdims=True)

    return row_loop(x, x.dtype, lambda br: jnp.zeros((br, 1), wide), step, lambda total: total, interpret)


def logsumexp(x, *, interpret=MATHEMATICS):
    def step(carry, values, j, size, whole):
        m, l = carry
        values = fresh(values, j, size, whole, 1, -jnp.inf)
        new = jnp.maximum(m, jnp.max(values, axis=1, keepdims=True))
        base = jnp.where(new == -jnp.inf, 0, new)
        return new, l * jnp.exp(m - base) + jnp.sum(jnp.exp(values - base), axis=1, keepdims=True)

    def start(br):
        return jnp.full((br, 1), -jnp.inf, x.dtype), jnp.zeros((br, 1), x.dtype)

    return row_loop(x, x.dtype, start, step, lambda carry: carry[0] + jnp.log(carry[1]), interpret)


def sum_leading(x, *, interpret=MATHEMATICS):
    depth, rows, columns = x.shape
    br, bc = min(16, rows), min(128, columns)

    def kernel(x_ref, y_ref):
        y_ref[...] = lax.fori_loop(0, depth, lambda a, total: total + x_ref[a], jnp.zeros((br, bc), x.dtype))

    return pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((rows, columns), x.dtype),
        grid=(pl.cdiv(rows, br), pl.cdiv(columns, bc)),
        in_specs=[pl.BlockSpec((depth, br, bc), lambda i, j: (0, i, j))],
        out_specs=pl.BlockSpec((br, bc), lambda i, j: (i, j)),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel")),
        interpret=interpret,
    )(x)
