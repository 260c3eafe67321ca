"""NumPy's vocabulary, written in minijax's primitives.

These are ordinary functions over `bind`: on tracers they are recorded, on arrays they are
computed at once. None of them needs a gradient or a batching rule of its own; what they are
made of has one. Names and arguments are NumPy's, so that a program can be written once and
run with either module. Like `bind`, they raise ShapeError and DTypeError.

Note on `where` and gradients: both branches are computed, and both are differentiated. In
`where(x > 0, log(x), 0)` the cotangent of the untaken branch is 0, but at x = 0 the rule of
log makes it 0 / 0. Guard the operand too: `where(x > 0, log(where(x > 0, x, 1)), 0)`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .core import aval_of
from .trace import Tracer, bind

AxisLike = int | Sequence[int] | None


def add(x: Any, y: Any) -> Any:
    """x + y, elementwise."""
    return bind("add", x, y)


def subtract(x: Any, y: Any) -> Any:
    """x - y, elementwise."""
    return bind("sub", x, y)


def multiply(x: Any, y: Any) -> Any:
    """x * y, elementwise."""
    return bind("mul", x, y)


def divide(x: Any, y: Any) -> Any:
    """x / y, elementwise; integers give f32."""
    return bind("div", x, y)


def negative(x: Any) -> Any:
    """-x."""
    return bind("neg", x)


def exp(x: Any) -> Any:
    """e to the x."""
    return bind("exp", x)


def log(x: Any) -> Any:
    """The natural logarithm."""
    return bind("log", x)


def tanh(x: Any) -> Any:
    """The hyperbolic tangent."""
    return bind("tanh", x)


def sqrt(x: Any) -> Any:
    """The square root."""
    return bind("sqrt", x)


def sin(x: Any) -> Any:
    """The sine of an angle in radians."""
    return bind("sin", x)


def cos(x: Any) -> Any:
    """The cosine of an angle in radians."""
    return bind("cos", x)


def equal(x: Any, y: Any) -> Any:
    """Whether x == y, elementwise."""
    return bind("eq", x, y)


def greater(x: Any, y: Any) -> Any:
    """Whether x > y, elementwise."""
    return bind("gt", x, y)


def less(x: Any, y: Any) -> Any:
    """Whether x < y, elementwise."""
    return bind("gt", y, x)


def where(condition: Any, x: Any, y: Any) -> Any:
    """x where the condition holds (is nonzero), else y, elementwise with broadcasting."""
    if isinstance(condition, bool | int | float):  # select's first operand takes no dtype from its branches
        condition = np.asarray(condition)
    return bind("select", astype(condition, np.bool_), x, y)


def maximum(x: Any, y: Any) -> Any:
    """The larger of x and y, elementwise."""
    return where(greater(x, y), x, y)


def minimum(x: Any, y: Any) -> Any:
    """The smaller of x and y, elementwise."""
    return where(greater(y, x), x, y)


def abs(x: Any) -> Any:
    """The absolute value."""
    return where(greater(0, x), negative(x), x)


def astype(x: Any, dtype: Any) -> Any:
    """x in another dtype; x itself if it has that dtype already."""
    wanted = np.dtype(dtype)
    return x if aval_of(x).dtype == wanted else bind("convert", x, dtype=wanted)


def matmul(x: Any, y: Any) -> Any:
    """The matrix product of the last two axes."""
    return bind("dot", x, y)


dot = matmul


def transpose(x: Any, axes: Sequence[int] | None = None) -> Any:
    """Axis i of the result is axis axes[i] of x; without axes, all reversed."""
    rank = len(aval_of(x).shape)
    order = range(rank)[::-1] if axes is None else axes
    in_range = (axis + rank if -rank <= axis < 0 else axis for axis in order)
    return bind("transpose", x, permutation=tuple(in_range))


def reshape(x: Any, shape: int | Sequence[int]) -> Any:
    """The same elements in another shape; one size may be -1."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if sizes.count(-1) == 1:
        known = -math.prod(sizes)
        missing = math.prod(aval_of(x).shape) // known if known else 0
        sizes = tuple(missing if size == -1 else size for size in sizes)
    return bind("reshape", x, shape=sizes)


def expand_dims(x: Any, axis: int) -> Any:
    """x with a new axis of size 1 at that place of the result."""
    shape = list(aval_of(x).shape)
    place = axis + len(shape) + 1 if axis < 0 else axis
    return reshape(x, (*shape[:place], 1, *shape[place:]))


def broadcast_to(x: Any, shape: Sequence[int]) -> Any:
    """x repeated to the shape, its axes aligned at the right."""
    rank = len(aval_of(x).shape)
    axes = tuple(range(len(shape) - rank, len(shape)))
    return bind("broadcast", x, shape=tuple(shape), broadcast_dimensions=axes)


def sum(x: Any, axis: AxisLike = None, keepdims: bool = False) -> Any:
    """The sum over an axis, several, or all; of bools, their count as i32."""
    return bind("reduce_sum", x, axis=_axis(axis), keepdims=bool(keepdims))


def max(x: Any, axis: AxisLike = None, keepdims: bool = False) -> Any:
    """The maximum over an axis, several, or all. Where equal maxima tie, each gets the gradient."""
    return bind("reduce_max", x, axis=_axis(axis), keepdims=bool(keepdims))


def mean(x: Any, axis: AxisLike = None, keepdims: bool = False) -> Any:
    """The mean over an axis, several, or all: the sum divided by the number of elements."""
    total = sum(x, axis, keepdims)
    elements = math.prod(aval_of(x).shape)
    results = math.prod(aval_of(total).shape)
    count = elements // results if results else 1  # an empty result has no mean to compute
    return divide(total, float(count))


def softmax(x: Any, axis: AxisLike = -1) -> Any:
    """exp(x) / sum(exp(x)) along an axis, shifted by the maximum so that exp cannot overflow."""
    exponentials = exp(subtract(x, max(x, axis, keepdims=True)))
    return divide(exponentials, sum(exponentials, axis, keepdims=True))


def zeros_like(x: Any) -> Any:
    """An array of zeros of x's shape and dtype."""
    aval = aval_of(x)
    return np.zeros(aval.shape, aval.dtype)


def ones_like(x: Any) -> Any:
    """An array of ones of x's shape and dtype."""
    aval = aval_of(x)
    return np.ones(aval.shape, aval.dtype)


def _axis(axis: AxisLike) -> int | tuple[int, ...] | None:
    """An axis as a hashable param; a tracer among the axes is refused."""
    if isinstance(axis, Tracer):
        return int(axis)
    return tuple(axis) if isinstance(axis, Sequence) else axis
