"""Tracing: run a Python function once, on values that know only their type, and write down
what it does.

The function's arguments are tracers. A tracer meets the world through `bind`: an operation
with a tracer among its operands is not computed but recorded, as an equation, and its result
is another tracer; an operation on ordinary arrays is computed at once. Traces nest (a traced
function may call `grad`, which traces again), so each has a level, and the rule is:

    the innermost trace among the operands records; every other operand is a literal to it.

Thus a literal may hold a tracer of an enclosing trace. Nothing goes wrong when a jaxpr with
such literals is replayed, for `eval_jaxpr` applies `bind` again, and that records in the
enclosing trace. All transformations are replays of this kind, which is why they compose.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from typing import Any, NoReturn

import numpy as np

from .abstract_eval import abstract_eval, scalar_dtype
from .core import PYTHON_SCALARS, Atom, Eqn, Jaxpr, Literal, ShapedArray, Var, as_array, aval_of
from .errors import ConcretizationError, LeakedTracerError
from .operators import Operators
from .primitives import evaluate
from .pytree import TreeDef, tree_flatten, tree_unflatten
from .source_info import Source, caller, definition, function_name, location


class Trace:
    """One recording. `level`: how many traces enclose it. `open`: until the function returns."""

    __slots__ = ("eqns", "function", "level", "open")

    def __init__(self, level: int, function: str) -> None:
        self.level = level
        self.function = function
        self.eqns: list[Eqn] = []
        self.open = True

    def record(self, primitive: str, operands: tuple[Any, ...], params: dict[str, Any]) -> Tracer:
        """Append the equation of one operation and return the tracer of its result.

        `operands`: arrays, and tracers of this trace or of enclosing ones.
        """
        ### BEGIN SOLUTION a1.2: atoms, the result's type, an equation, a new tracer
        atoms = tuple(map(self.atom, operands))
        aval = abstract_eval(primitive, *[atom.aval for atom in atoms], **params)
        result = Tracer(self, Var(aval), caller())
        self.eqns.append(Eqn(primitive, atoms, params, result.var))
        return result
        ### END SOLUTION

    def atom(self, value: Any) -> Atom:
        """How an equation of this trace refers to a value: its own variable, or a literal."""
        ### BEGIN SOLUTION a1.2: variables for this trace's tracers, literals for the rest
        if isinstance(value, Tracer) and value.trace is self:
            return value.var
        return Literal(value)
        ### END SOLUTION


class Tracer(Operators):
    """Stands for any array of its type while `trace` is open; `var` is its name there."""

    __slots__ = ("aval", "source", "trace", "var")

    def __init__(self, trace: Trace, var: Var, source: Source) -> None:
        self.trace = trace
        self.var = var
        self.aval: ShapedArray = var.aval
        self.source = source

    def leaked(self) -> LeakedTracerError:
        """The error for using this tracer after its trace has ended."""
        origin = f"function {self.trace.function}, {location(self.source)}"
        return LeakedTracerError(str(self), origin)

    def _refuse(self, operation: str) -> NoReturn:
        ### BEGIN SOLUTION a1.2: which of the two errors is it?
        if not self.trace.open:
            raise self.leaked()
        raise ConcretizationError(self.trace.function, str(self), operation)
        ### END SOLUTION


class _Stack(threading.local):
    """The open traces, outermost first; each thread has its own."""

    def __init__(self) -> None:
        self.traces: list[Trace] = []


_STACK = _Stack()


@contextmanager
def new_trace(function: str) -> Iterator[Trace]:
    """Open a trace inside all open ones; it is closed however the block is left."""
    ### BEGIN SOLUTION a1.2: push a trace of the next level; close and pop it in any case
    trace = Trace(len(_STACK.traces), function)
    _STACK.traces.append(trace)
    try:
        yield trace
    finally:
        trace.open = False
        _STACK.traces.remove(trace)
    ### END SOLUTION


def bind(primitive: str, *operands: Any, **params: Any) -> Any:
    """Apply a primitive: record it if an operand is a tracer, else compute it.

    Operands: arrays, NumPy and Python scalars, tracers. Returns a tracer of the innermost
    trace among the operands, or an `np.ndarray`. Raises LeakedTracerError for a tracer whose
    trace has ended, and ShapeError or DTypeError as `abstract_eval` does.
    """
    ### BEGIN SOLUTION a1.2: find the innermost trace, then record or compute
    innermost: Trace | None = None
    for operand in operands:
        if isinstance(operand, Tracer):
            trace = operand.trace
            if not trace.open:
                raise operand.leaked()
            if innermost is None or trace.level > innermost.level:
                innermost = trace
        elif type(operand) in PYTHON_SCALARS:
            operands = with_dtypes(operands)
    if innermost is not None:
        return innermost.record(primitive, operands, params)
    abstract_eval(primitive, *map(aval_of, operands), **params)  # for its errors
    return evaluate(primitive, list(operands), params)
    ### END SOLUTION


Tracer._bind = staticmethod(bind)


def with_dtypes(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands with Python scalars made into arrays, of the dtypes that the others imply."""
    arrays = [x for x in operands if type(x) not in PYTHON_SCALARS]
    dtypes = [x.dtype if isinstance(x, Tracer) else aval_of(x).dtype for x in arrays]
    return tuple(
        [np.asarray(x, _scalar_dtype(type(x), *dtypes)) if type(x) in PYTHON_SCALARS else x for x in operands]
    )


# It is asked the same few questions again and again.
_scalar_dtype: Callable[..., np.dtype] = lru_cache(maxsize=256)(scalar_dtype)


def trace_flat(
    function: Callable[..., Any], avals: list[ShapedArray], structure: TreeDef
) -> tuple[Jaxpr, TreeDef]:
    """Trace `function(*args)`, where args is the pytree of these leaves.

    Returns the jaxpr, whose invars and outvars are leaves in order, and the result's structure.
    """
    ### BEGIN SOLUTION a1.2: make tracers, call the function once, close the program
    with new_trace(function_name(function)) as trace:
        source = definition(function)
        tracers = [Tracer(trace, Var(aval), source) for aval in avals]
        result = function(*tree_unflatten(structure, tracers))
        leaves, out_structure = tree_flatten(result)
        for leaf in leaves:
            if isinstance(leaf, Tracer) and not leaf.trace.open:
                raise leaf.leaked()
        outvars = tuple(trace.atom(leaf) for leaf in leaves)
    invars = tuple(tracer.var for tracer in tracers)
    return Jaxpr(invars, tuple(trace.eqns), outvars), out_structure
    ### END SOLUTION


def make_jaxpr(function: Callable[..., Any]) -> Callable[..., Jaxpr]:
    """A function of the same arguments that returns the jaxpr of `function`.

    Arguments and results are pytrees of arrays; a `ShapedArray` may stand for an array. The
    jaxpr has one invar for each leaf of the arguments and one outvar for each of the result.
    `function` runs exactly once. Raises what `function` does, and DTypeError if an argument
    or a result is not an array.
    """

    @wraps(function)
    def traced(*args: Any) -> Jaxpr:
        leaves, structure = tree_flatten(args)
        jaxpr, _ = trace_flat(function, [aval_of(leaf) for leaf in leaves], structure)
        return jaxpr

    return traced


def eval_jaxpr(jaxpr: Jaxpr, *args: Any) -> list[Any]:
    """Run a jaxpr on one value for each invar; returns one value for each outvar.

    The arguments may be tracers: then the jaxpr's equations are recorded in their trace.
    Raises TypeError when the number of arguments is wrong.
    """
    if len(args) != len(jaxpr.invars):
        raise TypeError(f"The jaxpr takes {len(jaxpr.invars)} arguments, but got {len(args)}.")
    ### BEGIN SOLUTION a1.2: an environment from variables to values, filled equation by equation
    environment: dict[Var, Any] = dict(zip(jaxpr.invars, map(as_array, args), strict=True))
    environment.update(zip(jaxpr.constvars, jaxpr.consts, strict=True))

    def read(atom: Atom) -> Any:
        return environment[atom] if isinstance(atom, Var) else atom.value

    for eqn in jaxpr.eqns:
        operands = [read(atom) for atom in eqn.invars]
        environment[eqn.outvar] = bind(eqn.primitive, *operands, **eqn.params)
    return [read(atom) for atom in jaxpr.outvars]
    ### END SOLUTION


def eval_shape(function: Callable[..., Any], *args: Any) -> Any:
    """The types of `function(*args)`, as the pytree of its result with `ShapedArray` leaves.

    Nothing is computed; arguments may be arrays or `ShapedArray`s. Raises as `make_jaxpr` does.
    """
    ### BEGIN SOLUTION a1.2: trace, keep the types of the results only
    leaves, structure = tree_flatten(args)
    jaxpr, out_structure = trace_flat(function, [aval_of(leaf) for leaf in leaves], structure)
    return tree_unflatten(out_structure, [atom.aval for atom in jaxpr.outvars])
    ### END SOLUTION
