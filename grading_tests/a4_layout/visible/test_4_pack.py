"""Part 4: an array as bytes, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from autograder.kit import check, given, hint, limits, number, probe, weight

import generators
import judge

SMALL = list(generators.BELOW_A_BYTE)


@probe
def packed(codes, layout, fill) -> bytes:
    """pack of an array whose elements have these bits."""
    import tiledlayout

    import describe

    return bytes(tiledlayout.pack(describe.array(codes, layout), describe.layout(layout), fill))


@probe
def packed_and_kept(codes, layout, fill) -> tuple[bytes, bytes, bytes]:
    """pack of an array whose elements have these bits; what NumPy holds of the array before and after."""
    import tiledlayout

    import describe

    array = describe.array(codes, layout)
    before = array.tobytes()
    return [bytes(tiledlayout.pack(array, describe.layout(layout), fill)), before, array.tobytes()]


@probe
def packed_as_it_is(dtype, dims, layout) -> bytes:
    """pack of zeros of another dtype or shape than the layout's."""
    import numpy as np
    import tiledlayout

    import describe

    return bytes(tiledlayout.pack(np.zeros(dims, dtype), describe.layout(layout)))


@probe
def unpacked(data, layout) -> tuple[str, list[int], bytes]:
    """unpack of these bytes: dtype, shape and bits of the array."""
    import tiledlayout

    import describe

    array = tiledlayout.unpack(data, describe.layout(layout))
    return [array.dtype.name, list(array.shape), describe.codes(array)]


@probe
def there_and_back(codes, layout, fill) -> bytes:
    """The bits of unpack(pack(array))."""
    import tiledlayout

    import describe

    here = describe.layout(layout)
    return describe.codes(tiledlayout.unpack(tiledlayout.pack(describe.array(codes, layout), here, fill), here))


def same_bytes(got: bytes, want: bytes, what: str) -> None:
    """Compare bytes, and say where the first wrong ones are."""
    check.equal(len(got), len(want), f"the number of bytes of {what}")
    check.close(np.frombuffer(got, np.uint8), np.frombuffer(want, np.uint8), what=f"the bytes of {what}")


def walked(layout: dict[str, Any], codes: np.ndarray, fill: int) -> bytes:
    """The bytes that a walk through memory gives."""
    known = judge.layout_of(layout)
    return judge.image(judge.memory(known), codes, known, fill)


@number("4.1")
@weight(2)
@hint("Each element goes, little-endian, where part 2 says. Handout, part 4, reshapes and transposes.")
@given(
    layout=generators.one_tile(dtypes=generators.WHOLE, zeros=True, most_rank=3),
    fill=st.integers(0, 255),
    examples=30,
)
def test_bytes_of_one_tile(student, rng, layout, fill):
    """the bytes of arrays with one tile, for element types of 8 to 128 bits"""
    codes = generators.codes(rng, layout)
    same_bytes(student(packed, codes, layout, fill), walked(layout, codes, fill), str(layout))


@number("4.2")
@weight(2)
@hint("The same steps, backwards. Handout, part 4, reshapes and transposes.")
@given(
    layout=generators.layouts(dtypes=[*generators.WHOLE, *2 * SMALL, "pred"], zeros=True, suffixes=True),
    fill=st.integers(0, 255),
    examples=30,
)
def test_unpack_gives_the_array_back(student, rng, layout, fill):
    """unpack after pack gives the array, for every kind of layout"""
    codes = generators.codes(rng, layout)
    same_bytes(student(there_and_back, codes, layout, fill), codes.tobytes(), f"the array in {layout}")
    known = judge.layout_of({**layout, "tiles": layout["tiles"][:1] if "*" not in str(layout["tiles"]) else []})
    plain = {**layout, "tiles": [list(tile) for tile in known.tiles]}
    dtype, shape, bits = student(unpacked, walked(plain, codes, fill), plain)
    check.equal([dtype, shape], [known.type.numpy.name, layout["dims"]], "dtype and shape of the array")
    same_bytes(bits, codes.tobytes(), f"the array in {plain}")
    # In slots of a byte, four bits above each element, which mean nothing.
    above = rng.integers(0, 256, size=9, dtype=np.uint8) | np.uint8(0x10)
    bytewise = {"dtype": "f4e2m1fn", "dims": [9], "minor_to_major": [0], "tiles": []}
    *_, bits = student(unpacked, above.tobytes(), bytewise)
    same_bytes(bits, (above & 15).tobytes(), f"the array in {bytewise}, with other bits above its elements")


@number("4.3")
@weight(2)
@hint("As if memory had been filled before the elements were written. Handout, part 4, the fill.")
@given(layout=generators.layouts(dtypes=["bf16", "s8", "f32"], suffixes=True), examples=20)
def test_the_fill_is_seen_in_the_padding_alone(student, rng, layout):
    """every byte of the padding is the caller's, and no byte of an element"""
    codes = generators.codes(rng, layout)
    low, high = (np.frombuffer(student(packed, codes, layout, fill), np.uint8) for fill in (0x00, 0xFF))
    width = generators.BITS[layout["dtype"]] // 8
    check.equal([low.size, low.size % width], [high.size, 0], "bytes with two fills, and those beyond whole slots")
    check.equal(low.size // width % layout["tail_alignment"], 0, "slots beyond a multiple of the tail alignment")
    filled = (low != high).reshape(-1, width)
    check.that(
        bool((filled.all(axis=1) == filled.any(axis=1)).all()),
        "what the fill changes",
        expected="whole slots",
        got="parts of slots",
    )
    check.equal(int((~filled.any(axis=1)).sum()), codes.size, "slots that the fill does not change")
    padding = np.repeat(filled.any(axis=1), width)
    check.equal(
        [int(low[padding].sum()), int((~high[padding]).sum())], [0, 0], "bytes of padding that are not the fill"
    )
    check.equal(sorted(low[~padding].tolist()), sorted(codes.tobytes()), "the elements' bytes, in any order")


@number("4.4")
@weight(2)
@hint("The first slot takes the low bits of a byte; holes show the fill's bits. Handout, part 4, below a byte.")
@given(layout=generators.one_tile(dtypes=SMALL, most_rank=3), fill=st.integers(0, 255), examples=30)
def test_elements_below_a_byte(student, rng, layout, fill):
    """two or four elements in a byte, or one in a byte of its own; the array itself stays as it is"""
    codes = generators.codes(rng, layout)
    got, before, after = student(packed_and_kept, codes, layout, fill)
    same_bytes(got, walked(layout, codes, fill), str(layout))
    same_bytes(after, before, "the array that was packed, as NumPy holds it")


@number("4.5")
@weight(1)
@hint("Raise MismatchError for what does not fit, LayoutError for slots that cannot be packed. Handout, errors.")
def test_what_does_not_fit_is_refused(student, rng):
    """arrays and bytes that do not fit the layout, and slots that cannot be packed, are refused"""
    n = int(rng.integers(2, 50))
    layout = {"dtype": "f32", "dims": [n], "minor_to_major": [0], "tiles": [[128]]}
    error = student.error(unpacked, bytes(511), layout)
    check.raised(error, "MismatchError", "unpack of 511 bytes", wanted="512 bytes", given="511 bytes")
    for dtype, dims in [("float64", [n]), ("int32", [n]), ("float32", [n, 1]), ("float32", [n + 1])]:
        error = student.error(packed_as_it_is, dtype, dims, layout)
        check.raised(error, "MismatchError", f"pack of {dtype}{dims} as f32[{n}]")
    error = student.error(packed_as_it_is, "float32", [3, 2], {**layout, "dims": [2, 3], "minor_to_major": [0, 1]})
    check.raised(error, "MismatchError", "pack of float32[3, 2] as f32[2,3]{0,1}")
    codes = generators.codes(rng, layout)
    four = {"dtype": "u4", "dims": [5], "minor_to_major": [0], "tiles": [], "element_bits": 4}
    nibbles = np.array([1, 2, 3, 4, 5], np.uint8)
    same_bytes(student(packed, nibbles, four, 0xA0), bytes([0x21, 0x43, 0xA5]), "u4[5]{0:E(4)}")
    same_bytes(student(packed, nibbles, {**four, "element_bits": 0}, 0), bytes([1, 2, 3, 4, 5]), "u4[5]{0}")
    wide = {**layout, "element_bits": 64}
    check.raised(student.error(packed, codes, wide, 0), "LayoutError", "pack into 64-bit slots", rule="value")


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
    state["packed"] = tiledlayout.pack(array, here, 0)
    state["array"] = tiledlayout.unpack(state["packed"], here)
    return len(state["packed"])


@probe
def large_bytes(start, stop, state) -> bytes:
    """Some of the bytes of the large array."""
    return bytes(state["packed"][start:stop])


@probe
def large_rows(start, stop, state) -> np.ndarray:
    """The bits of some rows of the large array, unpacked again."""
    import numpy as np

    return np.ascontiguousarray(state["array"][start:stop]).view(np.uint16)


@number("4.6")
@weight(2)
@limits(seconds=30)
@hint("A loop over 16.8 million elements takes minutes. Handout, part 4, reshapes and transposes.")
def test_a_large_array_is_packed_in_time(student, rng):
    """4096 × 4096 bf16 there and back, within thirty seconds"""
    layout = {"dtype": "bf16", "dims": [4096, 4096], "minor_to_major": [1, 0], "tiles": [[8, 128]]}
    seed = int(rng.integers(0, 65536))
    check.equal(student(keep_large, seed, 4096, 4096, layout), 2 * 4096**2, "bytes of the packed array")

    def block(i, j, height, width):
        """The bits of a part of the array."""
        row, column = np.arange(i, i + height)[:, None], np.arange(j, j + width)
        return (seed + 40503 * row + column * column).astype(np.uint16)

    for i, j in zip(rng.integers(0, 512, size=12).tolist(), rng.integers(0, 32, size=12).tolist(), strict=True):
        start = 2048 * (32 * i + j)
        got = student(large_bytes, start, start + 2048)
        same_bytes(got, block(8 * i, 128 * j, 8, 128).tobytes(), f"tile ({i}, {j})")
    row = int(rng.integers(0, 4000))
    check.close(student(large_rows, row, row + 64), block(row, 0, 64, 4096), what=f"64 rows from row {row}")
