"""Part 2, hidden: any layout, against another account of where things lie."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.kit import check, given, hint, number, probe, weight

import generators
import judge
import oracle


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


@number("2.9")
@weight(2)
@hint("Any order, any tiles, one level after the other. Handout, part 2, more tiles.")
@given(layout=generators.layouts(), examples=40)
def test_slots_of_any_layout(student, layout):
    """linear_index on layouts of every kind"""
    known = judge.layout_of(layout)
    got = student(slots_of, layout, judge.all_indices(layout["dims"]))
    check.close(got, oracle.offsets(known), what="the slots")
    check.equal(student(shape_of, layout), [size for size, _ in oracle.shape(known)], "the physical shape")


@number("2.10")
@weight(2)
@hint(
    "A slot is padding if any level finds it outside, or if it is beyond the last tile. Handout, part 2, padding."
)
@given(layout=generators.layouts(zeros=True, suffixes=True), examples=30)
def test_elements_of_any_layout(student, layout):
    """delinearize on layouts of every kind"""
    known = judge.layout_of(layout)
    numbers = oracle.memory(known)
    back = student(elements_in, layout, np.arange(len(numbers)))
    check.close(back.filled, numbers >= 0, what="which slots are filled")
    dims = layout["dims"]
    want = np.full((len(numbers), len(dims)), -1, np.int64)
    if dims and (numbers >= 0).any():
        want[numbers >= 0] = np.stack(np.unravel_index(numbers[numbers >= 0], dims), axis=-1)
    check.close(back.index, want, what="the elements in the slots")


LARGE: list[dict[str, Any]] = [
    {"dtype": "bf16", "dims": [2048, 1, 2048, 128], "minor_to_major": [0, 1, 3, 2], "tiles": [[4, 128], [2, 1]]},
    {"dtype": "s4", "dims": [9216, 6144], "minor_to_major": [1, 0], "tiles": [[64, 128], [8, 1]]},
    {"dtype": "f32", "dims": [1_000_003, 999_983], "minor_to_major": [0, 1], "tiles": [[8, 128], [2, 1], [3]]},
    {"dtype": "s8", "dims": [10**12], "minor_to_major": [0], "tiles": [[1024], [128], [4, 1]]},
    {
        "dtype": "s8",
        "dims": [7, 10**6, 13, 10**5],
        "minor_to_major": [2, 0, 3, 1],
        "tiles": [["*", 5, 7], ["*", 3]],
    },
]


@number("2.11")
@weight(2)
@hint("Make nothing that is as large as the array, and cut no number off. Handout, part 2, you may assume.")
def test_slots_of_huge_arrays(student, rng):
    """arrays of up to a million million elements, in both directions"""
    for layout in LARGE:
        known = judge.layout_of(layout)
        index = np.stack([rng.integers(0, size, size=50) for size in layout["dims"]], axis=-1)
        want = oracle.far_offsets(known, index)
        check.close(student(slots_of, layout, index), want, what=f"slots of {layout}")
        back = student(elements_in, layout, want)
        check.close(back.index, index, what=f"elements of {layout}")
        check.equal(bool(back.filled.all()), True, "whether these slots are filled")
