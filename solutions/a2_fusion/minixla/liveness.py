"""Which arrays a scheduled program has in memory, and from when to when: the rules, in one place.

The schedule is the order of the entry; positions count its instructions from 0. The rules:

- Every array that an instruction makes has a *buffer*, named after the instruction; of what a
  fusion with several results makes, element 1 is `fusion{1}`.
- Constants and tokens have none. A tuple, an element of one, a bitcast and a reshape are other
  names of buffers that exist. A `copy-start` makes one, the copy, `copy-start{0}`; `copy-done` is
  another name of it.
- A buffer lives from the position that writes it to the last position that reads it, *both
  included*: while an instruction runs, its operands and its result are there. Naming is not
  reading. A copy that is under way reads its source until `copy-done`.
- Results of the program live to the end, position `len(instructions)`. So do parameters, which
  are the caller's and live from −1 on; only a donated one (`input_output_alias`) may die.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from .hlo import ELEMENTWISE, AnyShape, Computation, Instruction, Module, Shape, leaves

NAMING = frozenset({"tuple", "get-tuple-element", "bitcast", "reshape"})

# The buffer of a value, None for a constant or token, or one place for each element of a tuple.
Place = str | None | tuple["Place", ...]


@dataclass(frozen=True, slots=True)
class Buffer:
    """An array in memory: bytes, memory space, and the first and last position at which it is there."""

    name: str
    bytes: int
    memory_space: int
    first: int
    last: int


class Lives:
    """The buffers of a scheduled module, by name and in the order in which they are written."""

    def __init__(self, module: Module) -> None:
        self.entry = module.entry_computation
        self._places = _places(self.entry)
        self.buffers = self._find_buffers({number for _, number in module.input_output_alias})

    def behind(self, *values: str) -> tuple[str, ...]:
        """The buffers in which these values of the entry lie, each once."""
        return tuple(dict.fromkeys(name for value in values for name in _buffers_in(self._places[value])))

    def may_follow(self, old: str, new: str) -> bool:
        """Whether the buffer `new` may lie exactly where `old` lies: that is dead by then, or dies there in place.

        An instruction can write its result over an operand that dies with it if it has read each
        element before it writes there: an elementwise instruction, over operands of as many bytes
        as the result; dynamic-update-slice, over its first operand.
        """
        before, after = self.buffers[old], self.buffers[new]
        if before.last != after.first or after.first < 0:
            return before.last < after.first
        it = self.entry.instructions[after.first]
        uses = [number for number, operand in enumerate(it.operands) if old in self.behind(operand)]
        in_place = (it.opcode == "dynamic-update-slice" and uses == [0]) or it.opcode in ELEMENTWISE
        return in_place and before.bytes == after.bytes and bool(uses)

    def chains(self) -> dict[str, list[str]]:
        """The buffers that continue one in place, by that one: dynamic-update-slice does so where it may."""
        first = {name: name for name in self.buffers}
        for it in self.entry.instructions:
            if it.opcode == "dynamic-update-slice":
                for old in self.behind(it.operands[0]):
                    if self.may_follow(old, it.name):
                        first[it.name] = first[old]
        found: dict[str, list[str]] = {name: [] for name in first.values()}
        for name, origin in first.items():
            found[origin].append(name)
        return found

    def _find_buffers(self, donated: set[int]) -> dict[str, Buffer]:
        made: dict[str, tuple[Shape, int]] = {}
        last: dict[str, int] = {}
        lasting = list(self.behind(self.entry.root))
        for position, it in enumerate(self.entry.instructions):
            if it.opcode not in NAMING:
                last.update((name, position) for name in self.behind(*it.operands))
            for name, shape in _made_by(it, self._places[it.name]):
                last[name] = -1 if it.opcode == "parameter" else position
                made[name] = shape, last[name]
                if it.opcode == "parameter" and it.attribute("index") not in donated:
                    lasting.append(name)
        last.update((name, len(self.entry.instructions)) for name in lasting)
        return {
            name: Buffer(name, shape.bytes, shape.memory_space, first, last[name])
            for name, (shape, first) in made.items()
        }


def memory_in_use(module: Module, memory_space: int = 0) -> list[int]:
    """Bytes of the buffers of a memory space that are live at each position of the schedule."""
    change = [0] * (len(module.entry_computation.instructions) + 2)
    for buffer in Lives(module).buffers.values():
        if buffer.memory_space == memory_space:
            change[max(buffer.first, 0)] += buffer.bytes
            change[buffer.last + 1] -= buffer.bytes
    return list(accumulate(change))[:-2]


def peak_memory(module: Module, memory_space: int = 0) -> int:
    """The most bytes that are live at any position, if each buffer has bytes of its own."""
    return max(memory_in_use(module, memory_space), default=0)


def _places(entry: Computation) -> dict[str, Place]:
    found: dict[str, Place] = {}
    for it in entry.instructions:
        operands = [found[name] for name in it.operands]
        match it.opcode:
            case "constant" | "after-all":
                found[it.name] = None
            case "tuple":
                found[it.name] = tuple(operands)
            case "get-tuple-element" | "copy-done":
                whole = operands[0]
                found[it.name] = whole[it.attribute("index", 0)] if isinstance(whole, tuple) else None
            case "bitcast" | "reshape":
                found[it.name] = operands[0]
            case "copy-start":
                found[it.name] = (f"{it.name}{{0}}", operands[0], None)
            case _:
                found[it.name] = _new_place(it.name, it.shape)
    return found


def _new_place(name: str, shape: AnyShape) -> Place:
    if isinstance(shape, Shape):
        return None if shape.dtype == "token" else name
    return tuple(_new_place(f"{name}{{{index}}}", element) for index, element in enumerate(shape.elements))


def _buffers_in(place: Place) -> tuple[str, ...]:
    if isinstance(place, tuple):
        return tuple(name for element in place for name in _buffers_in(element))
    return () if place is None else (place,)


def _made_by(it: Instruction, place: Place) -> list[tuple[str, Shape]]:
    """The buffers that an instruction makes, with their types."""
    if it.opcode in NAMING or it.opcode in ("constant", "after-all", "copy-done"):
        return []
    if it.opcode == "copy-start":
        place = place[0] if isinstance(place, tuple) else None
    arrays = [shape for shape in leaves(it.shape) if shape.dtype != "token"]
    return list(zip(_buffers_in(place), arrays, strict=False))
