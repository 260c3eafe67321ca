"""Part 3, hidden: MXUs that share the work, and the rest of the rooflines."""

from __future__ import annotations

import numpy as np

from autograder.kit import check, hint, number, probe, weight

import generators


@probe
def scheduled(m, k, columns, n, mxus) -> tuple[int, list[tuple[int, int, int, int]]]:
    """matmul_on_mxu of ones: cycles, and unit, rows, start and end of each run."""
    import numpy as np
    from minitpu.mxu import matmul_on_mxu

    product = matmul_on_mxu(np.ones((m, k), np.float32), np.ones((k, columns), np.float32), n, mxus)
    return [int(product.cycles), [[int(r.unit), int(r.rows), int(r.start), int(r.end)] for r in product.schedule]]


@number("3.7")
@weight(2)
@hint("Both MXUs are busy from the first cycle, each with half the rows. Handout, part 3, the tile schedule.")
def test_two_mxus_share_the_rows(student, rng):
    """the lecture's Q·Kᵀ, an eighth as large: 32 runs of half the rows, and no idle MXU"""
    m, n = 8 * int(rng.integers(8, 20)), 32
    cycles, runs = student(scheduled, m, 64, 128, n, 2)
    check.equal(len(runs), 2 * 4 * 2, "runs: 2 MXUs, 4 tiles of columns, 2 of K")
    for unit in (0, 1):
        mine = [run for run in runs if run[0] == unit]
        check.equal({rows for _, rows, _, _ in mine}, {m // 2}, f"rows a tile on MXU {unit}")
        check.equal(sum(end - start for *_, start, end in mine), cycles, f"busy cycles of MXU {unit}")


@number("3.8")
@weight(1)
@hint("One more row never takes fewer cycles; more MXUs never take more. Handout, part 3, cycles.")
def test_cycles_grow_with_rows(student, rng):
    """more rows take at least as long, more MXUs at most as long; rows fewer than MXUs"""
    n, k, columns = int(rng.integers(2, 6)), int(rng.integers(6, 20)), int(rng.integers(6, 20))
    rows = sorted({1, 2, 3, *rng.integers(1, 60, size=4).tolist()})
    tiles = -(-k // n) * -(-columns // n)
    for mxus in (1, 2, 4):
        got = [student(scheduled, m, k, columns, n, mxus)[0] for m in rows]
        wanted = [tiles * (3 * n - 1 + -(-m // mxus)) for m in rows]
        check.equal(got, wanted, f"cycles for {rows} rows on {mxus} MXUs")


@probe
def times(chip, sizes, shapes) -> list[list[float]]:
    """matmul_seconds, compute_bound_size, tile_fill, store_seconds and recompute_seconds."""
    from minitpu import roofline

    import describe

    chip = describe.chip(chip)
    return [
        [float(roofline.matmul_seconds(*size, chip)) for size in sizes],
        [float(roofline.compute_bound_size(itemsize, chip)) for itemsize in (2, 4)],
        [float(roofline.tile_fill(tuple(shape), itemsize, chip)) for shape, itemsize in shapes],
        [float(roofline.store_seconds(123456, chip)), float(roofline.recompute_seconds(99999, 3, chip))],
    ]


@number("3.9")
@weight(2)
@hint("The least time is the longer of computing and moving; tiles pad the last two axes. Part 3, rooflines.")
def test_times_and_fill(student, rng):
    """times of products, the size from which they are compute-bound, tile fill, store against recompute"""
    for _ in range(2):
        c = generators.chip(rng)
        sizes = [[*(int(2 ** rng.uniform(4, 13)) for _ in range(3)), int(rng.choice([2, 4]))] for _ in range(5)]
        shapes = [[[1024, 128], 4], [[1024, 64], 4], [[4, 1024], 2], [[1, 4096], 4], [[3, 24, 100], 2]]
        got = student(times, c, sizes, shapes)
        wanted = [
            max(2 * m * k * n / c["matmul_flops"], item * (m * k + k * n + m * n) / c["hbm_bytes"])
            for m, k, n, item in sizes
        ]
        wanted += [3 * item * c["matmul_flops"] / c["hbm_bytes"] / 2 for item in (2, 4)]
        for (*_, height, width), item in shapes:
            rows = c["sublanes"] * 4 // item
            wanted.append(height * width / (-(-height // rows) * rows * -(-width // c["lanes"]) * c["lanes"]))
        wanted += [123456 / c["hbm_bytes"], 99999 * 3 / (c["sublanes"] * c["lanes"] * c["alus"] * c["clock"])]
        flat = np.array([value for group in got for value in group])
        check.equal(flat.shape, (len(wanted),), "the number of figures")
        off = np.abs(flat - wanted) > 1e-12 * np.abs(wanted)
        check.that(not off.any(), "the figures", expected="right to twelve digits", got=f"{off.sum()} are wrong")
