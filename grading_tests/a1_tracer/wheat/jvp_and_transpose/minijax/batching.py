"""Automatic batching: trace a function for one member, then replay it on the whole batch.

During the replay a value is either mapped (it has the batch axis in front) or the same for
every member. An equation without a mapped operand is done once for all; the others go by
their primitive's batching rule. So the number of equations does not depend on the batch's
size, and there is no loop over its members.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from .batching_rules import BATCHING_RULES
from .core import Atom, Jaxpr, ShapedArray, Var, as_array, aval_of
from .errors import BatchSizeError, ShapeError
from .pytree import TreeDef, broadcast_prefix, tree_flatten, tree_paths, tree_unflatten
from .trace import bind, trace_flat

Axis = int | None


def replay_batched(
    jaxpr: Jaxpr, size: int, values: Sequence[Any], mapped: Sequence[bool]
) -> list[tuple[Any, bool]]:
    """Run a jaxpr, traced for one member, on a batch.

    `values`: one for each invar; those marked in `mapped` have the batch axis in front.
    Returns, for each outvar, the value and whether it is mapped.
    """
    environment: dict[Var, tuple[Any, bool]] = {}
    for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=True):
        environment[var] = value, False
    for var, value, is_mapped in zip(jaxpr.invars, values, mapped, strict=True):
        environment[var] = as_array(value, var.aval.dtype), is_mapped

    def read(atom: Atom) -> tuple[Any, bool]:
        return environment[atom] if isinstance(atom, Var) else (atom.value, False)

    for eqn in jaxpr.eqns:
        pairs = [read(atom) for atom in eqn.invars]
        operands, flags = [value for value, _ in pairs], [is_mapped for _, is_mapped in pairs]
        if any(flags):
            result = BATCHING_RULES[eqn.primitive](eqn, size, operands, flags)
        else:
            result = bind(eqn.primitive, *operands, **eqn.params)
        environment[eqn.outvar] = result, any(flags)
    return [read(atom) for atom in jaxpr.outvars]


def batch_to_front(x: Any, axis: int) -> Any:
    """x with that (non-negative) axis moved to the front; no equation if it is there."""
    if axis == 0:
        return x
    others = [a for a in range(len(aval_of(x).shape)) if a != axis]
    return bind("transpose", x, permutation=(axis, *others))


def batch_from_front(x: Any, axis: int) -> Any:
    """x with its first axis moved to that (non-negative) place; the inverse of `batch_to_front`."""
    if axis == 0:
        return x
    permutation = list(range(1, len(aval_of(x).shape)))
    permutation.insert(axis, 0)
    return bind("transpose", x, permutation=tuple(permutation))


def run_on_batch(
    function: Callable[..., Any], structure: TreeDef, leaves: list[Any], axes: list[Axis], size: int
) -> tuple[list[tuple[Any, bool]], TreeDef]:
    """Do for every member of the batch what `function(*args)` does for one.

    args is the pytree of these leaves; `axes` has the mapped axis of each (non-negative), or
    None. Returns what `replay_batched` does, and the result's structure.
    """
    avals = [_member(leaf, axis) for leaf, axis in zip(leaves, axes, strict=True)]
    jaxpr, out_structure = trace_flat(function, avals, structure)
    values = [
        leaf if axis is None else batch_to_front(leaf, axis) for leaf, axis in zip(leaves, axes, strict=True)
    ]
    return replay_batched(jaxpr, size, values, [axis is not None for axis in axes]), out_structure


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
    dimensions = tuple(a for a in range(rank) if a != axis)
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
