"""Part 7: tiles and pipelines."""

from __future__ import annotations

import numpy as np
from given_pallas_kernels import reference
from given_pallas_kernels.chips import CHIPS

from autograder.kit import check, hint, leaderboard, limits, number, probe, weight

import generators
import judge
import tied

MIB = 1 << 20


@probe
def stats(bm, bk, bn, in_bytes, out_bytes) -> list[float]:
    """The intensity and the bytes of VMEM that tile_stats gives."""
    from pallas_kernels.tiles import tile_stats

    found = tile_stats(bm, bk, bn, in_bytes=in_bytes, out_bytes=out_bytes)
    return [float(found.intensity), float(found.vmem_bytes)]


def right_stats(bm, bk, bn, in_bytes=2, out_bytes=2):
    """Intensity and bytes of VMEM."""
    intensity = 2 * bm * bn / ((bm + bn) * in_bytes)
    return intensity, 2 * in_bytes * bk * (bm + bn) + (2 * out_bytes + 4) * bm * bn


@number("7.1")
@weight(1)
@hint("Two buffers for each block, one float32 accumulator; the intensity is FLOPs over bytes fetched. Handout.")
def test_tile_stats(student, rng):
    """intensity and VMEM of tiles: 128³, 512³, (1024, 512, 1024), and drawn ones"""
    drawn = [
        [int(n) * 128 for n in rng.integers(1, 17, size=3)] + [int(rng.choice([1, 2, 4]))] * 2 for _ in range(5)
    ]
    named = [([128] * 3, 64, 0.25), ([512] * 3, 256, 4.0), ([1024, 512, 1024], 512, 12.0)]
    for tile, intensity, mib in named:
        got = student(stats, *tile, 2, 2)
        check.equal([got[0], got[1] / MIB], [float(intensity), mib], f"intensity and MiB of {tile}")
    for tile in drawn:
        check.equal(
            student(stats, *tile), [float(x) for x in right_stats(*tile)], f"intensity and bytes of {tile}"
        )


@probe
def chosen(shape, in_bytes, chip) -> list[int]:
    """The tiles that choose_tiles gives for (M, K, N) on a chip."""
    from pallas_kernels.chips import CHIPS
    from pallas_kernels.tiles import choose_tiles

    return [int(n) for n in choose_tiles(tuple(shape), in_bytes, CHIPS[chip])]


def steps_of(shape, tile):
    """Grid steps."""
    return int(np.prod([-(-size // block) for size, block in zip(shape, tile, strict=True)]))


def fewest(shape, in_bytes, chip):
    """Whether legal tiles that fit reach the ridge, and the fewest steps of those that do (or of all)."""
    sizes = [np.array(sorted({min(size, 128 * n) for n in range(1, -(-size // 128) + 1)})) for size in shape]
    tiles = np.ix_(*sizes)
    intensity, vmem = right_stats(*tiles, in_bytes, in_bytes)
    along_m, along_k, along_n = (-(-size // tile) for size, tile in zip(shape, tiles, strict=True))
    steps = along_m * along_k * along_n
    fits = vmem <= chip.vmem_bytes
    over = fits & (intensity >= chip.ridge)
    return bool(over.any()), int(steps[over if over.any() else fits].min())


def judge_tiles(student, shape, in_bytes, name):
    """The tiles are legal, fit, reach the ridge where any do, and give the fewest steps."""
    chip, tile = CHIPS[name], student(chosen, shape, in_bytes, name)
    what = f"tiles {tile} for {shape} on {name}"
    legal = len(tile) == 3 and all(
        0 < block <= size and (block % 128 == 0 or block == size) for block, size in zip(tile, shape, strict=True)
    )
    check.that(legal, what, expected="three sizes: multiples of 128, or the whole dimension", got=tile)
    intensity, vmem = right_stats(*tile, in_bytes, in_bytes)
    check.at_most(vmem, chip.vmem_bytes, f"{what}: bytes of VMEM")
    over, steps = fewest(shape, in_bytes, chip)
    if over:
        check.that(
            intensity >= chip.ridge,
            f"{what}: intensity",
            expected=f"at least the ridge, {chip.ridge:.0f} FLOPs a byte",
            got=f"{intensity:.0f}",
        )
    check.at_most(steps_of(shape, tile), steps, f"{what}: grid steps")


@number("7.2")
@weight(3)
@hint("First what fits, then what reaches the ridge, then the fewest steps. Handout, part 7, choosing.")
def test_choose_tiles(student, rng):
    """the tiles with the fewest steps: (4096, 7168) × (7168, 18432), and drawn products on all chips"""
    for name in CHIPS:
        shape = [int(n) for n in rng.integers(100, 6000, size=3)]
        judge_tiles(student, shape, int(rng.choice([2, 4])), name)
    judge_tiles(student, [64, 4096, 4096], 2, "v5e")
    judge_tiles(student, [3275, 526, 3088], 4, "v6e")  # the smallest block for two steps misses the ridge
    for name in ("v5e", "7x"):
        judge_tiles(student, [4096, 7168, 18432], 2, name)


@number("7.3")
@weight(2)
@hint(
    "Start the next copies before you wait for these; wait before you touch a buffer. A copy that nobody waits "
    "for never happens. Handout, part 7."
)
def test_add_manual_dma(student, rng):
    """x + y with copies by hand: right in both interpreters, free of races, and overlapping"""
    for rows, how in ((64, judge.MATHEMATICS), (128, judge.MATHEMATICS), (320, {"races": True})):
        x, y = generators.normal(rng, rows, 128), generators.normal(rng, rows, 128)
        got = student(judge.results, "tiles.add_manual_dma", [x, y], {}, how)
        judge.close(got.value, x + reference.wide(y), f"x + y of {rows} rows", ulps=2)
    (kernel,) = judge.only_kernels(judge.measured(got.program, "add_manual_dma"), "add_manual_dma")
    first_sum = next((n for n, copy in enumerate(kernel.work.copies) if copy.source.startswith("scratch")), 0)
    before = [copy.act for copy in kernel.work.copies[:first_sum]]
    check.that(
        before.count("start") >= before.count("wait") + 2,
        "add_manual_dma: when the first sum is there",
        expected="the copies of the next chunk of x and y are on their way",
        got=f"{before.count('start')} copies started, {before.count('wait')} waited for",
    )
    tied.computes(rng, got.program, [x, y], lambda x, y: x + reference.wide(y), "add_manual_dma", ulps=2)


V5E = CHIPS["v5e"]
RACE = [
    ("matmul.matmul", [[[4096, 4096], "bfloat16"], [[4096, 4096], "bfloat16"]], {}),
    ("normalise.layernorm", [[[8192, 4096], "bfloat16"], [[4096], "bfloat16"], [[4096], "bfloat16"]], {}),
    ("flash.flash_attention", [[[8, 4096, 128], "bfloat16"]] * 3, {"causal": True}),
    ("splash.splash_attention", [[[8, 4096, 128], "bfloat16"]] * 3, {"mask": reference.window_mask(4096, 512)}),
]


@number("7.6")
@limits(answer_mib=24)  # patterns travel with the program
@weight(0)
@hint("Only for the leaderboard: larger blocks mean fewer steps and less traffic, as long as they fit. Handout.")
@leaderboard("modelled time of four kernels (µs)", "asc")
def test_modelled_time(student, set_leaderboard_value=None):
    """leaderboard: the modelled time of four kernels on a v5e, at your own block sizes"""
    total = 0.0
    for kernel, kinds, options in RACE:
        report = judge.measured(student(judge.program_of, kernel, kinds, options), kernel)
        judge.only_kernels(report, kernel)
        judge.legal(report, kernel)
        judge.fits(report, V5E.vmem_bytes, kernel)
        total += report.seconds(V5E)
    set_leaderboard_value(round(total * 1e6, 1))
