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
        invars = tuple(self.atom(operand) for operand in operands)
        var = Var(abstract_eval(primitive, *(atom.aval for atom in invars), **params))
        self.eqns.append(Eqn(primitive, invars, params, var))
        return Tracer(self, var, caller())

    def atom(self, value: Any) -> Atom:
        """How an equation of this trace refers to a value: its own variable, or a literal."""
        if isinstance(value, Tracer) and value.trace is self:
            return value.var
        return Literal(value)


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
        if not self.trace.open:
            raise self.leaked()
        raise ConcretizationError(self.trace.function, str(self), operation)


class _Stack(threading.local):
    """The open traces, outermost first; each thread has its own."""

    def __init__(self) -> None:
        self.traces: list[Trace] = []


_STACK = _Stack()


@contextmanager
def new_trace(function: str) -> Iterator[Trace]:
    """Open a trace inside all open ones; it is closed however the block is left."""
    traces = _STACK.traces
    trace = Trace(len(traces), function)
    traces.append(trace)
    try:
        yield trace
    finally:
        trace.open = False
        traces.pop()


def bind(primitive: str, *operands: Any, **params: Any) -> Any:
    """Apply a primitive: record it if an operand is a tracer, else compute it.

    Operands: arrays, NumPy and Python scalars, tracers. Returns a tracer of the innermost
    trace among the operands, or an `np.ndarray`. Raises LeakedTracerError for a tracer whose
    trace has ended, and ShapeError or DTypeError as `abstract_eval` does.
    """
    if primitive == "select":  # beside f32 branches, a Python bool stays a bool
        operands = (as_array(operands[0]), *with_dtypes(operands[1:]))
    else:
        operands = with_dtypes(operands)
    innermost: Trace | None = None
    for operand in operands:
        if isinstance(operand, Tracer):
            if not operand.trace.open:
                raise operand.leaked()
            if innermost is None or operand.trace.level > innermost.level:
                innermost = operand.trace
    if innermost is not None:
        return innermost.record(primitive, operands, params)
    abstract_eval(primitive, *map(aval_of, operands), **params)
    return evaluate(primitive, list(operands), params)


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
    source = definition(function)
    with new_trace(function_name(function)) as trace:
        tracers = [Tracer(trace, Var(aval), source) for aval in avals]
        result = function(*tree_unflatten(structure, tracers))
        leaves, out_structure = tree_flatten(result)
        for leaf in leaves:
            if isinstance(leaf, Tracer) and not leaf.trace.open:
                raise leaf.leaked()
        outvars = tuple(trace.atom(leaf) for leaf in leaves)
    return Jaxpr(tuple(t.var for t in tracers), tuple(trace.eqns), outvars), out_structure


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
    environment: dict[Var, Any] = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    for var, arg in zip(jaxpr.invars, args, strict=True):
        environment[var] = as_array(arg, var.aval.dtype)

    def read(atom: Atom) -> Any:
        return environment[atom] if isinstance(atom, Var) else atom.value

    for eqn in jaxpr.eqns:
        environment[eqn.outvar] = bind(eqn.primitive, *map(read, eqn.invars), **eqn.params)
    return [read(atom) for atom in jaxpr.outvars]


def eval_shape(function: Callable[..., Any], *args: Any) -> Any:
    """The types of `function(*args)`, as the pytree of its result with `ShapedArray` leaves.

    Nothing is computed; arguments may be arrays or `ShapedArray`s. Raises as `make_jaxpr` does.
    """
    leaves, structure = tree_flatten(args)
    jaxpr, out_structure = trace_flat(function, [aval_of(leaf) for leaf in leaves], structure)
    return tree_unflatten(out_structure, [atom.aval for atom in jaxpr.outvars])
