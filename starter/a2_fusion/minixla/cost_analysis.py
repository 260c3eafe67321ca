"""What a module costs, kernel by kernel, known without running it.

Costs are properties of types: how many bytes the operands and results have, how many elements an
instruction makes. There are two ways to say what a kernel moves. Both count each array once,
however often a kernel names it, and a pred as 1 byte.

`lecture`, what `interpret.run_kernels` measures:
    Each instruction of the entry is one kernel, except those that only name an array or say how it
    is addressed (`hlo.FREE`, `hlo.ADDRESSING`, `hlo.ASYNCHRONOUS`). A kernel reads the arrays in
    memory that its operands lead to through such instructions, except constants, which cost
    nothing; it writes each array it makes. A broadcast that is an output of the program is an
    array like any other, so it is a kernel after all.

`xla`, close to XLA's HloCostAnalysis:
    Each instruction of the entry that is neither free nor asynchronous is one kernel. It reads its
    operands, constants too, and writes its result. A slice or dynamic-slice reads only what it
    returns; a dynamic-update-slice reads only the update and writes only that; both read their
    indices. A fusion reads its operands and writes its outputs; what moves inside it is free.

Work is counted alike in both, in fusions too, so what is recomputed is counted again: a dot has
2·M·N·K FLOP, a reduce n − 1 for each result of n elements, other arithmetic 1 for each element, a
transcendental function (`hlo.TRANSCENDENTAL`) 1 transcendental for each element and no FLOP.
Moving elements about has none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

from .hlo import (
    ADDRESSING,
    ASYNCHRONOUS,
    ELEMENTWISE,
    FREE,
    TRANSCENDENTAL,
    Computation,
    Instruction,
    Module,
    TupleShape,
    leaves,
)
from .roofline import TPU7X_CORE, Machine

Accounting = Literal["lecture", "xla"]


@dataclass(frozen=True, slots=True)
class KernelCost:
    """What one kernel moves and computes. `name` is that of the entry's instruction.

    `flops` holds `dot_flops`, and no transcendentals.
    """

    name: str
    bytes_read: int
    bytes_written: int
    flops: int
    transcendentals: int
    dot_flops: int

    @property
    def bytes(self) -> int:
        """Bytes read and written."""
        return self.bytes_read + self.bytes_written

    def seconds(self, machine: Machine = TPU7X_CORE) -> float:
        """Time under the roofline: memory, matrix units and vector units work at the same time.

        So it is the longest of bytes at HBM speed, dot FLOP at MXU speed, and the other FLOP with
        `machine.operations_per_transcendental` for each transcendental at VPU speed.
        """
        # about 3 lines
        raise NotImplementedError("a2.3: the slowest of the three")


@dataclass(frozen=True, slots=True)
class ModuleCost:
    """The kernels of a module in the order of the entry, and their sums."""

    kernels: tuple[KernelCost, ...]

    @property
    def bytes(self) -> int:
        """Bytes read and written by all kernels."""
        return sum(kernel.bytes for kernel in self.kernels)

    @property
    def flops(self) -> int:
        """FLOP of all kernels."""
        return sum(kernel.flops for kernel in self.kernels)

    @property
    def transcendentals(self) -> int:
        """Transcendental functions evaluated by all kernels, one for each element."""
        return sum(kernel.transcendentals for kernel in self.kernels)

    def seconds(self, machine: Machine = TPU7X_CORE) -> float:
        """Time of the kernels one after the other."""
        return sum(kernel.seconds(machine) for kernel in self.kernels)


Traffic = dict[str, tuple[int, int]]  # name of a kernel: bytes read, bytes written


class Work(NamedTuple):
    """What is computed: FLOP, transcendental functions, and how many of the FLOP are in dots."""

    flops: int = 0
    transcendentals: int = 0
    dot_flops: int = 0


def cost(module: Module, accounting: Accounting = "lecture") -> ModuleCost:
    """What each kernel of a module costs. Linear in the number of instructions.

    Raises ValueError for an accounting that is neither `lecture` nor `xla`.
    """
    entry = module.entry_computation
    match accounting:
        case "lecture":
            traffic = lecture_traffic(entry)
        case "xla":
            traffic = xla_traffic(entry)
        case _:
            raise ValueError(f"There is no accounting {accounting!r}; there are 'lecture' and 'xla'.")
    works: dict[str, Work] = {}  # of computations; those that one calls stand before it
    for computation in module.computations:
        if computation.name == entry.name:
            continue
        each_work = [work_of(each, computation, works) for each in computation.instructions]
        works[computation.name] = Work(*map(sum, zip(*each_work, strict=True)))
    kernels = []
    for name, (read, written) in traffic.items():
        work = work_of(entry[name], entry, works)
        kernels.append(KernelCost(name, read, written, work.flops, work.transcendentals, work.dot_flops))
    return ModuleCost(tuple(kernels))


def lecture_traffic(entry: Computation) -> Traffic:
    """What each kernel of the entry moves in the `lecture` accounting, in the order of the entry."""
    # about 11 lines
    raise NotImplementedError("a2.3: follow every value to the arrays in memory that it consists of")


def xla_traffic(entry: Computation) -> Traffic:
    """What each kernel of the entry moves in the `xla` accounting, in the order of the entry."""
    # about 14 lines
    raise NotImplementedError("a2.3: sizes of distinct operands and of the result; a window instead of a whole array")


def work_of(each: Instruction, computation: Computation, works: dict[str, Work]) -> Work:
    """The work of one instruction; `works` has that of the computations it may call."""
    # about 16 lines
    raise NotImplementedError("a2.3: count what an instruction computes")


# a2.3: helper functions (about 34 lines)
