"""Judges what comes back, for arrays small enough to walk through.

The expected values come from a walk: go through memory tile by tile, and in each tile place by place, and
write down which element is met. That takes one step for each slot and knows no formula. It covers layouts
with at most one tile and no `*`; the grader has more than this for the others.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
from given_tiledlayout.layout import ArrayLayout

from autograder.kit import check

REGISTER = 4096  # bytes
KINDS = ("bitcast", "retile", "transpose", "sublane shuffle")
MAX_STEPS = 12
MAX_ELEMENTS = 1 << 16  # of an array that is walked through
Fields = dict[str, Any]


class Slots(msgspec.Struct, frozen=True):
    """What `delinearize` gives: indices `[n, rank]`, and which slots hold an element, `[n]`."""

    index: np.ndarray
    filled: np.ndarray


class Verdict(msgspec.Struct, frozen=True):
    """A `Bitcast`: whether it is one, and why."""

    possible: bool
    reason: str


class Step(msgspec.Struct, frozen=True):
    """One step of a plan; `cost` is bytes read, bytes written, registers shuffled."""

    kind: str
    layout: Fields
    cost: tuple[int, int, int]
    reason: str


def layout_of(fields: Fields, what: str = "a layout") -> ArrayLayout:
    """A layout of the given package from its fields. A failed check if it is none."""
    try:
        values = {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
        values["tiles"] = tuple(tuple(tile) for tile in fields.get("tiles", []))
        return ArrayLayout(**values)
    except (TypeError, ValueError, AttributeError) as error:
        check.fail(what, expected="a valid layout", got=f"{fields} ({error})")


# The walk.


def walk(layout: ArrayLayout) -> Iterator[tuple[int, ...] | None]:
    """The elements in the order of memory, as logical indices; `None` for padding."""
    assert len(layout.tiles) <= 1 and layout.elements <= MAX_ELEMENTS
    sizes = [layout.dims[dim] for dim in layout.major_to_minor]
    tile = [int(entry) for entry in layout.tiles[0]] if layout.tiles else [1]
    ones = max(0, len(tile) - len(sizes))
    sizes = [1] * ones + sizes
    steps = [1] * (len(sizes) - len(tile)) + tile
    met = 0
    for corner in itertools.product(*(range(0, size, step) for size, step in zip(sizes, steps, strict=True))):
        for place in itertools.product(*map(range, steps)):
            at = [c + p for c, p in zip(corner, place, strict=True)]
            met += 1
            if any(i >= size for i, size in zip(at, sizes, strict=True)):
                yield None
                continue
            index = dict(zip(layout.major_to_minor, at[ones:], strict=True))
            yield tuple(index[dim] for dim in range(layout.rank))
    while met % layout.tail_alignment:
        met += 1
        yield None


@lru_cache(maxsize=64)
def memory(layout: ArrayLayout) -> np.ndarray:
    """For each slot, the row-major number of the element in it; −1 for padding."""
    numbers = np.arange(layout.elements).reshape(layout.dims)
    return np.array([-1 if index is None else numbers[index] for index in walk(layout)], np.int64)


def offsets(memory_map: np.ndarray, elements: int) -> np.ndarray:
    """For each element in row-major order, its slot."""
    where = np.full(elements, -1, np.int64)
    filled = np.flatnonzero(memory_map >= 0)
    where[memory_map[filled]] = filled
    return where


def all_indices(dims: tuple[int, ...] | list[int]) -> np.ndarray:
    """Every index of an array, `[elements, rank]`, in row-major order."""
    return np.argwhere(np.ones(tuple(dims), np.bool_))


def bytes_of(slots: int, layout: ArrayLayout) -> int:
    """Bytes of that many slots."""
    bits = slots * layout.slot_bits
    return bits // 8 + (bits % 8 > 0)


def len_bytes(layout: ArrayLayout, memory_of: Any = memory) -> int:
    """Bytes of the whole array, padding included."""
    return bytes_of(len(memory_of(layout)), layout)


def image(memory_map: np.ndarray, codes: np.ndarray, layout: ArrayLayout, fill: int) -> bytes:
    """The bytes of an array whose elements, in row-major order, have these bits."""
    width = layout.slot_bits
    total = bytes_of(len(memory_map), layout)
    bits = np.unpackbits(np.full(total, fill, np.uint8), bitorder="little")
    slots = bits[: len(memory_map) * width].reshape(len(memory_map), width)
    elements = np.unpackbits(codes.view(np.uint8), bitorder="little")
    elements = elements.reshape(layout.elements, max(8, layout.type.bits))
    filled = memory_map >= 0
    slots[filled] = elements[memory_map[filled], :width]
    return np.packbits(bits, bitorder="little").tobytes()


# Bitcasts and plans. Each takes a function that gives the memory map of a layout.


def source_numbers(operation: list[Any], dims: tuple[int, ...]) -> np.ndarray:
    """For each element of the result, in row-major order, the number of the operand's element it is."""
    name, numbers = operation
    elements = np.arange(int(np.prod(dims, dtype=np.int64))).reshape(dims)
    return (elements.transpose(numbers) if name == "transpose" else elements.reshape(numbers)).reshape(-1)


def is_bitcast(operation: list[Any], a: ArrayLayout, b: ArrayLayout, memory_of: Any = memory) -> bool:
    """Compare the place of every element."""
    if (a.slot_bits, a.memory_space) != (b.slot_bits, b.memory_space):
        return False
    map_a, map_b = memory_of(a), memory_of(b)
    if bytes_of(len(map_a), a) != bytes_of(len(map_b), b):
        return False
    moved = offsets(map_a, a.elements)[source_numbers(operation, a.dims)]
    return np.array_equal(moved, offsets(map_b, b.elements))


def kind_of(a: ArrayLayout, b: ArrayLayout, memory_of: Any = memory) -> str | None:
    """What a step from one layout to another is; `None` if it is no single step."""
    if is_bitcast(["reshape", list(a.dims)], a, b, memory_of):
        return "bitcast"
    if a.tiles == b.tiles:
        return "transpose"
    if a.minor_to_major != b.minor_to_major:
        return None
    return "sublane shuffle" if a.tiles and a.tiles[:1] == b.tiles[:1] else "retile"


def follow(steps: list[Step], a: ArrayLayout, b: ArrayLayout, memory_of: Any = memory) -> Iterator[Any]:
    """Follow a plan: yields each step with the layouts before and after it. A failed check for a step that is
    not what it says, whose bytes are wrong, or that says no reason; also if the plan ends elsewhere.
    """
    check.at_most(len(steps), MAX_STEPS, "steps of the plan")
    tiles = [end.tiles[:number] for end in (a, b) for number in range(1 + len(end.tiles))]
    here = a
    for number, step in enumerate(steps, start=1):
        there = layout_of(step.layout, f"the layout after step {number}")
        known = there.tiles in tiles
        check.that(
            known, f"the tiles after step {number}", expected="the first few of a's or of b's", got=there.tiles
        )
        fixed = [(x.dtype, x.dims, x.tail_alignment, x.element_bits, x.memory_space) for x in (there, a)]
        check.equal(fixed[0], fixed[1], f"type, dims and suffixes after step {number}")
        kind = kind_of(here, there, memory_of)
        expected = kind or "one change at a time: of minor-to-major, or of the tiles"
        check.that(step.kind == kind, f"the kind of step {number}", expected=expected, got=step.kind)
        read, written = (0, 0) if kind == "bitcast" else (len_bytes(x, memory_of) for x in (here, there))
        check.equal(list(step.cost[:2]), [read, written], f"bytes read and written by step {number}, a {kind}")
        sentence = len(step.reason.split()) >= 3
        check.that(sentence, f"the reason of step {number}", expected="a sentence", got=step.reason)
        yield step, here, there
        here = there
    check.equal(layout_text(here), layout_text(b), "the layout at the end of the plan")


def layout_text(layout: ArrayLayout) -> list[Any]:
    """A layout as it is shown in messages."""
    return [layout.dtype, list(layout.dims), list(layout.minor_to_major), [list(tile) for tile in layout.tiles]]


# Graphs.


def edge_bytes(made: ArrayLayout, wanted: ArrayLayout, memory_of: Any = memory) -> int:
    """Bytes of the copy on an edge; 0 for a bitcast."""
    if is_bitcast(["reshape", list(made.dims)], made, wanted, memory_of):
        return 0
    return len_bytes(made, memory_of) + len_bytes(wanted, memory_of)


def graph_bytes(graph: list[Any], assignment: dict[str, int], edge: Any) -> int:
    """Bytes of all copies; `edge(made, wanted)` gives those of one. A failed check for a missing choice."""
    made = {}
    spent = 0
    for name, operands, choices in graph:
        number = assignment.get(name, -1)
        expected = f"a number from 0 to {len(choices) - 1}"
        check.that(0 <= number < len(choices), f"the choice of node {name}", expected=expected, got=number)
        wanted, result = choices[number]
        made[name] = result
        spent += sum(edge(made[operand], want) for operand, want in zip(operands, wanted, strict=True))
    return spent
