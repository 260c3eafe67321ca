"""Makes a module step by step: each call adds one instruction to the entry and returns it.

build = Builder("jit_scale")
x = build.parameter(Shape("f32", (16, 64)), "x")
half = build.emit("broadcast", x.shape, build.constant(0.5, "f32"), dimensions=())
module = build.finish(build.emit("multiply", x.shape, x, half))
"""

from __future__ import annotations

from typing import Any

from . import hlo
from .hlo import AnyShape, Attribute, Computation, Instruction, Module, Names, TupleShape


class Builder:
    """A module in the making. Names are made from opcodes, with numbers where needed."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._names = Names()
        self._instructions: list[Instruction] = []
        self._regions: dict[str, Computation] = {}
        self._parameters = 0

    def parameter(self, shape: AnyShape, name: str = "parameter") -> Instruction:
        """The next parameter of the program."""
        self._parameters += 1
        return self._add(hlo.parameter(self._names.fresh(name), self._parameters - 1, shape))

    def constant(self, value: Any, dtype: str | None = None) -> Instruction:
        """A constant: a number or array, of a dtype by XLA's name, or a `Literal`."""
        return self._add(hlo.constant(self._names.fresh("constant"), value, dtype))

    def emit(self, opcode: str, shape: AnyShape, *operands: Instruction, **attributes: Attribute) -> Instruction:
        """Any other instruction, with its declared shape, its operands and its attributes."""
        names = [operand.name for operand in operands]
        return self._add(hlo.instruction(self._names.fresh(opcode), opcode, shape, names, **attributes))

    def region(self, opcode: str, dtype: str) -> str:
        """The name of the region that a reduce applies: `opcode` on two scalars."""
        region = hlo.reducer(opcode, dtype)
        self._regions[region.name] = region
        return region.name

    def finish(self, *outputs: Instruction) -> Module:
        """The module whose outputs these are: the one given, or a tuple if there are several or none."""
        if len(outputs) == 1:
            root = outputs[0]
        else:
            root = self.emit("tuple", TupleShape(tuple(output.shape for output in outputs)), *outputs)
        entry = Computation("main", tuple(self._instructions), root.name)
        return Module(self.name, (*self._regions.values(), entry), entry.name)

    def _add(self, instruction: Instruction) -> Instruction:
        self._instructions.append(instruction)
        return instruction
