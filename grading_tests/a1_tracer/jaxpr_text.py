"""Reads a jaxpr that a person wrote, in the notation that `minijax` prints.

    { lambda ; a:f32[3]. let
        b:f32[3] = exp a
        c:f32[3] = mul b a
      in (c,) }

Types of results may be left out; then they are worked out.
"""

from __future__ import annotations

import ast
import re
from typing import Any

import numpy as np

import judge
from judge import Aval, Eqn, Jaxpr, Literal, Use, Variable

_DTYPES = {"bool": "bool", "i32": "int32", "i64": "int64", "f32": "float32", "f64": "float64"}
_TYPE = re.compile(r"(bool|[if](?:32|64))\[([\d,\s]*)\]$")
_WHOLE = re.compile(
    r"^\s*\{\s*lambda\s*;(?P<ins>.*?)\.\s*let(?P<eqns>.*)\bin\s*\((?P<outs>.*?)\)\s*\}\s*$", re.DOTALL
)
_EQN = re.compile(r"^(?P<out>\S+)\s*=\s*(?P<name>\w+)\s*(?:\[(?P<params>[^\]]*)\])?(?P<operands>.*)$")
_PARAM = re.compile(r"(\w+)=(\([^)]*\)|[^\s]+)")


class JaxprSyntaxError(ValueError):
    """A text that is no jaxpr; the message says which line and what was expected."""


def parse(text: str) -> Jaxpr:
    """The jaxpr as data. Raises `JaxprSyntaxError`."""
    whole = _WHOLE.match(text)
    if whole is None:
        raise JaxprSyntaxError("a jaxpr has the form `{ lambda ; a:f32[3]. let ... in (c,) }`")
    numbers: dict[str, Variable] = {}
    invars = [_define(word, numbers, None) for word in re.findall(r"\w+:\w+\[[^\]]*\]", whole["ins"])]
    if not invars:
        raise JaxprSyntaxError("after `lambda ;` stand the inputs with their types, as in `a:f32[3]`")
    eqns = []
    for line in filter(None, map(str.strip, whole["eqns"].splitlines())):
        eqns.append(_equation(line, numbers))
    outvars = [_atom(word, numbers, "float32") for word in re.findall(r"[^\s,]+", whole["outs"])]
    return Jaxpr(constvars=[], consts=[], invars=invars, eqns=eqns, outvars=outvars)


def _define(word: str, numbers: dict[str, Variable], inferred: Aval | None) -> Variable:
    name, _, kind = word.partition(":")
    if name in numbers:
        raise JaxprSyntaxError(f"{name} is assigned twice")
    found = _TYPE.match(kind)
    if found is None and (kind or inferred is None):
        raise JaxprSyntaxError(f"{word!r} is not a variable with a type, as in `a:f32[3]`")
    aval = inferred
    if found is not None:
        aval = Aval(tuple(int(size) for size in found[2].split(",") if size.strip()), _DTYPES[found[1]])
    assert aval is not None
    numbers[name] = Variable(len(numbers), aval)
    return numbers[name]


def _atom(word: str, numbers: dict[str, Variable], dtype: str) -> Use | Literal:
    if word in numbers:
        return Use(numbers[word].number)
    try:
        return Literal(np.asarray(float(word), dtype))
    except ValueError:
        raise JaxprSyntaxError(f"{word!r} is neither a variable defined above nor a number") from None


def _equation(line: str, numbers: dict[str, Variable]) -> Eqn:
    found = _EQN.match(line)
    if found is None:
        raise JaxprSyntaxError(f"{line!r} is not an equation, as in `b:f32[3] = exp a`")
    if found["name"] not in judge.IMPLEMENTATIONS:
        raise JaxprSyntaxError(f"{found['name']!r} is no primitive; there are {', '.join(judge.IMPLEMENTATIONS)}")
    words = found["operands"].split()
    avals = {v.number: v.aval for v in numbers.values()}
    dtypes = [avals[numbers[word].number].dtype for word in words if word in numbers]
    operands = [_atom(word, numbers, dtypes[0] if dtypes else "float32") for word in words]
    params = {key: _parameter(value) for key, value in _PARAM.findall(found["params"] or "")}
    samples = [
        np.zeros(avals[a.number].shape, avals[a.number].dtype) if isinstance(a, Use) else a.value for a in operands
    ]
    try:
        result = judge.apply(found["name"], samples, params)
    except (TypeError, ValueError, IndexError, KeyError) as error:
        raise JaxprSyntaxError(f"{line!r} cannot be right: {error}") from None
    return Eqn(
        found["name"], operands, params, _define(found["out"], numbers, Aval(result.shape, result.dtype.name))
    )


def _parameter(text: str) -> Any:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return _DTYPES.get(text, text)
    return list(value) if isinstance(value, tuple) else value


def canonical(jaxpr: Jaxpr) -> Any:
    """A form that is equal for programs that differ only in names, order and swapped operands of add and mul."""
    values: dict[int, Any] = {v.number: ("input", place, str(v.aval)) for place, v in enumerate(jaxpr.invars)}

    def key(atom: Use | Literal) -> Any:
        if isinstance(atom, Use):
            return values[atom.number]
        return ("literal", atom.value.dtype.name, atom.value.tolist())

    for eqn in jaxpr.eqns:
        operands = [key(atom) for atom in eqn.operands]
        if eqn.primitive in ("add", "mul"):
            operands.sort(key=repr)
        values[eqn.out.number] = (eqn.primitive, repr(sorted(eqn.params.items())), str(eqn.out.aval), *operands)
    equations = sorted((values[eqn.out.number] for eqn in jaxpr.eqns), key=repr)
    return equations, [key(atom) for atom in jaxpr.outvars]
