"""How the reference of a6_sharding grows: collectives up to 64 devices, propagation up to 10⁴ operations.

Run with the workers' Python, which has NumPy: `.venv-worker/bin/python benchmarks/sharding.py`. Figures depend
on the machine; what should hold anywhere is that the last column stays near 1.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "solutions" / "a6_sharding"))

import numpy as np
from minispmd import collectives
from minispmd.fabric import Fabric
from minispmd.graph import DimSharding, GraphBuilder
from minispmd.mesh import Mesh
from minispmd.partition import partition_matmul
from minispmd.propagate import propagate
from minispmd.spec import PartitionSpec

DEVICES = (8, 16, 32, 64)
OPERATIONS = (1_000, 3_000, 10_000)


def seconds(action: Callable[[], object], repeat: int = 3) -> float:
    """The best time of a few runs."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def ring(name: str, n: int) -> tuple[float, int]:
    """Seconds of a collective on a ring, and its number of messages."""
    fabric, group = Fabric(Mesh(x=n)), tuple(range(n))
    call = getattr(collectives, name)
    options = {"all_to_all": {"split_dim": 0, "concat_dim": 0}, "all_reduce": {}}.get(name, {"dim": 0})
    blocks = [np.ones(4 * n, "float32")] * n
    taken = seconds(lambda: fabric.run(lambda device, x: call(device, x, **options, group=group), blocks))
    return taken, fabric.traffic.messages


def rings() -> None:
    """Collectives on more and more devices; a message should cost the same on 64 devices as on 8."""
    print(f"{'collective':<16}{'devices':>8}{'ms':>9}{'messages':>10}{'µs each':>9}{'relative':>10}")
    for name in ("all_gather", "reduce_scatter", "all_reduce", "all_to_all"):
        base = 0.0
        for n in DEVICES:
            taken, messages = ring(name, n)
            each = 1e6 * taken / messages
            base = base or each
            print(f"{name:<16}{n:>8}{1e3 * taken:>9.1f}{messages:>10}{each:>9.1f}{each / base:>10.2f}")


def chain(count: int, at_the_end: bool) -> Callable[[], object]:
    """Propagation along a chain of operations, annotated at its beginning or its end."""
    build = GraphBuilder()
    first = last = build.input(8, 8)
    for step in range(count):
        last = build.transpose(last, 1, 0) if step % 3 else build.elementwise(last)
    annotated = {last if at_the_end else first: (DimSharding(("a",)), DimSharding(("b",)))}
    graph = build.graph()
    return lambda: propagate(graph, annotated, Mesh(a=2, b=2))


def propagation() -> None:
    """Chains of more and more operations."""
    print(f"\n{'propagation':<16}{'operations':>11}{'ms':>9}{'µs each':>9}{'relative':>10}")
    for name, at_the_end in (("from the start", False), ("from the end", True)):
        base = 0.0
        for count in OPERATIONS:
            each = 1e6 * seconds(chain(count, at_the_end), repeat=2) / count
            base = base or each
            print(f"{name:<16}{count:>11}{1e-3 * each * count:>9.0f}{each:>9.1f}{each / base:>10.2f}")


def partitioning() -> None:
    """The search for a program, by the number of axes."""
    print(f"\n{'partition_matmul':<18}{'ms':>9}")
    for axes in (1, 2, 3):
        names = ["x", "y", "z"][:axes]
        mesh = Mesh(**dict.fromkeys(names, 2))
        specs = [PartitionSpec(*names[:2]), PartitionSpec(*names[1:3]), PartitionSpec(tuple(names))]
        taken = seconds(lambda: partition_matmul(*specs, mesh, (64, 64, 64)))
        print(f"{axes} {'axis' if axes == 1 else 'axes':<16}{1e3 * taken:>9.1f}")


if __name__ == "__main__":
    rings()
    propagation()
    partitioning()
