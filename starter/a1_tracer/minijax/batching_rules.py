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
    # about 6 lines
    raise NotImplementedError("a1.5: align the mapped operands of lower rank")


def dot_rule(eqn: Eqn, size: int, values: Sequence[Any], mapped: Sequence[bool]) -> Any:
    """`np.matmul` already has batch axes in front.

    Rows times an unmapped vector or matrix, and an unmapped vector or matrix times mapped
    matrices, are right as they stand. In the other cases vectors become matrices, and batch
    axes are aligned like those of elementwise operands.
    """
    # about 14 lines
    raise NotImplementedError("a1.5: the two easy cases, then matrices in general")


def transpose_rule(eqn: Eqn, size: int, values: Sequence[Any], mapped: Sequence[bool]) -> Any:
    """The batch axis stays in front."""
    # about 2 lines
    raise NotImplementedError("a1.5: shift the permutation")


def reshape_rule(eqn: Eqn, size: int, values: Sequence[Any], mapped: Sequence[bool]) -> Any:
    """The shape is that of one member; the batch axis comes before it."""
    # about 1 line
    raise NotImplementedError("a1.5: put the batch's size in front")


def broadcast_rule(eqn: Eqn, size: int, values: Sequence[Any], mapped: Sequence[bool]) -> Any:
    """The batch axis maps to itself, all others move by one."""
    # about 3 lines
    raise NotImplementedError("a1.5: put the batch's size in front, shift the dimensions")


def reduce_rule(eqn: Eqn, size: int, values: Sequence[Any], mapped: Sequence[bool]) -> Any:
    """Axes counted from the left move by one, those counted from the right do not.

    None means every axis of one member, hence all but the batch axis.
    """
    # about 8 lines
    raise NotImplementedError("a1.5: shift the axes")


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
