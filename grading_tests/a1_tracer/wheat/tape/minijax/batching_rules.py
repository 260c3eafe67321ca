"""Batching rules: how each primitive does a whole batch of its work in one step.

A mapped value carries its batch axis in front, whatever its program's equation says of its
type: where the equation has `f32[4]`, the value is `f32[6,4]`. A rule applies primitives to
such values so that the result is mapped, too. Values that are not mapped are the same for
every member of the batch; rules use them as they are, and never copy them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .core import Eqn, aval_of
from .trace import bind

# A rule's arguments: the equation (with the types of one member), the batch's size, the
# operands' values, and which of them are mapped (at least one is).
Rule = Callable[[Eqn, int, Sequence[Any], Sequence[bool]], Any]


def elementwise_rule(eqn: Eqn, size: int, values: Sequence[Any], mapped: Sequence[bool]) -> Any:
    """Broadcasting does the work, once the batch axis cannot be taken for another.

    Broadcasting aligns at the right, so a mapped operand of a lower rank than the result
    needs unit axes after its batch axis: f32[3] that is a batch of scalars, beside rows of 3,
    is f32[3,1].
    """
    rank = len(eqn.outvar.aval.shape) + 1
    operands = [_with_rank(x, rank) if is_mapped else x for x, is_mapped in zip(values, mapped, strict=True)]
    return bind(eqn.primitive, *operands, **eqn.params)


def dot_rule(eqn: Eqn, size: int, values: Sequence[Any], mapped: Sequence[bool]) -> Any:
    """`np.matmul` already has batch axes in front.

    Rows times an unmapped vector or matrix, and an unmapped vector or matrix times mapped
    matrices, are right as they stand. In the other cases vectors become matrices, and batch
    axes are aligned like those of elementwise operands.
    """
    x, y = values
    x_mapped, y_mapped = mapped
    x_rank, y_rank = (len(atom.aval.shape) for atom in eqn.invars)
    if not y_mapped and y_rank <= 2:
        return bind("dot", x, y)
    if not x_mapped and x_rank <= 2 and y_rank >= 2:
        return bind("dot", x, y)
    if x_rank == 1:
        x = _unit_axis(x, -2)
    if y_rank == 1:
        y = _unit_axis(y, -1)
    rank = max(x_rank, y_rank, 2) + 1
    x = _with_rank(x, rank) if x_mapped else x
    y = _with_rank(y, rank) if y_mapped else y
    return _reshape(bind("dot", x, y), (size, *eqn.outvar.aval.shape))


def transpose_rule(eqn: Eqn, size: int, values: Sequence[Any], mapped: Sequence[bool]) -> Any:
    """The batch axis stays in front."""
    permutation = (0, *(axis + 1 for axis in eqn.params["permutation"]))
    return bind("transpose", values[0], permutation=permutation)


def reshape_rule(eqn: Eqn, size: int, values: Sequence[Any], mapped: Sequence[bool]) -> Any:
    """The shape is that of one member; the batch axis comes before it."""
    return bind("reshape", values[0], shape=(size, *eqn.params["shape"]))


def broadcast_rule(eqn: Eqn, size: int, values: Sequence[Any], mapped: Sequence[bool]) -> Any:
    """The batch axis maps to itself, all others move by one."""
    dimensions = (0, *(axis + 1 for axis in eqn.params["broadcast_dimensions"]))
    shape = (size, *eqn.params["shape"])
    return bind("broadcast", values[0], shape=shape, broadcast_dimensions=dimensions)


def reduce_rule(eqn: Eqn, size: int, values: Sequence[Any], mapped: Sequence[bool]) -> Any:
    """Axes counted from the left move by one, those counted from the right do not.

    None means every axis of one member, hence all but the batch axis.
    """
    axis = eqn.params["axis"]
    if axis is None:
        axis = tuple(range(1, len(aval_of(values[0]).shape)))
    elif isinstance(axis, tuple):
        axis = tuple(a + 1 if a >= 0 else a for a in axis)
    elif axis >= 0:
        axis += 1
    return bind(eqn.primitive, values[0], axis=axis, keepdims=eqn.params["keepdims"])


def _reshape(x: Any, shape: tuple[int, ...]) -> Any:
    return x if aval_of(x).shape == shape else bind("reshape", x, shape=shape)


def _with_rank(x: Any, rank: int) -> Any:
    """A mapped value of that rank (batch axis included): unit axes after the batch axis."""
    size, *shape = aval_of(x).shape
    return _reshape(x, (size, *[1] * (rank - 1 - len(shape)), *shape))


def _unit_axis(x: Any, axis: int) -> Any:
    """x with a new axis of size 1, last (-1) or last but one (-2)."""
    shape = aval_of(x).shape
    place = len(shape) + 1 + axis
    return _reshape(x, (*shape[:place], 1, *shape[place:]))


BATCHING_RULES: dict[str, Rule] = {
    **dict.fromkeys(("add", "sub", "mul", "div", "eq", "gt", "select"), elementwise_rule),
    **dict.fromkeys(("neg", "exp", "log", "tanh", "sqrt", "sin", "cos"), elementwise_rule),
    "convert": elementwise_rule,
    "dot": dot_rule,
    "transpose": transpose_rule,
    "reshape": reshape_rule,
    "broadcast": broadcast_rule,
    **dict.fromkeys(("reduce_sum", "reduce_max"), reduce_rule),
}
