"""Automatic batching by a tracer class: the function runs once, on values that carry the batch.

A `BatchTracer` holds a whole batch with its axis in front (or a value that all members share)
and shows the type of one member. An operation on it is done at once, for the whole batch, by
the primitive's batching rule, on the values inside; those belong to enclosing levels. So no
jaxpr is made and replayed, there is no loop over members, and the number of operations does
not depend on the batch's size.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

from .abstract_eval import abstract_eval
from .batching_rules import BATCHING_RULES
from .core import Eqn, Jaxpr, Literal, ShapedArray, Var, as_array, aval_of
from .errors import BatchSizeError, DTypeError, ShapeError
from .pytree import TreeDef, broadcast_prefix, tree_flatten, tree_paths, tree_unflatten
from .source_info import Source, caller, definition, function_name
from .trace import _STACK, Trace, Tracer, bind, eval_jaxpr

Axis = int | None


class Batch(Trace):
    """One run of a function on a batch of `size` members."""

    __slots__ = ("size",)

    def record(self, primitive: str, operands: tuple[Any, ...], params: dict[str, Any]) -> BatchTracer:
        """Do one operation for all members."""
        values, mapped = zip(*map(self.inside, operands), strict=True)
        invars = tuple([x.var if isinstance(x, Tracer) and x.trace is self else Literal(x) for x in operands])
        outvar = Var(abstract_eval(primitive, *[atom.aval for atom in invars], **params))
        if any(mapped):
            out = BATCHING_RULES[primitive](Eqn(primitive, invars, params, outvar), self.size, values, mapped)
        else:
            out = bind(primitive, *values, **params)
        return BatchTracer(self, outvar, caller(), out, any(mapped))

    def inside(self, x: Any) -> tuple[Any, bool]:
        """The value of a tracer of this batch, and whether it is mapped; all else is shared."""
        return (x.value, x.mapped) if isinstance(x, BatchTracer) and x.trace is self else (as_array(x), False)


class BatchTracer(Tracer):
    """Shows the type of one member, holds the values of all."""

    __slots__ = ("mapped", "value")

    def __init__(self, batch: Batch, var: Var, source: Source, value: Any, mapped: bool) -> None:
        super().__init__(batch, var, source)
        self.value = value
        self.mapped = mapped


@contextmanager
def new_batch(function: str, size: int) -> Iterator[Batch]:
    """Open a batch inside all open traces; it is closed however the block is left."""
    batch = Batch(len(_STACK.traces), function)
    batch.size = size
    _STACK.traces.append(batch)
    try:
        yield batch
    finally:
        batch.open = False
        _STACK.traces.pop()


def _run(
    function: Callable[..., Any], structure: TreeDef, avals: list[ShapedArray], pairs: list[tuple[Any, bool]], size: int
) -> tuple[list[tuple[Any, bool]], TreeDef]:
    with new_batch(function_name(function), size) as batch:
        source = definition(function)
        members = [BatchTracer(batch, Var(aval), source, *pair) for aval, pair in zip(avals, pairs, strict=True)]
        outs, out_structure = tree_flatten(function(*tree_unflatten(structure, members)))
        for out in outs:
            if isinstance(out, Tracer) and not out.trace.open:
                raise out.leaked()
            if isinstance(out, ShapedArray):
                raise DTypeError("array", (out,), "a type is not a value")
            aval_of(out)
        return [batch.inside(out) for out in outs], out_structure


def replay_batched(
    jaxpr: Jaxpr, size: int, values: Sequence[Any], mapped: Sequence[bool]
) -> list[tuple[Any, bool]]:
    """Run a jaxpr, traced for one member, on a batch; a pair (value, is mapped) for each outvar."""
    structure = tree_flatten(tuple(values))[1]
    avals = [var.aval for var in jaxpr.invars]
    pairs = list(zip(values, mapped, strict=True))
    return _run(lambda *args: tuple(eval_jaxpr(jaxpr, *args)), structure, avals, pairs, size)[0]


def batch_to_front(x: Any, axis: int) -> Any:
    """x with that (non-negative) axis moved to the front; no equation if it is there."""
    if axis == 0:
        return x
    rest = (number for number in range(len(aval_of(x).shape)) if number != axis)
    return bind("transpose", x, permutation=(axis, *rest))


def batch_from_front(x: Any, axis: int) -> Any:
    """x with its first axis moved to that (non-negative) place; the inverse of `batch_to_front`."""
    if axis == 0:
        return x
    rank = len(aval_of(x).shape)
    return bind("transpose", x, permutation=(*range(1, axis + 1), 0, *range(axis + 1, rank)))


def run_on_batch(
    function: Callable[..., Any], structure: TreeDef, leaves: list[Any], axes: list[Axis], size: int
) -> tuple[list[tuple[Any, bool]], TreeDef]:
    """Do for every member of the batch what `function(*args)` does for one.

    args is the pytree of these leaves; `axes` has the mapped axis of each (non-negative), or
    None. Returns what `replay_batched` does, and the result's structure.
    """
    avals = [_member(leaf, axis) for leaf, axis in zip(leaves, axes, strict=True)]
    pairs = [
        (as_array(leaf), False) if axis is None else (batch_to_front(as_array(leaf), axis), True)
        for leaf, axis in zip(leaves, axes, strict=True)
    ]
    return _run(function, structure, avals, pairs, size)


def place_result(value: Any, is_mapped: bool, size: int, axis: Axis) -> Any:
    """A result of the replay with its batch axis where `out_axes` wants it.

    An unmapped value that must have the axis is repeated. Raises ShapeError for an axis out
    of range, and when no axis is wanted (None) of a value that differs between members.
    """
    aval = aval_of(value)
    if axis is None:
        if is_mapped:
            reason = "out_axes is None, but the result differs from member to member"
            raise ShapeError("vmap", (aval,), reason)
        return value
    rank = len(aval.shape) + (not is_mapped)
    if not -rank <= axis < rank:
        raise ShapeError("vmap", (aval,), f"out_axes has {axis}, but the results have rank {rank}")
    axis %= rank
    if is_mapped:
        return batch_from_front(value, axis)
    shape = (*aval.shape[:axis], size, *aval.shape[axis:])
    dimensions = tuple(number for number in range(rank) if number != axis)
    return bind("broadcast", value, shape=shape, broadcast_dimensions=dimensions)


def vmap(function: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """A function that does for a batch what `function` does for one member.

    `in_axes`: for each argument the axis that runs over the members (negative: from the
    right), or None for an argument that all members share; one entry for all arguments, or a
    tuple of entries, each of which may be a pytree matching the argument. `out_axes`: the same
    for the results. Raises BatchSizeError when the sizes of the mapped axes differ or no
    argument is mapped, and ShapeError for an axis that an array does not have.
    """

    @wraps(function)
    def batched(*args: Any) -> Any:
        prefix = tuple(in_axes) if isinstance(in_axes, list) else in_axes
        axes = broadcast_prefix(prefix, args, "in_axes")
        leaves, structure = tree_flatten(args)
        paths = _argument_paths(function, args)
        axes, size = _checked_axes(leaves, axes, paths)
        results, out_structure = run_on_batch(function, structure, leaves, axes, size)
        values_only = tree_unflatten(out_structure, [value for value, _ in results])
        wanted = broadcast_prefix(out_axes, values_only, "out_axes")
        placed = [
            place_result(value, is_mapped, size, axis)
            for (value, is_mapped), axis in zip(results, wanted, strict=True)
        ]
        return tree_unflatten(out_structure, placed)

    return batched


def _member(value: Any, axis: Axis) -> ShapedArray:
    """The type of one member of a batch: without the mapped (non-negative) axis."""
    aval = aval_of(value)
    if axis is None:
        return aval
    return ShapedArray(aval.shape[:axis] + aval.shape[axis + 1 :], aval.dtype)


def _checked_axes(leaves: list[Any], axes: list[Axis], paths: list[str]) -> tuple[list[Axis], int]:
    """The axes as non-negative numbers, and the batch's size, on which all must agree."""
    positive: list[Axis] = []
    sizes: list[tuple[str, int]] = []
    for leaf, axis, path in zip(leaves, axes, paths, strict=True):
        if axis is None:
            positive.append(None)
            continue
        aval = aval_of(leaf)
        rank = len(aval.shape)
        if type(axis) is not int or not -rank <= axis < rank:
            raise ShapeError("vmap", (aval,), f"{path} has no axis {axis!r} that could be mapped")
        positive.append(axis % rank)
        sizes.append((path, aval.shape[axis]))
    if len({size for _, size in sizes}) != 1:
        raise BatchSizeError(_distinct(sizes))
    return positive, sizes[0][1]


def _distinct(sizes: list[tuple[str, int]]) -> list[tuple[str, int]]:
    """The first argument of each size: enough to see the disagreement."""
    first: dict[int, str] = {}
    for path, size in sizes:
        first.setdefault(size, path)
    return [(path, size) for size, path in first.items()]


def _argument_paths(function: Callable[..., Any], args: tuple[Any, ...]) -> list[str]:
    """A name for each leaf: the parameter's, and the path inside it, such as `params['w']`."""
    names = [f"argument {number}" for number in range(len(args))]
    try:
        bound = inspect.signature(function).bind(*args)
    except (TypeError, ValueError):  # the call will fail, or a builtin has no signature
        bound = None
    if bound is not None and not bound.kwargs and len(bound.arguments) == len(args):
        names = list(bound.arguments)
    return [path for name, arg in zip(names, args, strict=True) for path in tree_paths(arg, name)]
