"""Hard layouts: permuted, nested tiles, merged dimensions, unit and zero sizes, below a byte, rank 0, more tile
dimensions than array dimensions.

Everything is drawn with hypothesis from the run's seed and comes out as plain fields, so that it can travel.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from hypothesis import strategies as st

# Whole bytes first; then what is smaller.
WHOLE = ["f32", "bf16", "s8", "f8e5m2", "u16", "f64", "c64", "s64", "f8e4m3fn", "c128"]
BELOW_A_BYTE = {"s4": 4, "u4": 4, "f4e2m1fn": 4, "s2": 2, "u2": 2}
BITS = {"f32": 32, "bf16": 16, "s8": 8, "f8e5m2": 8, "u16": 16, "f64": 64, "c64": 64, "s64": 64}
BITS |= {"f8e4m3fn": 8, "c128": 128, "pred": 8, "u8": 8, "s32": 32, "u32": 32, "f16": 16, **BELOW_A_BYTE}


# Strategies take longer to make than to draw from, so each is made once.
between = functools.cache(st.integers)
orders = functools.cache(lambda rank: st.permutations(range(rank)))
one_of = functools.cache(lambda *values: st.sampled_from(values))


@st.composite
def layouts(
    draw: Any,
    *,
    tiles: int = 3,
    stars: bool = True,
    zeros: bool = False,
    dtypes: list[str] | None = None,
    least_rank: int = 0,
    most_rank: int = 4,
    side: int = 5,
    suffixes: bool = False,
) -> dict[str, Any]:
    """A layout of a small array, with at most this many tiles."""
    rank = draw(between(least_rank, most_rank))
    dims = [draw(between(0 if zeros else 1, side)) for _ in range(rank)]
    made = [draw(small_tile(stars, rank)) for _ in range(draw(between(0, tiles)))]
    dtype = draw(one_of(*(dtypes or ["f32", "bf16", "s8"])))
    fields = {"dtype": dtype, "dims": dims, "minor_to_major": draw(orders(rank)), "tiles": made}
    if dtype in BELOW_A_BYTE and draw(one_of(False, True)):
        fields["element_bits"] = BELOW_A_BYTE[dtype]
    if suffixes:
        fields["tail_alignment"] = draw(one_of(1, 1, 2, 3, 7, 16))
        fields["memory_space"] = draw(one_of(0, 0, 1, 2, 5))
    return fields


@st.composite
def tile(draw: Any, stars: bool = True, rank: int = 4) -> list[Any]:
    """A tile of a few small dimensions, sometimes one more than the array has, sometimes with stars."""
    entries: list[Any] = [draw(between(1, 4)) for _ in range(draw(between(1, min(3, rank + 1))))]
    if stars and draw(between(0, 3)) == 0:
        for place in range(len(entries) - 1):
            if draw(one_of(False, True)):
                entries[place] = "*"
    return entries


small_tile = functools.cache(tile)


@st.composite
def one_tile(draw: Any, **keywords: Any) -> dict[str, Any]:
    """A layout with exactly one tile, without stars."""
    fields = draw(layouts(tiles=0, **keywords))
    fields["tiles"] = [draw(small_tile(False, len(fields["dims"])))]
    return fields


@st.composite
def reshaped(draw: Any, dims: list[int]) -> list[int]:
    """Other dims for as many elements: neighbours multiplied, sizes split, ones put in."""
    out = list(dims)
    for _ in range(draw(between(0, 3))):
        change = draw(one_of("merge", "split", "one"))
        if change == "merge" and len(out) > 1:
            at = draw(between(0, len(out) - 2))
            out[at : at + 2] = [out[at] * out[at + 1]]
        elif change == "split" and out:
            at = draw(between(0, len(out) - 1))
            divisors = [d for d in range(1, out[at] + 1) if out[at] % d == 0]
            if divisors:
                divisor = draw(one_of(*divisors))
                out[at : at + 1] = [divisor, out[at] // divisor]
        elif change == "one" and len(out) < 5:
            out.insert(draw(between(0, len(out))), 1)
    return out


@st.composite
def moves(draw: Any, *, tiles: int = 1, stars: bool = False) -> tuple[list[Any], dict[str, Any], dict[str, Any]]:
    """A reshape or transpose, with layouts of its operand and result; often, but not always, a bitcast."""
    dims = [draw(one_of(1, 2, 2, 3, 4, 6)) for _ in range(draw(between(1, 3)))]
    rank = len(dims)
    given = [draw(small_tile(stars, rank)) for _ in range(draw(between(0, tiles)))]
    a = {"dtype": "f32", "dims": dims, "minor_to_major": draw(orders(rank)), "tiles": given}
    kept = draw(one_of(False, True))
    other = given if kept else [draw(small_tile(stars, rank)) for _ in range(draw(between(0, tiles)))]
    if draw(one_of(False, True)):
        permutation = draw(orders(rank))
        result = [dims[dim] for dim in permutation]
        order = [permutation.index(dim) for dim in a["minor_to_major"]]
        if not draw(one_of(False, True)):
            order = draw(orders(rank))
        return (
            ["transpose", permutation],
            a,
            {"dtype": "f32", "dims": result, "minor_to_major": order, "tiles": other},
        )
    result = draw(reshaped(dims))
    order = list(reversed(range(len(result))))
    if draw(one_of(False, True)):
        order = draw(orders(len(result)))
    if draw(one_of(False, True)):
        a["minor_to_major"] = list(reversed(range(rank)))
    return ["reshape", result], a, {"dtype": "f32", "dims": result, "minor_to_major": order, "tiles": other}


@st.composite
def relayouts(draw: Any, *, nested: bool = False, longest: int = 4096) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two layouts of one array of a few registers."""
    rank = draw(between(1, 3))
    most = {1: [longest], 2: [32, 130], 3: [4, 10, 100]}[rank]
    sizes = [draw(between(1, size)) for size in most]
    if rank > 1 and draw(st.booleans()):
        sizes[-1] = draw(st.sampled_from([64, 100 if rank == 3 else 128]))
    tiles: list[list[Any]] = [[], [[8, 128]], [[4, 128]], [[1, 128]], [[2, 64]], [[128]], [[16, 128]]]
    if nested:
        tiles += [[[8, 128], [2, 1]], [[8, 128], [4, 1]], [[16, 128], [2, 1]], [[1024], [128], [2, 1]]]
    dtype = draw(st.sampled_from(["f32", "bf16"]))

    which = between(0, len(tiles) - 1)

    def one() -> dict[str, Any]:
        minor = draw(orders(rank))
        return {"dtype": dtype, "dims": sizes, "minor_to_major": minor, "tiles": tiles[draw(which)]}

    return one(), one()


@st.composite
def graphs(draw: Any, *, least: int, most: int, tiles: list[list[Any]], dtype: str = "f32") -> list[Any]:
    """A graph of operations on matrices: elementwise, transposes, products, with one to four choices each."""
    sizes = [8, 24, 40]
    nodes: list[Any] = []
    dims: dict[str, list[int]] = {}

    def layout(shape: list[int], order: int) -> dict[str, Any]:
        minor = [1, 0] if order % 2 == 0 else [0, 1]
        return {"dtype": dtype, "dims": shape, "minor_to_major": minor, "tiles": tiles[order // 2 % len(tiles)]}

    for number in range(draw(between(least, most))):
        name = f"n{number}"
        near = [node[0] for node in nodes[-5:]]
        kind = draw(one_of("input", "same", "turn", "pair", "pair", "pair")) if near else "input"
        operands: list[str] = []
        if kind == "input":
            shape = [draw(one_of(*sizes)), draw(one_of(*sizes))]
        else:
            first = draw(one_of(*near))
            shape = dims[first]
            mates = [other for other in near if dims[other] == shape]
            operands = [first, draw(one_of(*mates))] if kind == "pair" else [first]
            shape = shape[::-1] if kind == "turn" else shape
        choices = []
        for _ in range(1 if kind == "input" else draw(between(1, 4))):
            wanted = [layout(dims[operand], draw(between(0, 2 * len(tiles) - 1))) for operand in operands]
            choices.append([wanted, layout(shape, draw(between(0, 2 * len(tiles) - 1)))])
        dims[name] = shape
        nodes.append([name, operands, choices])
    return nodes


def codes(rng: np.random.Generator, fields: dict[str, Any]) -> np.ndarray:
    """Random bits for every element, one unsigned integer each (two for 128 bits), in row-major order."""
    bits = BITS[fields["dtype"]]
    count = int(np.prod(fields["dims"], dtype=np.int64))
    if bits > 64:
        return rng.integers(0, 1 << 63, size=2 * count, dtype=np.uint64)
    most = 2 if fields["dtype"] == "pred" else 1 << bits
    kind = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}[max(8, bits)]
    return rng.integers(0, most - 1, size=count, dtype=kind, endpoint=True)
