"""The primitives and what they do to NumPy arrays.

This is the whole instruction set: a jaxpr uses no other names. An implementation takes
arrays and its params and returns a new `np.ndarray` (never a NumPy scalar) of exactly the
shape and dtype that the table in `abstract_eval.py` says. Invalid operands are caught there;
what is computed here follows IEEE arithmetic silently, as on an accelerator: log(0) is -inf.

| primitives                     | params                       | meaning                        |
|--------------------------------|------------------------------|--------------------------------|
| add sub mul div                |                              | elementwise, broadcasting      |
| neg exp log tanh sqrt sin cos  |                              | elementwise                    |
| eq gt                          |                              | elementwise, result bool       |
| select                         |                              | `on_true if pred else on_false`|
| dot                            |                              | `np.matmul`                    |
| transpose                      | permutation                  | `np.transpose`                 |
| reshape                        | shape                        | row-major                      |
| broadcast                      | shape, broadcast_dimensions  | operand axis i becomes axis    |
|                                |                              | broadcast_dimensions[i]        |
| reduce_sum reduce_max          | axis (int, tuple or None),   | None reduces every axis        |
|                                | keepdims                     |                                |
| convert                        | dtype                        | `astype`; to bool: is nonzero  |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .core import DTYPES

Array = np.ndarray
Axis = int | tuple[int, ...] | None

_FLOAT32 = np.dtype(np.float32)
_INT32 = np.dtype(np.int32)


def _common(*operands: Array) -> list[Array]:
    """The operands, converted to the dtype of the highest one."""
    highest = max((operand.dtype for operand in operands), key=DTYPES.index)
    return [operand.astype(highest, copy=False) for operand in operands]


def _binary(ufunc: Callable[[Array, Array], Any]) -> Callable[[Array, Array], Array]:
    def implementation(x: Array, y: Array) -> Array:
        if x.dtype != y.dtype:
            x, y = _common(x, y)
        return np.asarray(ufunc(x, y))

    return implementation


def _as_float(x: Array) -> Array:
    return x if x.dtype.kind == "f" else x.astype(_FLOAT32)


def _float_unary(ufunc: Callable[[Array], Any]) -> Callable[[Array], Array]:
    return lambda x: np.asarray(ufunc(_as_float(x)))


def _neg(x: Array) -> Array:
    return np.asarray(np.negative(x))


def _div(x: Array, y: Array) -> Array:
    x, y = _common(x, y)
    return np.asarray(np.divide(_as_float(x), _as_float(y)))


def _select(pred: Array, on_true: Array, on_false: Array) -> Array:
    on_true, on_false = _common(on_true, on_false)
    return np.where(pred, on_true, on_false)


def _transpose(x: Array, permutation: tuple[int, ...]) -> Array:
    return np.transpose(x, permutation)


def _reshape(x: Array, shape: tuple[int, ...]) -> Array:
    return np.reshape(x, shape)


def _broadcast(x: Array, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]) -> Array:
    aligned = [1] * len(shape)
    for size, axis in zip(x.shape, broadcast_dimensions, strict=True):
        aligned[axis] = size
    return np.array(np.broadcast_to(np.reshape(x, aligned), shape))  # a copy: writable, contiguous


def _reduce_sum(x: Array, axis: Axis, keepdims: bool) -> Array:
    dtype = _INT32 if x.dtype.kind == "b" else x.dtype
    return np.asarray(np.sum(x, axis=axis, keepdims=keepdims, dtype=dtype))


def _reduce_max(x: Array, axis: Axis, keepdims: bool) -> Array:
    return np.asarray(np.max(x, axis=axis, keepdims=keepdims))


def _convert(x: Array, dtype: np.dtype) -> Array:
    return x.astype(dtype)


IMPL: dict[str, Callable[..., Array]] = {
    "add": _binary(np.add),
    "sub": _binary(np.subtract),
    "mul": _binary(np.multiply),
    "div": _div,
    "neg": _neg,
    "exp": _float_unary(np.exp),
    "log": _float_unary(np.log),
    "tanh": _float_unary(np.tanh),
    "sqrt": _float_unary(np.sqrt),
    "sin": _float_unary(np.sin),
    "cos": _float_unary(np.cos),
    "eq": _binary(np.equal),
    "gt": _binary(np.greater),
    "select": _select,
    "dot": _binary(np.matmul),
    "transpose": _transpose,
    "reshape": _reshape,
    "broadcast": _broadcast,
    "reduce_sum": _reduce_sum,
    "reduce_max": _reduce_max,
    "convert": _convert,
}


def evaluate(primitive: str, operands: list[Any], params: dict[str, Any]) -> Array:
    """Run one primitive on NumPy operands whose types have been checked."""
    with np.errstate(all="ignore"):
        return IMPL[primitive](*map(np.asarray, operands), **params)
