"""JAX's own splash attention behind the interface of the assignment."""

from __future__ import annotations

import contextlib

from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_kernel as theirs
from jax.experimental.pallas.ops.tpu.splash_attention import splash_attention_mask as masks


def splash_attention(
    q, k, v, mask, *, segments=None, scale=None, block_q=512, block_kv=512, block_kv_compute=None, interpret=True
):
    sizes = theirs.BlockSizes(block_q=block_q, block_kv=block_kv, block_kv_compute=block_kv_compute or block_kv)
    every_head = masks.MultiHeadMask([masks.NumpyMask(mask) for _ in range(q.shape[0])])
    kernel = theirs.make_splash_mha(
        every_head, block_sizes=sizes, head_shards=1, q_seq_shards=1, interpret=interpret is True
    )
    context = (
        contextlib.nullcontext() if isinstance(interpret, bool) else pltpu.force_tpu_interpret_mode(interpret)
    )
    ids = None if segments is None else theirs.SegmentIds(*segments)
    with context:
        return kernel(q * (q.shape[-1] ** -0.5 if scale is None else scale), k, v, segment_ids=ids)
