"""What an instruction looks like: how many operands its opcode takes, and which attributes."""

from __future__ import annotations

import re

from .errors import StructureError
from .hlo import DTYPES, ELEMENTWISE_BINARY, ELEMENTWISE_UNARY, OPCODES, Instruction, Shape, leaves

NAME = re.compile(r"[A-Za-z_][\w.\-]*", re.ASCII)
_STRING = re.compile(r'[^"\\\n]*')

# The numbers of operands that are allowed; opcodes that are not here take any number.
_ARITY: dict[str, int] = {
    **dict.fromkeys(ELEMENTWISE_UNARY, 1),
    **dict.fromkeys(ELEMENTWISE_BINARY, 2),
    **dict.fromkeys(("select", "clamp"), 3),
    **dict.fromkeys(("parameter", "constant", "iota"), 0),
    **dict.fromkeys(("broadcast", "reshape", "bitcast", "transpose", "slice"), 1),
    **dict.fromkeys(("get-tuple-element", "copy-start", "copy-done"), 1),
    **dict.fromkeys(("reduce", "dot", "rng", "outfeed"), 2),
}
_AT_LEAST: dict[str, int] = {"concatenate": 1, "dynamic-slice": 1, "dynamic-update-slice": 2}

_NEEDED: dict[str, dict[str, type]] = {
    "parameter": {"index": int},
    "compare": {"direction": str},
    "iota": {"iota_dimension": int},
    "broadcast": {"dimensions": tuple},
    "transpose": {"dimensions": tuple},
    "concatenate": {"dimensions": tuple},
    "reduce": {"dimensions": tuple, "to_apply": str},
    "dot": {"lhs_contracting_dims": tuple, "rhs_contracting_dims": tuple},
    "slice": {"starts": tuple, "limits": tuple, "strides": tuple},
    "dynamic-slice": {"dynamic_slice_sizes": tuple},
    "get-tuple-element": {"index": int},
    "fusion": {"kind": str, "calls": str},
    "rng": {"distribution": str},
    "custom-call": {"custom_call_target": str},
}
_ALLOWED: dict[str, dict[str, type]] = {
    "dot": {"lhs_batch_dims": tuple, "rhs_batch_dims": tuple},
    "custom-call": {"custom_call_has_side_effect": bool},
}
_MAY_BE_TUPLES = frozenset({"tuple", "fusion", "copy-start", "get-tuple-element", "copy-done"})
_WORDS = {int: "a number", str: "a name", tuple: "numbers in braces", bool: "true or false"}


def check_form(computation: str, instruction: Instruction) -> None:
    """Check name, opcode, declared shape, number of operands, attributes and literal.

    Raises StructureError.
    """

    def fail(rule: str, problem: str) -> StructureError:
        return StructureError(computation, instruction.name, rule, problem)

    opcode, count = instruction.opcode, len(instruction.operands)
    if not NAME.fullmatch(instruction.name):
        raise fail("names", f"{instruction.name!r} is no name; use letters, digits, and _ . - between them")
    if opcode not in OPCODES:
        raise fail("opcode", f"there is no opcode {opcode!r}; opcodes.py lists them")
    if opcode not in _MAY_BE_TUPLES and not isinstance(instruction.shape, Shape):
        raise fail("shape", f"{opcode} makes one array, but {instruction.shape} is declared")
    for leaf in leaves(instruction.shape):
        sizes_are_right = all(type(size) is int and size >= 0 for size in leaf.dims)
        if (leaf.dtype not in DTYPES and leaf.dtype != "token") or not sizes_are_right:
            raise fail("shape", f"{leaf} is no type; sizes are not negative and dtypes are {', '.join(DTYPES)}")
    if count != _ARITY.get(opcode, count) or count < _AT_LEAST.get(opcode, 0):
        wanted = _ARITY.get(opcode) if opcode in _ARITY else f"at least {_AT_LEAST[opcode]}"
        raise fail("operands", f"{opcode} takes {wanted} operands, not {count}")
    if opcode == "constant":
        if instruction.literal is None or instruction.literal.shape != instruction.array_shape.in_space(0):
            raise fail(
                "literal", f"its literal is {instruction.literal}, which is not of type {instruction.shape}"
            )
    elif instruction.literal is not None:
        raise fail("literal", f"only a constant has a literal, not {opcode}")
    problem = _attribute_problem(instruction)
    if problem:
        raise fail("attributes", problem)


def _attribute_problem(instruction: Instruction) -> str | None:
    opcode = instruction.opcode
    needed, given = _NEEDED.get(opcode, {}), instruction.attributes
    if not needed and not given:
        return None
    known = {**needed, **_ALLOWED.get(opcode, {}), "op_name": str}
    names = [name for name, _ in given]
    if names != sorted(set(names)):
        return "attributes must be sorted by name, each once; make instructions with hlo.instruction"
    for name in needed:
        if name not in names:
            return f"{opcode} needs the attribute {name}"
    for name, value in given:
        if name not in known:
            return f"{opcode} has no attribute {name}; it may have {', '.join(known)}"
        if type(value) is not known[name]:
            return f"the attribute {name} must be {_WORDS[known[name]]}, not {value!r}"
        if isinstance(value, tuple) and any(type(number) is not int for number in value):
            return f"the attribute {name} must hold whole numbers, not {value!r}"
        if isinstance(value, str) and not _STRING.fullmatch(value):
            return f"the attribute {name} holds a quote, a backslash or a line break: {value!r}"
    return None
