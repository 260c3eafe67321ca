"""Part 3, hidden: the sizes of any layout."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

from autograder.kit import check, given, hint, number, probe, weight

import generators
import judge
import oracle

GOLDEN = json.loads(Path(__file__).with_name("golden_xla.json").read_text("utf-8"))
TYPES = [*generators.WHOLE, *generators.BELOW_A_BYTE]


@probe
def sizes(layout) -> tuple[list[int], str, str, str, float]:
    """padded_dims, padded_elements, padded_bytes, efficiency and vregs of the layout with these fields."""
    import tiledlayout

    import describe

    here = describe.layout(layout)
    counts = [f(here) for f in (tiledlayout.padded_elements, tiledlayout.padded_bytes, tiledlayout.vregs)]
    dims = [int(size) for size in tiledlayout.padded_dims(here)]
    return [dims, *(str(int(count)) for count in counts), float(tiledlayout.efficiency(here))]


@probe
def bytes_of_text(texts) -> list[int]:
    """padded_bytes(parse(text)) for each text."""
    import tiledlayout

    return [int(tiledlayout.padded_bytes(tiledlayout.parse(text))) for text in texts]


def agree(student: Any, layout: dict[str, Any]) -> None:
    """Compare all sizes of a layout."""
    known = judge.layout_of(layout)
    slots = oracle.far_slots(known)
    size = judge.bytes_of(slots, known)
    dims, *counts, share = student(sizes, layout)  # counts as text, for they may have any size
    check.equal(dims, oracle.padded_dims(known), f"padded_dims of {layout}")
    want = [str(slots), str(size), str(size // 4096 + (size % 4096 > 0))]
    check.equal(counts, want, f"slots, bytes, registers of {layout}")
    data = float(Fraction(known.elements, slots)) if slots else 1.0
    near = isinstance(share, float) and abs(share - data) <= 1e-12 * data
    check.that(near, f"efficiency of {layout}", expected=repr(data), got=share)


@number("3.6")
@weight(2)
@hint("All tiles, all suffixes, all types. Handout, part 3, rounding up.")
@given(layout=generators.layouts(zeros=True, suffixes=True, most_rank=5, side=40, dtypes=TYPES), examples=35)
def test_sizes_of_any_layout(student, layout):
    """all sizes of layouts of every kind"""
    agree(student, layout)


@number("3.7")
@weight(2)
@hint("Sizes are exact, however large, and those with one tile are what XLA counts.")
def test_sizes_that_xla_counts(student, rng):
    """bytes that XLA's cost analysis counts, and sizes of huge arrays"""
    texts, counted = zip(*GOLDEN["bytes"], strict=True)
    answers = student(bytes_of_text, list(texts))
    check.equal(len(answers), len(texts), "the number of sizes")
    for text, got, want in zip(texts, answers, counted, strict=True):
        check.equal(got, want, f"bytes of {text}")
    for tiles in (
        [],
        [[8, 128]],
        [[8, 128], [2, 1]],
        [[16, 128], [3, 1], [5]],
        [["*", 8, 128]],
        [[1024], ["*", 7]],
    ):
        dims = [int(n) for n in rng.integers(1, 10**6, size=4)]
        order = [int(dim) for dim in rng.permutation(4)]
        agree(student, {"dtype": "bf16", "dims": dims, "minor_to_major": order, "tiles": tiles})
