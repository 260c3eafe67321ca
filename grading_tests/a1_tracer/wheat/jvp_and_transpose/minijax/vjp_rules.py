"""Linearisation and transposition: reverse mode without any VJP rule.

Two small tables do the work. `JVP_RULES` has one rule for each differentiable primitive: given
the primals (known) and the tangents (tracers of a fresh, innermost trace), it computes the
tangent of the result with `bind`. By the rule of levels everything that involves primals only
is computed at once, or recorded outside, and what is recorded in the innermost trace is a
program that is *linear* in the tangents; the primals are its literals. `TRANSPOSE_RULES` has
one rule for each of the few primitives that such a program is made of: it passes a cotangent
from the result of a linear equation to the one operand (or the operands) it is linear in.
A rule of reverse mode, such as that of tanh, is the transposed JVP; nobody writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from .core import Atom, Jaxpr, Literal, ShapedArray, Var, aval_of, is_float
from .trace import Tracer, bind, new_trace

Tangent = Any  # a tracer of the linear trace, or None for an exact zero


def unbroadcast(ct: Any, aval: ShapedArray) -> Any:
    """The transpose of broadcasting and promoting an operand of the type `aval`.

    Copies are summed, and the dtype becomes the operand's, if that is a float. Already the
    right type: returned as it is.
    """
    have = aval_of(ct).shape
    want = (1,) * (len(have) - len(aval.shape)) + aval.shape
    front = len(have) - len(aval.shape)
    if front:
        ct = bind("reduce_sum", ct, axis=tuple(range(front)), keepdims=False)
    stretched = tuple(axis - front for axis in range(front, len(have)) if have[axis] != want[axis])
    if stretched:
        ct = bind("reduce_sum", ct, axis=stretched, keepdims=True)
    if is_float(aval) and aval_of(ct).dtype != aval.dtype:
        ct = bind("convert", ct, dtype=aval.dtype)
    return ct


# Forward: how a tangent passes through each primitive.
# A rule takes the result's value, the operands' values, their tangents, and the params. At least
# one tangent is not None. The tangent that it gives may still have to be broadcast or promoted.


def _sum_of(*terms: Tangent) -> Tangent:
    present = [term for term in terms if term is not None]
    return present[0] if len(present) == 1 else bind("add", *present)


def _jvp_add(out: Any, primals: Sequence[Any], tangents: Sequence[Tangent]) -> Tangent:
    return _sum_of(*tangents)


def _jvp_sub(out: Any, primals: Sequence[Any], tangents: Sequence[Tangent]) -> Tangent:
    tx, ty = tangents
    if ty is None:
        return tx
    return bind("neg", ty) if tx is None else bind("sub", tx, ty)


def _jvp_product(primitive: str, out: Any, primals: Sequence[Any], tangents: Sequence[Tangent]) -> Tangent:
    """Whatever is bilinear: the product rule."""
    (x, y), (tx, ty) = primals, tangents
    return _sum_of(
        None if tx is None else bind(primitive, tx, y),
        None if ty is None else bind(primitive, x, ty),
    )


def _jvp_div(out: Any, primals: Sequence[Any], tangents: Sequence[Tangent]) -> Tangent:
    (_, y), (tx, ty) = primals, tangents
    # (x / y)' = (x' - y' out) / y
    return bind("div", _jvp_sub(None, (), (tx, None if ty is None else bind("mul", ty, out))), y)


def _jvp_select(out: Any, primals: Sequence[Any], tangents: Sequence[Tangent]) -> Tangent:
    pred, *_ = primals
    _, tx, ty = tangents
    return bind("select", pred, 0.0 if tx is None else tx, 0.0 if ty is None else ty)


def _jvp_max(out: Any, primals: Sequence[Any], tangents: Sequence[Tangent], *, axis: Any, keepdims: bool) -> Tangent:
    (x,), (t,) = primals, tangents
    shape = aval_of(x).shape
    reduced = set(range(len(shape))) - set(_kept(len(shape), axis))
    unit = tuple(1 if number in reduced else size for number, size in enumerate(shape))
    here = bind("eq", x, _shaped(out, unit))
    return bind("reduce_sum", bind("select", here, t, 0.0), axis=axis, keepdims=keepdims)


def _jvp_linear(primitive: str, out: Any, primals: Sequence[Any], tangents: Sequence[Tangent], **params: Any) -> Tangent:
    """A primitive that is linear itself is its own derivative."""
    return bind(primitive, *tangents, **params)


def _chain(combine: str, slope: Callable[[Any, Any], Any]) -> Callable[..., Tangent]:
    """An elementwise function: the tangent is multiplied, or divided, by something known."""
    return lambda out, primals, tangents: bind(combine, tangents[0], slope(primals[0], out))


JVP_RULES: dict[str, Callable[..., Tangent]] = {
    "add": _jvp_add,
    "sub": _jvp_sub,
    "mul": partial(_jvp_product, "mul"),
    "dot": partial(_jvp_product, "dot"),
    "div": _jvp_div,
    "exp": _chain("mul", lambda x, out: out),
    "log": _chain("div", lambda x, out: x),
    "tanh": _chain("mul", lambda x, out: bind("sub", 1.0, bind("mul", out, out))),
    "sqrt": _chain("div", lambda x, out: bind("mul", 2.0, out)),
    "sin": _chain("mul", lambda x, out: bind("cos", x)),
    "cos": _chain("mul", lambda x, out: bind("neg", bind("sin", x))),
    "select": _jvp_select,
    "reduce_max": _jvp_max,
    **{
        name: partial(_jvp_linear, name)
        for name in ("neg", "transpose", "reshape", "broadcast", "reduce_sum", "convert")
    },
}


def jvp_of_equation(
    primitive: str, out: Any, primals: Sequence[Any], tangents: Sequence[Tangent], params: dict[str, Any]
) -> Tangent:
    """The tangent of an equation's result, of the result's own type; None if it is zero."""
    aval = aval_of(out)
    if not is_float(aval) or all(tangent is None for tangent in tangents):
        return None
    tangent = JVP_RULES[primitive](out, primals, tangents, **params)
    if tangent.aval.shape != aval.shape:
        dimensions = tuple(range(len(aval.shape) - tangent.aval.ndim, len(aval.shape)))
        tangent = bind("broadcast", tangent, shape=aval.shape, broadcast_dimensions=dimensions)
    return tangent if tangent.aval == aval else bind("convert", tangent, dtype=aval.dtype)


# Backward: the transposes of the linear equations. A rule takes the cotangent, the equation's
# operands (a type where it is linear, a value where it is known), and the params; it returns
# one cotangent for each linear operand, by position, still to be unbroadcast.


def _is_linear(operand: Any) -> bool:
    return isinstance(operand, ShapedArray)


def _t_add(ct: Any, *operands: Any) -> dict[int, Any]:
    return {0: ct, 1: ct}


def _t_sub(ct: Any, *operands: Any) -> dict[int, Any]:
    return {0: ct, 1: bind("neg", ct)} if _is_linear(operands[1]) else {0: ct}


def _t_mul(ct: Any, x: Any, y: Any) -> dict[int, Any]:
    return {0: bind("mul", ct, y)} if _is_linear(x) else {1: bind("mul", ct, x)}


def _t_select(ct: Any, pred: Any, x: Any, y: Any) -> dict[int, Any]:
    sent = {}
    if _is_linear(x):
        sent[1] = bind("select", pred, ct, 0.0)
    if _is_linear(y):
        sent[2] = bind("select", pred, 0.0, ct)
    return sent


def _t_dot(ct: Any, x: Any, y: Any) -> dict[int, Any]:
    left, right = len(aval_of(x).shape), len(aval_of(y).shape)
    side = 0 if _is_linear(x) else 1
    known = y if side == 0 else x
    if left == right == 1:
        return {side: bind("mul", ct, known)}
    if (left, right) == (1, 2):
        return {0: bind("dot", known, ct)} if side == 0 else {1: bind("mul", _column(known), _row(ct))}
    if (left, right) == (2, 1):
        return {0: bind("mul", _column(ct), _row(known))} if side == 0 else {1: bind("dot", ct, known)}
    if left == 1:
        ct = _row(ct)
    if right == 1:
        ct = _column(ct)
    if side == 0:
        sent = bind("dot", ct, _matrix_transpose(_column(known) if right == 1 else known))
        wide = x if left > 1 else ShapedArray((1, *x.shape), x.dtype)
    else:
        sent = bind("dot", _matrix_transpose(_row(known) if left == 1 else known), ct)
        wide = y if right > 1 else ShapedArray((*y.shape, 1), y.dtype)
    return {side: _shaped(unbroadcast(sent, wide), aval_of((x, y)[side]).shape)}


def _t_transpose(ct: Any, x: ShapedArray, *, permutation: tuple[int, ...]) -> dict[int, Any]:
    back = sorted(range(len(permutation)), key=permutation.__getitem__)
    return {0: bind("transpose", ct, permutation=tuple(back))}


def _t_broadcast(ct: Any, x: ShapedArray, *, shape: Any, broadcast_dimensions: tuple[int, ...]) -> dict[int, Any]:
    copies = tuple(sorted(set(range(len(shape))) - set(broadcast_dimensions)))
    return {0: bind("reduce_sum", ct, axis=copies, keepdims=False) if copies else ct}


def _t_reduce_sum(ct: Any, x: ShapedArray, *, axis: Any, keepdims: bool) -> dict[int, Any]:
    dimensions = tuple(range(x.ndim)) if keepdims else _kept(x.ndim, axis)
    return {0: bind("broadcast", ct, shape=x.shape, broadcast_dimensions=dimensions)}


TRANSPOSE_RULES: dict[str, Callable[..., dict[int, Any]]] = {
    "add": _t_add,
    "sub": _t_sub,
    "neg": lambda ct, x: {0: bind("neg", ct)},
    "mul": _t_mul,
    "div": lambda ct, x, y: {0: bind("div", ct, y)},
    "select": _t_select,
    "dot": _t_dot,
    "transpose": _t_transpose,
    "reshape": lambda ct, x, *, shape: {0: _shaped(ct, x.shape)},
    "broadcast": _t_broadcast,
    "reduce_sum": _t_reduce_sum,
    "convert": lambda ct, x, *, dtype: {0: ct},  # unbroadcast converts it back
}


def transpose_linear(linear: Jaxpr, out_cts: Sequence[Any]) -> list[Any]:
    """The cotangents of the invars of a program that is linear in them; None for none."""
    collected: dict[Var, Any] = {}

    def send(atom: Atom, ct: Any) -> None:
        if isinstance(atom, Var) and ct is not None:
            ct = unbroadcast(ct, atom.aval)
            collected[atom] = bind("add", collected[atom], ct) if atom in collected else ct

    for atom, ct in zip(linear.outvars, out_cts, strict=True):
        send(atom, ct)
    for eqn in reversed(linear.eqns):
        ct = collected.pop(eqn.outvar, None)
        if ct is None:
            continue
        operands = [atom.aval if isinstance(atom, Var) else atom.value for atom in eqn.invars]
        for place, sent in TRANSPOSE_RULES[eqn.primitive](ct, *operands, **eqn.params).items():
            send(eqn.invars[place], sent)
    return [collected.get(var) for var in linear.invars]


def _derived(primitive: str, ct: Any, out: Any, *operands: Any, **params: Any) -> tuple[Any, ...]:
    """The VJP of one primitive: its JVP, recorded, and transposed."""
    avals = [aval_of(x) for x in operands]
    with new_trace(primitive) as trace:
        seeds = [Tracer(trace, Var(aval), None) for aval in avals]
        tangents = [seed if is_float(aval) else None for seed, aval in zip(seeds, avals, strict=True)]
        tangent = jvp_of_equation(primitive, out, operands, tangents, params)
        result = Literal(0.0) if tangent is None else trace.atom(tangent)
    linear = Jaxpr(tuple(seed.var for seed in seeds), tuple(trace.eqns), (result,))
    return tuple(transpose_linear(linear, [ct]))


# The handout's table of functions has add_vjp ... convert_vjp: here they are derived.
VJP_RULES = {name: partial(_derived, name) for name in JVP_RULES}
globals().update({f"{name}_vjp": rule for name, rule in VJP_RULES.items()})


def _shaped(x: Any, shape: tuple[int, ...]) -> Any:
    return x if aval_of(x).shape == shape else bind("reshape", x, shape=shape)


def _row(x: Any) -> Any:
    *front, last = aval_of(x).shape
    return bind("reshape", x, shape=(*front, 1, last))


def _column(x: Any) -> Any:
    return bind("reshape", x, shape=(*aval_of(x).shape, 1))


def _matrix_transpose(x: Any) -> Any:
    *batch, rows, columns = range(len(aval_of(x).shape))
    return bind("transpose", x, permutation=(*batch, columns, rows))


def _kept(rank: int, axis: Any) -> tuple[int, ...]:
    """The axes that a reduction over `axis` leaves."""
    axes = range(rank) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return tuple(sorted(set(range(rank)) - {number % rank for number in axes}))
