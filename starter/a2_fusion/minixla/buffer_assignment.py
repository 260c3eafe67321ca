"""Buffer assignment: where in one block of memory each array of a scheduled program lies.

Arrays that are never alive together may share bytes; when they live is in `liveness.py`. The
assignment walks through the schedule with the list of gaps between the arrays that are alive: a
new array takes the smallest gap that it fits into, a dead one gives its bytes back. An instruction
may write its result over an operand that dies with it, where `liveness.may_share` allows that.

Some instructions leave no choice, see `copy_insertion.py`, which comes before.
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from .copy_insertion import insert_copies
from .hlo import Module
from .liveness import Lives

__all__ = ["BufferAssignment", "assign_buffers", "insert_copies"]


@dataclass(frozen=True, slots=True)
class BufferAssignment:
    """For each buffer (named as in `liveness.Lives`) its offset and size in bytes, and the size of the whole."""

    offsets: Mapping[str, tuple[int, int]]
    total_bytes: int


class Gaps:
    """The free parts of a block of memory that grows at its end; offset and size of each, in order."""

    def __init__(self) -> None:
        self.free: list[tuple[int, int]] = []
        self.end = 0

    def take(self, size: int) -> int:
        """The offset of `size` bytes: in the smallest gap that has them, else at the end."""
        if size == 0:
            return 0
        # about 12 lines
        raise NotImplementedError("a2.6: best fit; a gap that touches the end can grow")

    def give(self, offset: int, size: int) -> None:
        """Take back bytes; gaps that touch become one."""
        if size == 0:
            return
        # about 8 lines
        raise NotImplementedError("a2.6: join with the neighbours")


def assign_buffers(module: Module) -> BufferAssignment:
    """Offsets for all buffers in memory space 0 of a scheduled module.

    Buffers whose lives overlap share no byte, except that a result may lie over an operand that dies
    there (`Lives.may_follow`), which is done wherever it is allowed. An output that is aliased to a
    donated parameter lies in that one's buffer if it may follow it; else it is a buffer like others.
    """
    # about 25 lines
    raise NotImplementedError("a2.6: walk through the schedule; what ends at a position is given back after it")


def operand_below(lives: Lives, name: str, ending: Sequence[str], kept: AbstractSet[str]) -> str | None:
    """A buffer that ends where `name` starts and that it may lie over, if there is one.

    `kept`: buffers whose place is kept for another; only dynamic-update-slice may lie there meanwhile.
    """
    # about 5 lines
    raise NotImplementedError("a2.6: the first that it may follow")


def parameter_heirs(module: Module, lives: Lives) -> dict[str, str]:
    """For each donated parameter the buffer that is to lie in its place so that the aliased output does.

    Left out are parameters that the output continues anyway, and aliases that cannot be (may-alias).
    """
    entry, chains = module.entry_computation, lives.chains()
    origin = {name: first for first, chain in chains.items() for name in chain}
    found: dict[str, str] = {}
    for output, number in module.input_output_alias:
        parameter = entry.parameters[number].name
        for name in lives.behind(entry.outputs[output]):
            heir = origin[name]
            free = heir not in found.values() and lives.buffers[heir].memory_space == 0
            if free and all(lives.may_follow(each, heir) for each in chains[parameter]):
                found[parameter] = heir
    return found
