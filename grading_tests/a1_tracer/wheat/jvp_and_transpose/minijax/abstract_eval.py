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
    rank = max(map(len, shapes), default=0)
    result = []
    for place in range(rank):
        sizes = {shape[place - rank] for shape in shapes if len(shape) >= rank - place}
        sizes.discard(1)
        if len(sizes) > 1:
            raise ValueError(f"shapes {shapes} do not broadcast")
        result.append(sizes.pop() if sizes else 1)
    return tuple(result)


def promote_types(*dtypes: np.dtype) -> np.dtype:
    """The common dtype of operands: the highest in the order of `DTYPES`."""
    return max(dtypes, key=DTYPES.index)


def scalar_dtype(kind: type, *dtypes: np.dtype) -> np.dtype:
    """The dtype that a Python scalar takes beside arrays of the given dtypes.

    `kind`: bool, int or float; `PYTHON_SCALARS` has the dtype of each when alone. `dtypes` is
    empty when all operands are Python scalars.
    """
    alone = PYTHON_SCALARS[kind]
    if not dtypes:
        return alone
    highest = promote_types(*dtypes)
    return alone if "bif".index(highest.kind) < "bif".index(alone.kind) else highest


# One rule for each family of primitives. Each takes the primitive's name, then the operands'
# types, then the params, and returns the result's type.


def unary_rule(primitive: str, x: ShapedArray) -> ShapedArray:
    """neg, exp, log, tanh, sqrt, sin, cos. Raises DTypeError for neg of bool."""
    if primitive == "neg":
        if x.dtype == BOOL:
            raise DTypeError(primitive, (x,), "a bool has no negative")
        return x
    return ShapedArray(x.shape, _floating(x.dtype))


def binary_rule(primitive: str, x: ShapedArray, y: ShapedArray) -> ShapedArray:
    """add, sub, mul, div. Raises ShapeError, and DTypeError for sub of two bools."""
    shape = _broadcast(primitive, x, y)
    dtype = promote_types(x.dtype, y.dtype)
    if primitive == "sub" and dtype == BOOL:
        raise DTypeError(primitive, (x, y), "bools cannot be subtracted")
    if primitive == "div":
        dtype = _floating(dtype)
    return ShapedArray(shape, dtype)


def comparison_rule(primitive: str, x: ShapedArray, y: ShapedArray) -> ShapedArray:
    """eq, gt. Raises ShapeError."""
    return ShapedArray(_broadcast(primitive, x, y), BOOL)


def select_rule(primitive: str, pred: ShapedArray, on_true: ShapedArray, on_false: ShapedArray) -> ShapedArray:
    """select, broadcasting all three. Raises ShapeError; DTypeError for a pred that is not bool."""
    if pred.dtype != BOOL:
        raise DTypeError(primitive, (pred, on_true, on_false), "the first operand must be bool")
    shape = _broadcast(primitive, pred, on_true, on_false)
    return ShapedArray(shape, promote_types(on_true.dtype, on_false.dtype))


def dot_rule(primitive: str, x: ShapedArray, y: ShapedArray) -> ShapedArray:
    """dot, the matrix product of the last two axes, broadcasting the axes before them.

    A 1-D operand is a row on the left or a column on the right, and its unit axis is dropped
    from the result. Raises ShapeError for rank 0, for contracting dimensions that differ
    (`dot: contracting dimensions differ: f32[4,3] and f32[2,5]`) and for batch axes that do
    not broadcast.
    """
    if not x.shape or not y.shape:
        raise ShapeError(primitive, (x, y), "a scalar cannot be contracted")
    left = x.shape if len(x.shape) > 1 else (1, *x.shape)
    right = y.shape if len(y.shape) > 1 else (*y.shape, 1)
    if left[-1] != right[-2]:
        raise ShapeError(primitive, (x, y), "contracting dimensions differ")
    try:
        shape = broadcast_shapes(left[:-2], right[:-2])
    except ValueError:
        raise ShapeError(primitive, (x, y), "batch axes do not broadcast") from None
    if len(x.shape) > 1:
        shape += (left[-2],)
    if len(y.shape) > 1:
        shape += (right[-1],)
    return ShapedArray(shape, promote_types(x.dtype, y.dtype))


def transpose_rule(primitive: str, x: ShapedArray, *, permutation: Shape) -> ShapedArray:
    """transpose: axis i of the result is axis permutation[i] of x. Raises ShapeError."""
    if sorted(permutation) != list(range(x.ndim)):
        raise ShapeError(primitive, (x,), f"{permutation} is not a permutation of its axes")
    return ShapedArray((x.shape[axis] for axis in permutation), x.dtype)


def reshape_rule(primitive: str, x: ShapedArray, *, shape: Shape) -> ShapedArray:
    """reshape: the same elements in another shape (no -1 here). Raises ShapeError."""
    if any(size < 0 for size in shape) or math.prod(shape) != math.prod(x.shape):
        raise ShapeError(primitive, (x,), f"the shape {shape} has another number of elements")
    return ShapedArray(shape, x.dtype)


def broadcast_rule(primitive: str, x: ShapedArray, *, shape: Shape, broadcast_dimensions: Shape) -> ShapedArray:
    """broadcast: axis i of x becomes axis broadcast_dimensions[i] of the result.

    The other axes of the result repeat x, and an axis of size 1 is stretched.
    `broadcast_dimensions` must increase, one entry for each axis of x. Raises ShapeError.
    """
    dims = broadcast_dimensions
    if len(dims) != x.ndim:
        raise ShapeError(primitive, (x,), f"there must be one dimension for each axis, not {dims}")
    if any(not 0 <= d < len(shape) for d in dims) or any(a >= b for a, b in zip(dims, dims[1:])):
        raise ShapeError(primitive, (x,), f"the dimensions {dims} do not increase within {shape}")
    for size, d in zip(x.shape, dims, strict=True):
        if size not in (1, shape[d]):
            raise ShapeError(primitive, (x,), f"an axis of size {size} cannot become one of {shape[d]}")
    return ShapedArray(shape, x.dtype)


def reduce_rule(primitive: str, x: ShapedArray, *, axis: Axis, keepdims: bool) -> ShapedArray:
    """reduce_sum, reduce_max over an axis, several, or all (None); axes may be negative.

    Reduced axes stay with size 1 if `keepdims`, else they go. Raises ShapeError for an axis
    out of range or given twice, and for the maximum over an axis of size 0.
    """
    axes = _reduced_axes(primitive, x, axis)
    if primitive == "reduce_max" and any(x.shape[a] == 0 for a in axes):
        raise ShapeError(primitive, (x,), "nothing has no maximum")
    if keepdims:
        shape = tuple(1 if a in axes else size for a, size in enumerate(x.shape))
    else:
        shape = tuple(size for a, size in enumerate(x.shape) if a not in axes)
    return ShapedArray(shape, INT32 if primitive == "reduce_sum" and x.dtype == BOOL else x.dtype)


def convert_rule(primitive: str, x: ShapedArray, *, dtype: Any) -> ShapedArray:
    """convert: the same shape in another dtype. Raises DTypeError for one outside the order."""
    if np.dtype(dtype) not in DTYPES:
        raise DTypeError(primitive, (x,), f"minijax has no dtype {dtype}")
    return ShapedArray(x.shape, dtype)


def _floating(dtype: np.dtype) -> np.dtype:
    """The dtype of a quotient or of exp: a float stays, all else is f32."""
    return dtype if dtype.kind == "f" else FLOAT32


def _broadcast(primitive: str, *avals: ShapedArray) -> Shape:
    try:
        return broadcast_shapes(*(aval.shape for aval in avals))
    except ValueError:
        raise ShapeError(primitive, avals, "the shapes do not broadcast") from None


def _reduced_axes(primitive: str, x: ShapedArray, axis: Axis) -> set[int]:
    if axis is None:
        return set(range(x.ndim))
    axes = axis if isinstance(axis, tuple) else (axis,)
    if any(not -x.ndim <= a < x.ndim for a in axes):
        raise ShapeError(primitive, (x,), f"axis {axis} is out of range")
    found = {a % x.ndim for a in axes}
    if len(found) != len(axes):
        raise ShapeError(primitive, (x,), f"axis {axis} names an axis twice")
    return found


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
