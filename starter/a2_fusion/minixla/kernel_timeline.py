"""A scheduled, fused module as kernels 0 to n − 1: who makes which array, and who reads it.

Arrays are named as in `liveness.py`: a parameter or a kernel's result by the instruction, element
1 of several results `fusion{1}`. Readers are kernels, through whatever names or addresses an array
on the way to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from .hlo import (
    ADDRESSING,
    ASYNCHRONOUS,
    FREE,
    AnyShape,
    Instruction,
    Module,
    Shape,
    TupleShape,
    instruction,
    leaves,
    names_of,
)
from .liveness import Lives

VMEM, SEMAPHORES = 1, 2
_NO_KERNEL = FREE | ADDRESSING | ASYNCHRONOUS


class KernelTimeline:
    """`kernels`: their names, in order. `maker`: for each array that a kernel makes the kernel's number.

    `readers`: for each array that is read the numbers of the kernels that read it, in order.
    `bytes`: of each array. `outputs`: the arrays that the module returns. `uses_vmem`: whether
    anything is in memory space 1 already.
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.entry = module.entry_computation
        lives = Lives(module)
        self.bytes = {name: buffer.bytes for name, buffer in lives.buffers.items()}
        self.uses_vmem = any(buffer.memory_space == VMEM for buffer in lives.buffers.values())
        self.kernels = [it.name for it in self.entry.instructions if it.opcode not in _NO_KERNEL]
        self.maker: dict[str, int] = {}
        self.readers: dict[str, list[int]] = {}
        for number, name in enumerate(self.kernels):
            self.maker.update(dict.fromkeys(lives.behind(name), number))
            for array in dict.fromkeys(lives.behind(*map(self._addressed, self.entry[name].operands))):
                self.readers.setdefault(array, []).append(number)
        results = [self._addressed(name) for name in self.entry.outputs]
        self.outputs = set(lives.behind(*results))
        self._renamed_outputs = set(lives.behind(*(name for name in results if name not in self.entry.outputs)))

    def _addressed(self, name: str) -> str:
        """The value that is read where this one is: seen through broadcasts, reshapes and bitcasts."""
        while self.entry[name].opcode in ADDRESSING | {"bitcast"}:
            name = self.entry[name].operands[0]
        return name

    def check_parameters(self, names: Iterable[str]) -> None:
        """Raise ValueError if a name is not that of a parameter."""
        known = [it.name for it in self.entry.parameters]
        for name in names:
            if name not in known:
                raise ValueError(f"{name!r} cannot be prefetched; the parameters are {', '.join(known)}.")

    def can_be_copied(self, parameter: str) -> bool:
        """Whether a kernel reads a parameter, and the module does not return it under another name."""
        return parameter in self.readers and parameter not in self._renamed_outputs


def write_memory_spaces(
    timeline: KernelTimeline, starts: Mapping[str, int], done: Mapping[str, int], resident: set[str]
) -> Module:
    """The module with copies of parameters, and with the `resident` arrays in VMEM.

    For each parameter in `done` a copy starts before kernel number `starts[parameter]` and is done
    before kernel number `done[parameter]`; kernels read the copy. The order of the kernels is kept.
    """
    entry = timeline.entry
    number = {name: place for place, name in enumerate(timeline.kernels)}
    writer = _Writer(timeline, resident)
    late = set(done)  # parameters whose copies are not done, and names of them
    for it in entry.instructions:
        if it.name in number:
            for parameter in (name for name in done if starts[name] == number[it.name]):
                writer.start_copy(parameter)
            for parameter in (name for name in done if done[name] == number[it.name]):
                writer.finish_copy(parameter)
                late.discard(parameter)
            writer.write_with_names(it.name)
        elif late.isdisjoint(it.operands):
            writer.write_with_names(it.name)
        else:
            late.add(it.name)
    writer.write_with_names(entry.root)
    return timeline.module.with_entry(writer.written)


class _Writer:
    """Writes the new entry; what names an array is written when a kernel needs it."""

    def __init__(self, timeline: KernelTimeline, resident: set[str]) -> None:
        self.entry = timeline.entry
        self.resident = resident
        self.names = names_of(self.entry)
        self.written: list[Instruction] = list(self.entry.parameters)
        self.shapes: dict[str, AnyShape] = {it.name: it.shape for it in self.written}
        self.copies: dict[str, str] = {}  # parameters and what stands for them

    def write(self, it: Instruction) -> None:
        """Add an instruction, with its arrays in the right memory spaces."""
        shape = it.shape
        match it.opcode:
            case "get-tuple-element":
                whole = self.shapes[it.operands[0]]
                assert isinstance(whole, TupleShape)
                shape = whole.elements[it.attribute("index")]
            case "bitcast" | "reshape":
                source = self.shapes[it.operands[0]]
                assert isinstance(source, Shape)
                shape = it.array_shape.in_space(source.memory_space)
            case "tuple":
                shape = TupleShape(tuple(self.shapes[name] for name in it.operands))
            case _ if isinstance(shape, TupleShape):
                marked = [self.placed(f"{it.name}{{{index}}}", each) for index, each in enumerate(leaves(shape))]
                shape = TupleShape(tuple(marked)) if len(marked) == len(shape.elements) else shape
            case _:
                shape = self.placed(it.name, shape)
        self.shapes[it.name] = shape
        self.written.append(it if shape == it.shape else it.replace(shape=shape))

    def placed(self, array: str, shape: Shape) -> Shape:
        """The type of an array, in VMEM if it is resident."""
        return shape.in_space(VMEM) if array in self.resident else shape

    def write_with_names(self, name: str) -> None:
        """Add an instruction, and before it what it reads and is not there yet."""
        waiting = [name]
        while waiting:
            it = self.entry[waiting[-1]]
            missing = [operand for operand in it.operands if operand not in self.shapes]
            if it.name in self.shapes:
                waiting.pop()
            elif missing:
                waiting.extend(missing)
            else:
                self.write(it if it.name == self.entry.root and it.opcode == "tuple" else it.renamed(self.copies))
                waiting.pop()

    def start_copy(self, parameter: str) -> None:
        """Add the `copy-start` of a parameter: the copy, the source, and a semaphore."""
        source = self.entry[parameter].array_shape
        shape = TupleShape((source.in_space(VMEM), source, Shape("u32", (), SEMAPHORES)))
        start = instruction(self.names.fresh("copy-start"), "copy-start", shape, (parameter,))
        self.shapes[start.name] = shape
        self.written.append(start)
        self.copies[parameter] = start.name

    def finish_copy(self, parameter: str) -> None:
        """Add the `copy-done`; from here on kernels read the copy."""
        shape = self.entry[parameter].array_shape.in_space(VMEM)
        done = instruction(self.names.fresh("copy-done"), "copy-done", shape, (self.copies[parameter],))
        self.shapes[done.name] = shape
        self.written.append(done)
        self.copies[parameter] = done.name
