"""Reverse-mode differentiation by a tape.

While the function runs, its arguments are nodes. An operation on a node is done at once, on
the values in the nodes, and makes another node, which remembers its parents and, for each, a
closure that pulls a cotangent back to it. No jaxpr is made. The gradient by a result is found
from the graph alone: sort it topologically from the results, then accumulate into parents.

A tape has a level like a trace, so `bind` hands it every operation whose innermost operand is
one of its nodes. The values in its nodes belong to enclosing levels: they are arrays, or
tracers, or nodes of an outer tape. Hence grad(grad(f)), jit(grad(f)) and vmap(grad(f)).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any

import numpy as np

from .core import Atom, Jaxpr, ShapedArray, Var, as_array, aval_of, is_float
from .errors import DTypeError, GradientError
from .pytree import TreeDef, tree_flatten, tree_paths, tree_unflatten
from .source_info import Source, caller, definition, function_name
from .trace import _STACK, Trace, Tracer, bind
from .vjp_rules import Pull, edges

Environment = dict[Var, Any]


class Tape(Trace):
    """The operations of one run of a function. It keeps no list: the graph is in the nodes."""

    __slots__ = ()

    def record(self, primitive: str, operands: tuple[Any, ...], params: dict[str, Any]) -> Node:
        """Do one operation on the values, and link its result to the operands on the tape."""
        values = tuple(self.value_of(x) for x in operands)
        out = bind(primitive, *values, **params)
        pulls = edges(primitive, out, values, params)
        parents = [
            (x, pull)
            for x, pull in zip(operands, pulls, strict=True)
            if pull is not None and isinstance(x, Node) and x.trace is self
        ]
        return Node(self, out, caller(), parents)

    def value_of(self, x: Any) -> Any:
        """What a node of this tape holds; everything else is a constant."""
        return x.value if isinstance(x, Node) and x.trace is self else x


class Node(Tracer):
    """A value on a tape, with its parents and the closures that lead to them."""

    __slots__ = ("parents", "value")

    def __init__(self, tape: Trace | None, value: Any, source: Source, parents: list[tuple[Node, Pull]]) -> None:
        super().__init__(tape, Var(aval_of(value)), source)
        self.value = value
        self.parents = parents


@contextmanager
def new_tape(function: str) -> Iterator[Tape]:
    """Open a tape inside all open traces; it is closed however the block is left."""
    tape = Tape(len(_STACK.traces), function)
    _STACK.traces.append(tape)
    try:
        yield tape
    finally:
        tape.open = False
        _STACK.traces.pop()


def topological_order(roots: Sequence[Node]) -> list[Node]:
    """All nodes that the roots depend on, parents first. Depth first, with a stack of its own."""
    order: list[Node] = []
    seen: set[Var] = set()
    for root in roots:
        if root.var in seen:
            continue
        seen.add(root.var)
        stack = [(root, iter(root.parents))]
        while stack:
            node, rest = stack[-1]
            for parent, _ in rest:
                if parent.var not in seen:
                    seen.add(parent.var)
                    stack.append((parent, iter(parent.parents)))
                    break
            else:
                order.append(node)
                stack.pop()
    return order


def accumulate(roots: Sequence[tuple[Node, Any]], leaves: Sequence[Node]) -> list[Any]:
    """The cotangents of the leaves, given those of the roots."""
    gradients: dict[Var, Any] = {}

    def add_to(node: Node, ct: Any) -> None:
        gradients[node.var] = bind("add", gradients[node.var], ct) if node.var in gradients else ct

    roots = [(node, ct) for node, ct in roots if is_float(node.aval)]
    for node, ct in roots:
        add_to(node, ct)
    for node in reversed(topological_order([node for node, _ in roots])):
        for parent, pull in node.parents:
            add_to(parent, pull(gradients[node.var]))
    zeros = (np.zeros(leaf.aval.shape, leaf.aval.dtype) for leaf in leaves)
    return [gradients.get(leaf.var, zero) for leaf, zero in zip(leaves, zeros, strict=True)]


def forward_pass(jaxpr: Jaxpr, values: Sequence[Any]) -> Environment:
    """Run a jaxpr as `eval_jaxpr` does, but return the values of all its variables."""
    environment = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    environment.update(zip(jaxpr.invars, map(as_array, values), strict=True))
    for eqn in jaxpr.eqns:
        operands = [_read(environment, atom) for atom in eqn.invars]
        environment[eqn.outvar] = bind(eqn.primitive, *operands, **eqn.params)
    return environment


def backward_pass(jaxpr: Jaxpr, environment: Environment, out_cts: Sequence[Any]) -> list[Any]:
    """The cotangents of a jaxpr's invars: build the graph of its run, then use that."""
    nodes = {var: Node(None, value, None, []) for var, value in environment.items()}
    for eqn in jaxpr.eqns:
        operands = tuple(_read(environment, atom) for atom in eqn.invars)
        pulls = edges(eqn.primitive, environment[eqn.outvar], operands, eqn.params)
        pairs = zip(eqn.invars, pulls, strict=True)
        nodes[eqn.outvar].parents = [(nodes[a], pull) for a, pull in pairs if pull is not None and isinstance(a, Var)]
    outs = zip(jaxpr.outvars, out_cts, strict=True)
    roots = [(nodes[atom], ct) for atom, ct in outs if isinstance(atom, Var)]
    return accumulate(roots, [nodes[var] for var in jaxpr.invars])


def _read(environment: Environment, atom: Atom) -> Any:
    return environment[atom] if isinstance(atom, Var) else atom.value


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
    with new_tape(function_name(function)) as tape:
        source = definition(function)
        nodes = [Node(tape, as_array(leaf), source, []) for leaf in leaves]
        outs, out_structure = tree_flatten(function(*tree_unflatten(structure, nodes)))
        for out in outs:
            if isinstance(out, Tracer) and not out.trace.open:
                raise out.leaked()
            if isinstance(out, ShapedArray):
                raise DTypeError("array", (out,), "a type is not a value")
        out_avals = [aval_of(out) for out in outs]
        values = [as_array(tape.value_of(out)) for out in outs]
        on_tape = [isinstance(out, Node) and out.trace is tape for out in outs]

    def pull_back(cotangent: Any) -> tuple[Any, ...]:
        cts = _checked_cotangents(out_avals, out_structure, cotangent)
        roots = [(out, ct) for out, ct, known in zip(outs, cts, on_tape, strict=True) if known]
        return tree_unflatten(structure, accumulate(roots, nodes))

    return tree_unflatten(out_structure, values), pull_back


def _checked_cotangents(avals: list[ShapedArray], structure: TreeDef, cotangent: Any) -> list[Any]:
    """The leaves of a cotangent, which must fit results of these types."""
    leaves, given = tree_flatten(cotangent)
    if given != structure:
        raise GradientError("cotangent", given)
    for aval, leaf in zip(avals, leaves, strict=True):
        if type(leaf) not in (int, float) and aval_of(leaf) != aval:
            raise GradientError("cotangent", aval_of(leaf))
        if type(leaf) in (int, float) and aval.shape:
            raise GradientError("cotangent", aval_of(leaf))
    return [as_array(leaf, aval.dtype) for aval, leaf in zip(avals, leaves, strict=True)]


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
