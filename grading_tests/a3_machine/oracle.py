"""What is right about dependences and bounds, for the programs and machines that the tests of part 5 ask about.

The grader draws them anew and works the answers out, with a module that does not ship. The starter has a pool of
them with their answers in `answers.json`, and draws from that.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from given_minitpu.isa import MachineSpec
from given_minitpu.llo import Program

POOL = Path(__file__).with_name("answers.json")
NEVER = -(1 << 40)  # a distance that demands nothing

Asked = tuple[Program, MachineSpec]


@dataclass(frozen=True)
class Case:
    """A program, a machine, and what is right for them.

    `least`: int [operations, operations], the least distances over all paths, or None if the test does not ask for
    them. `critical_path`, `work`, `packing`, and `cycles`, the best of them: bounds for schedules with the
    program's own registers. `heads`, `tails`: of each operation, or None as for `least`.
    """

    program: Program
    machine: MachineSpec
    least: np.ndarray | None
    critical_path: int
    work: dict[str, int]
    packing: int
    heads: list[int] | None = None
    tails: list[int] | None = None

    @property
    def cycles(self) -> int:
        """The best bound, W."""
        return max(self.critical_path, self.packing, *self.work.values())

    def to_data(self) -> dict[str, Any]:
        """The case as plain data, for JSON; of `least` what lies right of the diagonal."""
        rows = None
        if self.least is not None:
            rows = [
                [None if least <= NEVER // 2 else least for least in row[before + 1 :]]
                for before, row in enumerate(self.least.tolist())
            ]
        bounds = [self.critical_path, self.work, self.packing]
        return {
            "program": self.program.to_data(),
            "machine": self.machine.to_data(),
            "least": rows,
            "bounds": bounds,
            "ways": [self.heads, self.tails],
        }

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Case:
        """The case that `to_data` wrote down."""
        least = None
        if data["least"] is not None:
            least = np.full((len(data["least"]),) * 2, NEVER, np.int64)
            for before, row in enumerate(data["least"]):
                least[before, before + 1 :] = [NEVER if entry is None else entry for entry in row]
        return cls(
            Program.from_data(data["program"]),
            MachineSpec.from_data(data["machine"]),
            least,
            *data["bounds"],
            *data["ways"],
        )


def cases(rng: np.random.Generator, kind: str, count: int) -> list[Case]:
    """Cases of a kind: drawn and answered by the grader, from the pool in the starter."""
    try:
        import exact
    except ModuleNotFoundError:
        pool = json.loads(POOL.read_text("utf-8"))[kind]
        return [Case.from_data(pool[place]) for place in rng.choice(len(pool), size=count, replace=False)]
    return [solved(kind, *exact.DRAW[kind](rng)) for _ in range(count)]


def bound(program: Program, machine: MachineSpec) -> Any:
    """The bounds of a program, worked out; not in the starter."""
    import exact

    return exact.Bound(program, machine)


def distances(program: Program, machine: MachineSpec) -> np.ndarray:
    """The least distances that rules demand directly, worked out; not in the starter."""
    import exact

    return exact.distances(program, machine)


def solved(kind: str, program: Program, machine: MachineSpec) -> Case:
    """A case with the grader's answers."""
    import exact

    bound = exact.Bound(program, machine)
    least = implied(exact.distances(program, machine)) if kind in exact.GRAPHS else None
    ways = (bound.heads, bound.tails) if kind.startswith("bounds") else (None, None)
    return Case(program, machine, least, bound.critical_path, bound.work, bound.packing, *ways)


def implied(least: np.ndarray) -> np.ndarray:
    """The least distances that follow from direct ones, over any number of steps."""
    longest = least.copy()
    for after in range(len(longest)):
        for middle in np.flatnonzero(longest[:after, after] > NEVER):
            through = longest[:, middle] + longest[middle, after]
            better = (longest[:, middle] > NEVER) & (through > longest[:, after])
            longest[better, after] = through[better]
    return longest
