"""Writes `golden_jax.json`: gradients of plain formulas by JAX, in float64. Run it where JAX is installed.

.venv-worker-jax/bin/python grading_tests/a5_pallas/hidden/generate_golden_jax.py
"""

from __future__ import annotations

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)


def layernorm(x, gamma, beta, eps=1e-5):
    """As the handout defines it."""
    mean = x.mean(axis=-1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=-1, keepdims=True)
    return (x - mean) / jnp.sqrt(variance + eps) * gamma + beta


def main() -> None:
    """Draw small arguments that float32 holds exactly, and differentiate."""
    rng = np.random.default_rng(2026)

    def draw(*shape):
        return np.round(rng.normal(size=shape) * 2, 2).astype(np.float32).astype(np.float64)

    cases = []
    for kernel, function, arguments in (
        ("elementwise.silu", jax.nn.silu, [draw(6, 10)]),
        ("normalise.softmax", jax.nn.softmax, [draw(7, 9)]),
        ("normalise.layernorm", layernorm, [0.03 * draw(9, 12), draw(12), draw(12)]),
    ):
        arguments = [a.astype(np.float32).astype(np.float64) for a in arguments]
        value, back = jax.vjp(function, *map(jnp.asarray, arguments))
        dy = draw(*value.shape)
        cases.append(
            {
                "kernel": kernel,
                "arguments": [a.tolist() for a in arguments],
                "cotangent": dy.tolist(),
                "cotangents": [np.asarray(ct).tolist() for ct in back(jnp.asarray(dy))],
            }
        )
    Path(__file__).with_name("golden_jax.json").write_text(json.dumps(cases) + "\n", "utf-8")


if __name__ == "__main__":
    main()
