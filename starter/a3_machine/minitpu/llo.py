"""A program of LLO, and the pen that writes one.

A program is a list of operations in an order that makes sense one after another; it says
nothing about cycles. Its results are what it leaves in memory, and in the registers that it
names as outputs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .errors import LLOError
from .isa import FORMS, MachineSpec, Operation, parse


@dataclass(frozen=True)
class Program:
    """Operations in order; registers whose final values are results; where the work on each tile starts."""

    operations: tuple[Operation, ...]
    outputs: tuple[str, ...] = ()
    starts: tuple[int, ...] = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self.operations))

    def to_data(self) -> dict[str, Any]:
        """The program as plain data, for JSON: an operation is a line of text."""
        return {
            "operations": [str(operation) for operation in self.operations],
            "outputs": list(self.outputs),
            "starts": list(self.starts),
        }

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Program:
        """The program that `to_data` wrote down. Raises LLOError for a line that is no operation."""
        operations = tuple(parse(line) for line in data["operations"])
        return cls(operations, tuple(data.get("outputs", ())), tuple(data.get("starts", ())))


@dataclass
class Emitter:
    """Writes a program for a machine; every result gets a register of its own.

        code = Emitter(TEACHING)
        x = code.emit("vld", number=8)           # v0 = vld [8]
        y = code.emit("vadd", x, x)              # v1 = vadd v0, v0
        code.emit("vst", y, number=16)           # vst v1, [16]

    `state`: room for what whoever emits has to remember, such as the constants it has loaded.
    """

    machine: MachineSpec
    operations: list[Operation] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    state: dict[Any, Any] = field(default_factory=dict)
    _count: dict[str, int] = field(default_factory=lambda: {"v": 0, "s": 0, "q": 0})

    def emit(self, opcode: str, *sources: str, number: int | float | None = None) -> str:
        """Append an operation; returns the new register that holds its result, or "" if it has none.

        Raises LLOError for an operation of a wrong form (see `isa.FORMS`).
        """
        if opcode not in FORMS:
            raise LLOError(opcode, f"there is no such opcode; there are {', '.join(FORMS)}")
        if number is not None:  # a NumPy scalar will do
            number = float(number) if FORMS[opcode].number == "value" else int(number)
        kind = FORMS[opcode].result
        dest = f"{kind}{self._count[kind]}" if kind else ""
        operation = Operation(opcode, dest, sources, number)
        self.operations.append(parse(str(operation)))
        if kind:
            self._count[kind] += 1
        return dest

    def start_tile(self) -> None:
        """Note that the work on the next tile begins here."""
        self.starts.append(len(self.operations))

    def program(self, outputs: tuple[str, ...] = ()) -> Program:
        """What was written so far."""
        return Program(tuple(self.operations), outputs, tuple(self.starts))
