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
        # about 5 lines
        raise NotImplementedError("a1.2: atoms, the result's type, an equation, a new tracer")

    def atom(self, value: Any) -> Atom:
        """How an equation of this trace refers to a value: its own variable, or a literal."""
        # about 3 lines
        raise NotImplementedError("a1.2: variables for this trace's tracers, literals for the rest")


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
        # about 3 lines
        raise NotImplementedError("a1.2: which of the two errors is it?")


class _Stack(threading.local):
    """The open traces, outermost first; each thread has its own."""

    def __init__(self) -> None:
        self.traces: list[Trace] = []


_STACK = _Stack()


@contextmanager
def new_trace(function: str) -> Iterator[Trace]:
    """Open a trace inside all open ones; it is closed however the block is left."""
    # about 7 lines
    raise NotImplementedError("a1.2: push a trace of the next level; close and pop it in any case")


def bind(primitive: str, *operands: Any, **params: Any) -> Any:
    """Apply a primitive: record it if an operand is a tracer, else compute it.

    Operands: arrays, NumPy and Python scalars, tracers. Returns a tracer of the innermost
    trace among the operands, or an `np.ndarray`. Raises LeakedTracerError for a tracer whose
    trace has ended, and ShapeError or DTypeError as `abstract_eval` does.
    """
    # about 14 lines
    raise NotImplementedError("a1.2: find the innermost trace, then record or compute")


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
    # about 11 lines
    raise NotImplementedError("a1.2: make tracers, call the function once, close the program")


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
    # about 8 lines
    raise NotImplementedError("a1.2: an environment from variables to values, filled equation by equation")


def eval_shape(function: Callable[..., Any], *args: Any) -> Any:
    """The types of `function(*args)`, as the pytree of its result with `ShapedArray` leaves.

    Nothing is computed; arguments may be arrays or `ShapedArray`s. Raises as `make_jaxpr` does.
    """
    # about 3 lines
    raise NotImplementedError("a1.2: trace, keep the types of the results only")
