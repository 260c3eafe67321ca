"""Local pullbacks: what a node of the tape remembers about the operation that made it.

`PULLBACKS[primitive](out, *operands, **params)` is asked when an operation runs. It answers
with one closure for each operand (None where there is no derivative), which turns a cotangent
of the result into one that goes to that operand. A closure keeps only what it needs, and
nothing is computed for an operand that is not on the tape. Closures may leave a cotangent
broadcast or promoted; `edge` undoes that for all of them alike.

The rules `add_vjp ... convert_vjp` are these closures, asked and called at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .core import ShapedArray, aval_of, is_float
from .trace import bind

Pull = Callable[[Any], Any]
Maker = Callable[..., tuple[Pull | None, ...]]
Rule = Callable[..., tuple[Any, ...]]

PULLBACKS: dict[str, Maker] = {}


def unbroadcast(ct: Any, aval: ShapedArray) -> Any:
    """Undo broadcasting and promotion: a cotangent of an operand of the type `aval`."""
    given = aval_of(ct).shape
    padded = (1,) * (len(given) - len(aval.shape)) + aval.shape
    repeated = tuple(axis for axis, (have, want) in enumerate(zip(given, padded, strict=True)) if have != want)
    if len(given) == len(aval.shape):
        if repeated:
            ct = bind("reduce_sum", ct, axis=repeated, keepdims=True)
    else:
        front = tuple(range(len(given) - len(aval.shape)))
        ct = bind("reduce_sum", ct, axis=tuple(sorted({*front, *repeated})), keepdims=False)
        ct = _reshape(ct, aval.shape)
    if is_float(aval) and aval_of(ct).dtype != aval.dtype:
        ct = bind("convert", ct, dtype=aval.dtype)
    return ct


def edge(pull: Pull | None, x: Any) -> Pull | None:
    """The closure for operand x that answers in x's own type; None if x has no gradient."""
    aval = aval_of(x)
    if pull is None or not is_float(aval):
        return None
    return lambda ct: unbroadcast(pull(ct), aval)


def edges(primitive: str, out: Any, operands: tuple[Any, ...], params: dict[str, Any]) -> list[Pull | None]:
    """One closure for each operand of an operation that has just run."""
    if not is_float(aval_of(out)):
        return [None] * len(operands)
    pulls = PULLBACKS[primitive](out, *operands, **params)
    return [edge(pull, x) for pull, x in zip(pulls, operands, strict=True)]


def _same(ct: Any) -> Any:
    return ct


def _negated(ct: Any) -> Any:
    return bind("neg", ct)


def _times(factor: Any) -> Pull:
    return lambda ct: bind("mul", ct, factor)


def _register(primitive: str, maker: Maker) -> Rule:
    """Enter a maker into the table; returns it as a rule of the handout's form."""
    PULLBACKS[primitive] = maker

    def rule(ct: Any, out: Any, *operands: Any, **params: Any) -> tuple[Any, ...]:
        pulls = [edge(pull, x) for pull, x in zip(maker(out, *operands, **params), operands, strict=True)]
        return tuple(None if pull is None else pull(ct) for pull in pulls)

    rule.__name__ = f"{primitive}_vjp"
    return rule


def _dot(out: Any, x: Any, y: Any) -> tuple[Pull, Pull]:
    x_rank, y_rank = len(aval_of(x).shape), len(aval_of(y).shape)
    if x_rank == 1 and y_rank == 1:
        return _times(y), _times(x)
    if x_rank == 1 and y_rank == 2:
        return (lambda ct: bind("dot", y, ct)), (lambda ct: _outer(x, ct))
    if x_rank == 2 and y_rank == 1:
        return (lambda ct: _outer(ct, y)), (lambda ct: bind("dot", ct, x))
    rows = x if x_rank > 1 else _unit(x, -2)
    columns = y if y_rank > 1 else _unit(y, -1)
    shape = list(aval_of(out).shape)
    if x_rank == 1:
        shape.insert(len(shape) - (y_rank > 1), 1)
    if y_rank == 1:
        shape.append(1)

    def pull(product: Callable[[Any], Any], matrix: Any, operand: Any) -> Pull:
        return lambda ct: _reshape(
            unbroadcast(product(_reshape(ct, tuple(shape))), aval_of(matrix)), aval_of(operand).shape
        )

    return (
        pull(lambda ct: bind("dot", ct, _flip(columns)), rows, x),
        pull(lambda ct: bind("dot", _flip(rows), ct), columns, y),
    )


def _transpose(out: Any, x: Any, *, permutation: tuple[int, ...]) -> tuple[Pull]:
    inverse = tuple(int(axis) for axis in np.argsort(permutation))
    return (lambda ct: bind("transpose", ct, permutation=inverse),)


def _broadcast(out: Any, x: Any, *, shape: tuple[int, ...], broadcast_dimensions: tuple[int, ...]) -> tuple[Pull]:
    added = tuple(axis for axis in range(len(shape)) if axis not in broadcast_dimensions)
    return ((lambda ct: bind("reduce_sum", ct, axis=added, keepdims=False)) if added else _same,)


def _unreduced(x: Any, axis: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The shape of x, and that of its reduction with the reduced axes kept as 1."""
    shape = aval_of(x).shape
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = {a % len(shape) for a in axes}
    return shape, tuple(1 if number in gone else size for number, size in enumerate(shape))


def _reduce_sum(out: Any, x: Any, *, axis: Any, keepdims: bool) -> tuple[Pull]:
    shape = aval_of(x).shape
    axes = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = {a % len(shape) for a in axes}
    places = tuple(a for a in range(len(shape)) if keepdims or a not in gone)
    return (lambda ct: bind("broadcast", ct, shape=shape, broadcast_dimensions=places),)


def _reduce_max(out: Any, x: Any, *, axis: Any, keepdims: bool) -> tuple[Pull]:
    _, kept = _unreduced(x, axis)
    return (lambda ct: bind("select", bind("eq", x, _reshape(out, kept)), _reshape(ct, kept), 0.0),)


add_vjp = _register("add", lambda out, x, y: (_same, _same))
sub_vjp = _register("sub", lambda out, x, y: (_same, _negated))
mul_vjp = _register("mul", lambda out, x, y: (_times(y), _times(x)))
div_vjp = _register(
    "div",
    lambda out, x, y: (
        lambda ct: bind("div", ct, y),
        lambda ct: bind("neg", bind("mul", bind("div", ct, y), out)),
    ),
)
neg_vjp = _register("neg", lambda out, x: (_negated,))
exp_vjp = _register("exp", lambda out, x: (_times(out),))
log_vjp = _register("log", lambda out, x: (lambda ct: bind("div", ct, x),))
tanh_vjp = _register(
    "tanh", lambda out, x: (lambda ct: bind("mul", ct, bind("sub", 1.0, bind("mul", out, out))),)
)
sqrt_vjp = _register("sqrt", lambda out, x: (lambda ct: bind("div", bind("mul", ct, 0.5), out),))
sin_vjp = _register("sin", lambda out, x: (lambda ct: bind("mul", ct, bind("cos", x)),))
cos_vjp = _register("cos", lambda out, x: (lambda ct: bind("neg", bind("mul", ct, bind("sin", x))),))
select_vjp = _register(
    "select",
    lambda out, pred, x, y: (
        None,
        lambda ct: bind("select", pred, ct, 0.0),
        lambda ct: bind("select", pred, 0.0, ct),
    ),
)
dot_vjp = _register("dot", _dot)
transpose_vjp = _register("transpose", _transpose)
reshape_vjp = _register("reshape", lambda out, x, *, shape: (lambda ct: _reshape(ct, aval_of(x).shape),))
broadcast_vjp = _register("broadcast", _broadcast)
reduce_sum_vjp = _register("reduce_sum", _reduce_sum)
reduce_max_vjp = _register("reduce_max", _reduce_max)
convert_vjp = _register("convert", lambda out, x, *, dtype: (_same,))


def _reshape(x: Any, shape: tuple[int, ...]) -> Any:
    return x if aval_of(x).shape == shape else bind("reshape", x, shape=shape)


def _unit(x: Any, axis: int) -> Any:
    shape = aval_of(x).shape
    place = len(shape) + 1 + axis
    return bind("reshape", x, shape=(*shape[:place], 1, *shape[place:]))


def _flip(x: Any) -> Any:
    *batch, rows, columns = range(len(aval_of(x).shape))
    return bind("transpose", x, permutation=(*batch, columns, rows))


def _outer(x: Any, y: Any) -> Any:
    return bind("mul", _unit(x, -1), _unit(y, -2))


VJP_RULES: dict[str, Rule] = {name: globals()[f"{name}_vjp"] for name in PULLBACKS}
