"""Writing a computation anew: the bookkeeping that every pass needs, so that passes hold ideas only.

Nothing in a module can be changed, so a pass goes through a computation from front to back and
writes another one. For each instruction it decides: `keep` it, or `stand_in` another value that
has been written already, perhaps just now by `add`. Later readers of the old name read the new one:

    def without_double_negation(computation: Computation) -> Computation:
        out = Rewriter(computation)
        for instruction in computation.instructions:
            it = out.current(instruction)          # its operands by the names they have now
            if it.opcode == "negate" and out[it.operands[0]].opcode == "negate":
                out.stand_in(it.name, out[it.operands[0]].operands[0])
            else:
                out.keep(it)
        return out.finish()

Because operands are written before their users, a pass that looks at an operand with `out[name]`
sees it as it is after the pass. What nobody reads any more stays until `dce.py` takes it away.
Everything is in constant time for each instruction, amortised.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from .hlo import (
    AnyShape,
    Attribute,
    Computation,
    Instruction,
    Literal,
    Module,
    Names,
    Shape,
    instruction,
    names_of,
)
from .hlo import constant as make_constant


class Rewriter:
    """A new version of `computation`, written instruction after instruction."""

    def __init__(self, computation: Computation) -> None:
        self.computation = computation
        self._written: dict[str, Instruction] = {}
        self._now: dict[str, str] = {}
        self._inherited: dict[str, int] = {}

    @cached_property
    def _names(self) -> Names:
        return names_of(self.computation)

    def __getitem__(self, name: str) -> Instruction:
        """What has been written under this name."""
        return self._written[name]

    def current(self, it: Instruction) -> Instruction:
        """An instruction of the old computation, reading what stands for its operands now."""
        return it.renamed(self._now) if self._now else it

    def keep(self, it: Instruction) -> str:
        """Write an instruction of the old computation under its own name; returns the name."""
        self._written[it.name] = it
        return it.name

    def add(self, opcode: str, shape: AnyShape, *operands: str, **attributes: Attribute | None) -> str:
        """Write a new instruction; returns its name, which is made from the opcode."""
        name = self._names.fresh(opcode)
        return self.keep(instruction(name, opcode, shape, operands, **attributes))

    def add_like(self, it: Instruction, shape: AnyShape, *operands: str) -> str:
        """Write a new instruction with the opcode and attributes of `it`; returns its name."""
        return self.keep(it.replace(name=self._names.fresh(it.name), shape=shape, operands=operands))

    def add_constant(self, literal: Literal) -> str:
        """Write a constant; returns its name."""
        return self.keep(make_constant(self._names.fresh("constant"), literal))

    def add_filled(self, value: Literal, dims: tuple[int, ...]) -> str:
        """Write an array of `dims` whose elements are all the scalar `value`; returns its name."""
        scalar = self.add_constant(value)
        if not dims:
            return scalar
        return self.add("broadcast", Shape(value.dtype, dims), scalar, dimensions=())

    def stand_in(self, old: str, new: str) -> None:
        """Do not write `old`: whoever reads it reads `new`, which has been written."""
        self._now[old] = new
        self._inherited[new] = self.uses(new) + self.uses(old)

    def uses(self, name: str) -> int:
        """How many instructions read a value, the caller of the computation included.

        Counted in the old computation, readers of what the value stands for included; those that
        have gone since are still counted, so it is never less than the truth.
        """
        inherited = self._inherited.get(name)
        return self._uses.get(name, 0) if inherited is None else inherited

    @cached_property
    def _uses(self) -> dict[str, int]:
        uses = {name: len(users) for name, users in self.computation.users().items()}
        uses[self.computation.root] += 1
        return uses

    def uniform(self, name: str) -> Literal | None:
        """The scalar that every element of a written value is, if the program says so, else None.

        Seen through `broadcast` and `reshape` to a constant all of whose elements have the same bits.
        """
        it = self._written[name]
        while it.opcode in ("broadcast", "reshape"):
            it = self._written[it.operands[0]]
        return _only_element(it.literal) if it.opcode == "constant" and it.literal is not None else None

    def finish(self) -> Computation:
        """The new computation: the old one itself if all has been kept as it was."""
        old = self.computation
        written = tuple(self._written.values())
        root = self._now.get(old.root, old.root)
        if root == old.root and written == old.instructions:
            return old
        return Computation(old.name, written, root)


def _only_element(literal: Literal) -> Literal | None:
    count = literal.shape.elements
    if count == 0:
        return None
    first = literal.data[: len(literal.data) // count]
    return Literal(literal.dtype, (), first) if first * count == literal.data else None


def rewrite_each(module: Module, rewrite: Callable[[Computation], Computation]) -> tuple[Module, bool]:
    """Put every computation through `rewrite`; also say whether anything is different."""
    rewritten = [rewrite(computation) for computation in module.computations]
    changed = [new for new, old in zip(rewritten, module.computations, strict=True) if new is not old]
    return (module.with_computations(changed), True) if changed else (module, False)
