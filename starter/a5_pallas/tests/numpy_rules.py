"""What the primitives of a program do, in NumPy: one rule for each, from operands to results.

A rule gets an equation's parameters, its operands as arrays and the types that its results say they have. Narrow
floats are computed in float32 and rounded once, at the end, as hardware does. A rule that makes more elements than
it was given looks at the sizes first: no equation can make an array that is larger than the type it announces.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
from given_pallas_kernels.program import Type

Params = dict[str, Any]
Arrays = list[np.ndarray]
Rule = Callable[[Params, Arrays, list[Type]], list[Any]]

DTYPES = {
    name: np.dtype(getattr(ml_dtypes, name, name))
    for name in (
        "bool int4 int8 int16 int32 int64 uint4 uint8 uint16 uint32 uint64 float16 bfloat16 float32 float64 "
        "float8_e4m3fn float8_e5m2"
    ).split()
}


_WIDER = {DTYPES[name]: np.dtype("float32") for name in ("float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")}
_WIDER |= {DTYPES["int4"]: np.dtype("int8"), DTYPES["uint4"]: np.dtype("uint8")}
_INTEGERS = {dtype for name, dtype in DTYPES.items() if name.lstrip("u").startswith("int")}


class CannotReplay(ValueError):
    """A program that cannot be carried out, or not within its limits; the message says why."""


def wide(array: np.ndarray) -> np.ndarray:
    """Narrow floats as float32, integers of four bits as int8 or uint8, anything else as it is."""
    wider = _WIDER.get(array.dtype)
    return array if wider is None else array.astype(wider)


def cast(array: Any, dtype: np.dtype) -> np.ndarray:
    """The array with another dtype; floats become integers towards zero, and never wrap around."""
    array = np.asarray(array)
    if array.dtype == dtype:
        return array
    if dtype in _INTEGERS and wide(array).dtype.kind == "f":
        limits = ml_dtypes.iinfo(dtype) if dtype.name.endswith("int4") else np.iinfo(dtype)
        whole = np.clip(np.nan_to_num(wide(array).astype(np.float64)), float(limits.min), float(limits.max))
        return np.trunc(whole).astype(np.int64 if dtype != np.uint64 else dtype).astype(dtype)
    return array.astype(dtype)


def need(condition: bool, why: str) -> None:
    """Give up with a sentence unless the condition holds."""
    if not condition:
        raise CannotReplay(why)


def _divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    if x.dtype.kind not in "iu":
        return x / y
    safe = np.where(y == 0, 1, y)
    whole = np.abs(x) // np.abs(safe)
    return np.where(y == 0, -1, np.where((x < 0) != (safe < 0), -whole, whole))


def _remainder(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.fmod(x, y) if x.dtype.kind == "f" else np.where(y == 0, x, np.fmod(x, np.where(y == 0, 1, y)))


def _shift(act: Callable[..., Any], unsigned: bool = False) -> Callable[..., Any]:
    def shifted(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        bits = 8 * x.dtype.itemsize
        seen = x.view(f"u{x.dtype.itemsize}") if unsigned and x.dtype.kind == "i" else x
        moved = act(seen, np.clip(y, 0, bits - 1).astype(seen.dtype)).view(x.dtype)
        beyond = np.right_shift(x, bits - 1) if act is np.right_shift and not unsigned else np.zeros_like(x)
        return np.where((y < 0) | (y >= bits), beyond, moved)

    return shifted


def _by_element(function: Callable[[float], float]) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.array([function(float(v)) for v in x.ravel()], x.dtype).reshape(x.shape)


_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply, "div": _divide, "rem": _remainder,
    "max": np.maximum, "min": np.minimum, "neg": np.negative, "sign": np.sign, "abs": np.abs, "floor": np.floor,
    "ceil": np.ceil, "pow": np.power, "atan2": np.arctan2, "nextafter": np.nextafter, "square": np.square,
    "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "cbrt": np.cbrt, "reciprocal": lambda x: 1 / x,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p,
    "logistic": lambda x: np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), 1 - 1 / (1 + np.exp(-np.abs(x)))),
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan,
    "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "erf": _by_element(math.erf), "erfc": _by_element(math.erfc),
    "is_finite": np.isfinite, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "not": np.invert, "population_count": np.bitwise_count,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "shift_left": _shift(np.left_shift), "shift_right_arithmetic": _shift(np.right_shift),
    "shift_right_logical": _shift(np.right_shift, unsigned=True),
}  # fmt: skip
_UNCHANGED = "convert_element_type stop_gradient copy copy_p multiple_of optimization_barrier".split()
_REDUCTIONS: dict[str, Any] = {
    "reduce_sum": np.sum, "reduce_max": np.max, "reduce_min": np.min, "reduce_prod": np.prod,
    "reduce_and": np.bitwise_and.reduce, "reduce_or": np.bitwise_or.reduce, "reduce_xor": np.bitwise_xor.reduce,
}  # fmt: skip
_CUMULATIVE: dict[str, Any] = {
    "cumsum": np.cumsum, "cumprod": np.cumprod, "cummax": np.maximum.accumulate,
    "cummin": np.minimum.accumulate, "cumlogsumexp": np.logaddexp.accumulate,
}  # fmt: skip
SLOW = dict.fromkeys("exp exp2 expm1 log log1p logistic tanh pow sin cos tan cumlogsumexp sort".split(), 10)
SLOW |= {"erf": 200, "erfc": 200}


def spread_alike(operands: Arrays, kind: Type) -> None:
    """Operands must have the result's shape, up to dimensions of 1."""
    if list(np.broadcast_shapes(*(x.shape for x in operands))) != kind.shape:
        raise CannotReplay("operands of different shapes")


def _elementwise(act: Callable[..., Any]) -> Rule:
    def rule(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
        spread_alike(operands, kinds[0])
        return [act(*map(wide, operands))]

    return rule


def _select(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    which, *cases = operands
    spread_alike(operands, kinds[0])
    chosen = cases[0]
    for number, case in enumerate(cases[1:], 1):
        last = number == len(cases) - 1
        chosen = np.where(which >= number if last else which == number, case, chosen)
    return [chosen]


def _reduction(act: Any) -> Rule:
    def rule(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
        (x,) = operands
        axes = axes_of(params["axes"], x.ndim)
        return [act(wide(x), axis=tuple(axes)) if axes else x]

    return rule


def _place(act: Any) -> Rule:
    def rule(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
        (axis,) = axes_of(params["axes"], operands[0].ndim)
        return [act(wide(operands[0]), axis=axis)]

    return rule


def _cumulative(act: Any) -> Rule:
    def rule(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
        (axis,) = axes_of([params["axis"]], operands[0].ndim)
        x = np.flip(wide(operands[0]), axis) if params.get("reverse") else wide(operands[0])
        found = act(x, axis=axis)
        return [np.flip(found, axis) if params.get("reverse") else found]

    return rule


def _dot(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    (left, right), (batch_left, batch_right) = params["dimension_numbers"]
    a, b = map(wide, operands)
    if a.dtype.kind in "iub" and b.dtype.kind in "iub":
        a, b = (x.astype(DTYPES[kinds[0].dtype]) for x in (a, b))
    a, a_free = _as_matrices(a, axes_of(batch_left, a.ndim), axes_of(left, a.ndim), contracted_last=True)
    b, b_free = _as_matrices(b, axes_of(batch_right, b.ndim), axes_of(right, b.ndim), contracted_last=False)
    need(a.shape[:-2] == b.shape[:-2] and a.shape[-1] == b.shape[-2], "a dot_general whose operands do not match")
    shape = [*a.shape[:-2], *a_free, *b_free]
    need(shape == kinds[0].shape, "a dot_general whose result has another shape")
    return [np.matmul(a, b).reshape(shape)]


def _as_matrices(x: np.ndarray, batch: list[int], contracted: list[int], contracted_last: bool) -> Any:
    """[*batch, free, contracted] or, for the right operand, [*batch, contracted, free], and the free sizes."""
    need(not set(batch) & set(contracted), "a dot_general with an axis that is named twice")
    free = [axis for axis in range(x.ndim) if axis not in (*batch, *contracted)]
    sizes = [x.shape[axis] for axis in free]
    rows = math.prod(sizes)
    depth = math.prod(x.shape[axis] for axis in contracted)
    order = [*batch, *free, *contracted] if contracted_last else [*batch, *contracted, *free]
    tail = (rows, depth) if contracted_last else (depth, rows)
    return x.transpose(order).reshape(*(x.shape[axis] for axis in batch), *tail), sizes


def axes_of(axes: Any, rank: int) -> list[int]:
    """Axes that a parameter names, checked: each one is there, and none comes twice."""
    good = isinstance(axes, list) and all(type(axis) is int and 0 <= axis < rank for axis in axes)
    need(good and len(set(axes)) == len(axes), "axes that the operand does not have")
    return list(axes)


def _iota(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    shape = kinds[0].shape
    (axis,) = axes_of([params["dimension"]], len(shape))
    column = np.arange(shape[axis]).reshape([-1 if place == axis else 1 for place in range(len(shape))])
    return [np.broadcast_to(column, shape)]


def _broadcast(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    x, shape = operands[0], kinds[0].shape
    places = axes_of(params["broadcast_dimensions"], len(shape))
    need(len(places) == x.ndim, "a broadcast_in_dim with too few dimensions")
    sizes = dict(zip(places, x.shape, strict=True))
    return [np.broadcast_to(x.reshape([sizes.get(place, 1) for place in range(len(shape))]), shape)]


def _unchanged(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    return list(operands)


RULES: dict[str, Rule] = {name: _elementwise(act) for name, act in _ELEMENTWISE.items()}
RULES |= {name: _reduction(act) for name, act in _REDUCTIONS.items()}
RULES |= {name: _cumulative(act) for name, act in _CUMULATIVE.items()}
RULES |= dict.fromkeys(_UNCHANGED, _unchanged)
RULES |= {
    "select_n": _select,
    "dot_general": _dot,
    "iota": _iota,
    "broadcast_in_dim": _broadcast,
    "argmax": _place(np.argmax),
    "argmin": _place(np.argmin),
}
