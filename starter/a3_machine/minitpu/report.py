"""How good is your scheduler? `python -m minitpu.report` prints a line for each named program.

Your `schedule` against your bound: W is `lower_bounds(...).cycles`. Cycles count until everything has
landed, bundles only those that are not empty.
"""

from __future__ import annotations

from .isa import TEACHING
from .programs import NAMES, TILES, program
from .registers import live_registers


def main() -> None:
    """Print the table."""
    from .scheduler import lower_bounds, schedule

    print(
        f"{'program':<14}{'tiles':>6}{'operations':>12}{'bundles':>9}{'cycles':>8}{'W':>6}{'cycles/W':>10}{'live':>6}"
    )
    worst = 0.0
    for name in NAMES:
        for tiles in TILES:
            llo = program(name, tiles)
            bundles = schedule(llo, TEACHING)
            bound = lower_bounds(llo, TEACHING).cycles
            ends = [t + TEACHING.completion(x) for t, bundle in enumerate(bundles) for x in bundle]
            cycles, filled = max(ends), sum(map(bool, bundles))
            live = max(live_registers(bundles, TEACHING, llo.outputs))
            worst = max(worst, cycles / bound)
            row = f"{name:<14}{tiles:>6}{len(llo.operations):>12}{filled:>9}{cycles:>8}{bound:>6}"
            print(f"{row}{cycles / bound:>10.3f}{live:>6}")
    print(f"furthest from W: {worst:.3f}; the target is 1.10")


if __name__ == "__main__":
    main()
