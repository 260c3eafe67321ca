"""A big product on small arrays: cut the weights into tiles, stream rows through them, add up over K.

An MXU is an n × n array. A product a @ b needs every n × n tile of b once; for each of them an MXU
loads the tile and streams its rows of a through it. What comes out is a part of the sum over K,
so it is added in float32 to what earlier tiles of the same columns gave. Several MXUs share the
rows of a, and each of them loads every tile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class TileRun(NamedTuple):
    """One weight tile on one MXU: rows `first_row`, … of a through tile (k, n) of b, in cycles start ≤ t < end."""

    unit: int
    k: int
    n: int
    first_row: int
    rows: int
    start: int
    end: int


class Product(NamedTuple):
    """`values`: float32 [M, N]. `cycles`: until the last MXU is done. `schedule`: what each MXU did when."""

    values: np.ndarray
    cycles: int
    schedule: list[TileRun]


def tile_cycles(rows: int, n: int) -> int:
    """Cycles to load an n × n weight tile (n) and stream `rows` vectors through it (rows + 2n − 1)."""
    # about 1 line
    raise NotImplementedError("a3.3: load, then stream")


def tile_utilisation(rows: int, n: int) -> float:
    """The fraction of an MXU's cycles in which each PE multiplies, for one weight tile and `rows` vectors."""
    # about 1 line
    raise NotImplementedError("a3.3: a PE works once for each vector")


def pushes_per_tile(n: int, sublanes: int = 8, lanes: int = 128) -> int:
    """How many `vmatpush` of sublanes × lanes weights fill an n × n array."""
    # about 1 line
    raise NotImplementedError("a3.3: words over words")


def matmul_on_mxu(a: np.ndarray, b: np.ndarray, n: int, mxus: int = 2) -> Product:
    """a @ b on `mxus` arrays of n × n.

    a: float32 [M, K], b: float32 [K, N], of any sizes from 1 up, holding bfloat16 values. Missing
    rows and columns of tiles are 0. The rows are split over the MXUs as evenly as can be, the
    larger shares first; one without rows does nothing. Each MXU takes the tiles of a column
    of tiles from k = 0 up, one directly after another, and adds their results in float32, in that order.
    """
    # about 19 lines
    raise NotImplementedError("a3.3: for each MXU its rows; for each tile of columns all tiles of K, in order")
