"""Named programs of LLO for the teaching machine, in files beside this one.

They are the kernels of `kernels.py` for 1, 4 and 8 tiles, as the reference solution lowers them. So
scheduling can be done before lowering is.
"""

from __future__ import annotations

import json
from pathlib import Path

from .llo import Program

NAMES = ("gelu", "softmax", "rms_norm", "column_range", "matmul", "attention")
TILES = (1, 4, 8)
FOLDER = Path(__file__).with_name("programs")


def program(name: str, tiles: int) -> Program:
    """The named program for so many tiles. Raises KeyError if there is none, saying what there is."""
    if name not in NAMES or tiles not in TILES:
        raise KeyError(f"no program {name!r} for {tiles} tiles; names are {NAMES}, tiles are {TILES}")
    return Program.from_data(json.loads((FOLDER / f"{name}_{tiles}.json").read_text("utf-8")))
