"""Kernels before they are cut out: a plan says which values are stored, and by which kernel.

Deciding what to fuse is one thing, cutting a computation into fusions another. Here is the
other, given. A plan is a list of kernels in the order in which they run, and each kernel names
the values that it *stores*. Everything else that a kernel needs it computes for itself:

    plan = KernelPlan(module, [Kernel(("dot", "select", "maximum")), Kernel(("sum",))])
    fused = build_fusions(plan)  # see fusion_builder.py

If `sum` is the sum of `exponential(subtract(select, broadcast(maximum)))`, and the plan stores
neither the difference nor the exponential, then the second kernel computes both on the way, from
`select` and `maximum`, which it reads. So does any other kernel that needs them: a value that no
kernel stores is *recomputed* wherever it is read.

Of its stored values a kernel writes those that other kernels read or that the module returns, and
it reads arrays in memory: parameters, and what other kernels wrote.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from .hlo import (
    ADDRESSING,
    DATA_MOVEMENT,
    ELEMENTWISE,
    FREE,
    Instruction,
    Module,
)

# What a kernel may compute. Everything else (custom calls, random numbers, fusions there are) stays alone.
FUSIBLE = (ELEMENTWISE | DATA_MOVEMENT | {"iota", "reduce", "dot"}) - {"dynamic-update-slice"}
_NAMED = frozenset({"parameter", "get-tuple-element", "bitcast"})
# What may stand between kernels: names of arrays, and other ways to address them.
BETWEEN = FREE | ADDRESSING


def is_named(it: Instruction) -> bool:
    """Whether an instruction names an array that is in memory without it: a parameter, or part of a result."""
    return it.opcode in _NAMED


def runs_alone(it: Instruction) -> bool:
    """Whether an instruction can be no part of a kernel, and yet does something when it runs."""
    return it.opcode not in FUSIBLE and it.opcode not in BETWEEN


def kernel_kind(body: Iterable[Instruction]) -> str:
    """The kind of a kernel: kOutput if it holds a dot, else kInput if it holds a reduce, else kLoop."""
    opcodes = {it.opcode for it in body}
    return "kOutput" if "dot" in opcodes else "kInput" if "reduce" in opcodes else "kLoop"


@dataclass(frozen=True, slots=True)
class Kernel:
    """The values that a kernel stores; `alone` if it is one instruction that `runs_alone`."""

    stores: tuple[str, ...]
    alone: bool = False


@dataclass(slots=True)
class OpenKernel:
    """A kernel in the making.

    `space`: an instruction of the dims that its loop runs over. `stores`: its values. `reduced`:
    those of them that depend on a reduce of this kernel. `reads`: the arrays in memory that it reads.
    """

    kind: str
    space: Instruction
    stores: list[str] = field(default_factory=list)
    reduced: set[str] = field(default_factory=set)
    reads: dict[str, None] = field(default_factory=dict)


class KernelPlan:
    """A module, and the kernels, in order, that are to compute what its entry computes.

    A kernel may read only what kernels before it store; what is returned or read by what
    `runs_alone` must be stored.
    """

    def __init__(self, module: Module, kernels: Iterable[Kernel]) -> None:
        self.module = module
        self.kernels = tuple(kernels)
        self.entry = module.entry_computation

    @cached_property
    def home(self) -> dict[str, int]:
        """For each stored value the number of its kernel."""
        return {name: number for number, kernel in enumerate(self.kernels) for name in kernel.stores}

    @cached_property
    def _position(self) -> dict[str, int]:
        return {it.name: number for number, it in enumerate(self.entry.instructions)}

    def in_memory(self, name: str) -> bool:
        """Whether a value is an array that kernels read: a parameter, or stored, or part of such."""
        return name in self.home or is_named(self.entry[name])

    def chain(self, value: str, limit: int) -> tuple[Instruction, ...]:
        """What must be computed to have a value, from arrays in memory, operands first and the value last.

        Empty if that is more than `limit` instructions.
        """
        found, waiting = {value}, [value]
        while waiting:
            for operand in self.entry[waiting.pop()].operands:
                if operand not in found and not self.in_memory(operand):
                    found.add(operand)
                    waiting.append(operand)
            if len(found) > limit:
                return ()
        return tuple(self.entry[name] for name in sorted(found, key=self._position.__getitem__))

    def body(self, number: int, stores: Iterable[str] | None = None) -> tuple[Instruction, ...]:
        """All that kernel number `number` computes, operands first; or only what these values of it need."""
        if self.kernels[number].alone:
            return tuple(self.entry[name] for name in self.kernels[number].stores)
        home, by_name = self.home, self.entry.by_name
        found = set(self.kernels[number].stores if stores is None else stores)
        waiting = list(found)
        while waiting:
            for operand in by_name[waiting.pop()].operands:
                if operand not in found and (home.get(operand) == number or not self.in_memory(operand)):
                    found.add(operand)
                    waiting.append(operand)
        return tuple([by_name[name] for name in sorted(found, key=self._position.__getitem__)])

    def stored_behind(self, names: Iterable[str]) -> set[str]:
        """The stored values that must be in memory to have these values between kernels."""
        seen, waiting, stored = set[str](), list(names), set[str]()
        while waiting:
            name = waiting.pop()
            if name in self.home:
                stored.add(name)
            elif name not in seen:
                seen.add(name)
                waiting.extend(self.entry[name].operands)
        return stored

    def needed_in_memory(self) -> set[str]:
        """The stored values that the module returns or that are read by what runs alone."""
        alone = [name for kernel in self.kernels if kernel.alone for name in kernel.stores]
        return self.stored_behind(
            [self.entry.root, *(operand for name in alone for operand in self.entry[name].operands)]
        )


def read_from_outside(body: Iterable[Instruction]) -> tuple[str, ...]:
    """The operands in a list of instructions that are not in it, each once, in order."""
    body = tuple(body)
    inside = {it.name for it in body}
    operands = dict.fromkeys(operand for it in body for operand in it.operands)
    return tuple(operand for operand in operands if operand not in inside)
