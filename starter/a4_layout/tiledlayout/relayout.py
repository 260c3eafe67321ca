"""Moving arrays: when the same bytes serve as they are, and what it costs when they do not.

An address is a sum with one term for each dimension (dimensions that a `*` merges count as one).
So two layouts agree everywhere if they agree along each dimension by itself, and that is a
question about one number for each index along each dimension, and not for each element.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .address import linear_index
from .errors import OperationError
from .layout import STAR, ArrayLayout
from .operations import (
    REGISTER_BYTES,
    Bitcast,
    Broadcast,
    Cost,
    Operation,
    Plan,
    Reduce,
    Reshape,
    Step,
    Transpose,
)
from .padding import padded_bytes


def is_bitcast(op: Reshape | Transpose, a: ArrayLayout, b: ArrayLayout) -> Bitcast:
    """Whether the bytes of the operand, in layout `a`, serve as the result, in layout `b`.

    They do if the result has as many bytes, slots of the same width, the same memory space, and every
    element of the result lies where that element of the operand lies. What the padding holds does
    not matter. Without elements, the number of bytes, the width and the memory space still count.
    `reason` says why or why not. Raises `OperationError` if `op` cannot make an array of `b`'s type and dims of
    one of `a`'s, whatever the layouts: another element type, number of elements or rank,
    a permutation that is none.
    """
    _check_operation(op, a, b)
    # about 16 lines
    raise NotImplementedError("a4.5: compare sizes, then the addresses along each group of dimensions")


def relayout_cost(a: ArrayLayout, b: ArrayLayout) -> Cost:
    """What it takes to copy an array from layout `a` to layout `b`, of the same type and dims.

    Nothing if it is a bitcast. Else all bytes of `a` are read and all bytes of `b` are written,
    padding included, and a register of the result is *shuffled* unless all its elements come from one
    register of the operand and stood at the same places in it. (Cut both buffers into pieces of
    4096 bytes: these are the registers. A register without elements is not shuffled.) Slots have
    the same width in both, of which 4096 bytes are a multiple; the memory space may be another one.
    Raises `OperationError` for another type or other dims.
    """
    _check_operation(Reshape(a.dims), a, b)
    # about 11 lines
    raise NotImplementedError("a4.5: find each element's register and place, before and after")


def plan(a: ArrayLayout, b: ArrayLayout) -> Plan:
    """The cheapest chain of steps from layout `a` to layout `b`, of the same type and dims.

    | kind                | keeps                                  | changes                         |
    |---------------------|----------------------------------------|---------------------------------|
    | `"bitcast"`         | every address                          | anything else                   |
    | `"transpose"`       | the tiles                              | minor-to-major                  |
    | `"sublane shuffle"` | minor-to-major, the first tile         | the tiles after the first       |
    | `"retile"`          | minor-to-major                         | the first tile, maybe the others|

    (Having no tiles counts as another first tile.) A bitcast costs nothing; the cost of another step
    is its `relayout_cost`. Layouts on the way have any minor-to-major and, as tiles, the first few (or
    none, or all) of `a`'s or of `b`'s tiles. Of all these chains, the plan has the least `total`.
    Each step says why, in a sentence of three words or more.
    Raises `OperationError` if the layouts differ in more than minor-to-major and tiles.
    """
    _check_operation(Reshape(a.dims), a, b)
    if replace(a, minor_to_major=b.minor_to_major, tiles=b.tiles) != b:
        raise OperationError("plan", "the layouts may differ in minor-to-major and in tiles, and in nothing else")
    # about 19 lines
    raise NotImplementedError("a4.5: Dijkstra's search over these layouts")


def op_cost(op: Operation, layout: ArrayLayout) -> str:
    """How dear an operation on an array in this layout is: `"free"`, `"cheap"` or `"dear"`.

    It depends on the most minor dimension that the operation touches: dear for the most minor one
    (data crosses lanes), cheap for the second most minor (data crosses sublanes), free for the
    leading ones (whole registers change places). Touched are

    - `Reduce` and `Broadcast`: the axes, which are counted from 0 and never negative;
    - `Transpose`: the dimensions i with `permutation[i] != i`;
    - `Reshape` (of row-major layouts): of the dimensions, counted from the last one, all from the
      first that is not the same before and after; one that is there on one side only is not the same.
      So it is free if the last two stay, cheap if only the last one does (from [4] to [1, 4], say),
      and dear if that changes. From [2, 3, 4] to [6, 4], the 4 stays, and 3 and 2 are touched: cheap.

    An operation that touches nothing is free, a reshape to the same dims included.
    """
    # about 13 lines
    raise NotImplementedError("a4.5: which dimensions are touched, and the most minor of them")


def _check_operation(op: Operation, a: ArrayLayout, b: ArrayLayout) -> None:
    """Raise `OperationError` if `op` cannot make an array of b's type and dims of one of a's."""
    # about 17 lines
    raise NotImplementedError("a4.5: compare types, then dims, with what the operation makes")


# a4.5: groups of dimensions that correspond, addresses along them, single steps (about 45 lines)
