"""Shape and dtype rules: what a primitive returns, known without computing it.

A rule is a function of types only. Tracing runs a program on these rules in place of
arithmetic, so a program that traces cannot fail later for a wrong shape. The invariant: for
every valid call, the type given here is exactly the type of what `primitives.IMPL` returns.

The order of dtypes is bool < i32 < i64 < f32 < f64; `promote` is the highest of the operands
(so i64 with f32 is f32, as in JAX). Shapes broadcast as in NumPy.

| primitive                    | result's dtype              | refused                             |
|------------------------------|-----------------------------|-------------------------------------|
| add mul dot                  | promote (bool: or, and)     |                                     |
| sub                          | promote                     | bool with bool                      |
| div                          | promote, ints give f32      |                                     |
| neg                          | the operand's               | bool                                |
| exp log tanh sqrt sin cos    | the operand's, ints give f32|                                     |
| eq gt                        | bool                        |                                     |
| select                       | promote of the two branches | a pred that is not bool             |
| reduce_sum                   | the operand's, bool: i32    | an axis out of range or given twice |
| reduce_max                   | the operand's               | the same, and an axis of size 0     |
| convert                      | the param                   | dtypes outside the order            |
| transpose reshape broadcast  | the operand's               | params that do not fit the shape    |

("ints" includes bool.) A Python scalar has no dtype of its own: beside arrays it takes their
dtype if that is of its kind or a higher one (bool < int < float), else, like a scalar alone,
f32 for a float, i32 for an int, bool for a bool. So `x * 0.5` never makes a float array wider.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from .core import DTYPES, PYTHON_SCALARS, ShapedArray
from .errors import DTypeError, ShapeError

Shape = tuple[int, ...]
Axis = int | tuple[int, ...] | None

BOOL, INT32, INT64, FLOAT32, FLOAT64 = DTYPES


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape of an elementwise result, by NumPy's rule.

    Shapes are aligned at the right; in each place sizes must be equal, or 1, which
    stretches (to 0 as well). Raises ValueError when they are neither.
    """
    # about 10 lines
    raise NotImplementedError("a1.1: align the shapes at the right and compare place by place")


def promote_types(*dtypes: np.dtype) -> np.dtype:
    """The common dtype of operands: the highest in the order of `DTYPES`."""
    # about 1 line
    raise NotImplementedError("a1.1: the highest dtype in the order")


def scalar_dtype(kind: type, *dtypes: np.dtype) -> np.dtype:
    """The dtype that a Python scalar takes beside arrays of the given dtypes.

    `kind`: bool, int or float; `PYTHON_SCALARS` has the dtype of each when alone. `dtypes` is
    empty when all operands are Python scalars.
    """
    # about 6 lines
    raise NotImplementedError("a1.1: the operands' dtype if its kind is not lower than the scalar's")


# One rule for each family of primitives. Each takes the primitive's name, then the operands'
# types, then the params, and returns the result's type.


def unary_rule(primitive: str, x: ShapedArray) -> ShapedArray:
    """neg, exp, log, tanh, sqrt, sin, cos. Raises DTypeError for neg of bool."""
    # about 5 lines
    raise NotImplementedError("a1.1: same shape; ints become f32 except under neg")


def binary_rule(primitive: str, x: ShapedArray, y: ShapedArray) -> ShapedArray:
    """add, sub, mul, div. Raises ShapeError, and DTypeError for sub of two bools."""
    # about 7 lines
    raise NotImplementedError("a1.1: broadcast the shapes, promote the dtypes, div of ints is f32")


def comparison_rule(primitive: str, x: ShapedArray, y: ShapedArray) -> ShapedArray:
    """eq, gt. Raises ShapeError."""
    # about 1 line
    raise NotImplementedError("a1.1: broadcast the shapes; the dtype is bool")


def select_rule(primitive: str, pred: ShapedArray, on_true: ShapedArray, on_false: ShapedArray) -> ShapedArray:
    """select, broadcasting all three. Raises ShapeError; DTypeError for a pred that is not bool."""
    # about 4 lines
    raise NotImplementedError("a1.1: pred is bool; broadcast three shapes, promote the branches' dtypes")


def dot_rule(primitive: str, x: ShapedArray, y: ShapedArray) -> ShapedArray:
    """dot, the matrix product of the last two axes, broadcasting the axes before them.

    A 1-D operand is a row on the left or a column on the right, and its unit axis is dropped
    from the result. Raises ShapeError for rank 0, for contracting dimensions that differ
    (`dot: contracting dimensions differ: f32[4,3] and f32[2,5]`) and for batch axes that do
    not broadcast.
    """
    # about 12 lines
    raise NotImplementedError("a1.1: compare the contracted sizes, broadcast the batch axes")


def transpose_rule(primitive: str, x: ShapedArray, *, permutation: Shape) -> ShapedArray:
    """transpose: axis i of the result is axis permutation[i] of x. Raises ShapeError."""
    # about 3 lines
    raise NotImplementedError("a1.1: check that it is a permutation, then permute the sizes")


def reshape_rule(primitive: str, x: ShapedArray, *, shape: Shape) -> ShapedArray:
    """reshape: the same elements in another shape (no -1 here). Raises ShapeError."""
    # about 3 lines
    raise NotImplementedError("a1.1: the number of elements must stay")


def broadcast_rule(primitive: str, x: ShapedArray, *, shape: Shape, broadcast_dimensions: Shape) -> ShapedArray:
    """broadcast: axis i of x becomes axis broadcast_dimensions[i] of the result.

    The other axes of the result repeat x, and an axis of size 1 is stretched.
    `broadcast_dimensions` must increase, one entry for each axis of x. Raises ShapeError.
    """
    # about 8 lines
    raise NotImplementedError("a1.1: check the dimensions, then that each size stays or was 1")


def reduce_rule(primitive: str, x: ShapedArray, *, axis: Axis, keepdims: bool) -> ShapedArray:
    """reduce_sum, reduce_max over an axis, several, or all (None); axes may be negative.

    Reduced axes stay with size 1 if `keepdims`, else they go. Raises ShapeError for an axis
    out of range or given twice, and for the maximum over an axis of size 0.
    """
    # about 9 lines
    raise NotImplementedError("a1.1: find the reduced axes, drop them or keep them as 1")


def convert_rule(primitive: str, x: ShapedArray, *, dtype: Any) -> ShapedArray:
    """convert: the same shape in another dtype. Raises DTypeError for one outside the order."""
    # about 3 lines
    raise NotImplementedError("a1.1: the shape stays, the dtype is the param")


# a1.1: helper functions shared by several rules (about 18 lines)


RULES: dict[str, Callable[..., ShapedArray]] = {
    **dict.fromkeys(("neg", "exp", "log", "tanh", "sqrt", "sin", "cos"), unary_rule),
    **dict.fromkeys(("add", "sub", "mul", "div"), binary_rule),
    **dict.fromkeys(("eq", "gt"), comparison_rule),
    "select": select_rule,
    "dot": dot_rule,
    "transpose": transpose_rule,
    "reshape": reshape_rule,
    "broadcast": broadcast_rule,
    **dict.fromkeys(("reduce_sum", "reduce_max"), reduce_rule),
    "convert": convert_rule,
}


def abstract_eval(primitive: str, *avals: ShapedArray, **params: Any) -> ShapedArray:
    """The type of a primitive's result. Params must be hashable: tuples, not lists.

    Raises ShapeError or DTypeError, naming the primitive and all operands, for a call that
    is not valid, and KeyError for a name that is no primitive. Results are remembered: a
    program applies the same few primitives to the same few types many thousand times.
    """
    return _remembered(primitive, avals, tuple(params.items()))


@lru_cache(maxsize=4096)
def _remembered(
    primitive: str, avals: tuple[ShapedArray, ...], params: tuple[tuple[str, Any], ...]
) -> ShapedArray:
    return RULES[primitive](primitive, *avals, **dict(params))
