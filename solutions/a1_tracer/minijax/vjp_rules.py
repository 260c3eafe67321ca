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
    ### BEGIN SOLUTION a1.4: sum the added axes, then the stretched ones; convert the dtype
    if aval_of(ct) == aval:
        return ct
    added = len(aval_of(ct).shape) - len(aval.shape)
    if added:
        ct = bind("reduce_sum", ct, axis=tuple(range(added)), keepdims=False)
    sizes = zip(aval_of(ct).shape, aval.shape, strict=True)
    stretched = tuple(axis for axis, (now, then) in enumerate(sizes) if now != then)
    if stretched:
        ct = bind("reduce_sum", ct, axis=stretched, keepdims=True)
    if is_float(aval) and aval_of(ct).dtype != aval.dtype:
        ct = bind("convert", ct, dtype=aval.dtype)
    return ct
    ### END SOLUTION


def add_vjp(ct: Any, out: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """out = x + y."""
    ### BEGIN SOLUTION a1.4: the rule of add
    return unbroadcast(ct, aval_of(x)), unbroadcast(ct, aval_of(y))
    ### END SOLUTION


def sub_vjp(ct: Any, out: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """out = x - y."""
    ### BEGIN SOLUTION a1.4: the rule of sub
    return unbroadcast(ct, aval_of(x)), unbroadcast(bind("neg", ct), aval_of(y))
    ### END SOLUTION


def mul_vjp(ct: Any, out: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """out = x * y."""
    ### BEGIN SOLUTION a1.4: the rule of mul
    ct_x, ct_y = bind("mul", ct, y), bind("mul", ct, x)
    return unbroadcast(ct_x, aval_of(x)), unbroadcast(ct_y, aval_of(y))
    ### END SOLUTION


def div_vjp(ct: Any, out: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """out = x / y."""
    ### BEGIN SOLUTION a1.4: the rule of div
    ct_x = bind("div", ct, y)
    ct_y = bind("neg", bind("div", bind("mul", ct, x), bind("mul", y, y)))
    return unbroadcast(ct_x, aval_of(x)), unbroadcast(ct_y, aval_of(y))
    ### END SOLUTION


def neg_vjp(ct: Any, out: Any, x: Any) -> tuple[Any, ...]:
    """out = -x."""
    ### BEGIN SOLUTION a1.4: the rule of neg
    return (bind("neg", ct),)
    ### END SOLUTION


def exp_vjp(ct: Any, out: Any, x: Any) -> tuple[Any, ...]:
    """out = exp(x), and so is its derivative."""
    ### BEGIN SOLUTION a1.4: the rule of exp
    return (bind("mul", ct, out),)
    ### END SOLUTION


def log_vjp(ct: Any, out: Any, x: Any) -> tuple[Any, ...]:
    """out = log(x)."""
    ### BEGIN SOLUTION a1.4: the rule of log
    return (bind("div", ct, x),)
    ### END SOLUTION


def tanh_vjp(ct: Any, out: Any, x: Any) -> tuple[Any, ...]:
    """out = tanh(x), whose derivative is 1 - out²."""
    ### BEGIN SOLUTION a1.4: the rule of tanh, without computing tanh again
    return (bind("mul", ct, bind("sub", 1.0, bind("mul", out, out))),)
    ### END SOLUTION


def sqrt_vjp(ct: Any, out: Any, x: Any) -> tuple[Any, ...]:
    """out = sqrt(x), whose derivative is 1 / (2 out)."""
    ### BEGIN SOLUTION a1.4: the rule of sqrt
    return (bind("div", ct, bind("mul", 2.0, out)),)
    ### END SOLUTION


def sin_vjp(ct: Any, out: Any, x: Any) -> tuple[Any, ...]:
    """out = sin(x)."""
    ### BEGIN SOLUTION a1.4: the rule of sin
    return (bind("mul", ct, bind("cos", x)),)
    ### END SOLUTION


def cos_vjp(ct: Any, out: Any, x: Any) -> tuple[Any, ...]:
    """out = cos(x)."""
    ### BEGIN SOLUTION a1.4: the rule of cos
    return (bind("neg", bind("mul", ct, bind("sin", x))),)
    ### END SOLUTION


def select_vjp(ct: Any, out: Any, pred: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """out = x where pred, else y.

    The branch not taken gets an exact zero. A product `ct * mask` would do for finite numbers,
    but inf * 0 is nan.
    """
    ### BEGIN SOLUTION a1.4: the rule of select, with selects
    ct_x, ct_y = bind("select", pred, ct, 0.0), bind("select", pred, 0.0, ct)
    return None, unbroadcast(ct_x, aval_of(x)), unbroadcast(ct_y, aval_of(y))
    ### END SOLUTION


def dot_vjp(ct: Any, out: Any, x: Any, y: Any) -> tuple[Any, ...]:
    """out = x @ y, in the senses of `np.matmul`.

    For matrices, ct @ yᵀ and xᵀ @ ct. Vector times vector is a sum of products. In vector
    times matrix (or matrix times vector) the vector's cotangent is again a product, the
    matrix's an outer product. With batch axes, vectors are first made matrices.
    """
    ### BEGIN SOLUTION a1.4: the rule of dot, by the ranks of x and y
    match len(aval_of(x).shape), len(aval_of(y).shape):
        case 1, 1:
            ct_x, ct_y = bind("mul", ct, y), bind("mul", ct, x)
        case 1, 2:
            ct_x, ct_y = bind("dot", ct, _swap_last(y)), _outer(x, ct)
        case 2, 1:
            ct_x, ct_y = _outer(ct, y), bind("dot", ct, x)
        case rank_x, rank_y:
            row = _unit_axis(x, -2) if rank_x == 1 else x
            column = _unit_axis(y, -1) if rank_y == 1 else y
            if rank_x == 1:
                ct = _unit_axis(ct, -2)
            if rank_y == 1:
                ct = _unit_axis(ct, -1)
            ct_x = unbroadcast(bind("dot", ct, _swap_last(column)), aval_of(row))
            ct_y = unbroadcast(bind("dot", _swap_last(row), ct), aval_of(column))
            ct_x, ct_y = _reshape(ct_x, aval_of(x).shape), _reshape(ct_y, aval_of(y).shape)
    return unbroadcast(ct_x, aval_of(x)), unbroadcast(ct_y, aval_of(y))
    ### END SOLUTION


def transpose_vjp(ct: Any, out: Any, x: Any, *, permutation: tuple[int, ...]) -> tuple[Any, ...]:
    """Axis i of out is axis permutation[i] of x."""
    ### BEGIN SOLUTION a1.4: the rule of transpose: the inverse permutation
    inverse = tuple(permutation.index(axis) for axis in range(len(permutation)))
    return (bind("transpose", ct, permutation=inverse),)
    ### END SOLUTION


def reshape_vjp(ct: Any, out: Any, x: Any, *, shape: tuple[int, ...]) -> tuple[Any, ...]:
    """The same elements in the shape `shape`."""
    ### BEGIN SOLUTION a1.4: the rule of reshape
    return (bind("reshape", ct, shape=aval_of(x).shape),)
    ### END SOLUTION


def broadcast_vjp(
    ct: Any, out: Any, x: Any, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]
) -> tuple[Any, ...]:
    """Axis i of x became axis broadcast_dimensions[i] of out; the other axes are copies."""
    ### BEGIN SOLUTION a1.4: the rule of broadcast: sum over all copies
    copies = tuple(axis for axis in range(len(shape)) if axis not in broadcast_dimensions)
    if copies:
        ct = bind("reduce_sum", ct, axis=copies, keepdims=False)
    return (unbroadcast(ct, aval_of(x)),)
    ### END SOLUTION


def reduce_sum_vjp(ct: Any, out: Any, x: Any, *, axis: Any, keepdims: bool) -> tuple[Any, ...]:
    """Every element of x counts once: the cotangent is repeated along the reduced axes."""
    ### BEGIN SOLUTION a1.4: the rule of reduce_sum, in one broadcast
    shape = aval_of(x).shape
    kept = range(len(shape)) if keepdims else _kept_axes(len(shape), axis)
    return (bind("broadcast", ct, shape=shape, broadcast_dimensions=tuple(kept)),)
    ### END SOLUTION


def reduce_max_vjp(ct: Any, out: Any, x: Any, *, axis: Any, keepdims: bool) -> tuple[Any, ...]:
    """The cotangent goes to the elements equal to the maximum; where several tie, to each."""
    ### BEGIN SOLUTION a1.4: the rule of reduce_max: compare with the maximum
    if not keepdims:
        kept = _kept_axes(len(aval_of(x).shape), axis)
        sizes = enumerate(aval_of(x).shape)
        shape = tuple(size if number in kept else 1 for number, size in sizes)
        ct, out = _reshape(ct, shape), _reshape(out, shape)
    return (bind("mul", ct, bind("eq", x, out)),)
    ### END SOLUTION


def convert_vjp(ct: Any, out: Any, x: Any, *, dtype: np.dtype) -> tuple[Any, ...]:
    """The same elements in another dtype."""
    ### BEGIN SOLUTION a1.4: the rule of convert
    return (unbroadcast(ct, aval_of(x)),)
    ### END SOLUTION


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
