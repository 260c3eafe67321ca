"""Cost of tracing, evaluating and differentiating long programs with the reference `minijax`.

Run in the environment of `requirements/worker-jax.txt` it also times `jax.make_jaxpr` on the same function in
the same process. The naive tracer below is what one writes first: it finds types by computing on zeros, and
evaluates by recursion, so it cannot run the long program at all.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SOLUTION = Path(__file__).resolve().parents[1] / "solutions" / "a1_tracer"
LENGTHS = (1_000, 10_000, 100_000)


class NaiveTracer:
    """A node of an expression graph."""

    def __init__(self, operation: Callable[..., Any] | None, parents: tuple[Any, ...], like: np.ndarray) -> None:
        self.operation, self.parents = operation, parents
        self.like = np.zeros(like.shape, like.dtype)

    def __mul__(self, other: NaiveTracer) -> NaiveTracer:
        return NaiveTracer(np.multiply, (self, other), np.multiply(self.like, other.like))

    def tanh(self) -> NaiveTracer:
        """The node of tanh."""
        return NaiveTracer(np.tanh, (self,), np.tanh(self.like))

    def evaluate(self, x: np.ndarray, known: dict[int, Any]) -> Any:
        """The node's value, its parents' first."""
        if id(self) not in known:
            values = [parent.evaluate(x, known) for parent in self.parents]
            known[id(self)] = self.operation(*values) if self.operation else x
        return known[id(self)]


def chain(tanh: Callable[[Any], Any], length: int) -> Callable[[Any], Any]:
    """A function of one array that takes `length` operations, tanh and mul in turn."""

    def function(x: Any) -> Any:
        y = x
        for _ in range(length // 2):
            y = tanh(y * x)
        return y

    return function


def microseconds(act: Callable[[], Any], equations: int, repeats: int = 3) -> float:
    """Microseconds for each equation, the best of a few runs."""
    best = float("inf")
    for _ in range(repeats):
        gc.collect()
        start = time.perf_counter()
        act()
        best = min(best, time.perf_counter() - start)
    return best * 1e6 / equations


def main() -> None:
    """Print one row for each length."""
    sys.path.insert(0, str(SOLUTION))
    import minijax as mj

    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        jax = None
    x = np.linspace(0.1, 0.9, 8, dtype=np.float32)
    head = [
        "equations",
        "trace",
        "evaluate",
        "grad",
        "naive trace",
        "naive evaluate",
        "jax.make_jaxpr",
        "jax/ours",
    ]
    print("microseconds for each equation")
    print("".join(f"{name:>16}" for name in head))
    for length in LENGTHS:
        f = chain(mj.tanh, length)
        jaxpr = mj.make_jaxpr(f)(x)
        trace = microseconds(lambda f=f: mj.make_jaxpr(f)(x), length)
        evaluate = microseconds(lambda j=jaxpr: mj.eval_jaxpr(j, x), length)
        grad = microseconds(lambda f=f: mj.grad(lambda x: mj.sum(f(x)))(x), length)
        naive = chain(NaiveTracer.tanh, length)
        naive_trace = microseconds(lambda f=naive: f(NaiveTracer(None, (), x)), length)
        node = naive(NaiveTracer(None, (), x))
        try:
            naive_evaluate = f"{microseconds(lambda n=node: n.evaluate(x, {}), length):.1f}"
        except RecursionError:
            naive_evaluate = "RecursionError"
        row = [f"{length:,}", *(f"{value:.1f}" for value in (trace, evaluate, grad, naive_trace)), naive_evaluate]
        if jax is None:
            row += ["not installed", ""]
        else:
            # A fresh function every time: JAX remembers the jaxpr of one that it has seen.
            theirs = microseconds(lambda n=length: jax.make_jaxpr(chain(jnp.tanh, n))(x), length, repeats=2)
            row += [f"{theirs:.1f}", f"{theirs / trace:.1f}"]
        print("".join(f"{cell:>16}" for cell in row), flush=True)


if __name__ == "__main__":
    main()
