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
    ### BEGIN SOLUTION a1.1: align the shapes at the right and compare place by place
    rank = max((len(shape) for shape in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        offset = rank - len(shape)
        for axis, size in enumerate(shape, start=offset):
            if result[axis] == 1:
                result[axis] = size
            elif size not in (1, result[axis]):
                raise ValueError(f"axis {axis} has size {result[axis]} and size {size}")
    return tuple(result)
    ### END SOLUTION


def promote_types(*dtypes: np.dtype) -> np.dtype:
    """The common dtype of operands: the highest in the order of `DTYPES`."""
    ### BEGIN SOLUTION a1.1: the highest dtype in the order
    return max(dtypes, key=DTYPES.index)
    ### END SOLUTION


def scalar_dtype(kind: type, *dtypes: np.dtype) -> np.dtype:
    """The dtype that a Python scalar takes beside arrays of the given dtypes.

    `kind`: bool, int or float; `PYTHON_SCALARS` has the dtype of each when alone. `dtypes` is
    empty when all operands are Python scalars.
    """
    ### BEGIN SOLUTION a1.1: the operands' dtype if its kind is not lower than the scalar's
    alone = PYTHON_SCALARS[kind]
    if not dtypes:
        return alone
    beside = promote_types(*dtypes)
    kinds = "bif"  # NumPy's letters for bool, signed integer and float
    return beside if kinds.index(beside.kind) >= kinds.index(alone.kind) else alone
    ### END SOLUTION


# One rule for each family of primitives. Each takes the primitive's name, then the operands'
# types, then the params, and returns the result's type.


def unary_rule(primitive: str, x: ShapedArray) -> ShapedArray:
    """neg, exp, log, tanh, sqrt, sin, cos. Raises DTypeError for neg of bool."""
    ### BEGIN SOLUTION a1.1: same shape; ints become f32 except under neg
    if primitive == "neg":
        if x.dtype == BOOL:
            raise DTypeError(primitive, (x,), "a bool has no negative; use where or convert it")
        return x
    return ShapedArray(x.shape, x.dtype if x.dtype.kind == "f" else FLOAT32)
    ### END SOLUTION


def binary_rule(primitive: str, x: ShapedArray, y: ShapedArray) -> ShapedArray:
    """add, sub, mul, div. Raises ShapeError, and DTypeError for sub of two bools."""
    ### BEGIN SOLUTION a1.1: broadcast the shapes, promote the dtypes, div of ints is f32
    shape = _elementwise_shape(primitive, x, y)
    dtype = promote_types(x.dtype, y.dtype)
    if primitive == "sub" and dtype == BOOL:
        raise DTypeError(primitive, (x, y), "bools have no difference; convert one of them")
    if primitive == "div" and dtype.kind != "f":
        dtype = FLOAT32
    return ShapedArray(shape, dtype)
    ### END SOLUTION


def comparison_rule(primitive: str, x: ShapedArray, y: ShapedArray) -> ShapedArray:
    """eq, gt. Raises ShapeError."""
    ### BEGIN SOLUTION a1.1: broadcast the shapes; the dtype is bool
    return ShapedArray(_elementwise_shape(primitive, x, y), BOOL)
    ### END SOLUTION


def select_rule(primitive: str, pred: ShapedArray, on_true: ShapedArray, on_false: ShapedArray) -> ShapedArray:
    """select, broadcasting all three. Raises ShapeError; DTypeError for a pred that is not bool."""
    ### BEGIN SOLUTION a1.1: pred is bool; broadcast three shapes, promote the branches' dtypes
    if pred.dtype != BOOL:
        raise DTypeError(primitive, (pred, on_true, on_false), "the first operand must be bool")
    shape = _elementwise_shape(primitive, pred, on_true, on_false)
    return ShapedArray(shape, promote_types(on_true.dtype, on_false.dtype))
    ### END SOLUTION


def dot_rule(primitive: str, x: ShapedArray, y: ShapedArray) -> ShapedArray:
    """dot, the matrix product of the last two axes, broadcasting the axes before them.

    A 1-D operand is a row on the left or a column on the right, and its unit axis is dropped
    from the result. Raises ShapeError for rank 0, for contracting dimensions that differ
    (`dot: contracting dimensions differ: f32[4,3] and f32[2,5]`) and for batch axes that do
    not broadcast.
    """
    ### BEGIN SOLUTION a1.1: compare the contracted sizes, broadcast the batch axes
    if not x.shape or not y.shape:
        raise ShapeError(primitive, (x, y), "both operands need at least one axis; use mul")
    contracted = y.shape[-2] if len(y.shape) > 1 else y.shape[0]
    if x.shape[-1] != contracted:
        raise ShapeError(primitive, (x, y), "contracting dimensions differ")
    try:
        batch = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    except ValueError as error:
        raise ShapeError(primitive, (x, y), f"batch axes do not broadcast ({error})") from None
    rows = x.shape[-2:-1]  # empty for a 1-D operand
    columns = y.shape[-1:] if len(y.shape) > 1 else ()
    return ShapedArray(batch + rows + columns, promote_types(x.dtype, y.dtype))
    ### END SOLUTION


def transpose_rule(primitive: str, x: ShapedArray, *, permutation: Shape) -> ShapedArray:
    """transpose: axis i of the result is axis permutation[i] of x. Raises ShapeError."""
    ### BEGIN SOLUTION a1.1: check that it is a permutation, then permute the sizes
    if sorted(permutation) != list(range(len(x.shape))):
        raise ShapeError(primitive, (x,), f"{permutation} is not a permutation of the axes")
    return ShapedArray((x.shape[axis] for axis in permutation), x.dtype)
    ### END SOLUTION


def reshape_rule(primitive: str, x: ShapedArray, *, shape: Shape) -> ShapedArray:
    """reshape: the same elements in another shape (no -1 here). Raises ShapeError."""
    ### BEGIN SOLUTION a1.1: the number of elements must stay
    if any(size < 0 for size in shape) or math.prod(shape) != math.prod(x.shape):
        raise ShapeError(primitive, (x,), f"shape {shape} has not the operand's number of elements")
    return ShapedArray(shape, x.dtype)
    ### END SOLUTION


def broadcast_rule(primitive: str, x: ShapedArray, *, shape: Shape, broadcast_dimensions: Shape) -> ShapedArray:
    """broadcast: axis i of x becomes axis broadcast_dimensions[i] of the result.

    The other axes of the result repeat x, and an axis of size 1 is stretched.
    `broadcast_dimensions` must increase, one entry for each axis of x. Raises ShapeError.
    """
    ### BEGIN SOLUTION a1.1: check the dimensions, then that each size stays or was 1
    dims = tuple(broadcast_dimensions)
    in_range = all(0 <= axis < len(shape) for axis in dims)
    if len(dims) != len(x.shape) or not in_range or list(dims) != sorted(set(dims)):
        reason = f"broadcast_dimensions {dims} must increase and name one of the {len(shape)} axes"
        raise ShapeError(primitive, (x,), f"{reason} of shape {shape} for each axis of the operand")
    if any(size not in (1, shape[axis]) for size, axis in zip(x.shape, dims, strict=True)):
        raise ShapeError(primitive, (x,), f"only axes of size 1 can be stretched to shape {shape}")
    return ShapedArray(shape, x.dtype)
    ### END SOLUTION


def reduce_rule(primitive: str, x: ShapedArray, *, axis: Axis, keepdims: bool) -> ShapedArray:
    """reduce_sum, reduce_max over an axis, several, or all (None); axes may be negative.

    Reduced axes stay with size 1 if `keepdims`, else they go. Raises ShapeError for an axis
    out of range or given twice, and for the maximum over an axis of size 0.
    """
    ### BEGIN SOLUTION a1.1: find the reduced axes, drop them or keep them as 1
    axes = _reduced_axes(primitive, x, axis)
    if primitive == "reduce_max" and any(x.shape[axis] == 0 for axis in axes):
        raise ShapeError(primitive, (x,), "an empty axis has no maximum")
    if keepdims:
        shape = tuple(1 if axis in axes else size for axis, size in enumerate(x.shape))
    else:
        shape = tuple(size for axis, size in enumerate(x.shape) if axis not in axes)
    counts = primitive == "reduce_sum" and x.dtype == BOOL
    return ShapedArray(shape, INT32 if counts else x.dtype)
    ### END SOLUTION


def convert_rule(primitive: str, x: ShapedArray, *, dtype: Any) -> ShapedArray:
    """convert: the same shape in another dtype. Raises DTypeError for one outside the order."""
    ### BEGIN SOLUTION a1.1: the shape stays, the dtype is the param
    if np.dtype(dtype) not in DTYPES:
        raise DTypeError(primitive, (x,), f"{np.dtype(dtype).name} is none of the dtypes, so this stays")
    return ShapedArray(x.shape, dtype)
    ### END SOLUTION


### BEGIN SOLUTION a1.1: helper functions shared by several rules
def _elementwise_shape(primitive: str, *avals: ShapedArray) -> Shape:
    try:
        return broadcast_shapes(*(aval.shape for aval in avals))
    except ValueError as error:
        raise ShapeError(primitive, avals, f"shapes do not broadcast ({error})") from None


def _reduced_axes(primitive: str, x: ShapedArray, axis: Axis) -> set[int]:
    """The axes a reduction removes, as non-negative numbers."""
    rank = len(x.shape)
    if axis is None:
        return set(range(rank))
    axes = axis if isinstance(axis, tuple) else (axis,)
    for number in axes:
        if not -rank <= number < rank:
            raise ShapeError(primitive, (x,), f"axis {number} is out of range")
    distinct = {number % rank for number in axes}
    if len(distinct) != len(axes):
        raise ShapeError(primitive, (x,), f"axis {axis} names an axis twice")
    return distinct


### END SOLUTION


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
