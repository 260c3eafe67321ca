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
    ### BEGIN SOLUTION a2.2: callees come first, so know each computation's equal before its callers
    representatives: dict[str, str] = {}
    first_alike: dict[Hashable, str] = {}
    impure: set[str] = set()

    def share(computation: Computation) -> Computation:
        if computation.name == module.entry:
            return share_equal(computation, representatives, impure)
        shared = share_equal(computation, representatives, impure)
        content = fingerprint(shared, representatives)
        representatives[computation.name] = first_alike.setdefault(content, computation.name)
        if not all(is_pure(it) and it.attribute("calls") not in impure for it in shared.instructions):
            impure.add(computation.name)
        return shared

    return rewrite_each(module, share)
    ### END SOLUTION


def share_equal(computation: Computation, representatives: dict[str, str], impure: set[str]) -> Computation:
    """The computation in which the first instruction of each key stands in for the later ones.

    `representatives`: for each called computation the first that says the same. `impure`: those
    that do not give the same each time.
    """
    ### BEGIN SOLUTION a2.2: one dictionary from key to name
    out = Rewriter(computation)
    first: dict[Hashable, str] = {}
    for instruction in computation.instructions:
        it = out.current(instruction)
        if not is_pure(it) or it.attribute("calls") in impure:
            out.keep(it)
            continue
        found = first.setdefault(key_of(it, it.operands, representatives), it.name)
        if found == it.name:
            out.keep(it)
        else:
            out.stand_in(it.name, found)
    return out.finish()
    ### END SOLUTION


def key_of(it: Instruction, operands: tuple[Hashable, ...], representatives: dict[str, str]) -> Hashable:
    """What makes a value: equal keys, equal values, where `operands` stand for the operands' values.

    The operands of commutative opcodes may be in any order. `op_name` says nothing about the value.
    """
    ### BEGIN SOLUTION a2.2: opcode, operands, attributes, shape with dtype, literal
    if it.opcode in COMMUTATIVE:
        operands = tuple(sorted(operands))  # type: ignore[type-var]
    attributes = tuple(
        (name, representatives.get(value, value) if isinstance(value, str) else value)
        for name, value in it.attributes
        if name != "op_name"
    )
    return it.opcode, operands, attributes, it.shape, it.literal
    ### END SOLUTION


def fingerprint(computation: Computation, representatives: dict[str, str]) -> Hashable:
    """Equal for computations that differ in names only: operands are said by their positions."""
    ### BEGIN SOLUTION a2.2: the keys of all instructions, with positions for names
    position = {it.name: number for number, it in enumerate(computation.instructions)}
    keys = tuple(
        key_of(it, tuple(position[operand] for operand in it.operands), representatives)
        for it in computation.instructions
    )
    return keys, position[computation.root]
    ### END SOLUTION
