"""Reverse-mode differentiation as JAX does it: linearise, then transpose.

`trace_flat` gives the program, `forward_pass` its values. `linearise` pushes tangents through
it in a trace of their own: what that trace records is a jaxpr that is linear in the tangents,
with the primals as its literals. `transpose_linear` runs it backwards. No primitive has a VJP
rule; it has a JVP rule, and the few primitives that occur in linear programs have a transpose.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from .core import Atom, Jaxpr, Literal, Var, as_array, aval_of, is_float
from .errors import GradientError
from .pytree import TreeDef, tree_flatten, tree_paths, tree_unflatten
from .trace import Tracer, bind, new_trace, trace_flat
from .vjp_rules import jvp_of_equation, transpose_linear

Environment = dict[Var, Any]


def _read(environment: Environment, atom: Atom) -> Any:
    return environment[atom] if isinstance(atom, Var) else atom.value


def forward_pass(jaxpr: Jaxpr, values: Sequence[Any]) -> Environment:
    """Run a jaxpr as `eval_jaxpr` does, but return the values of all its variables."""
    environment: Environment = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    for var, value in zip(jaxpr.invars, values, strict=True):
        environment[var] = as_array(value, var.aval.dtype)
    for eqn in jaxpr.eqns:
        operands = [_read(environment, atom) for atom in eqn.invars]
        environment[eqn.outvar] = bind(eqn.primitive, *operands, **eqn.params)
    return environment


def linearise(jaxpr: Jaxpr, environment: Environment) -> Jaxpr:
    """The derivative of a jaxpr at the values of its variables: a jaxpr from tangents to tangents.

    It has the invars and outvars of `jaxpr`, and is linear. Tangents of what is no float, or does
    not depend on the invars, are zero.
    """
    tangents: Environment = {}
    with new_trace("linearise") as trace:
        seeds = [Tracer(trace, Var(var.aval), None) for var in jaxpr.invars]
        tangents.update((var, seed) for var, seed in zip(jaxpr.invars, seeds, strict=True) if is_float(var.aval))
        for eqn in jaxpr.eqns:
            incoming = [tangents.get(atom) if isinstance(atom, Var) else None for atom in eqn.invars]
            primals = [_read(environment, atom) for atom in eqn.invars]
            out = environment[eqn.outvar]
            tangents[eqn.outvar] = jvp_of_equation(eqn.primitive, out, primals, incoming, eqn.params)
        results: list[Atom] = []
        for atom in jaxpr.outvars:
            tangent = tangents.get(atom) if isinstance(atom, Var) else None
            zero = np.zeros(atom.aval.shape, atom.aval.dtype)
            results.append(Literal(zero) if tangent is None else trace.atom(tangent))
    return Jaxpr(tuple(seed.var for seed in seeds), tuple(trace.eqns), tuple(results))


def pull_back_linear(linear: Jaxpr, out_cts: Sequence[Any]) -> list[Any]:
    """The transposed program on cotangents; zeros for what no result depends on."""
    found = transpose_linear(linear, out_cts)
    zeros = [np.zeros(var.aval.shape, var.aval.dtype) for var in linear.invars]
    return [zero if ct is None else ct for ct, zero in zip(found, zeros, strict=True)]


def backward_pass(jaxpr: Jaxpr, environment: Environment, out_cts: Sequence[Any]) -> list[Any]:
    """The cotangents of a jaxpr's invars, given those of its outvars.

    `environment`: what `forward_pass` returned.
    """
    return pull_back_linear(linearise(jaxpr, environment), out_cts)


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
    jaxpr, out_structure = trace_flat(function, avals, structure)
    environment = forward_pass(jaxpr, leaves)
    result = tree_unflatten(out_structure, [_read(environment, atom) for atom in jaxpr.outvars])

    linear = linearise(jaxpr, environment)

    def pull_back(cotangent: Any) -> tuple[Any, ...]:
        out_cts = _checked_cotangents(jaxpr, out_structure, cotangent)
        return tree_unflatten(structure, pull_back_linear(linear, out_cts))

    return result, pull_back


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
        value, pull_back = _vjp(of_chosen, tuple(args[position] for position in positions), names)
        _check_scalar(value)
        gradients = pull_back(1.0)
        return value, gradients[0] if isinstance(argnums, int) else gradients

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
