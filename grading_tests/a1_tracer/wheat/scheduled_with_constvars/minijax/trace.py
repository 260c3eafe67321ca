"""Tracing: run a Python function once, on values that know only their type, and write down
what it does.

While the function runs, a trace grows a *graph*: each variable knows the equation that makes it.
No list is kept, and the order of execution is forgotten. When the function has returned, the
program is read off the graph from its results, depth first: an equation comes after those that
make its operands, and one that no result needs does not come at all. Whatever comes from outside,
arrays and tracers of enclosing traces alike, is captured once and becomes a constvar; only Python
numbers are literals.

Who records an operation is decided by levels:

    the innermost trace among the operands records; every other operand is a constant to it.

A const may be a tracer of an enclosing trace: replaying applies `bind` again, and that records
there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import lru_cache, wraps
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

from .abstract_eval import abstract_eval, scalar_dtype
from .core import PYTHON_SCALARS, Atom, Eqn, Jaxpr, Literal, ShapedArray, Var, as_array, aval_of
from .errors import ConcretizationError, DTypeError, LeakedTracerError
from .operators import Operators
from .primitives import evaluate
from .pytree import TreeDef, tree_flatten, tree_unflatten
from .source_info import Source, caller, definition, function_name, location


class Trace:
    """One recording. `level`: how many traces enclose it. `open`: until the function returns.

    `makers`: the equation that makes a variable. `captured`: the constvar of an object from
    outside and the object, by identity (the object is kept, so its identity is not used again).
    """

    __slots__ = ("captured", "function", "level", "makers", "open", "parent")

    def __init__(self, function: str, parent: Trace | None) -> None:
        self.function = function
        self.parent = parent
        self.level: int = 0 if parent is None else parent.level + 1
        self.makers: dict[Var, Eqn] = {}
        self.captured: dict[int, tuple[Var, Any]] = {}
        self.open = True

    def record(self, primitive: str, operands: tuple[Any, ...], params: dict[str, Any]) -> Tracer:
        """Add the equation of one operation to the graph and return the tracer of its result."""
        invars = tuple(map(self.atom, operands))
        result = Var(abstract_eval(primitive, *(atom.aval for atom in invars), **params))
        self.makers[result] = Eqn(primitive, invars, params, result)
        return Tracer(self, result, caller())

    def atom(self, value: Any) -> Atom:
        """How an equation of this trace refers to a value: a variable, or a literal number."""
        if isinstance(value, Tracer) and value.trace is self:
            return value.var
        if isinstance(value, Literal):
            return value
        if type(value) in PYTHON_SCALARS:
            return Literal(value)
        if isinstance(value, ShapedArray):
            raise DTypeError("array", (value,), "a type is no array")
        if id(value) not in self.captured:
            self.captured[id(value)] = Var(aval_of(value)), value
        return self.captured[id(value)][0]

    def program(self, inputs: Iterable[Var], results: Iterable[Atom]) -> Jaxpr:
        """The graph as a list: what the results need, each equation after its operands'."""
        results = tuple(results)
        scheduled: list[Eqn] = []
        visited: set[Var] = set()
        waiting: list[Var | Eqn] = [atom for atom in results if isinstance(atom, Var)]
        while waiting:
            top = waiting.pop()
            if isinstance(top, Eqn):  # all that it needs has been scheduled since it was put here
                scheduled.append(top)
            elif top not in visited:
                visited.add(top)
                if top in self.makers:
                    maker = self.makers[top]
                    waiting.append(maker)
                    waiting.extend(atom for atom in maker.invars if isinstance(atom, Var))
        constants = [pair for pair in self.captured.values() if pair[0] in visited]
        return Jaxpr(
            invars=tuple(inputs),
            eqns=tuple(scheduled),
            outvars=results,
            constvars=tuple(var for var, _ in constants),
            consts=tuple(as_array(value) for _, value in constants),
        )


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

    def usable(self) -> Tracer:
        """This tracer, if its trace is open; raises LeakedTracerError if not."""
        if self.trace.open:
            return self
        raise self.leaked()

    def _refuse(self, operation: str) -> NoReturn:
        raise ConcretizationError(self.usable().trace.function, str(self), operation)


class _Innermost(threading.local):
    """The innermost open trace of this thread; the others are its parents."""

    trace: Trace | None = None


_INNERMOST = _Innermost()


class new_trace:  # noqa: N801  (used like a function)
    """Open a trace inside all open ones; it is closed however the block is left."""

    def __init__(self, function: str) -> None:
        self.function = function

    def __enter__(self) -> Trace:
        self.trace = _INNERMOST.trace = Trace(self.function, _INNERMOST.trace)
        return self.trace

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.trace.open = False
        _INNERMOST.trace = self.trace.parent


def bind(primitive: str, *operands: Any, **params: Any) -> Any:
    """Apply a primitive: record it if an operand is a tracer, else compute it.

    Operands: arrays, NumPy and Python scalars, tracers. Returns a tracer of the innermost
    trace among the operands, or an `np.ndarray`. Raises LeakedTracerError for a tracer whose
    trace has ended, and ShapeError or DTypeError as `abstract_eval` does.
    """
    first = 1 if primitive == "select" else 0  # the predicate has no part in promotion
    operands = _numbers_typed(operands[:first]) + _numbers_typed(operands[first:])
    traces = [x.usable().trace for x in operands if isinstance(x, Tracer)]
    if traces:
        return max(traces, key=_level).record(primitive, operands, params)
    values = [x.value if isinstance(x, Literal) else x for x in operands]
    abstract_eval(primitive, *map(aval_of, values), **params)
    return evaluate(primitive, values, params)


def _level(trace: Trace) -> int:
    return trace.level


def _numbers_typed(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands with Python numbers made into literals, of the dtypes that the others imply."""
    dtypes = [aval_of(x).dtype for x in operands if type(x) not in PYTHON_SCALARS]
    if len(dtypes) == len(operands):
        return operands
    return tuple(
        Literal(np.asarray(x, _scalar_dtype(type(x), *dtypes))) if type(x) in PYTHON_SCALARS else x for x in operands
    )


# It is asked the same few questions again and again.
_scalar_dtype: Callable[..., np.dtype] = lru_cache(maxsize=256)(scalar_dtype)

Tracer._bind = staticmethod(bind)


def trace_flat(
    function: Callable[..., Any], avals: list[ShapedArray], structure: TreeDef
) -> tuple[Jaxpr, TreeDef]:
    """Trace `function(*args)`, where args is the pytree of these leaves.

    Returns the jaxpr, whose invars and outvars are leaves in order, and the result's structure.
    """
    inputs = [Var(aval) for aval in avals]
    with new_trace(function_name(function)) as trace:
        tracers = [Tracer(trace, var, definition(function)) for var in inputs]
        leaves, out_structure = tree_flatten(function(*tree_unflatten(structure, tracers)))
        results = [trace.atom(leaf.usable() if isinstance(leaf, Tracer) else leaf) for leaf in leaves]
    return trace.program(inputs, results), out_structure


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
        return trace_flat(function, list(map(aval_of, leaves)), structure)[0]

    return traced


def eval_jaxpr(jaxpr: Jaxpr, *args: Any) -> list[Any]:
    """Run a jaxpr on one value for each invar; returns one value for each outvar.

    The arguments may be tracers: then the jaxpr's equations are recorded in their trace.
    Raises TypeError when the number of arguments is wrong.
    """
    if len(args) != len(jaxpr.invars):
        raise TypeError(f"The jaxpr takes {len(jaxpr.invars)} arguments, but got {len(args)}.")
    values: dict[Var, Any] = {var: as_array(arg, var.aval.dtype) for var, arg in zip(jaxpr.invars, args, strict=True)}
    values.update(zip(jaxpr.constvars, jaxpr.consts, strict=True))
    for primitive, atoms, params, outvar in jaxpr.eqns:
        operands = [values[atom] if isinstance(atom, Var) else atom.value for atom in atoms]
        values[outvar] = bind(primitive, *operands, **params)
    return [values[atom] if isinstance(atom, Var) else atom.value for atom in jaxpr.outvars]


def eval_shape(function: Callable[..., Any], *args: Any) -> Any:
    """The types of `function(*args)`, as the pytree of its result with `ShapedArray` leaves.

    Nothing is computed; arguments may be arrays or `ShapedArray`s. Raises as `make_jaxpr` does.
    """
    leaves, structure = tree_flatten(args)
    jaxpr, out_structure = trace_flat(function, list(map(aval_of, leaves)), structure)
    return tree_unflatten(out_structure, (atom.aval for atom in jaxpr.outvars))
