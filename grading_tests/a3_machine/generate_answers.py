"""Draws the pool of part 5's questions for the starter, with the grader's answers: writes `answers.json`.

    python grading_tests/a3_machine/generate_answers.py

It comes out the same byte for byte.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
SIZES = {
    "registers": 18,
    "memory": 10,
    "a queue again": 5,
    "attention": 3,
    "rms_norm": 4,
    "rms_norm, teaching": 1,
    "bounds on toy": 5,
    "bounds with few names": 5,
    "bounds on random machines": 5,
    "bounds of softmax": 1,
    "bounds of attention": 4,
    "toy": 60,
}


def pool() -> str:
    """The file's text."""
    import exact

    import oracle

    rng = np.random.default_rng(3)
    rows = [
        f"{json.dumps(kind)}: [\n"
        + ",\n".join(
            json.dumps(oracle.solved(kind, *exact.DRAW[kind](rng)).to_data(), separators=(",", ":"))
            for _ in range(size)
        )
        + "\n]"
        for kind, size in SIZES.items()
    ]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def prepare() -> None:
    """Make the solution's given files and the judge importable."""
    sys.path[:0] = [str(HERE), str(HERE.parents[1])]
    from autograder.kit.given_code import GivenCode
    from autograder.project import Assignment

    assignment = Assignment("a3_machine")
    GivenCode(assignment.solution, assignment.facts).install()


if __name__ == "__main__":
    prepare()
    (HERE / "answers.json").write_text(pool(), "utf-8")
