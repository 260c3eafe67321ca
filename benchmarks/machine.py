"""Cost of the reference `minitpu`: streaming through a 128 × 128 array, and scheduling long programs.

The array is compared with a loop that does one multiply–add over the whole grid in each cycle and nothing else,
and with a loop over PEs, timed on a few cycles. The scheduler is compared with the list scheduler that one writes
first: it looks through all waiting operations in every cycle.
"""

from __future__ import annotations

import random
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

SOLUTION = Path(__file__).resolve().parents[1] / "solutions" / "a3_machine"
LENGTHS = (100, 1_000, 10_000)


def seconds(act: Callable[[], Any], repeats: int = 3) -> float:
    """The best of a few runs."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        act()
        best = min(best, time.perf_counter() - start)
    return best


def array() -> None:
    """Print the times of the array."""
    from minitpu.systolic import SystolicArray

    n, batch = 128, 1024
    weights, x = np.ones((n, n), np.float32), np.ones((batch, n), np.float32)
    cycles = batch + 2 * n - 1

    def grid_only() -> None:
        y = np.zeros((n, n), np.float32)
        for cycle in range(cycles):
            y = y + weights * x[cycle % batch]

    def loop_over_pes(some_cycles: int) -> None:
        y = [[0.0] * n for _ in range(n)]
        for _ in range(some_cycles):
            for i in range(n):
                for j in range(n - 1, 0, -1):
                    y[i][j] = y[i][j - 1] + 1.0 * 1.0

    ours = seconds(lambda: SystolicArray(weights).stream(x))
    grid = seconds(grid_only)
    loop = seconds(lambda: loop_over_pes(10)) * cycles / 10
    print(f"array of {n} x {n}, {batch:,} vectors, {cycles:,} cycles")
    print(f"{'':>24}{'seconds':>10}{'over grid':>12}")
    for name, value in (("stream", ours), ("grid only", grid), ("loop over PEs", loop)):
        print(f"{name:>24}{value:>10.3f}{value / grid:>12.1f}")


def random_program(length: int) -> Any:
    """Operations whose operands come from the last five."""
    from minitpu.isa import Operation
    from minitpu.llo import Program

    rng = random.Random(1)
    operations = [Operation("vld", f"v{number}", (), number) for number in range(4)]
    for number in range(4, length):
        sources = tuple(f"v{number - rng.randint(1, min(number, 5))}" for _ in range(2))
        kind = rng.choice(["vadd", "vmul", "vmax", "vld"])
        sources, address = ((), rng.randrange(64)) if kind == "vld" else (sources, None)
        operations.append(Operation(kind, f"v{number}", sources, address))
    return Program(tuple(operations))


def naive_schedule(program: Any, machine: Any, edges: list[Any]) -> int:
    """Cycles of a list schedule that looks at all waiting operations in every cycle."""
    before: list[list[Any]] = [[] for _ in program.operations]
    for edge in edges:
        before[edge.after].append(edge)
    issued: dict[int, int] = {}
    waiting, cycle = list(range(len(program.operations))), 0
    while waiting:
        room = Counter(machine.slots)
        for index in list(waiting):
            slot = machine.slot(program.operations[index])
            ready = all(issued.get(e.before, cycle + 99) + e.distance <= cycle for e in before[index])
            if ready and room[slot]:
                room[slot] -= 1
                issued[index] = cycle
                waiting.remove(index)
        cycle += 1
    return cycle


def scheduling() -> None:
    """Print microseconds for each operation."""
    from minitpu.isa import TOY
    from minitpu.machine import run
    from minitpu.scheduler import dependence_graph, list_schedule, lower_bounds

    names = ["operations", "graph", "bounds", "schedule", "run", "naive schedule"]
    print("\nmicroseconds for each operation")
    print("".join(f"{name:>16}" for name in names))
    for length in LENGTHS:
        program = random_program(length)
        edges = dependence_graph(program, TOY)
        bundles = list_schedule(program, TOY, edges)
        memory = np.zeros((64, 1), np.float32)
        times = [
            seconds(lambda p=program: dependence_graph(p, TOY)),
            seconds(lambda p=program: lower_bounds(p, TOY)),
            seconds(lambda p=program, e=edges: list_schedule(p, TOY, e)),
            seconds(lambda b=bundles: run(b, TOY, memory)),
        ]
        cells = [f"{time * 1e6 / length:.1f}" for time in times]
        if length <= 1_000:
            naive = seconds(lambda p=program, e=edges: naive_schedule(p, TOY, e), repeats=1)
            cells.append(f"{naive * 1e6 / length:.1f}")
        else:
            cells.append("too slow")
        print("".join(f"{cell:>16}" for cell in (f"{length:,}", *cells)), flush=True)


def main() -> None:
    """Print both tables."""
    sys.path.insert(0, str(SOLUTION))
    array()
    scheduling()


if __name__ == "__main__":
    main()
