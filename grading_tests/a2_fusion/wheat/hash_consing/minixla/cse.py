"""Common subexpression elimination by hash-consing.

One table for the whole module knows every value there is, by what it is made of: opcode, numbers of
the operands' values, attributes, shape, bits. Entering a computation into the table gives each of its
instructions the number of its value; what has a number already is the same value. A called
computation is the number of its root, so callees are told apart by value, too. In the end the
instructions are written out of the table: one for each number that a computation uses.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

from .hlo import COMMUTATIVE, Computation, Instruction, Module, is_pure


def run(module: Module) -> tuple[Module, bool]:
    """Share equal instructions within each computation; also say whether anything has changed."""
    values = _Values()
    rebuilt = [values.enter(computation).write() for computation in module.computations]
    changed = [new for new, old in zip(rebuilt, module.computations, strict=True) if new != old]
    if not changed:
        return module, False
    return module.with_computations(changed), True


@dataclass
class _Values:
    """All values by what they are; `callees`: (name to call, value of the root) of each computation seen."""

    numbers: dict[Hashable, int] = field(default_factory=dict)
    callees: dict[str, tuple[str, int]] = field(default_factory=dict)
    first_with: dict[Hashable, str] = field(default_factory=dict)
    impure: set[str] = field(default_factory=set)
    fresh: int = 0

    def intern(self, key: Hashable) -> int:
        """The number of the value that is made so."""
        return self.numbers.setdefault(key, len(self.numbers))

    def number(self, it: Instruction, operands: list[int]) -> int:
        """The number of an instruction's value, given those of its operands."""
        if it.opcode in COMMUTATIVE:
            operands = sorted(operands)
        attributes: list[Hashable] = []
        unique = not is_pure(it)
        for name, value in it.attributes:
            if name in ("calls", "to_apply"):
                unique |= value in self.impure
                attributes.append((name, self.callees[str(value)][1]))
            elif name != "op_name":
                attributes.append((name, value))
        self.fresh += unique
        return self.intern(
            (it.opcode, tuple(operands), tuple(attributes), it.shape, it.literal, self.fresh if unique else 0)
        )

    def enter(self, computation: Computation) -> _Consed:
        """Number the values of a computation, whose callees have been entered."""
        consed = _Consed(computation, self)
        of: dict[str, int] = {}
        for it in computation.instructions:
            operands = [of[name] for name in it.operands]
            number = of[it.name] = self.number(it, operands)
            consed.nodes.setdefault(number, (it, operands))
            if not is_pure(it) or it.attribute("calls") in self.impure:
                self.impure.add(computation.name)
        consed.root = of[computation.root]
        takes = tuple(each.shape for each in computation.parameters)
        callee = self.first_with.setdefault((consed.root, takes), computation.name)
        if computation.name in self.impure or callee in self.impure:
            callee = computation.name
        self.callees[computation.name] = callee, consed.root
        return consed


@dataclass
class _Consed:
    """A computation as numbers of values, each with the instruction that made it first, and its operands."""

    old: Computation
    values: _Values
    nodes: dict[int, tuple[Instruction, list[int]]] = field(default_factory=dict)
    root: int = 0

    def write(self) -> Computation:
        """Instructions for all values, in the order in which they were met."""
        written = []
        for it, operands in self.nodes.values():
            names = tuple(self.nodes[number][0].name for number in operands)
            calls = {
                name: self.values.callees[str(value)][0]
                for name, value in it.attributes
                if name in ("calls", "to_apply")
            }
            new = it if names == it.operands else it.replace(operands=names)
            if any(it.attribute(name) != value for name, value in calls.items()):
                new = new.with_attributes(**calls)
            written.append(new)
        return Computation(self.old.name, tuple(written), self.nodes[self.root][0].name)
