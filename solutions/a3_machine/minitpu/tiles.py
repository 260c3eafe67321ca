"""Tile programs: what a fused kernel does to one tile, before anybody thinks of registers.

A tile is sublanes × lanes float32 numbers, which is one vector register. A tile program is a list
of steps, each of which makes a tile from others by name. It is run for `tiles` tiles, one after
another: addresses of `load` and `store` move on by one tile each time, those of weights do not.

| step         | inputs    | number   | makes                                                       |
|--------------|-----------|----------|-------------------------------------------------------------|
| `load`       |           | address  | the tile in rows address, … of memory                       |
| `store`      | x         | address  | nothing: puts x into these rows                             |
| `add` `sub` `mul` `max` | x, y |    | elementwise                                                 |
| `greater`    | x, y      |          | 1 where x > y, else 0                                       |
| `scale` `shift` | x      | constant | x · constant; x + constant                                  |
| `select`     | mask, x   | constant | x where mask is not 0, else the constant                    |
| `exp` `reciprocal` `rsqrt` | x |    | e^x, 1 / x, 1 / √x                                          |
| `column_sum` `column_max` | x |     | over the sublanes of each lane; the same in every sublane   |
| `row_sum` `row_max` | x  |          | over the lanes of each sublane; the same in every lane      |
| `matmul`     | x         | address  | x @ w, both rounded to bfloat16; w is lanes × lanes, in rows address, … |
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import ml_dtypes
import numpy as np

from .isa import MachineSpec

INPUTS = {
    "load": 0,
    "store": 1,
    **dict.fromkeys(("add", "sub", "mul", "max", "greater", "select"), 2),
    **dict.fromkeys(("scale", "shift", "exp", "reciprocal", "rsqrt", "matmul"), 1),
    **dict.fromkeys(("column_sum", "column_max", "row_sum", "row_max"), 1),
}


class Step(NamedTuple):
    """One step of a tile program. `out`: the name of the tile it makes; "" for `store`."""

    name: str
    out: str = ""
    inputs: tuple[str, ...] = ()
    number: float = 0


def evaluate(steps: Sequence[Step], machine: MachineSpec, memory: np.ndarray, tiles: int = 1) -> np.ndarray:
    """What memory, float32 [rows, lanes], holds after a tile program; sums are exact before they are rounded."""
    memory = np.array(memory, np.float32)
    for tile in range(tiles):
        values: dict[str, np.ndarray] = {}
        for step in steps:
            first = int(step.number) + tile * machine.sublanes if step.name in ("load", "store") else 0
            rows = slice(first, first + machine.sublanes)
            operands = [values[name] for name in step.inputs]
            if step.name == "load":
                values[step.out] = memory[rows].copy()
            elif step.name == "store":
                memory[rows] = operands[0]
            elif step.name == "matmul":
                weights = memory[int(step.number) : int(step.number) + machine.lanes]
                values[step.out] = _product(operands[0], weights)
            else:
                with np.errstate(all="ignore"):
                    result = _apply(step.name, operands, np.float32(step.number))
                values[step.out] = np.broadcast_to(np.float32(result), memory[: machine.sublanes].shape)
    return memory


def _product(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    rounded = (matrix.astype(ml_dtypes.bfloat16).astype(np.float64) for matrix in (x, weights))
    return np.matmul(*rounded).astype(np.float32)


def _apply(name: str, operands: list[np.ndarray], constant: np.float32) -> np.ndarray:
    """An elementwise step or a reduction; reductions keep their axis, with one element."""
    x = operands[0]
    match name:
        case "add":
            return x + operands[1]
        case "sub":
            return x - operands[1]
        case "mul":
            return x * operands[1]
        case "max":
            return np.maximum(x, operands[1])
        case "greater":
            return np.greater(x, operands[1])
        case "scale":
            return x * constant
        case "shift":
            return x + constant
        case "select":
            return np.where(x != 0, operands[1], constant)
        case "exp":
            return np.exp(x.astype(np.float64))
        case "reciprocal":
            return 1 / x
        case "rsqrt":
            return 1 / np.sqrt(x)
        case "column_sum" | "row_sum":
            return np.asarray(np.sum(x, axis=0 if name == "column_sum" else 1, keepdims=True, dtype=np.float64))
        case "column_max" | "row_max":
            return np.max(x, axis=0 if name == "column_max" else 1, keepdims=True)
    raise ValueError(f"there is no step {name!r}; there are: {', '.join(INPUTS)}")
