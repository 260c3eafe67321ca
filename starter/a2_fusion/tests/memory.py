"""Judges placements: buffers at offsets, copies where they are due, and what is in VMEM at every moment.

Who is alive when is what the given `liveness` says; a schedule's positions count its instructions from 0.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import msgspec
from given_minixla.hlo import ADDRESSING, ASYNCHRONOUS, FREE, Module, Shape, TupleShape
from given_minixla.liveness import Buffer, Lives, memory_in_use
from given_minixla.text import print_module

from autograder.kit import check

import judge

VMEM, SEMAPHORES = 1, 2


class Assigned(msgspec.Struct):
    """Offset and size of every buffer, and the bytes of them all together."""

    offsets: dict[str, tuple[int, int]]
    total: int


def check_assignment(module: Module, got: Assigned) -> None:
    """Every buffer has its bytes, inside the total; no two that are alive together overlap."""
    lives = Lives(module)
    buffers = lives.buffers
    if sorted(got.offsets) != sorted(buffers):
        missing, unknown = set(buffers) - set(got.offsets), set(got.offsets) - set(buffers)
        what = (
            f"no offset for {sorted(missing)[:5]}"
            if missing
            else f"offsets for {sorted(unknown)[:5]}, which are none"
        )
        judge.fail(module, None, f"every buffer has one offset, by the names of `liveness`; there is {what}")
    for name, (offset, size) in got.offsets.items():
        if size != buffers[name].bytes or offset < 0 or offset + size > got.total:
            judge.fail(
                module,
                None,
                f"%{name} has {buffers[name].bytes} bytes, inside the total of {got.total}; "
                f"it was given {size} at offset {offset}",
            )
    active: list[Buffer] = []
    for buffer in sorted(buffers.values(), key=lambda each: each.first):
        active = [each for each in active if each.last >= buffer.first]
        for other in active:
            if _overlap(got.offsets[buffer.name], got.offsets[other.name]) and not _in_place(
                lives, other, buffer, got
            ):
                judge.fail(
                    module,
                    None,
                    f"%{other.name} (positions {other.first} to {other.last}) and %{buffer.name} "
                    f"({buffer.first} to {buffer.last}) are alive together and share bytes: "
                    f"{_range(got.offsets[other.name])} and {_range(got.offsets[buffer.name])}",
                )
        active.append(buffer)


def _range(slice_: tuple[int, int]) -> str:
    return f"[{slice_[0]}, {slice_[0] + slice_[1]})"


def _overlap(a: tuple[int, int], b: tuple[int, int]) -> bool:
    return a[0] < b[0] + b[1] and b[0] < a[0] + a[1]


def _in_place(lives: Lives, old: Buffer, new: Buffer, got: Assigned) -> bool:
    return got.offsets[old.name] == got.offsets[new.name] and lives.may_follow(old.name, new.name)


def kernel_positions(module: Module) -> list[int]:
    """The positions of instructions that run a kernel."""
    none = FREE | ADDRESSING | ASYNCHRONOUS
    entry = module.entry_computation.instructions
    return [place for place, each in enumerate(entry) if each.opcode not in none]


class Copy(msgspec.Struct, frozen=True):
    """An asynchronous copy in a schedule: its source, positions of its start, its done and its last reader."""

    source: str
    start: int
    done: int
    last: int
    bytes: int


def copies(before: Module, after: Module, prefetch: list[str]) -> list[Copy]:
    """The copies of a schedule, each of them judged: what it copies, its types, and who reads what."""
    entry = after.entry_computation
    place = {each.name: number for number, each in enumerate(entry.instructions)}
    live = Lives(after).buffers
    found = []
    for each in entry.by_name.values():
        if each.opcode != "copy-start":
            continue
        (source,) = each.operands
        if source not in prefetch:
            judge.fail(before, after, f"%{each.name} copies %{source}, which was not to be prefetched")
        shape = each.shape
        want = TupleShape(
            (
                entry[source].array_shape.in_space(VMEM),
                entry[source].array_shape,
                Shape("u32", (), SEMAPHORES),
            )
        )
        if shape != want:
            judge.fail(before, after, f"%{each.name} makes (copy, source, token), {want}; it says {shape}")
        users = entry.users()[each.name]
        if len(users) != 1 or entry[users[0]].opcode != "copy-done":
            judge.fail(before, after, f"%{each.name} has one reader, its copy-done; it has {len(users)}")
        readers = sorted(place[name] for name in entry.users()[users[0]])
        if not readers:
            judge.fail(before, after, f"nobody reads %{users[0]}, so there is nothing to copy for")
        if entry.users()[source] != (each.name,):
            judge.fail(before, after, f"every reader of %{source} reads the copy; not all of them do")
        between = [position for position in kernel_positions(after) if place[users[0]] < position < readers[0]]
        if between:
            judge.fail(before, after, f"%{users[0]} waits directly before the kernel that first reads the copy")
        last = live[f"{each.name}{{0}}"].last
        found.append(Copy(source, place[each.name], place[users[0]], last, want.elements[0].bytes))
    if len({copy.source for copy in found}) != len(found):
        judge.fail(before, after, "a parameter is copied once, and all of its readers read that copy")
    return found


def check_vmem(before: Module, after: Module, budget: int) -> None:
    """What is in VMEM fits at every position."""
    for position, used in enumerate(memory_in_use(after, VMEM)):
        if used > budget:
            name = after.entry_computation.instructions[position].name
            judge.fail(before, after, f"at %{name} there are {used:,} bytes in VMEM; it has {budget:,}")


def check_nothing_left_out(before: Module, after: Module, budget: int) -> None:
    """No result of a kernel, other than the program's, is in HBM though it fits in VMEM for its whole life."""
    used = memory_in_use(after, VMEM)
    entry = after.entry_computation
    end = len(entry.instructions)
    made = {entry.instructions[place].name for place in kernel_positions(after)}
    for buffer in Lives(after).buffers.values():
        mine = buffer.name.split("{")[0] in made and buffer.memory_space == 0 and buffer.last < end
        if mine and max(used[buffer.first : buffer.last + 1]) + buffer.bytes <= budget:
            judge.fail(
                before, after, f"%{buffer.name} fits in VMEM from its kernel to its last reader, but is in HBM"
            )


def overlap(after: Module, found: list[Copy]) -> int:
    """How many kernels run while copies are under way, summed over copies."""
    kernels = kernel_positions(after)
    return sum(sum(copy.start < place < copy.done for place in kernels) for copy in found)


def best_overlap(after: Module, found: list[Copy], budget: int) -> int:
    """The most that starts at other places could reach, by trying them all; what else is in VMEM stays there."""
    kernels = kernel_positions(after)
    used = memory_in_use(after, VMEM)
    for copy in found:
        for position in range(copy.start, copy.last + 1):
            used[position] -= copy.bytes
    spans = [[place for place in kernels if place < copy.done] for copy in found]
    best = 0
    for choice in product(*(range(len(span) + 1) for span in spans)):
        if sum(choice) > best and _fits(choice, spans, found, kernels, used, budget):
            best = sum(choice)
    return best


def _fits(
    choice: tuple[int, ...],
    spans: list[list[int]],
    found: list[Copy],
    kernels: list[int],
    used: list[int],
    budget: int,
) -> bool:
    for place in kernels:
        total = used[place]
        for taken, span, copy in zip(choice, spans, found, strict=True):
            first = span[len(span) - taken] if taken else copy.done
            total += copy.bytes if first <= place <= copy.last else 0
        if total > budget:
            return False
    return True


def check_best(before: Module, after: Module, found: list[Copy], budget: int) -> None:
    """The copies overlap as many kernels as any choice of starts would let them."""
    got, best = overlap(after, found), best_overlap(after, found, budget)
    check.partly(
        got / best if best else 1.0,
        "kernels that run while copies are under way, summed over copies",
        expected=f"{best}, by starting each copy as early as the room allows",
        got=f"{got}, in\n{print_module(after)[:3000]}",
    )


def in_place_hazards(module: Module) -> list[Any]:
    """Instructions that update their first operand in place while the old value is needed elsewhere."""
    entry = module.entry_computation
    lives = Lives(module)
    found = []
    for position, each in enumerate(entry.instructions):
        if each.opcode == "dynamic-update-slice":
            buffers = lives.behind(each.operands[0])
            if not buffers or lives.buffers[buffers[0]].last > position:
                found.append(each)
    return found


def alias_hazards(module: Module) -> list[tuple[int, str]]:
    """Outputs aliased to a parameter that is still needed when they are written, so that they cannot lie there."""
    lives = Lives(module)
    entry, found = lives.entry, []
    for output, index in module.input_output_alias:
        parameter = entry.parameters[index].name
        others = {name for place, name in enumerate(entry.outputs) if place != output}
        elsewhere = any(parameter in lives.behind(name) for name in others)
        (result,) = lives.behind(entry.outputs[output])
        if elsewhere or (result != parameter and not lives.may_follow(parameter, result)):
            found.append((output, parameter))
    return found
