"""Part 3: big products on small arrays, and rooflines."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.kit import check, hint, number, probe, weight

import generators


@probe
def multiplied(a, b, n, mxus) -> tuple[np.ndarray, int, list[tuple[int, int, int, int, int, int, int]]]:
    """matmul_on_mxu: values, cycles, and the schedule as rows of numbers."""
    from minitpu.mxu import matmul_on_mxu

    product = matmul_on_mxu(a, b, n, mxus)
    return [product.values, int(product.cycles), [[int(field) for field in run] for run in product.schedule]]


def up(size: int, tile: int) -> int:
    """How many tiles hold so much."""
    return -(-size // tile)


def drawn_product(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int, int]:
    """Two matrices whose sizes are seldom multiples of n; n; a number of MXUs."""
    n, mxus = int(rng.integers(2, 9)), int(rng.integers(1, 5))
    m, k, columns = (int(size) for size in rng.integers(1, 30, size=3))
    return generators.bf16_normal(rng, m, k), generators.bf16_normal(rng, k, columns), n, mxus


@number("3.1")
@weight(2)
@hint("Pad with zeros, add up over the tiles of K, cut the padding off. Handout, part 3, tiling.")
def test_values_of_any_size(student, rng):
    """matmul_on_mxu on sizes that are no multiples of n"""
    for _ in range(6):
        a, b, n, mxus = drawn_product(rng)
        values, *_ = student(multiplied, a, b, n, mxus)
        wanted = (a.astype(np.float64) @ b).astype(np.float32)
        scale = float((np.abs(a).astype(np.float64) @ np.abs(b)).max())
        check.array_type(values, wanted, "the product")
        off = float(np.abs(values - wanted).max())
        check.that(
            off <= 2e-7 * (a.shape[1] + 4) * scale, "the product", expected="a @ b", got=f"off by {off:.2g}"
        )


@number("3.2")
@weight(1)
@hint(
    "Each tile costs n cycles to load and rows + 2n − 1 to stream; the MXU with most rows is last. Part 3, cycles."
)
def test_cycles_of_a_product(student, rng):
    """the cycles are those of the MXU that has most rows"""
    for _ in range(6):
        a, b, n, mxus = drawn_product(rng)
        _, cycles, _ = student(multiplied, a, b, n, mxus)
        tiles = up(len(b), n) * up(b.shape[1], n)
        check.equal(cycles, tiles * (n + up(len(a), mxus) + 2 * n - 1), "the cycles")


def judge_tiles(schedule: list[tuple[int, ...]], a: np.ndarray, b: np.ndarray, n: int, mxus: int) -> None:
    """Each MXU runs every tile on the same rows, without gap or overlap, and K tiles in order."""
    tiles = up(len(b), n) * up(b.shape[1], n)
    check.at_most(len(schedule), tiles * mxus, "the number of runs")
    covered = np.zeros(len(a), int)
    for unit in range(mxus):
        runs = sorted((run for run in schedule if run[0] == unit), key=lambda run: run[5])
        if not runs:
            continue
        first, rows = runs[0][3], runs[0][4]
        check.that(first >= 0 and rows > 0 and first + rows <= len(a), "rows", expected="rows of a", got=runs[0])
        covered[first : first + rows] += 1
        now, next_k = 0, {}
        for _, k, column, first_row, count, start, end in runs:
            check.equal([first_row, count], [first, rows], f"the rows of MXU {unit} in a later tile")
            check.equal([start, end], [now, now + n + rows + 2 * n - 1], f"start and end of tile ({k}, {column})")
            check.equal(k, next_k.get(column, 0), f"which tile of K comes next for columns {column}")
            now, next_k[column] = end, k + 1
        check.equal(next_k, dict.fromkeys(sorted(next_k), up(len(b), n)), f"tiles of K on MXU {unit}, by columns")
        check.equal(sorted(next_k), list(range(up(b.shape[1], n))), f"tiles of columns on MXU {unit}")
    shares = [max([run[4] for run in schedule if run[0] == unit], default=0) for unit in range(mxus)]
    even = [len(share) for share in np.array_split(a, mxus)]
    check.equal(shares, even, f"how many of {len(a)} rows each MXU has: evenly, larger shares first")
    check.equal(covered, np.ones(len(a), int), "how many MXUs have each row")


@number("3.3")
@weight(2)
@hint("Every MXU runs all tiles on its own rows, one after another. Handout, part 3, the tile schedule.")
def test_the_tile_schedule(student, rng):
    """each tile runs once on each MXU, without gaps, K tiles of a column in order"""
    for place in range(4):
        a, b, n, mxus = drawn_product(rng)
        if place == 0:  # one share is larger
            a, mxus = generators.bf16_normal(rng, 4 * int(rng.integers(1, 7)) + 1, len(b)), 4
        _, _, schedule = student(multiplied, a, b, n, mxus)
        judge_tiles(schedule, a, b, n, mxus)


@number("3.4")
@weight(1)
@hint("Add the result of each tile of K to the sum so far, from k = 0 up, in float32. Handout, part 3, tiling.")
def test_sums_over_k_in_order(student, rng):
    """a large number, its negative and a small one, in three tiles of K, in two orders"""
    n, big, small = int(rng.integers(2, 6)), np.float32(2.0**25), np.float32(rng.integers(1, 4))
    a = np.zeros((3, 3 * n), np.float32)
    places = [tile * n + int(rng.integers(0, n)) for tile in range(3)]
    a[:, places] = 1
    b = np.zeros((3 * n, 2), np.float32)
    b[places] = [[big, big], [small, -big], [-big, small]]
    values, *_ = student(multiplied, a, b, n, 2)
    wanted = np.tile(np.array([(big + small) - big, (big - big) + small], np.float32), (3, 1))
    check.equal(values, wanted, "the sums (2^25 + small) − 2^25 and (2^25 − 2^25) + small, in float32")


@probe
def tile_figures(cases) -> list[tuple[float, float, float]]:
    """tile_cycles, tile_utilisation and pushes_per_tile for rows, n, and sublanes and lanes if they are given."""
    from minitpu.mxu import pushes_per_tile, tile_cycles, tile_utilisation

    return [
        [float(tile_cycles(rows, n)), float(tile_utilisation(rows, n)), float(pushes_per_tile(n, *shape))]
        for rows, n, *shape in cases
    ]


@number("3.5")
@weight(1)
@hint("A tile is loaded in n cycles, streams in rows + 2n − 1, and is n · n words. Handout, part 3, cycles.")
def test_figures_of_a_tile(student, rng):
    """57.2 % of an MXU with 1,024 rows a tile, 40.0 % with 512, 64 pushes; other sizes of registers"""
    cases = [[1024, 256, 8, 128], [512, 256, 8, 128]]
    for _ in range(6):
        sublanes, lanes = int(rng.choice([4, 8, 16])), int(rng.choice([16, 32, 64]))
        cases.append([int(rng.integers(1, 5000)), int(lanes * rng.integers(1, 8)), sublanes, lanes])
    wanted = [[r + 3.0 * n - 1, r / (r + 3 * n - 1), n * n // (s * lanes)] for r, n, s, lanes in cases]
    cases[:2] = [[1024, 256], [512, 256]]  # 8 × 128 without saying so
    check.close(
        np.array(student(tile_figures, cases)), np.array(wanted, float), relative=1e-12, what="the figures"
    )


@probe
def peaks(chip) -> tuple[float, float, float, float, float]:
    """vpu_flops, mxu_flops, balance for both memories, flop_use of 10^9 FLOP in a microsecond."""
    from minitpu import roofline

    import describe

    chip = describe.chip(chip)
    return [
        float(value)
        for value in (
            roofline.vpu_flops(chip),
            roofline.mxu_flops(chip),
            roofline.balance(chip, "hbm"),
            roofline.balance(chip, "vmem"),
            roofline.flop_use(1e9, 1e-6, chip),
        )
    ]


IRONWOOD: dict[str, Any] = {
    "name": "Ironwood TensorCore",
    "matmul_flops": 1028.75e12,
    "hbm_bytes": float(3433 << 30),
    "vmem_bytes": float(27180 << 30),
    "clock": 2.2e9,
    "mxu_size": 256,
}


def judge_figures(names: str, got: tuple[float, ...], wanted: list[float]) -> None:
    """Each figure, to twelve digits."""
    for name, mine, right in zip(names.split(), got, wanted, strict=True):
        near = abs(mine - right) <= 1e-12 * abs(right)
        check.that(near, name, expected=f"{right:.6g}", got=f"{mine:.6g}")


@probe
def times(chip, sizes, arrays) -> list[tuple[str, float]]:
    """matmul_seconds of each size, compute_bound_size, tile_fill of each array, store_ and recompute_seconds."""
    from minitpu import roofline

    import describe

    chip = describe.chip(chip)
    found = [["matmul_seconds", roofline.matmul_seconds(*size, chip)] for size in sizes]
    found += [["compute_bound_size", roofline.compute_bound_size(itemsize, chip)] for itemsize in (4, 2)]
    found += [["tile_fill", roofline.tile_fill(tuple(shape), itemsize, chip)] for shape, itemsize in arrays]
    found.append(["store_seconds", roofline.store_seconds(4 * 2**20, chip)])
    found.append(["recompute_seconds", roofline.recompute_seconds(2**20, 3, chip)])
    return [[name, float(value)] for name, value in found]


# On Ironwood: products that computing limits, and moving; arrays that fill their tiles, and that do not.
SIZES = {(4096, 2048, 4096, 4): 6.679901e-5, (1024, 1024, 1024, 4): 3.413560e-6, (300, 70, 5000, 2): 1.015150e-6}
FILLS = {(1024, 128): 1, (1024, 64): 1 / 2, (1, 4096): 1 / 8}
FILLS_OF_BFLOAT16 = {(4, 1024): 1 / 4, (3, 24, 100): 75 / 128}
OTHERS = [1674.509, 837.2544, *FILLS.values(), *FILLS_OF_BFLOAT16.values(), 1.137853e-6, 3.490909e-7]


@number("3.6")
@weight(2)
@hint("A multiply–add is 2 FLOP; the balance point is a peak over a bandwidth. Handout, part 3, rooflines.")
def test_peaks_and_balance_points(student, rng):
    """of a VPU, an MXU and two memories; 18.0 TFLOP/s, 279 and 35 FLOP to a byte on Ironwood, and times there"""
    for c in (IRONWOOD, generators.chip(rng), generators.chip(rng)):
        lanes, alus = c.get("sublanes", 8) * c.get("lanes", 128), c.get("alus", 4)
        wanted = [lanes * alus * 2 * c["clock"], c["mxu_size"] ** 2 * 2 * c["clock"]]
        wanted += [c["matmul_flops"] / c["hbm_bytes"], c["matmul_flops"] / c["vmem_bytes"]]
        wanted.append(1e15 / c["matmul_flops"])
        judge_figures("vpu_flops mxu_flops balance(hbm) balance(vmem) flop_use", student(peaks, c), wanted)
    arrays = [[list(shape), 4] for shape in FILLS] + [[list(shape), 2] for shape in FILLS_OF_BFLOAT16]
    found = student(times, IRONWOOD, [list(size) for size in SIZES], arrays)
    wanted = [*SIZES.values(), *OTHERS]
    check.equal(len(found), len(wanted), "the number of figures")
    for (name, mine), right in zip(found, wanted, strict=True):
        check.that(abs(mine - right) <= 1e-6 * right, name, expected=f"{right:.6e}", got=f"{mine:.6e}")
