"""JAX's own flash attention behind the interface of the assignment."""

from __future__ import annotations

import contextlib
from typing import NamedTuple

import jax
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu import flash_attention as theirs


class Settings(NamedTuple):
    causal: bool
    scale: float
    block_q: int
    block_k: int
    interpret: object


def interpreted(interpret):
    """JAX's kernels take no `interpret`; a context does instead."""
    if interpret is False:
        return contextlib.nullcontext()
    return pltpu.force_tpu_interpret_mode(pltpu.InterpretParams() if interpret is True else interpret)


def sizes(settings, queries, keys):
    q, k = min(settings.block_q, queries), min(settings.block_k, keys)
    return theirs.BlockSizes(
        block_q=q,
        block_k_major=k,
        block_k=k,
        block_b=1,
        block_q_major_dkv=q,
        block_k_major_dkv=k,
        block_k_dkv=k,
        block_q_dkv=q,
        block_k_major_dq=k,
        block_k_dq=k,
        block_q_dq=q,
    )


def flash_attention(q, k, v, *, causal=False, scale=None, block_q=512, block_k=512, interpret=True):
    settings = Settings(causal, q.shape[-1] ** -0.5 if scale is None else scale, block_q, block_k, interpret)

    @jax.custom_vjp
    def attention(q, k, v):
        return forward(q, k, v)

    def run(q, k, v):
        return theirs.flash_attention(
            q[None],
            k[None],
            v[None],
            causal=settings.causal,
            sm_scale=settings.scale,
            block_sizes=sizes(settings, q.shape[1], k.shape[1]),
        )[0]

    def forward(q, k, v):
        with interpreted(interpret):
            return run(q, k, v)

    def keep(q, k, v):
        with interpreted(interpret):
            return jax.vjp(run, q, k, v)

    def back(pull, do):
        with interpreted(interpret):
            return pull(do)

    attention.defvjp(keep, back)
    return attention(q, k, v)
