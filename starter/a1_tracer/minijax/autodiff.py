"""Reverse-mode differentiation: trace a function, run it, then walk its equations backwards.

The walk keeps one cotangent for each variable. When it reaches the equation that defines a
variable, every use of it has been passed, so its cotangent is complete: that is the
invariant, and the reason for going strictly backwards. Forward run and rules alike use
`bind`, so `grad(f)` is an ordinary function that can be traced: `grad(grad(f))` needs nothing
new, and `jit(grad(f))` sees forward and backward pass as one program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from .core import Atom, Jaxpr, Var, as_array, aval_of, is_float
from .errors import GradientError
from .pytree import TreeDef, tree_flatten, tree_paths, tree_unflatten
from .trace import bind, trace_flat
from .vjp_rules import VJP_RULES

Environment = dict[Var, Any]


def _read(environment: Environment, atom: Atom) -> Any:
    return environment[atom] if isinstance(atom, Var) else atom.value


def forward_pass(jaxpr: Jaxpr, values: Sequence[Any]) -> Environment:
    """Run a jaxpr as `eval_jaxpr` does, but return the values of all its variables."""
    # about 6 lines
    raise NotImplementedError("a1.4: eval_jaxpr, keeping the environment")


def backward_pass(jaxpr: Jaxpr, environment: Environment, out_cts: Sequence[Any]) -> list[Any]:
    """The cotangents of a jaxpr's invars, given those of its outvars.

    `environment`: what `forward_pass` returned. A variable used several times gets the sum of
    what its uses send; one that no result depends on gets zeros of its shape and dtype.
    """
    # about 17 lines
    raise NotImplementedError("a1.4: walk the equations backwards, adding up cotangents by variable")


def vjp(function: Callable[..., Any], *primals: Any) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """The result of `function(*primals)`, and the function that pulls a cotangent back.

    `primals`: pytrees of f32 or f64 arrays. The second result takes a cotangent of the
    result's structure, shapes and dtypes and returns a tuple with one cotangent for each
    primal; it may be called any number of times. Raises GradientError for a primal of another
    dtype and for a cotangent that does not fit.
    """
    return _vjp(function, primals, [f"argument {number}" for number in range(len(primals))])


def _vjp(
    function: Callable[..., Any], primals: tuple[Any, ...], names: list[str]
) -> tuple[Any, Callable[[Any], tuple[Any, ...]]]:
    """`vjp` with the names by which errors call the primals."""
    leaves, structure = tree_flatten(primals)
    paths = [path for x, name in zip(primals, names, strict=True) for path in tree_paths(x, name)]
    avals = [aval_of(leaf) for leaf in leaves]
    for path, aval in zip(paths, avals, strict=True):
        if not is_float(aval):
            raise GradientError(path, aval)
    # about 8 lines
    raise NotImplementedError("a1.4: trace, forward pass; then a function doing the backward pass")


def _checked_cotangents(jaxpr: Jaxpr, structure: TreeDef, cotangent: Any) -> list[Any]:
    """The leaves of a cotangent, which must fit the results of `jaxpr`."""
    leaves, given = tree_flatten(cotangent)
    if given != structure:
        raise GradientError("cotangent", given)
    for atom, leaf in zip(jaxpr.outvars, leaves, strict=True):
        if type(leaf) not in (int, float) and aval_of(leaf) != atom.aval:
            raise GradientError("cotangent", aval_of(leaf))
        if type(leaf) in (int, float) and atom.aval.shape:
            raise GradientError("cotangent", aval_of(leaf))
    return [as_array(leaf, atom.aval.dtype) for atom, leaf in zip(jaxpr.outvars, leaves, strict=True)]


def value_and_grad(
    function: Callable[..., Any], argnums: int | Sequence[int] = 0
) -> Callable[..., tuple[Any, Any]]:
    """A function of the same arguments that returns the value and the gradient.

    `argnums`: the position of the argument to differentiate by, or a sequence of positions;
    the gradient is a pytree like that argument, or a tuple of these. The other arguments,
    keywords included, are passed on as they are and may be anything. `function` must return
    one scalar of a floating dtype. Raises GradientError if it does not, or if a chosen
    argument has a leaf of another dtype.
    """

    @wraps(function)
    def differentiated(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        positions = [_position(number, len(args)) for number in _as_tuple(argnums)]

        @wraps(function)
        def of_chosen(*chosen: Any) -> Any:
            full = list(args)
            for position, value in zip(positions, chosen, strict=True):
                full[position] = value
            return function(*full, **kwargs)

        names = [f"argument {position}" for position in positions]
        # about 4 lines
        raise NotImplementedError("a1.4: vjp by the chosen arguments, with the cotangent 1")

    return differentiated


def _as_tuple(argnums: int | Sequence[int]) -> tuple[int, ...]:
    return (argnums,) if isinstance(argnums, int) else tuple(argnums)


def _position(number: int, count: int) -> int:
    if not -count <= number < count:
        raise TypeError(f"grad: argnums has {number}, but the function got {count} arguments.")
    return number % count


def _check_scalar(value: Any) -> None:
    """Raise GradientError unless the value is one floating scalar."""
    leaves, structure = tree_flatten(value)
    if len(leaves) != 1 or structure != tree_flatten(0)[1]:
        raise GradientError("output", structure)
    if aval_of(value).shape or not is_float(aval_of(value)):
        raise GradientError("output", aval_of(value))


def grad(function: Callable[..., Any], argnums: int | Sequence[int] = 0) -> Callable[..., Any]:
    """A function of the same arguments that returns the gradient; see `value_and_grad`."""

    @wraps(function)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        return value_and_grad(function, argnums)(*args, **kwargs)[1]

    return gradient
