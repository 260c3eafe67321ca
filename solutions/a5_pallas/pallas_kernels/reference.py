"""What every kernel computes, in NumPy and float64: slow, and as close to the definition as possible.

Arguments are arrays of any floating dtype; results are float64. Gradients are those of Σ dy·function(x).
"""

from __future__ import annotations

import numpy as np


def wide(x: object) -> np.ndarray:
    """An array as float64."""
    return np.asarray(x).astype(np.float64)


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(−x)), without overflow."""
    return np.exp(-np.logaddexp(0, -wide(x)))


def silu(x: np.ndarray) -> np.ndarray:
    """x·sigmoid(x)."""
    return wide(x) * sigmoid(x)


def silu_gradient(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """The cotangent of x from that of silu(x)."""
    s = sigmoid(x)
    return wide(dy) * s * (1 + wide(x) * (1 - s))


def logsumexp(x: np.ndarray) -> np.ndarray:
    """log Σ exp along the last axis; −inf where all is −inf."""
    x = wide(x)
    top = np.max(x, axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        return np.log(np.sum(np.exp(x - np.where(np.isinf(top), 0, top)), axis=-1)) + np.where(
            np.isinf(top), 0, top
        ).squeeze(-1)


def softmax(x: np.ndarray) -> np.ndarray:
    """exp(x) / Σ exp(x) along the last axis; zeros where all is −inf."""
    x = wide(x)
    top = np.max(x, axis=-1, keepdims=True)
    e = np.exp(x - np.where(np.isinf(top), 0, top))
    total = np.sum(e, axis=-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def softmax_gradient(x: np.ndarray, dy: np.ndarray) -> np.ndarray:
    """The cotangent of x from that of softmax(x)."""
    y, dy = softmax(x), wide(dy)
    return y * (dy - np.sum(dy * y, axis=-1, keepdims=True))


def _normal(x: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
    """x centred and scaled along its last axis, and the scale."""
    x = wide(x)
    centred = x - x.mean(axis=-1, keepdims=True)
    scale = 1 / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + eps)
    return centred * scale, scale


def layernorm(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray, eps: float = 1e-5) -> np.ndarray:
    """(x − mean) / sqrt(variance + eps) · gamma + beta along the last axis."""
    return _normal(x, eps)[0] * wide(gamma) + wide(beta)


def layernorm_gradient(
    x: np.ndarray, gamma: np.ndarray, dy: np.ndarray, eps: float = 1e-5
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cotangents of x, gamma and beta from that of layernorm(x, gamma, beta), for x[M, N]."""
    n, scale = _normal(x, eps)
    g = wide(dy) * wide(gamma)
    dx = scale * (g - g.mean(axis=-1, keepdims=True) - n * (g * n).mean(axis=-1, keepdims=True))
    return dx, (wide(dy) * n).sum(axis=0), wide(dy).sum(axis=0)


def rmsnorm(x: np.ndarray, weight: np.ndarray, eps: float = 1e-6) -> np.ndarray:
    """x / sqrt(mean(x²) + eps) · weight along the last axis."""
    x = wide(x)
    return x / np.sqrt((x**2).mean(axis=-1, keepdims=True) + eps) * wide(weight)


def matmul(
    a: np.ndarray, b: np.ndarray, bias: np.ndarray | None = None, activation: str | None = None
) -> np.ndarray:
    """activation(a @ b + bias)."""
    y = wide(a) @ wide(b) + (0 if bias is None else wide(bias))
    match activation:
        case "relu":
            return np.maximum(y, 0)
        case "silu":
            return silu(y)
    return y


def quantized_matmul(x: np.ndarray, weights: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """x @ (weights·scales)."""
    return wide(x) @ (wide(weights) * wide(scales))


def causal_mask(queries: int, keys: int) -> np.ndarray:
    """bool[queries, keys]: query i sees key j if j ≤ i + keys − queries."""
    return np.arange(keys) <= np.arange(queries)[:, None] + keys - queries


def window_mask(length: int, window: int) -> np.ndarray:
    """bool[length, length]: a query sees itself and the `window` − 1 keys before it."""
    query, key = np.arange(length)[:, None], np.arange(length)
    return (key <= query) & (key > query - window)


def attention(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray | None = None, scale: float | None = None
) -> np.ndarray:
    """softmax(scale·q·kᵀ)·v for q[H, Lq, D], k and v[H, Lk, D] over what mask[Lq, Lk] shows."""
    return softmax(_scores(q, k, mask, scale)) @ wide(v)


def attention_lse(
    q: np.ndarray, k: np.ndarray, mask: np.ndarray | None = None, scale: float | None = None
) -> np.ndarray:
    """The log-sum-exp of the scores, [H, Lq]."""
    return logsumexp(_scores(q, k, mask, scale))


def attention_gradient(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    d_output: np.ndarray,
    mask: np.ndarray | None = None,
    scale: float | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The cotangents of q, k and v from that of the output."""
    scores, do = _scores(q, k, mask, scale), wide(d_output)
    p = softmax(scores)
    dp = do @ wide(v).swapaxes(1, 2)
    ds = p * (dp - np.sum(dp * p, axis=-1, keepdims=True)) * _scale(q, scale)
    return ds @ wide(k), ds.swapaxes(1, 2) @ wide(q), p.swapaxes(1, 2) @ do


def _scale(q: np.ndarray, scale: float | None) -> float:
    return q.shape[-1] ** -0.5 if scale is None else scale


def _scores(q: np.ndarray, k: np.ndarray, mask: np.ndarray | None, scale: float | None) -> np.ndarray:
    scores = wide(q) @ wide(k).swapaxes(1, 2) * _scale(q, scale)
    return scores if mask is None else np.where(mask, scores, -np.inf)


def paged_attention(
    q: np.ndarray,
    k_pages: np.ndarray,
    v_pages: np.ndarray,
    page_table: np.ndarray,
    lengths: np.ndarray,
    scale: float | None = None,
) -> np.ndarray:
    """Attention of q[B, heads, D] over the pages [kv_heads, pages, page, D] that each row of the table names."""
    kv_heads, _, page, depth = k_pages.shape
    group = q.shape[1] // kv_heads
    rows = []
    for b, length in enumerate(lengths):
        pages = page_table[b, : -(-int(length) // page)]
        k, v = (array[:, pages].reshape(kv_heads, -1, depth)[:, :length] for array in (k_pages, v_pages))
        rows.append(attention(q[b].reshape(kv_heads, group, depth), k, v, scale=scale).reshape(q.shape[1:]))
    return np.stack(rows)
