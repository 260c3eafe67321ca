"""Fusion: which instructions run together in one kernel, so that what lies between stays on the chip.

One sweep over the entry, operands first. A value is either *stored*: one kernel computes it, and
may write it for others; or *deferred*: it is no kernel's own, and every kernel that needs it
computes it again. Kernels are numbered as they are opened and run in that order. The invariant is
that a kernel reads only what kernels before it store; hence there is never a cycle.

1. A dot opens a kOutput kernel. What was deferred before it is computed on its input side.
2. A reduce joins the kernel that stores its input, unless that input has itself come out of a
   reduce there: the pass that makes the elements adds them up, too. Or it joins a sibling, another
   reduce of the same array. Otherwise it opens a kInput kernel.
3. A pointwise instruction joins the newest kernel that stores one of its operands, if the others
   can be had before that kernel runs. But what a reduce in a kOutput kernel makes is known only
   when that kernel is over, so what reads it opens a kLoop kernel.
4. Everything else is deferred, or opens a kLoop kernel where deferring would be a bad bargain
   (`_Sweep.is_bad_bargain`). Broadcast, reshape and transpose are always deferred.

A reshape moves nothing, so rules 2 and 3 see through it to the stored value. Afterwards,
`sibling_fusion.py` merges kernels that read the same array. The result never moves more bytes than
kernels of one instruction each, and all of it takes linear time.
"""

from __future__ import annotations

from dataclasses import dataclass

from .fusion_builder import build_fusions
from .hlo import ADDRESSING, ELEMENTWISE, Computation, Instruction, Module
from .kernels import FUSIBLE, Kernel, KernelPlan, OpenKernel, is_named, runs_alone
from .sibling_fusion import merge_siblings

REARRANGING = ADDRESSING | {"transpose"}
MAX_REPEATED_WORK = 16  # instructions of a value that several kernels may each compute
MAX_INPUTS = 64  # arrays that a deferred value may be computed from


def run(module: Module) -> tuple[Module, bool]:
    """Fuse what the entry does into kernels; also say whether anything has changed.

    What is there already (fusions, custom calls, random numbers) stays and is not looked into.
    The result passes `verifier.verify_kernels`, and every value has the bits that it had.
    """
    # about 9 lines
    raise NotImplementedError("a2.4: until there is no new fusion: sweep, merge siblings, build")


def number_of_fusions(module: Module) -> int:
    """How many instructions of the entry are fusions; none ever vanishes."""
    return sum(it.opcode == "fusion" for it in module.entry_computation.instructions)


@dataclass(slots=True)
class Demand:
    """Who will need a value: how many readers, how many of them dots, and whether it must be in memory.

    Readers of a broadcast, reshape or transpose of the value count as its readers.
    """

    readers: int = 0
    dots: int = 0
    in_memory: bool = False


def demands(computation: Computation) -> dict[str, Demand]:
    """The demand for every value of a computation.

    It must be in memory if it is returned, or read by what `runs_alone` or only names it, directly
    or through broadcasts and reshapes, which say how an array is read and need no kernel.
    """
    # about 15 lines
    raise NotImplementedError("a2.4: one walk from users to operands")


class _Sweep:
    """The state of the sweep.

    `home`: for each stored value the number of its kernel. `ready`: for each value the number of
    the last kernel that must have run before others can have it, −1 if none. `source`: for each
    reshape what it reshapes in the end, for everything else the value itself. `inputs`, `work`:
    for each deferred value the arrays in memory it is computed from, and by how many instructions.
    `reducing`: by an array and dims the newest kernel that reduces, over these dims, what it
    computes from the array.
    """

    def __init__(self, computation: Computation) -> None:
        self.computation = computation
        self.demands = demands(computation)
        self.kernels: list[OpenKernel] = []
        self.home: dict[str, int] = {}
        self.ready: dict[str, int] = {}
        self.source: dict[str, str] = {}
        self.inputs: dict[str, tuple[str, ...]] = {}
        self.work: dict[str, int] = {}
        self.reducing: dict[tuple[str, tuple[int, ...]], int] = {}

    def run(self) -> list[OpenKernel]:
        """Every instruction, by its rule; returns the kernels in the order in which they run."""
        for it in self.computation.instructions:
            self.source[it.name] = self.source[it.operands[0]] if it.opcode == "reshape" else it.name
            if runs_alone(it):
                self.open("", it)
            elif it.opcode == "dot":
                self.open("kOutput", it)
            elif it.opcode == "reduce":
                self.place_reduce(it)
            elif it.opcode in ELEMENTWISE:
                self.place_pointwise(it)
            elif it.opcode in FUSIBLE:
                self.defer(it)
            else:  # a name of something in memory, or a constant
                self.ready[it.name] = max((self.ready[name] for name in it.operands), default=-1)
        return self.kernels

    def inputs_of(self, it: Instruction) -> tuple[str, ...]:
        """The arrays in memory that computing an instruction reads, through what is deferred."""
        found: dict[str, None] = {}
        for name in it.operands:
            if name in self.home or is_named(self.computation[name]):
                found[name] = None
            else:
                found |= dict.fromkeys(self.inputs.get(name, ()))
        return tuple(found)

    def open(self, kind: str, it: Instruction) -> None:
        """Open a kernel with this instruction; it is the newest then."""
        self.kernels.append(OpenKernel(kind, self.computation[it.operands[0]] if kind == "kInput" else it))
        self.join(len(self.kernels) - 1, it)

    def join(self, number: int, it: Instruction) -> None:
        """Store an instruction's value in a kernel that is open."""
        kernel, inputs = self.kernels[number], self.inputs_of(it)
        kernel.reads |= dict.fromkeys(name for name in inputs if self.home.get(name) != number)
        if it.opcode == "reduce" or any(self.source[name] in kernel.reduced for name in it.operands):
            kernel.reduced.add(it.name)
        if it.opcode == "reduce":
            dims = self.computation[it.operands[0]].array_shape.dims
            self.reducing |= {(name, dims): number for name in inputs}
        kernel.stores.append(it.name)
        self.home[it.name] = self.ready[it.name] = number

    def place_reduce(self, it: Instruction) -> None:
        """Rule 2. A kLoop kernel that a reduce joins is a kInput kernel from then on."""
        # about 10 lines
        raise NotImplementedError("a2.4: join the kernel that stores the input, or a sibling, or open a kernel")

    def sibling_of(self, it: Instruction) -> int:
        """The newest kInput kernel in which a reduce runs over the same dims and reads one of the same arrays.

        −1 if there is none, or if what `it` needs is not ready before that kernel. The array must
        have as many elements as the loop. `self.reducing` has the kernels by array and dims.
        """
        # about 4 lines
        raise NotImplementedError("a2.4: look at each input of `it`")

    def place_pointwise(self, it: Instruction) -> None:
        """Rule 3, and rule 4 for pointwise instructions.

        It joins a kernel for the sake of operands of its own size only; select and clamp have others.
        """
        # about 11 lines
        raise NotImplementedError("a2.4: find the newest kernel that stores an operand, then look at the other operands")

    def stores_loop_value(self, name: str, elements: int) -> bool:
        """Whether a kernel that can be joined stores this value, and it has so many elements."""
        number = self.home.get(name, -1)
        return number >= 0 and bool(self.kernels[number].kind) and self.elements(name) == elements

    def is_statistic_beside_dot(self, name: str) -> bool:
        """Whether a stored value depends on a reduce in its own kernel, which has a dot, too."""
        kernel = self.kernels[self.home[name]]
        return kernel.kind == "kOutput" and name in kernel.reduced

    def elements(self, name: str) -> int:
        """The number of elements of a value."""
        return self.computation[name].array_shape.elements

    def defer(self, it: Instruction) -> None:
        """Rule 4: leave it to its readers, unless that is a bad bargain."""
        # about 6 lines
        raise NotImplementedError("a2.4: find out what the value is computed from, and decide")

    def is_bad_bargain(self, it: Instruction, inputs: tuple[str, ...], work: int) -> bool:
        """Whether a value is better stored than computed again by each of its readers.

        It is if it must be in memory anyway, or if it is more than little work for several readers.
        Otherwise bytes decide. With r readers, a value of b bytes computed from arrays of i bytes
        costs r·i if it is deferred; stored, i + b to make it and r·b to read it. (So a value with one
        reader is always deferred, and since each choice is the cheaper one, their sum is never
        above that of storing everything.) A dot reads its operands again and again, so a value that
        several dots need is stored if i > b.
        """
        # about 10 lines
        raise NotImplementedError("a2.4: compare; rearranging is never stored, except a transpose that must be")
