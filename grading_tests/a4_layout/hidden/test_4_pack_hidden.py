"""Part 4, hidden: any layout, and a large array in an awkward one."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from autograder.kit import check, given, hint, limits, number, probe, weight

import generators
import judge
import oracle

TYPES = [*generators.WHOLE, *2 * list(generators.BELOW_A_BYTE)]


@probe
def packed(codes, layout, fill) -> bytes:
    """pack of an array whose elements have these bits."""
    import tiledlayout

    import describe

    return bytes(tiledlayout.pack(describe.array(codes, layout), describe.layout(layout), fill))


@probe
def unpacked(data, layout) -> bytes:
    """The bits of the array that unpack gives."""
    import tiledlayout

    import describe

    return describe.codes(tiledlayout.unpack(data, describe.layout(layout)))


@number("4.7")
@weight(2)
@hint("One reshape and one transpose for each tile; then the tail. Handout, part 4, reshapes and transposes.")
@given(layout=generators.layouts(dtypes=TYPES, zeros=True, suffixes=True), fill=st.integers(0, 255), examples=30)
def test_bytes_of_any_layout(student, rng, layout, fill):
    """the bytes of layouts of every kind, and the array from them"""
    known = judge.layout_of(layout)
    codes = generators.codes(rng, layout)
    numbers = oracle.memory(known)
    if len(numbers) > 60_000:
        return
    want = judge.image(numbers, codes, known, fill)
    got = student(packed, codes, layout, fill)
    check.equal(len(got), len(want), f"the number of bytes of {layout}")
    check.close(np.frombuffer(got, np.uint8), np.frombuffer(want, np.uint8), what=f"the bytes of {layout}")
    check.that(
        student(unpacked, want, layout) == codes.tobytes(), "unpack", expected="the array", got="another one"
    )


@probe
def keep_large(seed, rows, columns, layout, state) -> int:
    """Pack and unpack bf16[rows, columns] with the bits (seed + 40503·i + j·j) mod 65536 at (i, j)."""
    import ml_dtypes
    import numpy as np
    import tiledlayout

    import describe

    i, j = np.arange(rows, dtype=np.uint32)[:, None], np.arange(columns, dtype=np.uint32)
    array = (seed + 40503 * i + j * j).astype(np.uint16).view(ml_dtypes.bfloat16)
    here = describe.layout(layout)
    state["packed"] = tiledlayout.pack(array, here, 0xA5)
    state["array"] = tiledlayout.unpack(state["packed"], here)
    return len(state["packed"])


@probe
def large_bytes(starts, length, state) -> bytes:
    """Some pieces of the bytes of the large array."""
    return b"".join(bytes(state["packed"][start : start + length]) for start in starts)


@probe
def large_rows(start, stop, state) -> np.ndarray:
    """The bits of some rows of the large array, unpacked again."""
    import numpy as np

    return np.ascontiguousarray(state["array"][start:stop]).view(np.uint16)


@number("4.8")
@weight(2)
@limits(seconds=30)
@hint("All of the array must move at once, whatever its layout. Handout, part 4, reshapes and transposes.")
def test_a_large_awkward_array_is_packed_in_time(student, rng):
    """a large array by columns, with nested tiles and padding, there and back"""
    rows, columns = (int(n) for n in rng.integers(3900, 4090, size=2))
    layout = {"dtype": "bf16", "dims": [rows, columns], "minor_to_major": [0, 1], "tiles": [[8, 128], [2, 1]]}
    known = judge.layout_of(layout)
    seed = int(rng.integers(0, 65536))
    total = 2 * oracle.far_slots(known)
    check.equal(student(keep_large, seed, rows, columns, layout), total, "bytes of the packed array")
    starts = [4 * int(n) for n in rng.integers(0, (total - 4096) // 4, size=30)] + [0, total - 4096]
    pieces = student(large_bytes, starts, 4096)
    check.equal(len(pieces), 4096 * len(starts), "bytes in some pieces of the packed array")
    got = np.frombuffer(pieces, np.uint16).reshape(-1, 2048)

    def bits(i, j):
        return ((seed + 40503 * i + j * j) & 0xFFFF).astype(np.uint16)

    for start, piece in zip(starts, got, strict=True):
        slot = start // 2 + np.arange(2048)
        number, inside = slot // 1024, slot % 1024
        # By columns: j is the major dimension and fills sublanes, i fills lanes.
        j = 8 * (number // -(-rows // 128)) + inside // 256 * 2 + inside % 2
        i = 128 * (number % -(-rows // 128)) + inside % 256 // 2
        data = (i < rows) & (j < columns)
        assert np.array_equal(slot[data], oracle.far_offsets(known, np.stack([i, j], axis=-1)[data]))
        check.close(piece, np.where(data, bits(i, j), np.uint16(0xA5A5)), what=f"slots from {slot[0]}")
    row = int(rng.integers(0, rows - 64))
    want = bits(np.arange(row, row + 64)[:, None], np.arange(columns))
    check.close(student(large_rows, row, row + 64), want, what=f"64 rows from row {row}")
