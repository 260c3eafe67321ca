"""Cleans up a jaxpr that came back as data, as a compiler would, so that its size can be judged.

Three sweeps: simplify (operations that change nothing), share common subexpressions, drop dead equations.
A student's way of writing rules is not judged, only what is left of it after these.
"""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from judge import Aval, Eqn, Jaxpr, Literal, Use, live_equations

Atom = Use | Literal


def clean(jaxpr: Jaxpr) -> Jaxpr:
    """Simplified, shared, and without dead equations."""
    types: dict[int, Aval] = {v.number: v.aval for v in [*jaxpr.constvars, *jaxpr.invars]}
    stands_for: dict[int, Atom] = {}
    seen: dict[Any, Atom] = {}
    kept: list[Eqn] = []

    def resolve(atom: Atom) -> Atom:
        return stands_for.get(atom.number, atom) if isinstance(atom, Use) else atom

    for eqn in jaxpr.eqns:
        operands = [resolve(atom) for atom in eqn.operands]
        same = _unchanged(eqn, operands, types)
        key = (eqn.primitive, tuple(map(_key, operands)), _params_key(eqn.params))
        if same is not None:
            stands_for[eqn.out.number] = same
        elif key in seen:
            stands_for[eqn.out.number] = seen[key]
        else:
            types[eqn.out.number] = eqn.out.aval
            seen[key] = Use(eqn.out.number)
            kept.append(msgspec.structs.replace(eqn, operands=operands))
    outvars = [resolve(atom) for atom in jaxpr.outvars]
    tidy = msgspec.structs.replace(jaxpr, eqns=kept, outvars=outvars)
    return msgspec.structs.replace(tidy, eqns=live_equations(tidy))


def _unchanged(eqn: Eqn, operands: list[Atom], types: dict[int, Aval]) -> Atom | None:
    """The operand that the equation only hands on, if there is one: x + 0, x · 1, x / 1, a no-op reshape."""
    match eqn.primitive:
        case "add" | "mul":
            neutral = 0 if eqn.primitive == "add" else 1
            pairs = [(operands[0], operands[1]), (operands[1], operands[0])]
        case "sub" | "div":
            neutral = 0 if eqn.primitive == "sub" else 1
            pairs = [(operands[0], operands[1])]
        case "reshape" | "broadcast" | "convert":
            return operands[0] if _type(operands[0], types) == eqn.out.aval else None
        case "transpose":
            order = eqn.params.get("permutation")
            return operands[0] if order == sorted(order or [1, 0]) else None
        case _:
            return None
    for kept, other in pairs:
        if isinstance(other, Literal) and np.all(other.value == neutral) and _type(kept, types) == eqn.out.aval:
            return kept
    return None


def _type(atom: Atom, types: dict[int, Aval]) -> Aval | None:
    if isinstance(atom, Literal):
        return Aval(atom.value.shape, atom.value.dtype.name)
    return types.get(atom.number)


def _key(atom: Atom) -> Any:
    if isinstance(atom, Use):
        return atom.number
    return (atom.value.dtype.name, atom.value.shape, atom.value.tobytes())


def _params_key(params: dict[str, Any]) -> str:
    return repr(sorted(params.items()))
