"""Runs a module in NumPy, as a whole or kernel by kernel.

`evaluate` says what a program means: every pass must leave it as it is. `run_kernels` runs the
entry as an accelerator would, one kernel after the other, each from its declared inputs only, and
measures which arrays go through memory. What the opcodes compute is in `operations.py`.

The `lecture` accounting. Each instruction of the entry is one kernel, except those that only name
an array or say how it is addressed: parameters, constants, tuples and their elements, bitcasts,
reshapes (row-major, so nothing moves), broadcasts (the reader reads the small array), and the
copies that run beside the kernels. A kernel reads each array in memory that its operands lead to,
whole and once however often it is named, except constants, which cost nothing; and it writes each
array it makes. A broadcast that is an output of the program is an array like any other, so it is a
kernel after all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .errors import EvaluationError
from .hlo import ADDRESSING, ASYNCHRONOUS, FREE, Computation, Instruction, Module
from .operations import operation

_BYTES_EACH = 256  # what an instruction costs beside its result, when programs are kept from being too large
_MOST_NESTED = 100
_RUNS_NO_KERNEL = FREE | ADDRESSING | ASYNCHRONOUS

# Where a value is in memory: an array's number, None for a constant, or one place for each element.
Place = int | None | tuple["Place", ...]


@dataclass(frozen=True, slots=True)
class KernelTraffic:
    """What one kernel moved: its name (that of the entry's instruction), bytes read, bytes written."""

    name: str
    bytes_read: int
    bytes_written: int


@dataclass(frozen=True, slots=True)
class KernelRun:
    """The outputs of a program, and what each kernel moved, in the order of execution."""

    outputs: list[np.ndarray]
    kernels: tuple[KernelTraffic, ...]

    @property
    def bytes(self) -> int:
        """Bytes read and written by all kernels."""
        return sum(kernel.bytes_read + kernel.bytes_written for kernel in self.kernels)


def evaluate(module: Module, arguments: Sequence[Any], limit_bytes: int | None = None) -> list[np.ndarray]:
    """The outputs of a module that `verify` accepts; those of a tuple one by one.

    `arguments`: an array for each parameter, of its dtype and dims. `limit_bytes`: refuse a program
    whose results together are larger than this, each counted with 256 bytes more. Raises
    EvaluationError. Linear in the number of instructions; a value is dropped after its last use.
    """
    values = _check_arguments(module, arguments)
    _check_size(module, limit_bytes)
    with np.errstate(all="ignore"):
        return _outputs(_run(module, module.entry_computation, values))


def run_kernels(module: Module, arguments: Sequence[Any], limit_bytes: int | None = None) -> KernelRun:
    """Run the entry kernel by kernel and measure its traffic in the `lecture` accounting.

    Arguments and errors as in `evaluate`, and the outputs have the same bits. The accounting is
    described at the top of this file.
    """
    values = _check_arguments(module, arguments)
    _check_size(module, limit_bytes)
    memory = _Memory(module.entry_computation)
    with np.errstate(all="ignore"):
        outputs = _outputs(_run(module, module.entry_computation, values, memory))
    return KernelRun(outputs, tuple(memory.kernels))


def equations(module: Module) -> int:
    """How many instructions compute something: the lecture's count of a program's size.

    Counted in the entry and in the bodies of its fusions: all that would run a kernel if it stood
    alone. So what is free and what only addresses arrays (`hlo.FREE`, `hlo.ADDRESSING`) is not. (A
    jaxpr also counts an explicit broadcast or reshape, and does not show the convert of an operand
    whose dtype is promoted.)
    """
    total = 0
    for each in module.entry_computation.instructions:
        if each.opcode == "fusion":
            total += sum(_is_equation(inner) for inner in module.called(each).instructions)
        else:
            total += _is_equation(each)
    return total


def _is_equation(instruction: Instruction) -> bool:
    return instruction.opcode not in _RUNS_NO_KERNEL


def _check_arguments(module: Module, arguments: Sequence[Any]) -> list[np.ndarray]:
    parameters = module.entry_computation.parameters
    if len(arguments) != len(parameters):
        raise EvaluationError(f"{module.name} has {len(parameters)} parameters; {len(arguments)} were given.")
    arrays = [np.asarray(argument) for argument in arguments]
    for parameter, array in zip(parameters, arrays, strict=True):
        shape = parameter.array_shape
        if array.shape != shape.dims or array.dtype != shape.numpy_dtype:
            given = f"an array of {array.dtype} with dims {array.shape}"
            raise EvaluationError(f"Parameter %{parameter.name} is {shape}, but {given} was given.")
    return arrays


def _check_size(module: Module, limit_bytes: int | None) -> None:
    """Add up what a run makes, callees before callers; a computation counts at each call."""
    sizes: dict[str, int] = {}
    depths: dict[str, int] = {}
    for computation in module.computations:
        called = [str(each.attribute("calls")) for each in computation.instructions if each.opcode == "fusion"]
        depths[computation.name] = 1 + max((depths[name] for name in called), default=0)
        own = sum(each.shape.bytes + _BYTES_EACH for each in computation.instructions)
        sizes[computation.name] = own + sum(sizes[name] for name in called)
    if depths[module.entry] > _MOST_NESTED:
        raise EvaluationError(f"Fusions of {module.name} are nested deeper than {_MOST_NESTED}.")
    if limit_bytes is not None and sizes[module.entry] > limit_bytes:
        raise EvaluationError(
            f"A run of {module.name} would make results of {sizes[module.entry]:,} bytes (counting each "
            f"instruction as {_BYTES_EACH} more); {limit_bytes:,} are allowed."
        )


def _outputs(value: Any) -> list[np.ndarray]:
    if isinstance(value, tuple):
        return [array for element in value for array in _outputs(element)]
    return [np.array(value)]


def _run(module: Module, computation: Computation, arguments: Sequence[Any], memory: _Memory | None = None) -> Any:
    """The value of a computation's root: an array, or a tuple of values."""
    last_use = {name: place for place, each in enumerate(computation.instructions) for name in each.operands}
    last_use[computation.root] = len(computation.instructions)
    values: dict[str, Any] = {}
    for place, each in enumerate(computation.instructions):
        operands = [values[name] for name in each.operands]
        value = _value(module, each, operands, arguments)
        if memory is not None:
            memory.note(each, value)
        if each.name in last_use:
            values[each.name] = value
        for name in each.operands:
            if last_use[name] == place:
                values.pop(name, None)
    return values[computation.root]


def _value(module: Module, instruction: Instruction, operands: list[Any], arguments: Sequence[Any]) -> Any:
    match instruction.opcode:
        case "parameter":
            return arguments[instruction.attribute("index")]
        case "constant":
            assert instruction.literal is not None
            return instruction.literal.array
        case "tuple":
            return tuple(operands)
        case "get-tuple-element":
            return operands[0][instruction.attribute("index")]
        case "fusion":
            return _run(module, module.called(instruction), operands)
        case "copy-start":
            return np.copy(operands[0]), operands[0], np.zeros((), np.uint32)
        case "copy-done":
            return operands[0][0]
        case "reduce":
            return operation(instruction, operands, module.called(instruction).root_instruction.opcode)
    return operation(instruction, operands)


class _Memory:
    """Follows which array in memory each value is, and keeps what kernels read and wrote."""

    def __init__(self, entry: Computation) -> None:
        self.kernels: list[KernelTraffic] = []
        self.places: dict[str, Place] = {}
        self.sizes: list[int] = []  # bytes of each array in memory, as they were measured
        self.written_out = _broadcast_outputs(entry)

    def note(self, instruction: Instruction, value: Any) -> None:
        """Called after each instruction of the entry, with what it made."""
        places = [self.places[name] for name in instruction.operands]
        match instruction.opcode:
            case "parameter":
                self.places[instruction.name] = self.store(value)
            case "constant":
                self.places[instruction.name] = None
            case "tuple":
                self.places[instruction.name] = tuple(places)
            case "get-tuple-element":
                assert isinstance(places[0], tuple)
                self.places[instruction.name] = places[0][instruction.attribute("index")]
            case "copy-start":
                self.places[instruction.name] = (places[0], places[0], None)
            case "copy-done":
                assert isinstance(places[0], tuple)
                self.places[instruction.name] = places[0][0]
            case "after-all":
                self.places[instruction.name] = None
            case "bitcast" | "broadcast" | "reshape":
                self.places[instruction.name] = places[0]
                if instruction.name in self.written_out:
                    self.kernel(instruction.name, places, value.nbytes)
            case _:
                first = len(self.sizes)
                self.places[instruction.name] = self.store(value)
                self.kernel(instruction.name, places, sum(self.sizes[first:]))

    def store(self, value: Any) -> Place:
        """Give an array, or each array of a tuple, a place of its own."""
        if isinstance(value, tuple):
            return tuple(map(self.store, value))
        self.sizes.append(value.nbytes)
        return len(self.sizes) - 1

    def kernel(self, name: str, places: list[Place], bytes_written: int) -> None:
        """Count the distinct arrays at `places` as read."""
        read = sum(self.sizes[number] for number in _numbers(tuple(places)))
        self.kernels.append(KernelTraffic(name, read, bytes_written))


def _numbers(place: Place) -> set[int]:
    if isinstance(place, tuple):
        return set().union(*map(_numbers, place))
    return set() if place is None else {place}


def _broadcast_outputs(entry: Computation) -> set[str]:
    """The broadcasts that are outputs of the program, perhaps under another name or shape."""
    found: set[str] = set()
    for output in entry.outputs:
        each = entry[output]
        while each.opcode in ("bitcast", "reshape"):
            each = entry[each.operands[0]]
        if each.opcode == "broadcast":
            found.add(each.name)
    return found
