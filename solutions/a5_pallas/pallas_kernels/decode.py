"""Paged attention: one query token for each sequence, keys and values in pages that a table finds.

While tokens are generated, the keys and values of all sequences share one pool of pages, and a table says which
pages are whose, in order. The table is prefetched, and the index map of keys and values looks pages up in it.
Sequences differ in length: entries behind the last page of a sequence mean nothing, and must not be followed; the
rest of its last page means nothing either.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from .interpreters import MATHEMATICS, Interpret


def paged_attention(
    q: jax.Array,
    k_pages: jax.Array,
    v_pages: jax.Array,
    page_table: jax.Array,
    lengths: jax.Array,
    *,
    scale: float | None = None,
    interpret: Interpret = MATHEMATICS,
) -> jax.Array:
    """Attention of one token for each sequence: q[B, heads, D], the result like q.

    k_pages and v_pages are [kv_heads, pages, page, D] with `heads` a multiple of `kv_heads`: consecutive query
    heads share one head of keys. page_table[B, most] (int32) names the pages of each sequence, and lengths[B]
    (int32, ≥ 1) counts its tokens; the entries behind them may hold any number, and the places behind the last
    token NaN. Every page that a sequence needs is fetched once for each of its heads of keys; no other page is.
    float32 or bfloat16, sums in float32. `scale` is 1/√D unless given.
    """
    ### BEGIN SOLUTION a5.6: paged_attention
    batch, heads, depth = q.shape
    kv_heads, _, page, _ = k_pages.shape
    group = heads // kv_heads
    scale = depth**-0.5 if scale is None else scale

    def kernel(table_ref, lengths_ref, q_ref, k_ref, v_ref, o_ref, m_ref, l_ref, sum_ref):
        length, step = lengths_ref[pl.program_id(0)], pl.program_id(2)

        @pl.when(step == 0)
        def _():
            m_ref[...] = jnp.full_like(m_ref, -jnp.inf)
            l_ref[...] = jnp.zeros_like(l_ref)
            sum_ref[...] = jnp.zeros_like(sum_ref)

        @pl.when(step * page < length)
        def _():
            left = length - step * page
            s = _dot(q_ref[...], k_ref[...], 1) * scale
            s = jnp.where(lax.broadcasted_iota(jnp.int32, s.shape, 1) < left, s, -jnp.inf)
            v = v_ref[...]
            v = jnp.where(lax.broadcasted_iota(jnp.int32, v.shape, 0) < left, v, jnp.zeros_like(v))
            m_new = jnp.maximum(m_ref[...], jnp.max(s, axis=1, keepdims=True))
            p, rescale = jnp.exp(s - m_new), jnp.exp(m_ref[...] - m_new)
            l_ref[...] = l_ref[...] * rescale + jnp.sum(p, axis=1, keepdims=True)
            sum_ref[...] = sum_ref[...] * rescale + _dot(p.astype(v.dtype), v, 0)
            m_ref[...] = m_new

        @pl.when(step == pl.num_programs(2) - 1)
        def _():
            o_ref[...] = (sum_ref[...] / l_ref[...]).astype(o_ref.dtype)

    def page_of(b, h, step, table_ref, lengths_ref):
        last = (lengths_ref[b] - 1) // page
        return h, table_ref[b, jnp.minimum(step, last)], 0, 0

    queries = pl.BlockSpec((None, None, group, depth), lambda b, h, step, *_: (b, h, 0, 0))
    pages = pl.BlockSpec((None, None, page, depth), page_of)
    column = pltpu.VMEM((group, 1), jnp.float32)
    output = pl.pallas_call(
        kernel,
        out_shape=jax.ShapeDtypeStruct((batch, kv_heads, group, depth), q.dtype),
        grid_spec=pltpu.PrefetchScalarGridSpec(
            num_scalar_prefetch=2,
            grid=(batch, kv_heads, page_table.shape[1]),
            in_specs=[queries, pages, pages],
            out_specs=queries,
            scratch_shapes=[column, column, pltpu.VMEM((group, depth), jnp.float32)],
        ),
        compiler_params=pltpu.CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
        interpret=interpret,
    )(page_table, lengths, q.reshape(batch, kv_heads, group, depth), k_pages, v_pages)
    return output.reshape(q.shape)
    ### END SOLUTION


### BEGIN SOLUTION a5.6: room for your helpers
def _dot(a, b, axis):
    """A product in float32 that contracts the last axis of a with an axis of b."""
    return lax.dot_general(a, b, (((1,), (axis,)), ((), ())), preferred_element_type=jnp.float32)


### END SOLUTION
