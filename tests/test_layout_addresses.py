"""Addresses of tiled layouts: the reference against the grader's own accounts, and the lecture's figures."""

from __future__ import annotations

import importlib
import random
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from autograder.kit.given_code import GivenCode
from autograder.project import ROOT, Assignment

PAIRS = 100_000  # of a layout and an index, at least


@pytest.fixture(scope="module")
def both() -> Iterator[Any]:
    """The reference (`tl`), the grader's walk (`judge`), and its hidden accounts (`oracle`)."""
    assignment = Assignment("a4_layout")
    given = GivenCode(assignment.solution, assignment.facts)
    given.install()
    paths = [str(ROOT / "solutions" / "a4_layout"), str(assignment.tests)]
    sys.path[:0] = paths
    try:
        yield SimpleNamespace(
            tl=importlib.import_module("tiledlayout"),
            judge=importlib.import_module("judge"),
            oracle=importlib.import_module("oracle"),
        )
    finally:
        given.remove()
        for path in paths:
            sys.path.remove(path)
        for name in list(sys.modules):
            if name.split(".")[0] in ("tiledlayout", "judge", "oracle"):
                del sys.modules[name]


def drawn(rng: random.Random) -> dict[str, Any]:
    """A hard layout: permuted, up to three tiles, stars, unit dims, scalars, tiles of a higher rank, a tail."""
    rank = rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4])
    tiles = []
    for _ in range(rng.randint(0, 3)):
        tile: list[Any] = [rng.randint(1, 4) for _ in range(rng.randint(1, min(3, rank + 1)))]
        tiles.append([("*" if rng.random() < 0.15 else entry) for entry in tile[:-1]] + tile[-1:])
    return {
        "dtype": rng.choice(["f32", "bf16", "s8"]),
        "dims": [rng.choice([1, 2, 3, 4, 5, 7]) for _ in range(rank)],
        "minor_to_major": rng.sample(range(rank), rank),
        "tiles": tiles,
        "tail_alignment": rng.choice([1, 1, 1, 2, 5, 16]),
    }


def as_layout(package: Any, fields: dict[str, Any]) -> Any:
    """A layout of the package from its fields."""
    tiles = tuple(tuple(tile) for tile in fields["tiles"])
    dims, order = tuple(fields["dims"]), tuple(fields["minor_to_major"])
    return package.ArrayLayout(fields["dtype"], dims, order, tiles, fields.get("tail_alignment", 1))


def test_the_reference_agrees_with_the_graders_accounts(both: Any) -> None:
    """100,000 pairs: division with remainder against laid-out numbers, against functions, and against a walk."""
    rng = random.Random(2026)
    pairs = layouts = walked = 0
    while pairs < PAIRS:
        fields = drawn(rng)
        ours, theirs = as_layout(both.tl, fields), both.judge.layout_of(fields)
        index = both.judge.all_indices(ours.dims)
        slots = both.tl.linear_index(ours, index)
        numbers = both.oracle.memory(theirs)
        assert np.array_equal(slots, both.oracle.offsets(theirs)), fields
        assert np.array_equal(slots, both.oracle.far_offsets(theirs, index)), fields
        back, filled = both.tl.delinearize(ours, np.arange(len(numbers)))
        assert np.array_equal(filled, numbers >= 0), fields
        assert np.array_equal(back[slots], index), fields
        assert both.tl.padded_elements(ours) == len(numbers) == both.oracle.far_slots(theirs), fields
        if len(theirs.tiles) <= 1 and "*" not in str(theirs.tiles):
            assert np.array_equal(both.judge.memory(theirs), numbers), fields
            walked += 1
        pairs += len(index)
        layouts += 1
    print(f"{pairs:,} pairs in {layouts:,} layouts agree, {walked} of which were walked through")
    assert walked > 100


def test_they_agree_on_huge_arrays(both: Any) -> None:
    """10,000 pairs in arrays of up to a million million elements."""
    rng = np.random.default_rng(12)
    for tiles in ([], [[8, 128]], [[8, 128], [2, 1]], [[1024], [128], [4, 1]], [["*", 8, 128], ["*", 3]]):
        for dims in ([10**12], [10**6, 10**6], [9999, 10007, 9973], [1, 10**5, 1, 10**7]):
            fields = {"dtype": "s8", "dims": dims, "minor_to_major": rng.permutation(len(dims)).tolist()}
            ours, theirs = (
                make({**fields, "tiles": tiles})
                for make in (lambda fields: as_layout(both.tl, fields), both.judge.layout_of)
            )
            index = np.stack([rng.integers(0, size, size=500) for size in dims], axis=-1)
            slots = both.tl.linear_index(ours, index)
            assert np.array_equal(slots, both.oracle.far_offsets(theirs, index)), (dims, tiles)
            back, filled = both.tl.delinearize(ours, slots)
            assert np.array_equal(back, index) and filled.all(), (dims, tiles)


# The lecture, chapter 3.3 and 4.2, and its exercises.


def test_l_the_tile_map(both: Any) -> None:
    """f32[3,5]{1,0:T(2,2)}: the table of the lecture."""
    table = [[0, 1, 4, 5, 8], [2, 3, 6, 7, 10], [12, 13, 16, 17, 20]]
    layout = both.tl.parse("f32[3,5]{1,0:T(2,2)}")
    got = both.tl.linear_index(layout, np.indices((3, 5)).transpose(1, 2, 0)).tolist()
    print(f"L: lecture {table} -> obtained {got}")
    assert got == table
    assert both.tl.padded_elements(layout) == 24


def test_l_what_is_data(both: Any) -> None:
    """The padding table of the lecture, in the tiles that `default_tile` chooses."""
    for dtype, dims, lecture in (
        ("f32", (1024, 128), 100.0),
        ("f32", (1024, 64), 50.0),
        ("bf16", (4, 1024), 25.0),
        ("f32", (1, 4096), 12.5),
        ("bf16", (24, 100), 58.6),
    ):
        layout = both.tl.ArrayLayout.row_major(dtype, dims, (both.tl.default_tile(dtype, 2),))
        got = round(100 * both.tl.efficiency(layout), 1)
        print(f"L: {dtype}{list(dims)} lecture {lecture} -> obtained {got}")
        assert got == lecture


def test_l_the_exercises(both: Any) -> None:
    """Exercise 6: bf16[24,100] becomes [32,128]; exercise 7: (2, 1) and (1, 3) of f32[4,4] in slots 9 and 7."""
    tl = both.tl
    assert tl.padded_dims(tl.parse("bf16[24,100]{1,0:T(16,128)}")) == (32, 128)
    assert tl.linear_index(tl.parse("f32[4,4]{1,0:T(2,2)}"), [(2, 1), (1, 3)]).tolist() == [9, 7]
