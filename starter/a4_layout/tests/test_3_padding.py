"""Part 3: what a tiled array takes, and how much of it is data."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from autograder.kit import check, given, hint, number, probe, weight

import generators
import judge

GIB = 1 << 30


@probe
def sizes(layout) -> dict[str, Any]:
    """padded_dims, padded_elements, padded_bytes, efficiency and vregs of the layout with these fields."""
    import tiledlayout

    import describe

    here = describe.layout(layout)
    return {
        "padded_dims": [int(size) for size in tiledlayout.padded_dims(here)],
        "padded_elements": str(int(tiledlayout.padded_elements(here))),  # as text, for it may have any size
        "padded_bytes": str(int(tiledlayout.padded_bytes(here))),
        "efficiency": float(tiledlayout.efficiency(here)),
        "vregs": str(int(tiledlayout.vregs(here))),
    }


@probe
def accessed(operands, results) -> int:
    """bytes_accessed by an operation with these operands and results."""
    import tiledlayout

    import describe

    return int(tiledlayout.bytes_accessed(map(describe.layout, operands), list(map(describe.layout, results))))


@probe
def mxu(contracted, columns) -> float:
    """mxu_efficiency of a matrix product."""
    import tiledlayout

    return float(tiledlayout.mxu_efficiency(contracted, columns))


def fields(dtype: str, dims: Any, order: Any, *tiles: Any, **others: Any) -> dict[str, Any]:
    """A layout."""
    made = [list(tile) for tile in tiles]
    return {"dtype": dtype, "dims": list(dims), "minor_to_major": list(order), "tiles": made, **others}


def expect(student: Any, layout: dict[str, Any], **wanted: Any) -> None:
    """Compare some of the sizes with known ones."""
    got = student(sizes, layout)
    for name, want in wanted.items():
        value = got.get(name)
        if isinstance(want, float):
            near = isinstance(value, float) and abs(value - want) <= 1e-12
            check.that(near, f"{name} of {layout}", expected=repr(want), got=value)
        else:
            shown = str(want) if isinstance(want, int) else want
            check.equal(value, shown, f"{name} of {layout}")


def up(size: int, unit: int) -> int:
    """The next multiple, by counting."""
    while size % unit:
        size += 1
    return size


@number("3.1")
@weight(2)
@hint("Round up what the tile covers, in physical order; then data over everything. Handout, part 3, rounding up.")
@given(
    dims=st.tuples(*[st.integers(1, 5000)] * 3),
    order=st.permutations(range(3)),
    tile=st.sampled_from([(8, 128), (16, 128), (2, 2), (128,), (7, 5), (4, 4, 4), (1, 128)]),
    examples=25,
)
def test_dimensions_are_rounded_up(student, dims, order, tile):
    """padded dimensions and efficiency with one tile"""
    physical = [dims[dim] for dim in reversed(order)]
    units = [1] * (3 - len(tile)) + list(tile)
    padded = [up(size, unit) for size, unit in zip(physical, units, strict=True)]
    share = float(np.prod(dims, dtype=float) / np.prod(padded, dtype=float))
    expect(student, fields("f32", dims, order, tile), padded_dims=padded, efficiency=share)


@number("3.2")
@weight(2)
@hint("Slots times bits, rounded up to bytes; nothing is cut off at 32 bits. Handout, part 3, bytes.")
@given(layout=generators.one_tile(dtypes=[*generators.WHOLE, *generators.BELOW_A_BYTE], zeros=True), examples=30)
def test_bytes(student, layout):
    """slots and bytes with one tile, of every type, with and without E"""
    known = judge.layout_of(layout)
    slots = len(judge.memory(known))
    expect(student, layout, padded_elements=slots, padded_bytes=judge.bytes_of(slots, known))


@number("3.3")
@weight(2)
@hint(
    "A sub-tile that does not divide its tile pads once more, and so does the tail. Handout, part 3, rounding up."
)
@given(
    rows=st.integers(1, 200),
    columns=st.integers(1, 900),
    order=st.sampled_from([[0, 1], [1, 0]]),
    tail=st.integers(1, 5000),
    examples=25,
)
def test_every_tile_pads(student, rows, columns, order, tail):
    """sub-tiles, merged dimensions and the tail alignment count, too"""
    major, minor = [[rows, columns][dim] for dim in reversed(order)]
    slots = up(major, 8) // 8 * (up(minor, 128) // 128) * 9 * 130  # 8 rows of 128 in sub-tiles of 3 by 65
    nested = fields("f32", [rows, columns], order, (8, 128), (3, 65))
    padded = [up(major, 8), up(minor, 128)]
    registers = up(4 * slots, 4096) // 4096  # and not one for each tile: they have 1170 slots
    share = rows * columns / slots
    expect(student, nested, padded_dims=padded, padded_elements=slots, efficiency=share, vregs=registers)
    aligned = fields("f32", [rows, columns], order, (8, 128), (3, 65), tail_alignment=tail)
    expect(student, aligned, padded_elements=up(slots, tail), padded_bytes=4 * up(slots, tail))


@number("3.4")
@weight(2)
@hint("A register is 4096 bytes; the MXU has 256 rows and 256 columns. Handout, part 3, bytes.")
def test_registers_traffic_and_mxu(student, rng):
    """registers, bytes that an operation moves, and what padding costs the MXU"""
    n, rows = int(rng.integers(2, 10**6)), int(rng.integers(1, 500))
    expect(student, fields("f32", [n, 1, 1], [2, 1, 0], (8, 128)), vregs=n)
    expect(student, fields("f32", [16], [0], (128,)), vregs=1)
    expect(student, fields("bf16", [rows, 128], [1, 0], (16, 128)), vregs=up(rows, 16) // 16)
    expect(student, fields("f32", [rows, 128], [1, 0], (16, 128)), vregs=up(rows, 16) // 8)
    expect(student, fields("bf16", [rows, 128], [1, 0], (8, 128), (2, 1)), vregs=up(up(rows, 8), 16) // 16)
    one = fields("f32", [16, 64], [1, 0], (8, 128))
    check.equal(student(accessed, [one], [one]), 16_384, "bytes of an elementwise operation on f32[16,64]")
    more = fields("bf16", [rows, 128], [1, 0], (16, 128))
    want = 2 * 8192 + up(rows, 16) * 256
    check.equal(student(accessed, [one, more], [one]), want, "bytes with a second operand")
    for contracted, columns in ((192, 256), (256, 192), (192, 192), (int(rng.integers(1, 999)), n)):
        share = contracted * columns / (up(contracted, 256) * up(columns, 256))
        got = student(mxu, contracted, columns)
        check.that(
            abs(got - share) <= 1e-12, f"mxu_efficiency({contracted}, {columns})", expected=repr(share), got=got
        )


@number("3.5")
@weight(1)
@hint("Python's integers are exact; an array's size never needs an array. Handout, part 3, you may assume.")
def test_sizes_of_huge_arrays_are_exact(student, rng):
    """sizes beyond 32 and 64 bits, exact to the last one"""
    n = int(rng.integers(10**11, 10**12))
    expect(student, fields("f32", [n], [0], (1024,)), padded_elements=up(n, 1024), padded_bytes=4 * up(n, 1024))
    wide = fields("s4", [n, n], [0, 1], (8, 128), element_bits=4)
    expect(student, wide, padded_dims=[up(n, 8), up(n, 128)], padded_bytes=up(n, 8) * up(n, 128) // 2)
    expect(student, fields("f32", [0, n], [1, 0], (8, 128)), padded_elements=0, efficiency=1.0, vregs=0)


LOGS = [
    (fields("f32", [16, 64], [1, 0], (8, 128)), 8_192),
    (fields("f32", [64, 32], [0, 1], (8, 128)), 16_384),
    (fields("f32", [16], [0], (128,)), 512),
    (fields("f32", [], [], (128,)), 512),
    (fields("bf16", [2048, 1, 2048, 128], [0, 1, 3, 2], (4, 128), (2, 1)), 4 * GIB),
    (fields("bf16", [2048, 1, 2048, 128], [0, 1, 3, 2]), GIB),
    (fields("s32", [8388608, 8, 4], [2, 1, 0], (8, 128)), 32 * GIB),
    (fields("s32", [8388608, 8, 4], [2, 1, 0]), GIB),
    (fields("s4", [9216, 6144], [1, 0], (64, 128), (8, 1), element_bits=4), 28_311_552),
]

TABLE = [
    (fields("f32", [1024, 128], [1, 0], (8, 128)), [1024, 128], 1.0),
    (fields("f32", [1024, 64], [1, 0], (8, 128)), [1024, 128], 0.5),
    (fields("bf16", [4, 1024], [1, 0], (16, 128)), [16, 1024], 0.25),
    (fields("f32", [1, 4096], [1, 0], (8, 128)), [8, 4096], 0.125),
    (fields("bf16", [24, 100], [1, 0], (16, 128)), [32, 128], 2400 / 4096),
    (fields("bf16", [24, 100], [1, 0], (8, 128), (2, 1)), [24, 128], 2400 / 3072),
    (fields("bf16", [4, 8], [1, 0], (2, 4), (3, 1)), [4, 8], 32 / 48),
    (fields("f32", [2, 7, 8, 11, 10], [4, 3, 2, 1, 0], ("*", "*", 2, "*", 3)), [112, 111], 12320 / 12432),
    (fields("f32", [3, 1, 4], [2, 1, 0], (2, 2)), [3, 2, 4], 12 / 24),
    (fields("f32", [3, 1, 4], [2, 0, 1], (2, 2)), [1, 4, 4], 12 / 16),
]


@number("3.8")
@weight(2)
@hint("Dimensions by the first tile, slots by all of them, bytes by the width of a slot. Handout, part 3.")
def test_sizes_of_known_arrays(student):
    """the handout's table, arrays that TPU programs have shown, and half a byte at the end"""
    for layout, padded, share in TABLE:
        expect(student, layout, padded_dims=padded, efficiency=share)
    for logged, size in LOGS:
        expect(student, logged, padded_bytes=size)
    expect(student, fields("s4", [5], [0], element_bits=4), padded_elements=5, padded_bytes=3, vregs=1)
    expect(student, fields("s4", [5], [0]), padded_elements=5, padded_bytes=5)
