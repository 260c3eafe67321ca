"""Writes `golden_jax.json`: the two-layer cross-entropy and its gradients as JAX has them in float64.

Run by hand where JAX is installed: `python grading_tests/a1_tracer/hidden/generate_golden_jax.py`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)
SIZES = [(6, 4, 8, 3), (5, 3, 4, 2), (32, 8, 16, 4)]  # batch, inputs, hidden, classes


def nll(x: Any, y: Any, w1: Any, b1: Any, w2: Any) -> Any:
    """Cross-entropy of a two-layer network, by the formula of the handout."""
    h = jnp.tanh(x @ w1 + b1)
    return -jnp.mean(jnp.sum(y * jax.nn.log_softmax(h @ w2, axis=-1), axis=-1))


def case(seed: int, batch: int, d: int, h: int, c: int) -> dict[str, Any]:
    """Inputs and JAX's outputs: loss, then gradients by w1, b1 and w2."""
    rng = np.random.default_rng(seed)
    inputs = {
        "x": rng.normal(size=(batch, d)),
        "y": np.eye(c)[rng.integers(0, c, size=batch)],
        "w1": rng.normal(size=(d, h)) / np.sqrt(d),
        "b1": rng.normal(size=h) * 0.1,
        "w2": rng.normal(size=(h, c)) / np.sqrt(h),
    }
    loss, grads = jax.value_and_grad(nll, argnums=(2, 3, 4))(*inputs.values())
    return {
        "inputs": {name: value.tolist() for name, value in inputs.items()},
        "outputs": [np.asarray(out).tolist() for out in (loss, *grads)],
    }


if __name__ == "__main__":
    cases = [case(seed, *sizes) for seed, sizes in enumerate(SIZES)]
    Path(__file__).with_name("golden_jax.json").write_text(json.dumps(cases, indent=None) + "\n")
