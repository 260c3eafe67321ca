"""The paper exercises of a4_layout. Numbers are drawn from the class seed."""

from __future__ import annotations

import random
from typing import Any

from autograder.paper import Exercise


def drawn(seed: int) -> dict[str, Any]:
    """What the exercises of one class are about."""
    rng = random.Random(seed)
    columns = rng.choice([4, 6])
    return {
        "columns": columns,
        "places": [(rng.choice([2, 3]), rng.choice([0, 1])), (rng.choice([0, 1]), rng.choice([2, 3]))],
        "rows": rng.choice([20, 24, 40, 50]),
        "width": rng.choice([72, 90, 100, 120]),
        "model": rng.choice([1024, 2048, 4096]),
        "head": rng.choice([16, 32, 64]),
        "batch": rng.choice([2, 4, 8]),
        "pair": (rng.randrange(2, 8), rng.randrange(3, 120)),
    }


def exercises(seed: int) -> list[Exercise]:
    """The exercises of one class."""
    d = drawn(seed)
    (r1, c1), (r2, c2) = d["places"]
    row, column = d["pair"]
    return [
        Exercise(
            name="slots",
            title="Two elements of a tiled array",
            prompt=(
                f"In which slots of `f32[4,{d['columns']}]{{1,0:T(2,2)}}` are the elements ({r1}, {c1}) and "
                f"({r2}, {c2})? Draw the tiles."
            ),
            form="a list of two integers",
            answer=[_slot(d, *place) for place in d["places"]],
        ),
        Exercise(
            name="padded",
            title="A padded array",
            prompt=(
                f"`bf16[{d['rows']},{d['width']}]` is stored in register tiles of (16, 128). What are its padded "
                "dimensions, and how many per cent of the slots hold data?"
            ),
            form="a list of three numbers: [rows, columns, per cent], the last to one decimal",
            answer=_padded(d),
        ),
        Exercise(
            name="waste",
            title="How much is data",
            prompt=(
                "How many per cent of the slots hold data, in the tile of one register (8 rows of f32, 16 of "
                f"bf16, 32 of s8, by 128)? For `f32[{d['model']},128]`, `f32[{d['model']},{d['head']}]` (a head "
                f"of {d['head']}), `bf16[{d['batch']},{d['model']}]` (decoding a batch of {d['batch']}), and "
                f"`s8[1,{d['model']}]`."
            ),
            form="a list of four numbers, to one decimal each",
            answer=_waste(d),
        ),
        Exercise(
            name="pairs",
            title="Pairs of rows",
            prompt=(
                f"In which slot of `bf16[8,128]{{1,0:T(8,128)(2,1)}}` is the element ({row}, {column})? And in "
                "which slot is its partner, the element that shares a 32-bit word with it?"
            ),
            form="a list of two integers",
            answer=_pairs(d),
        ),
    ]


def _slot(d: dict[str, Any], row: int, column: int) -> int:
    across = d["columns"] // 2
    return 4 * (row // 2 * across + column // 2) + 2 * (row % 2) + column % 2


def _padded(d: dict[str, Any]) -> list[float]:
    rows = -(-d["rows"] // 16) * 16
    return [rows, 128, round(100 * d["rows"] * d["width"] / (rows * 128), 1)]


def _waste(d: dict[str, Any]) -> list[float]:
    return [100.0, 100 * d["head"] / 128, 100 * d["batch"] / 16, 100 / 32]


def _pairs(d: dict[str, Any]) -> list[int]:
    row, column = d["pair"]
    slot = row // 2 * 256 + 2 * column + row % 2
    return [slot, slot ^ 1]
