"""Shape and dtype rules: what a primitive returns, known without computing it.

A rule is a function of types only. Tracing runs a program on these rules in place of
arithmetic, so a program that traces cannot fail later for a wrong shape. The invariant: for
every valid call, the type given here is exactly the type of what `primitives.IMPL` returns.

The order of dtypes is bool < i32 < i64 < f32 < f64; `promote` is the highest of the operands
(so i64 with f32 is f32, as in JAX). Shapes broadcast as in NumPy.

Here a primitive is a row of a table: how many operands, which shape function, which dtype
function. One engine runs every row and turns what a function refuses into the right error.

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
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, reduce
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np

from .core import DTYPES, ShapedArray
from .errors import DTypeError, ShapeError

Shape = tuple[int, ...]
Axis = int | tuple[int, ...] | None


class Misfit(ValueError):
    """What a shape or dtype function raises: a reason, still without a primitive and operands."""


# The lattice of dtypes. Its points are the five dtypes and, below the first dtype of their kind,
# the weak types of Python numbers. A point is the set of all points above it and itself, as bits;
# the join of two points is the least point above both: the intersection of the two sets.

_POINTS: list[Any] = [DTYPES[0], "int*", DTYPES[1], DTYPES[2], "float*", DTYPES[3], DTYPES[4]]
_ABOVE: dict[Any, int] = {point: (1 << len(_POINTS)) - (1 << place) for place, point in enumerate(_POINTS)}
_LEAST: dict[int, Any] = {bits: point for point, bits in _ABOVE.items()}
_STRONG: dict[Any, np.dtype] = {"int*": DTYPES[1], "float*": DTYPES[3]}  # a weak type that is left alone
_WEAK: dict[type, Any] = {bool: DTYPES[0], int: "int*", float: "float*"}


def _join(*points: Any) -> np.dtype:
    """The least dtype above all the points."""
    least = _LEAST[reduce(int.__and__, (_ABOVE[point] for point in points))]
    return _STRONG.get(least, least)


def promote_types(*dtypes: np.dtype) -> np.dtype:
    """The common dtype of operands: their join."""
    return _join(*map(np.dtype, dtypes))


def scalar_dtype(kind: type, *dtypes: np.dtype) -> np.dtype:
    """The dtype that a Python scalar takes beside arrays of the given dtypes (maybe none)."""
    return _join(_WEAK[kind], *dtypes)


# Dtype functions: from the operands' dtypes and the params to the result's dtype.


def _joined(*dtypes: np.dtype, **_: Any) -> np.dtype:
    return _join(*dtypes)


def _joined_at_least(floor: Any) -> Callable[..., np.dtype]:
    return lambda *dtypes, **_: _join(floor, *dtypes)


def _no_bools(*dtypes: np.dtype, **_: Any) -> np.dtype:
    joined = _join(*dtypes)
    if joined == DTYPES[0]:
        raise Misfit("this is not defined for bools")
    return joined


def _truth(*dtypes: np.dtype, **_: Any) -> np.dtype:
    return DTYPES[0]


def _chosen(pred: np.dtype, *branches: np.dtype, **_: Any) -> np.dtype:
    if pred != DTYPES[0]:
        raise Misfit("the first operand must be bool")
    return _join(*branches)


def _requested(*dtypes: np.dtype, dtype: Any) -> np.dtype:
    if np.dtype(dtype) not in _ABOVE:
        raise Misfit(f"minijax has no dtype {np.dtype(dtype).name}")
    return np.dtype(dtype)


# Shape functions: from the operands' shapes and the params to the result's shape.


def _unify(sizes: Iterable[int]) -> int:
    """The one size that axes have in common when those of size 1 stretch."""
    stretched = {size for size in sizes if size != 1}
    if len(stretched) > 1:
        raise Misfit("the shapes do not broadcast")
    return next(iter(stretched), 1)


def broadcast_shapes(*shapes: Shape) -> Shape:
    """The shape of an elementwise result, by NumPy's rule; ValueError if there is none."""
    from_the_right = zip_longest(*(shape[::-1] for shape in shapes), fillvalue=1)
    return tuple(map(_unify, from_the_right))[::-1]


def _aligned(*shapes: Shape, **_: Any) -> Shape:
    return broadcast_shapes(*shapes)


def _contracted(x: Shape, y: Shape) -> Shape:
    if not (x and y):
        raise Misfit("an operand of rank 0 has no axis to contract")
    rows, columns = x[-2:-1], y[-1:] if len(y) > 1 else ()
    if x[-1] != (y[-2] if len(y) > 1 else y[-1]):
        raise Misfit("contracting dimensions differ")
    return broadcast_shapes(x[:-2], y[:-2]) + rows + columns


def _permuted(x: Shape, permutation: Shape) -> Shape:
    if set(permutation) != set(range(len(x))) or len(permutation) != len(x):
        raise Misfit(f"{permutation} is no permutation of the axes")
    return tuple(map(x.__getitem__, permutation))


def _regrouped(x: Shape, shape: Shape) -> Shape:
    if min(shape, default=0) < 0 or math.prod(x) != math.prod(shape):
        raise Misfit(f"the elements do not fill {shape}")
    return shape


def _spread(x: Shape, shape: Shape, broadcast_dimensions: Shape) -> Shape:
    fences = (-1, *broadcast_dimensions, len(shape))
    if len(broadcast_dimensions) != len(x) or any(a >= b for a, b in zip(fences, fences[1:], strict=False)):
        raise Misfit(f"{broadcast_dimensions} must increase, one for each axis, within the rank of {shape}")
    if any(size not in (1, shape[place]) for size, place in zip(x, broadcast_dimensions, strict=True)):
        raise Misfit(f"an axis neither has size 1 nor that of {shape}")
    return shape


def _reduced(x: Shape, axis: Axis, keepdims: bool, least: int = 0) -> Shape:
    axes: Sequence[int] = range(len(x)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    marks = [0] * len(x)
    for number in axes:
        if not -len(x) <= number < len(x):
            raise Misfit(f"there is no axis {number}")
        marks[number] += 1
    if max(marks, default=0) > 1:
        raise Misfit(f"an axis is given twice in {axis}")
    if any(mark and size < least for mark, size in zip(marks, x, strict=True)):
        raise Misfit("an axis of size 0 has no maximum")
    return tuple(1 if mark else size for mark, size in zip(marks, x, strict=True) if keepdims or not mark)


def _reduced_nonempty(x: Shape, axis: Axis, keepdims: bool) -> Shape:
    return _reduced(x, axis, keepdims, least=1)


# The table.


class Row(NamedTuple):
    """A primitive: the number of its operands, its shape function, its dtype function."""

    arity: int
    shape: Callable[..., Shape]
    dtype: Callable[..., np.dtype]


TABLE: dict[str, Row] = {
    **dict.fromkeys(("exp", "log", "tanh", "sqrt", "sin", "cos"), Row(1, _aligned, _joined_at_least("float*"))),
    "neg": Row(1, _aligned, _no_bools),
    **dict.fromkeys(("add", "mul"), Row(2, _aligned, _joined)),
    "sub": Row(2, _aligned, _no_bools),
    "div": Row(2, _aligned, _joined_at_least("float*")),
    **dict.fromkeys(("eq", "gt"), Row(2, _aligned, _truth)),
    "select": Row(3, _aligned, _chosen),
    "dot": Row(2, _contracted, _joined),
    "transpose": Row(1, _permuted, _joined),
    "reshape": Row(1, _regrouped, _joined),
    "broadcast": Row(1, _spread, _joined),
    "reduce_sum": Row(1, _reduced, _joined_at_least("int*")),
    "reduce_max": Row(1, _reduced_nonempty, _joined),
    "convert": Row(1, _aligned, _requested),
}


def infer(primitive: str, *avals: ShapedArray, **params: Any) -> ShapedArray:
    """The engine: run the primitive's row on the operands' shapes and on their dtypes."""
    row = TABLE[primitive]
    if len(avals) != row.arity:
        raise TypeError(f"{primitive} takes {row.arity} operands, but got {len(avals)}.")
    try:
        dtype = row.dtype(*(aval.dtype for aval in avals), **params)
    except Misfit as misfit:
        raise DTypeError(primitive, avals, str(misfit)) from None
    try:
        shape = row.shape(*(aval.shape for aval in avals), **params)
    except Misfit as misfit:
        raise ShapeError(primitive, avals, str(misfit)) from None
    return ShapedArray(shape, dtype)


# The names of the handout's table; each is the engine.
unary_rule = binary_rule = comparison_rule = select_rule = dot_rule = infer
transpose_rule = reshape_rule = broadcast_rule = reduce_rule = convert_rule = infer
RULES: dict[str, Callable[..., ShapedArray]] = dict.fromkeys(TABLE, infer)


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
