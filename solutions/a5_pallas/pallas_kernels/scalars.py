"""What single equations do: the value of a scalar one, the floating-point operations of any.

Scalars are NumPy arrays with one value for each step of a grid. Operations count as in the handout: two for
each multiply-add of a dot, one for each element that arithmetic, comparison or selection writes, one for each
element that a reduction reads; exponentials, logarithms, roots and so on are transcendentals and counted apart;
casts, broadcasts, reshapes, transposes and copies are free.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .program import Equation, Type


def _safely(ufunc: Callable[..., Any]) -> Callable[..., Any]:
    """The operation with a divisor of 1 where it is 0."""
    return lambda x, y: ufunc(x, np.where(np.equal(y, 0), 1, y))


def _divide(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Division as `lax.div` has it: of integers, towards zero."""
    if np.asarray(x).dtype.kind in "iu" and np.asarray(y).dtype.kind in "iu":
        return (np.sign(x) * np.sign(y)) * (np.abs(x) // np.abs(y))
    return x / y


_SCALARS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": _safely(_divide),
    "rem": _safely(np.fmod),
    "max": np.maximum,
    "min": np.minimum,
    "neg": np.negative,
    "sign": np.sign,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "clamp": lambda low, x, high: np.minimum(np.maximum(x, low), high),
    "select_n": lambda which, *cases: np.choose(np.asarray(which).astype(np.int64) % len(cases), cases),
    "shift_right_arithmetic": lambda x, y: np.right_shift(x, np.clip(y, 0, 31)),
    "shift_right_logical": lambda x, y: np.right_shift(x, np.clip(y, 0, 31)),
    "shift_left": lambda x, y: np.left_shift(x, np.clip(y, 0, 31)),
}
_UNCHANGED = (
    "convert_element_type stop_gradient copy squeeze reshape broadcast_in_dim multiple_of optimization_barrier "
    "reduce_precision"
).split()
_SCALARS |= dict.fromkeys(_UNCHANGED, lambda x: x)

_ARITHMETIC = set(
    "add add_any sub mul div rem max min neg abs sign integer_pow square select_n eq ne lt le gt ge and or not "
    "xor clamp floor ceil round is_finite nextafter cumsum cummax cummin cumprod addupdate".split()
)
_TRANSCENDENTAL = set(
    "exp exp2 log log1p expm1 tanh logistic rsqrt sqrt cbrt pow sin cos tan erf erfc erf_inv atan2 "
    "cumlogsumexp".split()
)
_REDUCTIONS = set("reduce_sum reduce_max reduce_min reduce_prod reduce_and reduce_or argmax argmin".split())


def compute(equation: Equation, operands: list[Any], result: Type) -> Any:
    """The value of a scalar equation over all steps, or `None` if it is none or not all operands are known."""
    act = _SCALARS.get(equation.primitive)
    known = all(isinstance(value, bool | int | float | np.ndarray | np.generic) for value in operands)
    if act is None or result.size != 1 or result.space or not known or not operands:
        return None
    try:
        with np.errstate(all="ignore"):
            value = np.asarray(act(*map(np.asarray, operands)))
    except (TypeError, ValueError):
        return None
    if result.dtype == "bool":
        return value.astype(bool)
    if "int" in result.dtype:
        return np.nan_to_num(value).astype(np.int64) if value.dtype.kind == "f" else value.astype(np.int64)
    return value.astype(np.float64)


def flops_of(equation: Equation, operands: list[Type], results: list[Type]) -> float:
    """Floating-point operations of an equation with these types, transcendentals not counted."""
    name = equation.primitive
    if name == "dot_general" and operands and results:
        contracted = 1
        match equation.params.get("dimension_numbers"):
            case [[[*left], [*_]], _]:
                shape = operands[0].shape
                contracted = int(np.prod([shape[axis] for axis in left if axis in range(len(shape))], dtype=float))
        return 2.0 * results[0].size * contracted
    if name in _ARITHMETIC and _floating(results or operands[1:]):
        return float(results[0].size if results else operands[1].size if len(operands) > 1 else 0)
    if name in _ARITHMETIC and operands and _floating(operands[:1]):  # a comparison
        return float(results[0].size) if results else 0.0
    if name in _REDUCTIONS and operands and _floating(operands[:1]):
        return float(operands[0].size)
    return 0.0


def transcendentals_of(equation: Equation, results: list[Type]) -> float:
    """Elements that an exponential, logarithm, root or the like writes."""
    return float(results[0].size) if equation.primitive in _TRANSCENDENTAL and results else 0.0


def _floating(types: list[Type]) -> bool:
    return bool(types) and "float" in types[0].dtype
