"""Buffer assignment: where in one block of memory each array of a scheduled program lies.

Arrays that are never alive together may share bytes; when they live is in `liveness.py`. Arrays
that work in place of each other make one place, and the places are laid out by decreasing size.

Some instructions leave no choice, see `copy_insertion.py`, which comes before.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from .copy_insertion import insert_copies
from .hlo import Module
from .liveness import Buffer, Lives

__all__ = ["BufferAssignment", "assign_buffers", "insert_copies"]


@dataclass(frozen=True, slots=True)
class BufferAssignment:
    """For each buffer (named as in `liveness.Lives`) its offset and size in bytes, and the size of the whole."""

    offsets: Mapping[str, tuple[int, int]]
    total_bytes: int


def assign_buffers(module: Module) -> BufferAssignment:
    """Offsets for all buffers in memory space 0 of a scheduled module.

    Buffers that work in place of one another share a place. Places are put into the block by size,
    the largest first, each at the lowest offset at which nothing lies that lives at one of its times.
    """
    lives = Lives(module)
    places = share_places(module, lives)
    placed: list[tuple[int, int, list[Buffer]]] = []
    offsets: dict[str, tuple[int, int]] = {}
    for members in sorted(places, key=lambda each: (-each[0].bytes, each[0].first - each[-1].last)):
        size = members[0].bytes
        taken = sorted((at, end) for at, end, others in placed if size and meet(members, others))
        offset = 0
        for at, end in taken:
            if at - offset >= size:
                break
            offset = max(offset, end)
        if size:
            placed.append((offset, offset + size, members))
        offsets.update((each.name, (offset, size)) for each in members)
    return BufferAssignment(offsets, max((end for _, end, _ in placed), default=0))


def meet(some: list[Buffer], others: list[Buffer]) -> bool:
    """Whether two buffers of two places, whose members follow each other in time, live at one time."""
    i = j = 0
    while i < len(some) and j < len(others):
        if some[i].last < others[j].first:
            i += 1
        elif others[j].last < some[i].first:
            j += 1
        else:
            return True
    return False


def share_places(module: Module, lives: Lives) -> list[list[Buffer]]:
    """The buffers, grouped by the place that they share, in the order of time."""
    buffers = {name: each for name, each in lives.buffers.items() if each.memory_space == 0}
    place: dict[str, list[Buffer]] = {}
    heirs = {heir: parameter for parameter, heir in parameter_heirs(module, lives).items()}
    kept = set(heirs.values())
    ends: defaultdict[int, list[str]] = defaultdict(list)
    for name, each in buffers.items():
        ends[each.last].append(name)
    followed: set[str] = set()
    for name, each in buffers.items():
        below = place[heirs[name]][-1].name if name in heirs else None
        for old in ends[each.first] if below is None and each.first >= 0 else ():
            update = module.entry_computation.instructions[each.first].opcode == "dynamic-update-slice"
            free = old not in followed and old in place and (update or place[old][0].name not in kept)
            if free and lives.may_follow(old, name):
                below = old
                break
        if below is None:
            place[name] = [each]
        else:
            followed.add(below)
            place[name] = place[below]
            place[name].append(each)
    return list({id(each): each for each in place.values()}.values())


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
