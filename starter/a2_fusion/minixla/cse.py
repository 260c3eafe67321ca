"""Common subexpression elimination: what is computed twice is computed once.

Two instructions give the same value if they do the same to the same operands: equal opcode,
operands, attributes, shape and dtype, and for constants equal bits. So every instruction has a
key made of these, and a dictionary knows the first instruction of each key. Operands go into the
key under the names of what stands for them, hence whole expressions are found alike in one sweep,
from the leaves upward, in linear time.
"""

from __future__ import annotations

from collections.abc import Hashable

from .hlo import COMMUTATIVE, Computation, Instruction, Module, is_pure
from .rewrite import Rewriter, rewrite_each


def run(module: Module) -> tuple[Module, bool]:
    """Share equal instructions within each computation; also say whether anything has changed.

    Called computations that say the same count as the same. Instructions that draw random
    numbers or have side effects, or call a computation that does, are never shared.
    """
    # about 13 lines
    raise NotImplementedError("a2.2: callees come first, so know each computation's equal before its callers")


def share_equal(computation: Computation, representatives: dict[str, str], impure: set[str]) -> Computation:
    """The computation in which the first instruction of each key stands in for the later ones.

    `representatives`: for each called computation the first that says the same. `impure`: those
    that do not give the same each time.
    """
    # about 13 lines
    raise NotImplementedError("a2.2: one dictionary from key to name")


def key_of(it: Instruction, operands: tuple[Hashable, ...], representatives: dict[str, str]) -> Hashable:
    """What makes a value: equal keys, equal values, where `operands` stand for the operands' values.

    The operands of commutative opcodes may be in any order. `op_name` says nothing about the value.
    """
    # about 8 lines
    raise NotImplementedError("a2.2: opcode, operands, attributes, shape with dtype, literal")


def fingerprint(computation: Computation, representatives: dict[str, str]) -> Hashable:
    """Equal for computations that differ in names only: operands are said by their positions."""
    # about 6 lines
    raise NotImplementedError("a2.2: the keys of all instructions, with positions for names")
