"""The paper exercises of a3_machine. Numbers are drawn from the class seed."""

from __future__ import annotations

import random
from typing import Any

from autograder.paper import Exercise


def drawn(seed: int) -> dict[str, Any]:
    """What the exercises of one class are about."""
    rng = random.Random(seed)
    return {
        "n": rng.choice([32, 64, 96, 160]),
        "batch": rng.choice([48, 80, 200, 320]),
        "goal": rng.choice([75, 80, 90, 95]),
        "size": rng.choice([64, 128, 192]),
        "clock": rng.choice([1.4, 1.75, 1.9]),
        "core": rng.choice([459, 918]),
        "shape": (rng.choice([20, 40, 72]), rng.choice([60, 90, 200, 300])),
        "table_n": rng.choice([128, 256]),
        "table": sorted(rng.sample([1, 8, 32, 64, 128, 256, 512, 1024, 4096], 4)),
    }


def exercises(seed: int) -> list[Exercise]:
    """The exercises of one class."""
    d = drawn(seed)
    rows, columns = d["shape"]
    batches = ", ".join(map(str, d["table"]))
    return [
        Exercise(
            name="array",
            title="An array and its batch",
            prompt=(
                f"{d['batch']} vectors stream through a {d['n']} × {d['n']} weight-stationary array. How many "
                "cycles does that take, and in what fraction of its cycles does a PE multiply? And what is the "
                f"least number of vectors for which that fraction is above {d['goal']} %?"
            ),
            form="a list of three numbers: [cycles, fraction between 0 and 1, vectors]",
            answer=[*_array(d)],
        ),
        Exercise(
            name="peak",
            title="How many MXUs?",
            prompt=(
                f"An MXU of {d['size']} × {d['size']} PEs runs at {d['clock']} GHz; each PE does a multiply–add, "
                f"which is 2 FLOP, a cycle. What is its peak in TFLOP/s? A core with {d['core']} TFLOP/s is worth "
                "how many of them?"
            ),
            form="a list of two numbers: [TFLOP/s, MXUs], to three significant digits at least",
            answer=[*_peak(d)],
        ),
        Exercise(
            name="padding",
            title="Padding",
            prompt=(
                f"An array bf16[{rows},{columns}] is laid out in tiles of (16, 128). What is its padded shape, "
                "and what fraction of the padded array is data?"
            ),
            form="a list of three numbers: [rows, columns, fraction between 0 and 1]",
            answer=[*_padding(d)],
        ),
        Exercise(
            name="table",
            title="The utilisation table",
            prompt=(
                f"Fill in the table: how much of an N × N array with N = {d['table_n']} is used when "
                f"B = {batches} vectors stream through it?"
            ),
            form="a list of four numbers between 0 and 1 in the order of the batches, to three significant digits",
            answer=[round(b / (b + 2 * d["table_n"] - 1), 6) for b in d["table"]],
        ),
    ]


def _array(d: dict[str, Any]) -> tuple[int, float, int]:
    cycles = d["batch"] + 2 * d["n"] - 1
    # b / (b + 2n − 1) > g  ⇔  b · (100 − g) > g · (2n − 1), in whole percents
    least = d["goal"] * (2 * d["n"] - 1) // (100 - d["goal"]) + 1
    return cycles, round(d["batch"] / cycles, 6), least


def _peak(d: dict[str, Any]) -> tuple[float, float]:
    peak = d["size"] ** 2 * 2 * d["clock"] * 1e9 / 1e12
    return round(peak, 6), round(d["core"] / peak, 6)


def _padding(d: dict[str, Any]) -> tuple[int, int, float]:
    rows, columns = d["shape"]
    padded = -(-rows // 16) * 16, -(-columns // 128) * 128
    return *padded, round(rows * columns / (padded[0] * padded[1]), 6)
