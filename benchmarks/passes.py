"""Cost of the reference `minixla` on long programs: each pass and the pipeline, in microseconds an instruction.

Run in the environment of `requirements/worker-jax.txt` it also times XLA: `jax.jit` of the same chain, traced
and lowered before the clock starts, compiled for the CPU in the same process.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SOLUTION = Path(__file__).resolve().parents[1] / "solutions" / "a2_fusion"
LENGTHS = (1_000, 10_000, 100_000)
XLA_AT_MOST = 10_000  # compiling a chain of 100,000 takes XLA minutes
PROGRAMS = ("gelu_layer", "attention", "mlp_block", "training_step", "per_sample_gradients", "mini_attention")


def chain(length: int) -> Any:
    """An elementwise module of about this many instructions: every third is written twice, every tenth is dead."""
    from minixla.builder import Builder
    from minixla.hlo import Shape

    build = Builder("chain")
    shape = Shape("f32", (8,))
    x = y = build.parameter(shape, "x")
    for step in range(length // 10):
        half = build.emit("broadcast", shape, build.constant(0.5 + step % 3, "f32"), dimensions=())
        scaled = build.emit("multiply", shape, y, half)
        again = build.emit("multiply", shape, y, half)
        joined = build.emit("add", shape, scaled, again)
        neutral = build.emit("broadcast", shape, build.constant(0.0, "f32"), dimensions=())
        same = build.emit("add", shape, build.emit("tanh", shape, joined), neutral)
        build.emit("exponential", shape, same)
        y = build.emit("multiply", shape, same, x)
    return build.finish(y)


def seconds(act: Callable[[], Any], repeats: int = 1) -> float:
    """The best of a few runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        act()
        best = min(best, time.perf_counter() - start)
    return best


def xla_seconds(length: int) -> float | None:
    """Time that XLA takes to compile such a chain for the CPU; None without JAX, or if it would take too long."""
    try:
        import jax
        import jax.numpy as jnp
    except ImportError:
        return None
    if length > XLA_AT_MOST:
        return None

    def function(x: Any) -> Any:
        y = x
        for step in range(length // 10):
            half = 0.5 + step % 3
            y = (jnp.tanh(y * half + y * half) + 0.0) * x
        return y

    lowered = jax.jit(function).lower(np.zeros(8, np.float32))
    return seconds(lowered.compile)


def main() -> None:
    """Print a row for each length, and the modelled time of the six programs."""
    sys.path.insert(0, str(SOLUTION))
    from minixla import cost_analysis, interpret, pipeline, text, verifier
    from minixla.programs import program

    passes = {**pipeline.CLEANUP, **pipeline.FUSION}
    head = ["instructions", *passes, "pipeline", "parse", "verify", "evaluate", "pipeline s", "XLA compile s"]
    print("microseconds an instruction; the last two in seconds")
    print("  ".join(head))
    for length in LENGTHS:
        module = chain(length)
        count = len(module.entry_computation.instructions)
        cells, current = [], module
        for each in passes.values():
            cells.append(seconds(lambda each=each, current=current: each(current)) * 1e6 / count)
            current, _ = each(current)
        whole = seconds(lambda module=module: pipeline.optimize(module))
        written = text.print_module(module)
        x = [np.linspace(0.1, 0.9, 8, dtype=np.float32)]
        cells += [whole * 1e6 / count]
        cells += [seconds(lambda written=written: text.parse(written)) * 1e6 / count]
        cells += [seconds(lambda module=module: verifier.verify(module)) * 1e6 / count]
        cells += [seconds(lambda module=module: interpret.evaluate(module, x)) * 1e6 / count]
        theirs = xla_seconds(length)
        row = [f"{count:,}", *(f"{cell:.1f}" for cell in cells), f"{whole:.2f}"]
        row.append("-" if theirs is None else f"{theirs:.2f}")
        print("  ".join(f"{cell:>{len(title)}}" for cell, title in zip(row, head, strict=True)))
    print("\nprogram  equations  kernels  KiB before  KiB after  modelled microseconds")
    for name in PROGRAMS:
        before, after = program(name), pipeline.optimize(program(name)).module
        old, new = cost_analysis.cost(before), cost_analysis.cost(after)
        sizes = f"{old.bytes / 1024:,.1f}  {new.bytes / 1024:,.1f}  {new.seconds() * 1e6:.3f}"
        print(f"{name}  {interpret.equations(before)}  {len(new.kernels)}  {sizes}")


if __name__ == "__main__":
    main()
