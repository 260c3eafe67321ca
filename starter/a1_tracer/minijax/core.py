"""The jaxpr: a program as data.

A jaxpr is a list of equations `variable = primitive(atoms)`. An atom is a variable or a
literal; every variable has a type (an abstract value, *aval*: shape and dtype) and is
assigned exactly once, before its first use. There are no loops, calls or objects in it,
which is why transformations can be written as one walk over the list.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from .errors import DTypeError, JaxprError, ShapeError

# The dtypes of minijax, lowest first: a mixed operation has the dtype of its highest operand.
DTYPES: tuple[np.dtype, ...] = tuple(np.dtype(name) for name in ("bool", "int32", "int64", "float32", "float64"))
DTYPE_NAMES: dict[np.dtype, str] = dict(zip(DTYPES, ("bool", "i32", "i64", "f32", "f64"), strict=True))
# A Python scalar alone (no array beside it) has the dtype of its type.
PYTHON_SCALARS: dict[type, np.dtype] = {bool: DTYPES[0], int: DTYPES[1], float: DTYPES[3]}


class ShapedArray:
    """An abstract value: the shape and dtype of an array, without its data.

    Immutable and hashable (the hash is computed once); prints as `f32[4,3]`. `dtype` may be
    given as anything `np.dtype` accepts. Raises DTypeError for a dtype outside `DTYPES`.
    """

    __slots__ = ("_hash", "dtype", "shape")
    shape: tuple[int, ...]
    dtype: np.dtype
    _hash: int

    def __init__(self, shape: Iterable[int], dtype: Any) -> None:
        shape, dtype = tuple(shape), np.dtype(dtype)
        if dtype not in DTYPE_NAMES:
            allowed = ", ".join(DTYPE_NAMES.values())
            raise DTypeError("array", (dtype,), f"minijax knows only the dtypes {allowed}")
        object.__setattr__(self, "shape", shape)
        object.__setattr__(self, "dtype", dtype)
        object.__setattr__(self, "_hash", hash((shape, dtype)))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"ShapedArray is immutable; make a new one to change {name}.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ShapedArray):
            return NotImplemented
        return self.shape == other.shape and self.dtype == other.dtype

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"{DTYPE_NAMES[self.dtype]}[{','.join(map(str, self.shape))}]"

    def __reduce__(self) -> tuple[type, tuple[tuple[int, ...], np.dtype]]:
        return ShapedArray, (self.shape, self.dtype)

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return int(np.prod(self.shape, dtype=np.int64))


def is_float(aval: ShapedArray) -> bool:
    """Whether values of this type have gradients: f32 and f64 do, bool, i32 and i64 do not."""
    return aval.dtype.kind == "f"


# Programs meet the same few types again and again: looking one up is faster than making it.
_shaped_array = lru_cache(maxsize=4096)(ShapedArray)


def aval_of(value: Any) -> ShapedArray:
    """The abstract value of an array, a NumPy or Python scalar, a tracer, or an aval itself.

    A Python bool, int or float alone is `bool[]`, `i32[]` or `f32[]`. Raises DTypeError for
    anything else.
    """
    if isinstance(value, (np.ndarray, np.generic)):
        return _shaped_array(value.shape, value.dtype)
    if type(value) in PYTHON_SCALARS:
        return _shaped_array((), PYTHON_SCALARS[type(value)])
    aval = value if isinstance(value, ShapedArray) else getattr(value, "aval", None)
    if isinstance(aval, ShapedArray):
        return aval
    raise DTypeError(
        "array",
        (type(value).__name__,),
        "an array or a number is needed; give configuration as a static argument of jit, but this was given",
    )


def as_array(value: Any, dtype: np.dtype | None = None) -> Any:
    """A NumPy or Python scalar as an array of rank 0; arrays and tracers as they are.

    `dtype` is for a Python scalar, in place of that which it has alone.
    """
    if type(value) in PYTHON_SCALARS:
        return np.asarray(value, PYTHON_SCALARS[type(value)] if dtype is None else dtype)
    return np.asarray(value) if isinstance(value, np.generic) else value


class Var:
    """A variable. It has a type and an identity; its name is the printer's business."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return f"Var:{self.aval}"


class Literal:
    """A constant operand: an array of any rank, or a tracer of an enclosing trace.

    The array is kept, not copied: minijax treats arrays as immutable.
    """

    __slots__ = ("aval", "value")

    def __init__(self, value: Any) -> None:
        self.aval = aval_of(value)
        self.value = as_array(value)

    def __repr__(self) -> str:
        if not isinstance(self.value, np.ndarray):
            return str(self.value)
        if self.value.ndim == 0:
            return str(self.value[()])
        if self.value.size <= 4:
            return np.array2string(self.value, separator=",").replace("\n", "") + f":{self.aval}"
        return f"constant:{self.aval}"


Atom = Var | Literal


class Eqn(NamedTuple):
    """One equation, `outvar = primitive[params](invars)`. A primitive has one result."""

    primitive: str
    invars: tuple[Atom, ...]
    params: dict[str, Any]
    outvar: Var


@dataclass(frozen=True, slots=True)
class Jaxpr:
    """A program: `invars` and `constvars` are its parameters, `outvars` its results.

    `consts` are the values of `constvars`, in the same order. Prints in JAX's notation.
    """

    invars: tuple[Var, ...]
    eqns: tuple[Eqn, ...]
    outvars: tuple[Atom, ...]
    constvars: tuple[Var, ...] = ()
    consts: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def variable_names() -> Iterator[str]:
    """a, b, ..., z, aa, ab, ..."""
    prefixes = [""]
    while True:
        names = [prefix + letter for prefix in prefixes for letter in string.ascii_lowercase]
        yield from names
        prefixes = names


def _lines(jaxpr: Jaxpr) -> Iterator[str]:
    """The printed jaxpr, line by line. Names are given in order of definition."""
    fresh, names = variable_names(), dict[Var, str]()

    def define(var: Var) -> str:
        names[var] = next(fresh)
        return f"{names[var]}:{var.aval}"

    def use(atom: Atom) -> str:
        return names.get(atom, "?") if isinstance(atom, Var) else str(atom)

    constvars = "".join(define(var) + " " for var in jaxpr.constvars)
    invars = " ".join(define(var) for var in jaxpr.invars)
    yield f"{{ lambda {constvars}; {invars}. let"
    for eqn in jaxpr.eqns:
        operands = "".join(" " + use(atom) for atom in eqn.invars)  # before the result is named
        yield f"    {define(eqn.outvar)} = {eqn.primitive}{_params(eqn.params)}{operands}"
    outvars = ", ".join(use(atom) for atom in jaxpr.outvars)
    yield f"  in ({outvars}{',' if len(jaxpr.outvars) == 1 else ''}) }}"


def _params(params: dict[str, Any]) -> str:
    """`[axis=-1 keepdims=False]`, or nothing when there are none."""
    shown = (
        f"{name}={DTYPE_NAMES[value] if isinstance(value, np.dtype) else value}" for name, value in params.items()
    )
    return f"[{' '.join(shown)}]" if params else ""


class _Scope:
    """The variables defined so far; refuses a second definition and a use before the first."""

    def __init__(self) -> None:
        self.defined: set[Var] = set()

    def define(self, var: Var, where: str) -> None:
        if not isinstance(var, Var):
            raise JaxprError(where, f"only a variable can be assigned, and {var!r} is none")
        if var in self.defined:
            raise JaxprError(where, f"a variable of type {var.aval} is assigned a second time")
        self.defined.add(var)

    def use(self, atom: Atom, where: str) -> ShapedArray:
        if isinstance(atom, Var) and atom not in self.defined:
            raise JaxprError(where, f"a variable of type {atom.aval} is used before its definition")
        return atom.aval


def check_jaxpr(jaxpr: Jaxpr) -> None:
    """Check types, single assignment and scope of a jaxpr.

    Raises JaxprError, which says where and which rule. The types come from the rules of
    `abstract_eval.py`.
    """
    # Imported here because this file must load while abstract_eval.py is being written.
    from .abstract_eval import abstract_eval

    scope = _Scope()
    if len(jaxpr.constvars) != len(jaxpr.consts):
        counts = f"{len(jaxpr.constvars)} constvars but {len(jaxpr.consts)} consts"
        raise JaxprError("constvars", f"there are {counts}; each needs a value")
    for var, value in zip(jaxpr.constvars, jaxpr.consts, strict=True):
        scope.define(var, "constvars")
        if aval_of(value) != var.aval:
            raise JaxprError("constvars", f"declared {var.aval}, but its value is {aval_of(value)}")
    for var in jaxpr.invars:
        scope.define(var, "invars")
    for number, eqn in enumerate(jaxpr.eqns):
        where = f"equation {number} ({eqn.primitive})"
        avals = [scope.use(atom, where) for atom in eqn.invars]
        try:
            expected = abstract_eval(eqn.primitive, *avals, **eqn.params)
        except (ShapeError, DTypeError) as error:
            raise JaxprError(where, str(error)) from error
        if expected != eqn.outvar.aval:
            raise JaxprError(where, f"declared {eqn.outvar.aval}, but its rule gives {expected}")
        scope.define(eqn.outvar, where)
    for atom in jaxpr.outvars:
        scope.use(atom, "outvars")
