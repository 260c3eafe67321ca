"""Part 2: in which slot an element lies."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from autograder.kit import check, given, hint, number, probe, weight

import generators
import judge


@probe
def slots_of(layout, index) -> np.ndarray:
    """linear_index of the layout with these fields, for these indices."""
    import numpy as np
    import tiledlayout

    import describe

    return np.asarray(tiledlayout.linear_index(describe.layout(layout), index))


@probe
def elements_in(layout, offset) -> judge.Slots:
    """delinearize of the layout with these fields, for these slots."""
    import numpy as np
    import tiledlayout

    import describe

    index, filled = tiledlayout.delinearize(describe.layout(layout), offset)
    return {"index": np.asarray(index), "filled": np.asarray(filled)}


@probe
def shape_of(layout) -> list[int]:
    """physical_shape of the layout with these fields."""
    import tiledlayout

    import describe

    return [int(size) for size in tiledlayout.physical_shape(describe.layout(layout))]


def fields(dims: Any, order: Any = None, *tiles: Any, dtype: str = "f32", **others: Any) -> dict[str, Any]:
    """A layout; by rows if no order is given."""
    order = list(range(len(dims)))[::-1] if order is None else list(order)
    made = [list(tile) for tile in tiles]
    return {"dtype": dtype, "dims": list(dims), "minor_to_major": order, "tiles": made, **others}


def all_slots(student: Any, layout: dict[str, Any]) -> np.ndarray:
    """The slots of all elements, in row-major order, as a list of the right type."""
    got = student(slots_of, layout, judge.all_indices(layout["dims"]))
    elements = int(np.prod(layout["dims"], dtype=np.int64))
    check.array_type(got, np.zeros(elements, np.int64), "the slots")
    return got


def expect(student: Any, layout: dict[str, Any], index: Any, slots: Any) -> None:
    """Compare the slots of some elements with known ones."""
    check.close(student(slots_of, layout, index), np.array(slots, np.int64), what=f"slots of {layout}")


@number("2.1")
@weight(2)
@hint("minor_to_major lists the fastest dimension first. Handout, part 2, physical order.")
@given(layout=generators.layouts(tiles=0, zeros=True, most_rank=5), examples=30)
def test_untiled_arrays_of_any_order(student, layout):
    """without tiles, the order of dimensions decides"""
    dims, major = layout["dims"], layout["minor_to_major"][::-1]
    count = int(np.prod(dims, dtype=np.int64))
    order = np.arange(count).reshape([dims[dim] for dim in major]).transpose(np.argsort(major).astype(int))
    check.close(all_slots(student, layout), order.reshape(-1).astype(np.int64), what="the slots")


@number("2.2")
@weight(2)
@hint("Tiles are counted row by row, and places in a tile row by row. Handout, part 2, one tile.")
@given(layout=generators.one_tile(), examples=35)
def test_one_tile(student, layout):
    """one tile over the most minor dimensions, the others stay outside"""
    known = judge.layout_of(layout)
    want = judge.offsets(judge.memory(known), known.elements)
    check.close(all_slots(student, layout), want, what="the slots")


@number("2.3")
@weight(2)
@hint(
    "A tile with more dimensions than the array puts ones in front of the array's. Handout, part 2, small arrays."
)
@given(layout=generators.layouts(stars=False, most_rank=2), ones=st.integers(1, 2), examples=25)
def test_tiles_of_a_higher_rank(student, layout, ones):
    """scalars, and tiles with more dimensions than the array"""
    rank = len(layout["dims"])
    first = [[2] * (rank + ones)]
    small = {**layout, "tiles": first + layout["tiles"]}
    order = [dim + ones for dim in layout["minor_to_major"]] + list(range(ones))[::-1]
    with_ones = {**small, "dims": [1] * ones + layout["dims"], "minor_to_major": order}
    check.close(all_slots(student, small), all_slots(student, with_ones), what=f"slots of {small} and {with_ones}")


@number("2.4")
@weight(2)
@hint(
    "A star merges its dimension into the next more minor one, before the tile is applied. Handout, part 2, stars."
)
@given(
    dims=st.lists(st.integers(1, 5), min_size=2, max_size=4),
    cut=st.integers(1, 3),
    tiles=st.lists(st.integers(1, 4), min_size=2, max_size=2),
    inner=st.sampled_from([[], [[2, 1]], [[3]], [[2, 1, 2]]]),
    examples=25,
)
def test_stars_merge_dimensions(student, dims, cut, tiles, inner):
    """an array tiled with stars lies like the array with these dimensions merged"""
    cut = min(cut, len(dims) - 1)
    starred = ["*"] * (cut - 1) + tiles[:1] + ["*"] * (len(dims) - cut - 1) + tiles[1:]
    merged = [int(np.prod(dims[:cut])), int(np.prod(dims[cut:]))]
    got, want = fields(dims, None, starred, *inner), fields(merged, None, tiles, *inner)
    check.close(all_slots(student, got), all_slots(student, want), what=f"slots of {got} and {want}")


@number("2.5")
@weight(2)
@hint("A further tile applies to the last dimensions of the whole current shape. Handout, part 2, more tiles.")
def test_tiles_in_tiles(student, rng):
    """tiles after the first: pairs of rows, rows of a vector, and a tile that divides nothing"""
    table = [[2 * c for c in range(8)], [2 * c + 1 for c in range(8)]]
    index = np.indices((4, 8)).transpose(1, 2, 0)
    expect(student, fields([4, 8], None, (2, 4), (2, 1)), index[:2], table)
    expect(student, fields([4, 8], None, (2, 4), (2, 1)), [2, 0], 16)
    vector = fields([2048], None, (1024,), (128,), (2, 1), dtype="bf16")
    expect(student, vector, [[0], [128], [1], [1024]], [0, 1, 2, 1024])
    i = rng.integers(0, 2048, size=(20, 1))
    row, lane = i % 1024 // 128, i % 128
    expect(student, vector, i, (i // 1024 * 1024 + row // 2 * 256 + 2 * lane + row % 2)[:, 0])
    tiled = fields([2, 8, 128], None, (8, 128), (2, 1), dtype="bf16")
    expect(student, tiled, [0, 2, 0], 256)
    at = np.stack([rng.integers(0, size, size=20) for size in (2, 8, 128)], axis=-1)
    plane, r, c = at.T
    expect(student, tiled, at, 1024 * plane + r // 2 * 256 + 2 * c + r % 2)
    plain, trivial = fields([5, 7], [0, 1], (2, 3)), fields([5, 7], [0, 1], (2, 3), (1, 1), (1,))
    check.close(all_slots(student, trivial), all_slots(student, plain), what=f"slots of {trivial} and {plain}")


@number("2.6")
@weight(3)
@hint("Distinct elements have distinct slots, and the slots without an element are the padding.")
@given(layout=generators.layouts(suffixes=True), examples=30)
def test_every_element_has_a_slot_of_its_own(student, layout):
    """delinearize finds each element in its slot, and nothing in the others"""
    elements = int(np.prod(layout["dims"], dtype=np.int64))
    slots = all_slots(student, layout)
    size = math.prod(student(shape_of, layout))
    check.that(1 <= size <= 1 << 20, "the number of slots", expected="one that fits such a small array", got=size)
    check.that(
        bool(((slots >= 0) & (slots < size)).all()), "the slots", expected=f"from 0 to {size - 1}", got=slots
    )
    check.equal(len(np.unique(slots)), elements, "distinct slots")
    size += -size % layout["tail_alignment"]
    back = student(elements_in, layout, np.arange(size))
    check.array_type(back.index, np.zeros((size, len(layout["dims"])), np.int64), "the indices")
    check.array_type(back.filled, np.zeros(size, np.bool_), "which slots are filled")
    check.equal(int(back.filled.sum()), elements, "slots that hold an element")
    check.close(back.index[slots], judge.all_indices(layout["dims"]), what="the elements found in their slots")
    holes = back.index[~back.filled]
    check.close(holes, np.full_like(holes, -1), what="the index in padding")


@number("2.7")
@weight(1)
@hint("Raise OutOfBoundsError with the first wrong index and the bounds. Handout, errors.")
@pytest.mark.parametrize("order", [(2, 1, 0), (0, 2, 1)])
def test_indices_out_of_bounds_are_refused(student, rng, order):
    """an index or a slot that is not there is refused"""
    dims = [int(n) for n in rng.integers(2, 9, size=3)]
    layout = fields(dims, order, (2, 2))
    for dim, beyond in itertools.product(range(3), (True, False)):
        wrong = [0, 0, 0]
        wrong[dim] = dims[dim] if beyond else -1
        error = student.error(slots_of, layout, [[1, 1, 1], wrong, [99, 0, 0]])
        check.raised(error, "OutOfBoundsError", f"linear_index at {wrong}", index=wrong, dims=dims)
    size = len(judge.memory(judge.layout_of(layout)))
    for slot in (size, -1):
        error = student.error(elements_in, layout, [0, slot, 2 * size])
        check.raised(error, "OutOfBoundsError", f"delinearize at {slot}", index=[slot], dims=[size])


@number("2.8")
@weight(1)
@hint(
    "int64 throughout, whatever integers come in; the result has the shape of the indices without the last axis."
)
def test_arrays_of_indices_and_large_slots(student, rng):
    """indices in arrays of any shape and integer type; slots beyond 32 bits, and beyond a float's 53"""
    layout = fields([1 << 23, 8, 4], None, (8, 128), dtype="s32")
    index = np.stack([rng.integers(0, size, size=(3, 4)) for size in layout["dims"]], axis=-1)
    want = 1024 * index[..., 0] + 128 * index[..., 1] + index[..., 2]
    for dtype in ("int32", "int64", "uint32"):
        got = student(slots_of, layout, index.astype(dtype))
        check.close(got, want.astype(np.int64), what=f"slots for {dtype} indices")
    back = student(elements_in, layout, want)
    check.close(back.index, index, what="the elements in these slots")
    n = int(rng.integers(10**17, 10**18))
    vector = fields([n], None, (1024,), (128,), (4, 1), dtype="s8")
    at = [n - 1 - int(i) for i in rng.integers(0, 4096, size=20)]
    at += [(n // 1024 - int(i)) * 1024 - 1 for i in rng.integers(0, 9, size=3)]  # a float rounds these up
    # 1024 bytes of four rows each, of which four bytes, one of each row, are side by side.
    slots = np.array([i // 512 * 512 + i % 128 * 4 + i // 128 % 4 for i in at])
    expect(student, vector, [[i] for i in at], slots)
    check.close(student(elements_in, vector, slots).index, np.array(at)[:, None], what=f"elements of {vector}")
    check.array_type(student(slots_of, layout, np.zeros((0, 3), np.int64)), np.zeros(0, np.int64), "no slots")
    check.array_type(student(slots_of, fields([], [], (2, 2)), np.zeros((5, 0), int)), np.zeros(5, np.int64))


@number("2.12")
@weight(1)
@hint("Follow the steps of the worked example, with pencil and paper. Handout, a worked example.")
def test_known_slots(student):
    """the slots and shapes of the handout: one tile, small arrays, more tiles, stars"""
    lecture, small = fields([3, 5], None, (2, 2)), fields([8], None, (2, 2))
    rows = [[0, 1, 4, 5, 8], [2, 3, 6, 7, 10], [12, 13, 16, 17, 20]]
    expect(student, lecture, np.indices((3, 5)).transpose(1, 2, 0), rows)
    expect(student, fields([8, 4], None, (2, 2)), [3, 1], 11)
    expect(student, fields([8, 4]), [3, 1], 13)
    expect(student, fields([], [], (128,), dtype="u32"), [], 0)
    expect(student, fields([]), [], 0)
    expect(student, small, [[5], [1], [2]], [9, 1, 4])
    expect(student, fields([3], None, (8, 128)), [2], 2)
    # A later tile of a higher rank than the shape before it puts ones in front, too.
    expect(student, fields([8], None, (2,), (2, 2, 2)), [[5], [3], [7]], [9, 3, 11])
    starred, merged = fields([2, 7, 8, 11, 10], None, ("*", "*", 2, "*", 3)), fields([112, 110], None, (2, 3))
    expect(student, starred, [1, 6, 7, 10, 9], 12430)
    expect(student, merged, [111, 109], 12430)
    vector = fields([2048], None, (1024,), (128,), (2, 1), dtype="bf16")
    for layout, shape in [
        (fields([4, 7], [0, 1]), [7, 4]),
        (lecture, [2, 3, 2, 2]),
        (small, [1, 4, 2, 2]),
        (vector, [2, 4, 128, 2, 1]),
        (fields([5, 8, 4], None, (3, 2)), [5, 3, 2, 3, 2]),
        (starred, [56, 37, 2, 3]),
    ]:
        check.equal(student(shape_of, layout), shape, f"the physical shape of {layout}")
