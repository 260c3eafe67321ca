"""Judges a jaxpr that came back as data: types, scope, single assignment, values.

Nothing here is taken on the student's word. A jaxpr is executed equation by equation with NumPy, and the
type of every result is compared with the type that was declared for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np

from autograder.kit import check, show

MAX_ELEMENTS = 1 << 20  # of one result
MAX_IN_ALL = 1 << 22  # of all results of a program
DTYPES = ["bool", "int32", "int64", "float32", "float64"]


class Aval(msgspec.Struct, array_like=True, frozen=True):
    """The type of a variable."""

    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return (
            f"{show.dtype(self.dtype) if self.dtype in DTYPES else self.dtype}[{','.join(map(str, self.shape))}]"
        )


class Variable(msgspec.Struct, array_like=True, frozen=True):
    """A variable where it is defined."""

    number: int
    aval: Aval


class Use(msgspec.Struct, array_like=True, frozen=True, tag="var"):
    """A variable where it is used."""

    number: int


class Literal(msgspec.Struct, array_like=True, frozen=True, tag="lit"):
    """A constant operand."""

    value: np.ndarray


class Eqn(msgspec.Struct, array_like=True, frozen=True):
    """One equation."""

    primitive: str
    operands: list[Use | Literal]
    params: dict[str, Any]
    out: Variable


class Jaxpr(msgspec.Struct, frozen=True):
    """A whole program."""

    constvars: list[Variable]
    consts: list[np.ndarray]
    invars: list[Variable]
    eqns: list[Eqn]
    outvars: list[Use | Literal]

    @property
    def primitives(self) -> list[str]:
        """The primitives' names, in order."""
        return [eqn.primitive for eqn in self.eqns]


def _promote(*arrays: np.ndarray) -> list[np.ndarray]:
    highest = max((array.dtype.name for array in arrays), key=DTYPES.index)
    return [array.astype(highest) for array in arrays]


def _floating(array: np.ndarray) -> np.ndarray:
    return array if array.dtype.kind == "f" else array.astype(np.float32)


def _arithmetic(ufunc: Callable[..., Any], to_float: bool = False) -> Callable[..., Any]:
    def run(x: np.ndarray, y: np.ndarray) -> Any:
        x, y = _promote(x, y)
        return ufunc(_floating(x), _floating(y)) if to_float else ufunc(x, y)

    return run


def _function(ufunc: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: ufunc(_floating(x))


def _broadcast(x: np.ndarray, shape: list[int], broadcast_dimensions: list[int]) -> np.ndarray:
    if len(set(broadcast_dimensions)) != x.ndim:
        raise ValueError("broadcast_dimensions must name one axis for each of the operand's")
    spread = np.ones(len(shape), int)
    spread[list(broadcast_dimensions)] = x.shape
    return np.broadcast_to(x.reshape(spread), shape)


def _axes(axis: Any) -> Any:
    return tuple(axis) if isinstance(axis, list) else axis


def _reduce_sum(x: np.ndarray, axis: Any, keepdims: bool = False) -> Any:
    dtype = np.int32 if x.dtype == bool else x.dtype
    return np.sum(x, axis=_axes(axis), keepdims=keepdims, dtype=dtype)


def _select(pred: np.ndarray, yes: np.ndarray, no: np.ndarray) -> Any:
    if pred.dtype != bool:
        raise TypeError("the first operand of select must be bool")
    return np.where(pred, *_promote(yes, no))


IMPLEMENTATIONS: dict[str, Callable[..., Any]] = {
    "add": _arithmetic(np.add),
    "sub": _arithmetic(np.subtract),
    "mul": _arithmetic(np.multiply),
    "div": _arithmetic(np.divide, to_float=True),
    "neg": np.negative,
    **{name: _function(getattr(np, name)) for name in ("exp", "log", "tanh", "sqrt", "sin", "cos")},
    "eq": _arithmetic(np.equal),
    "gt": _arithmetic(np.greater),
    "select": _select,
    "dot": _arithmetic(np.matmul),
    "transpose": lambda x, permutation: np.transpose(x, permutation),
    "reshape": lambda x, shape: x.reshape(shape),
    "broadcast": _broadcast,
    "reduce_sum": _reduce_sum,
    "reduce_max": lambda x, axis, keepdims=False: np.max(x, axis=_axes(axis), keepdims=keepdims),
    "convert": lambda x, dtype: x.astype(dtype),
}


def apply(primitive: str, operands: list[np.ndarray], params: dict[str, Any]) -> np.ndarray:
    """What a primitive does to arrays. Raises `TypeError`, `ValueError` or `KeyError` for a wrong call."""
    with np.errstate(all="ignore"):
        return np.asarray(IMPLEMENTATIONS[primitive](*operands, **params))


def run(jaxpr: Jaxpr, arguments: list[np.ndarray]) -> list[np.ndarray]:
    """Execute the program on arrays; fails as a check if it breaks a rule of the language."""
    values: dict[int, np.ndarray] = {}

    def define(variable: Variable, value: np.ndarray, where: str) -> None:
        if variable.number in values:
            _broken(where, "a variable is assigned twice", jaxpr)
        declared = (variable.aval.shape, variable.aval.dtype)
        if declared != (value.shape, value.dtype.name):
            _broken(where, f"declared {variable.aval}, but the value is {show.array_type(value)}", jaxpr)
        values[variable.number] = value

    def read(atom: Use | Literal, where: str) -> np.ndarray:
        if isinstance(atom, Literal):
            return atom.value
        if atom.number not in values:
            _broken(where, "a variable is used before it is defined", jaxpr)
        return values[atom.number]

    if len(arguments) != len(jaxpr.invars) or len(jaxpr.consts) != len(jaxpr.constvars):
        _broken("the head", f"{len(jaxpr.invars)} inputs were declared for {len(arguments)} arguments", jaxpr)
    for variable, value in zip(jaxpr.constvars, jaxpr.consts, strict=True):
        define(variable, value, "constvars")
    for variable, value in zip(jaxpr.invars, arguments, strict=True):
        define(variable, value, "invars")
    left = MAX_IN_ALL
    for index, eqn in enumerate(jaxpr.eqns):
        where = f"equation {index} ({eqn.primitive})"
        operands = [read(atom, where) for atom in eqn.operands]
        try:
            left -= _size(eqn, operands, min(MAX_ELEMENTS, left))
            result = apply(eqn.primitive, operands, eqn.params)
        except (TypeError, ValueError, KeyError, IndexError, OverflowError, MemoryError) as error:
            _broken(where, f"it cannot be executed: {error}", jaxpr)
        define(eqn.out, result, where)
    return [read(atom, "outvars") for atom in jaxpr.outvars]


def _size(eqn: Eqn, operands: list[np.ndarray], limit: int) -> int:
    """How many elements an equation's result will have at most. Raises `ValueError` over the limit."""
    shapes = [operand.shape for operand in operands]
    match eqn.primitive:
        case "reshape" | "broadcast":
            size = math.prod(eqn.params["shape"])
        case "dot":
            batch = np.broadcast_shapes(*(shape[:-2] for shape in shapes))
            size = math.prod(batch) * math.prod(shapes[0][-2:-1]) * math.prod(shapes[1][-1:])
        case "convert" if eqn.params["dtype"] not in DTYPES:
            raise ValueError("there is no such dtype")
        case _:
            size = math.prod(np.broadcast_shapes(*shapes))
    if size > limit:
        raise ValueError(f"its result would have {size:,} elements, which the grader does not compute")
    return size


def live_equations(jaxpr: Jaxpr) -> list[Eqn]:
    """The equations that some result depends on, in order: found by a search from the results."""
    maker = {eqn.out.number: index for index, eqn in enumerate(jaxpr.eqns)}
    found: set[int] = set()
    to_visit = [atom for atom in jaxpr.outvars if isinstance(atom, Use)]
    while to_visit:
        index = maker.get(to_visit.pop().number)
        if index is not None and index not in found:
            found.add(index)
            to_visit += [atom for atom in jaxpr.eqns[index].operands if isinstance(atom, Use)]
    return [jaxpr.eqns[index] for index in sorted(found)]


def _broken(where: str, problem: str, jaxpr: Jaxpr) -> None:
    check.fail(
        f"the jaxpr, {where}",
        expected="types that are true, every variable assigned once, before its use",
        got=f"{problem}, in\n{text(jaxpr)}",
    )


def text(jaxpr: Jaxpr) -> str:
    """The program in JAX's notation, with the reader's own names, at most 40 equations of it."""
    names: dict[int, str] = {}

    def name(number: int) -> str:
        if number not in names:
            count, letters = len(names), ""
            while count >= 0:
                letters = chr(ord("a") + count % 26) + letters
                count = count // 26 - 1
            names[number] = letters
        return names[number]

    def define(variable: Variable) -> str:
        return f"{name(variable.number)}:{variable.aval}"

    def use(atom: Use | Literal) -> str:
        if isinstance(atom, Use):
            return name(atom.number)
        return str(atom.value[()]) if atom.value.ndim == 0 else show.array_type(atom.value)

    head = " ".join(define(v) for v in [*jaxpr.constvars, *jaxpr.invars])
    lines = [f"{{ lambda {head} . let"]
    for eqn in jaxpr.eqns[:40]:
        inner = " ".join(f"{key}={value}" for key, value in eqn.params.items())
        params = f"[{inner}]" if inner else ""
        operands = " ".join(use(atom) for atom in eqn.operands)
        lines.append(f"    {define(eqn.out)} = {eqn.primitive}{params} {operands}"[:300])
    if len(jaxpr.eqns) > 40:
        lines.append(f"    … {len(jaxpr.eqns) - 40} more equations")
    lines.append(f"  in ({', '.join(use(atom) for atom in jaxpr.outvars)}) }}")
    return "\n".join(lines)
