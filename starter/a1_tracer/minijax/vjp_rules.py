"""VJP rules: how each primitive passes a cotangent from its result back to its operands.

A cotangent of a value is the derivative of the final scalar by that value; it has the value's
shape and dtype. The rules compute with `bind`, like everything else, so what they do can
itself be traced, batched and differentiated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .core import ShapedArray, aval_of, is_float
from .trace import bind

# A rule's arguments: the cotangent and value of the result, then the operands' values, then
# the params. Its result: one cotangent for each operand, of the operand's own type; None for
# an operand that has no gradient. Values may be arrays or tracers.
Rule = Callable[..., tuple[Any, ...]]


def unbroadcast(ct: Any, aval: ShapedArray) -> Any:
    """Undo broadcasting and promotion: a cotangent of an operand of the type `aval`.

    An element that was repeated collects the sum over its copies. Axes that broadcasting
    added in front are summed away; axes that it stretched are summed to size 1. The dtype
    becomes the operand's, if that is a float. Already the right type: returned as it is.
    """
    # about 12 lines
    raise NotImplementedError("a1.4: sum the added axes, then the stretched ones; convert the dtype")


def add_vjp(ct: Any, out: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """out = x + y."""
    # about 1 line
    raise NotImplementedError("a1.4: the rule of add")


def sub_vjp(ct: Any, out: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """out = x - y."""
    # about 1 line
    raise NotImplementedError("a1.4: the rule of sub")


def mul_vjp(ct: Any, out: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """out = x * y."""
    # about 2 lines
    raise NotImplementedError("a1.4: the rule of mul")


def div_vjp(ct: Any, out: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """out = x / y."""
    # about 3 lines
    raise NotImplementedError("a1.4: the rule of div")


def neg_vjp(ct: Any, out: Any, x: Any) -> tuple[Any, ...]:
    """out = -x."""
    # about 1 line
    raise NotImplementedError("a1.4: the rule of neg")


def exp_vjp(ct: Any, out: Any, x: Any) -> tuple[Any, ...]:
    """out = exp(x), and so is its derivative."""
    # about 1 line
    raise NotImplementedError("a1.4: the rule of exp")


def log_vjp(ct: Any, out: Any, x: Any) -> tuple[Any, ...]:
    """out = log(x)."""
    # about 1 line
    raise NotImplementedError("a1.4: the rule of log")


def tanh_vjp(ct: Any, out: Any, x: Any) -> tuple[Any, ...]:
    """out = tanh(x), whose derivative is 1 - out²."""
    # about 1 line
    raise NotImplementedError("a1.4: the rule of tanh, without computing tanh again")


def sqrt_vjp(ct: Any, out: Any, x: Any) -> tuple[Any, ...]:
    """out = sqrt(x), whose derivative is 1 / (2 out)."""
    # about 1 line
    raise NotImplementedError("a1.4: the rule of sqrt")


def sin_vjp(ct: Any, out: Any, x: Any) -> tuple[Any, ...]:
    """out = sin(x)."""
    # about 1 line
    raise NotImplementedError("a1.4: the rule of sin")


def cos_vjp(ct: Any, out: Any, x: Any) -> tuple[Any, ...]:
    """out = cos(x)."""
    # about 1 line
    raise NotImplementedError("a1.4: the rule of cos")


def select_vjp(ct: Any, out: Any, pred: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """out = x where pred, else y.

    The branch not taken gets an exact zero. A product `ct * mask` would do for finite numbers,
    but inf * 0 is nan.
    """
    # about 2 lines
    raise NotImplementedError("a1.4: the rule of select, with selects")


def dot_vjp(ct: Any, out: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """out = x @ y, in the senses of `np.matmul`.

    For matrices, ct @ yᵀ and xᵀ @ ct. Vector times vector is a sum of products. In vector
    times matrix (or matrix times vector) the vector's cotangent is again a product, the
    matrix's an outer product. With batch axes, vectors are first made matrices.
    """
    # about 18 lines
    raise NotImplementedError("a1.4: the rule of dot, by the ranks of x and y")


def transpose_vjp(ct: Any, out: Any, x: Any, *, permutation: tuple[int, ...]) -> tuple[Any, ...]:
    """Axis i of out is axis permutation[i] of x."""
    # about 2 lines
    raise NotImplementedError("a1.4: the rule of transpose: the inverse permutation")


def reshape_vjp(ct: Any, out: Any, x: Any, *, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The same elements in the shape `shape`."""
    # about 1 line
    raise NotImplementedError("a1.4: the rule of reshape")


def broadcast_vjp(
    ct: Any, out: Any, x: Any, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> tuple[Any, ...]:
    """Axis i of x became axis broadcast_dimensions[i] of out; the other axes are copies."""
    # about 4 lines
    raise NotImplementedError("a1.4: the rule of broadcast: sum over all copies")


def reduce_sum_vjp(ct: Any, out: Any, x: Any, *, axis: Any, keepdims: bool) -> tuple[Any, ...]:
    """Every element of x counts once: the cotangent is repeated along the reduced axes."""
    # about 3 lines
    raise NotImplementedError("a1.4: the rule of reduce_sum, in one broadcast")


def reduce_max_vjp(ct: Any, out: Any, x: Any, *, axis: Any, keepdims: bool) -> tuple[Any, ...]:
    """The cotangent goes to the elements equal to the maximum; where several tie, to each."""
    # about 6 lines
    raise NotImplementedError("a1.4: the rule of reduce_max: compare with the maximum")


def convert_vjp(ct: Any, out: Any, x: Any, *, dtype: np.dtype) -> tuple[Any, ...]:
    """The same elements in another dtype."""
    # about 1 line
    raise NotImplementedError("a1.4: the rule of convert")


def _reshape(x: Any, shape: tuple[int, ...]) -> Any:
    return x if aval_of(x).shape == shape else bind("reshape", x, shape=shape)


def _unit_axis(x: Any, axis: int) -> Any:
    """x with a new axis of size 1, last (-1) or last but one (-2)."""
    shape = aval_of(x).shape
    place = len(shape) + 1 + axis
    return bind("reshape", x, shape=(*shape[:place], 1, *shape[place:]))


def _swap_last(x: Any) -> Any:
    """The transpose of a matrix, or of each matrix in a batch."""
    *batch, rows, columns = range(len(aval_of(x).shape))
    return bind("transpose", x, permutation=(*batch, columns, rows))


def _outer(x: Any, y: Any) -> Any:
    """The outer product of two vectors."""
    return bind("mul", _unit_axis(x, -1), _unit_axis(y, -2))


def _kept_axes(rank: int, axis: Any) -> tuple[int, ...]:
    """The axes that a reduction over `axis` leaves."""
    if axis is None:
        return ()
    axes = axis if isinstance(axis, tuple) else (axis,)
    return tuple(number for number in range(rank) if number not in {a % rank for a in axes})


# eq and gt have no rule: a bool has no cotangent.
VJP_RULES: dict[str, Rule] = {
    "add": add_vjp,
    "sub": sub_vjp,
    "mul": mul_vjp,
    "div": div_vjp,
    "neg": neg_vjp,
    "exp": exp_vjp,
    "log": log_vjp,
    "tanh": tanh_vjp,
    "sqrt": sqrt_vjp,
    "sin": sin_vjp,
    "cos": cos_vjp,
    "select": select_vjp,
    "dot": dot_vjp,
    "transpose": transpose_vjp,
    "reshape": reshape_vjp,
    "broadcast": broadcast_vjp,
    "reduce_sum": reduce_sum_vjp,
    "reduce_max": reduce_max_vjp,
    "convert": convert_vjp,
}
