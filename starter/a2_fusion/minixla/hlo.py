"""HLO: a program as a list of instructions, each of which makes one array.

A module holds computations; one of them, the entry, is the program, the others are called by its
instructions (the body of a fusion, the region of a reduce). A computation is a list of
instructions in which operands come before their users. An instruction names its operands, so
rewriting a program is writing a new list with other names in it: everything here is immutable,
and two modules are equal when they say the same.

The opcodes and their attributes are listed in `opcodes.py`, types and literals are in `shapes.py`;
this file passes them on. What an opcode means is in `interpret.py`, which types it takes in
`verifier.py`, how it is written in `text.py`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

from .opcodes import (
    ADDRESSING,
    ASYNCHRONOUS,
    COMMUTATIVE,
    DATA_MOVEMENT,
    ELEMENTWISE,
    ELEMENTWISE_BINARY,
    ELEMENTWISE_UNARY,
    FREE,
    OPCODES,
    TRANSCENDENTAL,
)
from .order import Names, called_first, names_of, operands_first
from .shapes import (
    DTYPES,
    FLOATS,
    SIGNED,
    UNSIGNED,
    AnyShape,
    Literal,
    Shape,
    TupleShape,
    dtype_name,
    leaves,
)

__all__ = [
    "ADDRESSING",
    "ASYNCHRONOUS",
    "COMMUTATIVE",
    "DATA_MOVEMENT",
    "DTYPES",
    "ELEMENTWISE",
    "ELEMENTWISE_BINARY",
    "ELEMENTWISE_UNARY",
    "FLOATS",
    "FREE",
    "OPCODES",
    "SIGNED",
    "TRANSCENDENTAL",
    "UNSIGNED",
    "AnyShape",
    "Attribute",
    "Computation",
    "Instruction",
    "Literal",
    "Module",
    "Names",
    "Shape",
    "TupleShape",
    "called_first",
    "constant",
    "dtype_name",
    "has_side_effect",
    "instruction",
    "is_pure",
    "leaves",
    "names_of",
    "operands_first",
    "parameter",
    "reducer",
]

Attribute = int | str | bool | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction, `name = shape opcode(operands), attributes`.

    `operands` are names of instructions of the same computation. `attributes` are pairs sorted
    by name; the function `instruction` sorts them. `literal` is the value of a constant.
    """

    name: str
    opcode: str
    shape: AnyShape
    operands: tuple[str, ...] = ()
    attributes: tuple[tuple[str, Attribute], ...] = ()
    literal: Literal | None = None

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, or `default`."""
        for key, value in self.attributes:
            if key == name:
                return value
        return default

    @property
    def array_shape(self) -> Shape:
        """The shape of a result that is one array. Raises TypeError for a tuple."""
        if isinstance(self.shape, Shape):
            return self.shape
        raise TypeError(f"%{self.name} ({self.opcode}) is a tuple, {self.shape}; take an element of it first.")

    def replace(self, **changes: Any) -> Instruction:
        """A copy with other fields."""
        return dataclasses.replace(self, **changes)

    def with_attributes(self, **changes: Attribute | None) -> Instruction:
        """A copy with attributes set, or, where None is given, left out."""
        return dataclasses.replace(self, attributes=_sorted(dict(self.attributes) | changes))

    def renamed(self, names: Mapping[str, str]) -> Instruction:
        """A copy whose operands are looked up in `names`; the instruction itself if none is there."""
        operands = tuple([names.get(operand, operand) for operand in self.operands])
        return self if operands == self.operands else dataclasses.replace(self, operands=operands)


def _sorted(attributes: Mapping[str, Attribute | None]) -> tuple[tuple[str, Attribute], ...]:
    return tuple((name, value) for name, value in sorted(attributes.items()) if value is not None)


def instruction(
    name: str, opcode: str, shape: AnyShape, operands: Iterable[str] = (), **attributes: Attribute | None
) -> Instruction:
    """Make an instruction; attributes are keywords, and those that are None are left out."""
    return Instruction(name, opcode, shape, tuple(operands), _sorted(attributes))


def constant(name: str, value: Any, dtype: str | None = None) -> Instruction:
    """Make a constant from a `Literal`, or from an array or number and XLA's name of a dtype."""
    literal = value if isinstance(value, Literal) else Literal.of(value, dtype)
    return Instruction(name, "constant", literal.shape, literal=literal)


def parameter(name: str, index: int, shape: AnyShape) -> Instruction:
    """Make parameter number `index` of a computation."""
    return Instruction(name, "parameter", shape, (), (("index", index),))


def has_side_effect(instruction: Instruction) -> bool:
    """Whether running it is seen outside the program, so that it must stay even if nobody reads it."""
    match instruction.opcode:
        case "outfeed":
            return True
        case "custom-call":
            return bool(instruction.attribute("custom_call_has_side_effect", False))
    return False


def is_pure(instruction: Instruction) -> bool:
    """Whether two of the same with the same operands give the same, so that one will do.

    Not so for side effects, and not for rng, which draws anew each time.
    """
    return instruction.opcode != "rng" and not has_side_effect(instruction)


@dataclass(frozen=True)
class Computation:
    """A list of instructions, operands before users, one of which is the result: the root."""

    name: str
    instructions: tuple[Instruction, ...]
    root: str

    @cached_property
    def by_name(self) -> Mapping[str, Instruction]:
        """The instructions by name."""
        return MappingProxyType({each.name: each for each in self.instructions})

    @cached_property
    def parameters(self) -> tuple[Instruction, ...]:
        """The parameters, by number."""
        found = [each for each in self.instructions if each.opcode == "parameter"]
        return tuple(sorted(found, key=lambda each: each.attribute("index", 0)))

    @cached_property
    def _users(self) -> Mapping[str, tuple[str, ...]]:
        users: dict[str, list[str]] = {each.name: [] for each in self.instructions}
        for each in self.instructions:
            for operand in dict.fromkeys(each.operands):
                users[operand].append(each.name)
        return MappingProxyType({name: tuple(found) for name, found in users.items()})

    def __getitem__(self, name: str) -> Instruction:
        return self.by_name[name]

    def users(self) -> Mapping[str, tuple[str, ...]]:
        """For each instruction the names of those that read it, in order, each once.

        Found once for a computation, in linear time. The root has a reader that is not here.
        """
        return self._users

    @property
    def root_instruction(self) -> Instruction:
        """The instruction whose value is the result."""
        return self.by_name[self.root]

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of the results: the operands of a root that is a tuple, else the root."""
        root = self.root_instruction
        return root.operands if root.opcode == "tuple" else (root.name,)

    def replace(self, **changes: Any) -> Computation:
        """A copy with other fields."""
        return dataclasses.replace(self, **changes)

    def __reduce__(self) -> tuple[Any, ...]:  # copies and pickles leave out what was looked up
        return Computation, (self.name, self.instructions, self.root)


@dataclass(frozen=True)
class Module:
    """A program: its computations, callees before callers, the entry last.

    `is_scheduled`: the order of the entry is the order of execution. `input_output_alias`:
    pairs (output, parameter number): that output is written into the parameter's buffer, which
    the caller gives away (a donated parameter).
    """

    name: str
    computations: tuple[Computation, ...]
    entry: str
    is_scheduled: bool = False
    input_output_alias: tuple[tuple[int, int], ...] = ()

    @cached_property
    def _by_name(self) -> Mapping[str, Computation]:
        return MappingProxyType({each.name: each for each in self.computations})

    @property
    def entry_computation(self) -> Computation:
        """The program itself."""
        return self._by_name[self.entry]

    def computation(self, name: str) -> Computation:
        """The computation of that name. Raises KeyError."""
        return self._by_name[name]

    def called(self, instruction: Instruction) -> Computation:
        """The computation that a fusion or reduce calls."""
        return self._by_name[instruction.attribute("calls") or instruction.attribute("to_apply")]

    def replace(self, **changes: Any) -> Module:
        """A copy with other fields."""
        return dataclasses.replace(self, **changes)

    def with_computations(self, changed: Iterable[Computation]) -> Module:
        """A copy in which each of `changed` takes the place of the computation of its name.

        New ones stand before the entry; computations that nobody calls any more are left out.
        """
        new = {each.name: each for each in changed}
        old = [new.pop(each.name, each) for each in self.computations if each.name != self.entry]
        entry = new.pop(self.entry, self.entry_computation)
        return self.replace(computations=called_first((*old, *new.values(), entry), self.entry))

    def with_entry(self, instructions: Iterable[Instruction], root: str | None = None) -> Module:
        """A copy with another list of instructions in its entry, and another root if one is given."""
        old = self.entry_computation
        return self.with_computations([Computation(old.name, tuple(instructions), root or old.root)])

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.name, self.computations, self.entry, self.is_scheduled, self.input_output_alias)
        return Module, fields


def reducer(opcode: str, dtype: str) -> Computation:
    """The region of a reduce: one binary operation on two scalars, such as `region_add_f32`."""
    scalar = Shape(dtype)
    x, y = parameter("x", 0, scalar), parameter("y", 1, scalar)
    return Computation(f"region_{opcode}_{dtype}", (x, y, instruction(opcode, opcode, scalar, ("x", "y"))), opcode)
