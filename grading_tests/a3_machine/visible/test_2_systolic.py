"""Part 2: the systolic array, register by register."""

from __future__ import annotations

import numpy as np

from autograder.kit import check, hint, number, probe, weight

import generators


@probe
def streamed(weights, x) -> tuple[np.ndarray, int]:
    """stream: the results and the number of cycles."""
    from minitpu.systolic import SystolicArray

    y, cycles = SystolicArray(weights).stream(x)
    return [y, int(cycles)]


def judge_stream(answer: tuple[np.ndarray, int], weights: np.ndarray, x: np.ndarray) -> None:
    """Values and cycles of one batch."""
    y, cycles = answer
    rows, columns = weights.shape
    wanted = (x.astype(np.float64) @ weights.T.astype(np.float64)).astype(np.float32)
    check.close(y, wanted, ulps=2 * columns + 2, what="y[b, i] = Σ weights[i, j] · x[b, j]")
    check.equal(cycles, len(x) + rows + columns - 1, "the number of cycles")


@number("2.1")
@weight(3)
@hint(
    "PE (i, j) holds weights[i, j]; the last cycle only reads the edge: B + 2N − 1. Handout, part 2, the picture."
)
def test_square_arrays(student, rng):
    """stream on N × N arrays: the products, in B + 2N − 1 cycles; 8 for the 3 × 3 example"""
    for n, batch in [
        (3, 3),
        (1, 1),
        (4, 1),
        *((int(rng.integers(2, 17)), int(rng.integers(1, 40))) for _ in range(4)),
    ]:
        weights, x = generators.bf16_normal(rng, n, n), generators.bf16_normal(rng, batch, n)
        judge_stream(student(streamed, weights, x), weights, x)


@probe
def watched(weights, x) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, int]]:
    """stream, with x, y and active of all PEs, and cycle, after each cycle."""
    import numpy as np
    from minitpu.systolic import SystolicArray

    seen = []

    def watch(array):
        seen.append([np.array(array.x), np.array(array.y), np.array(array.active), int(array.cycle)])

    SystolicArray(weights).stream(x, watch)
    return seen


def in_array(cycle: int, rows: int, columns: int, batch: int) -> tuple[np.ndarray, np.ndarray]:
    """Which vector each PE works on in a cycle (counted from 0), and whether there is one."""
    vector = cycle - np.arange(rows)[:, np.newaxis] - np.arange(columns)
    return np.clip(vector, 0, batch - 1), (vector >= 0) & (vector < batch)


def judge_registers(seen: list[tuple[np.ndarray, ...]], weights: np.ndarray, x: np.ndarray) -> None:
    """x and y of every PE, and `cycle`, after every cycle; PEs that were not active hold 0."""
    rows, columns = weights.shape
    check.equal(len(seen), len(x) + rows + columns - 1, "how often watch was called")
    scale = np.abs(x).max() * np.abs(weights).max() * columns
    sums = np.cumsum(weights[np.newaxis].astype(np.float64) * x[:, np.newaxis], axis=2)  # vector, row, column
    for cycle, registers in enumerate(seen):
        vector, there = in_array(cycle, rows, columns, len(x))
        for array, name in zip(registers[:2], "xy", strict=True):
            check.array_type(array, np.zeros(weights.shape, np.float32), f"register {name}")
        row, column = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
        wanted_x, wanted_y = np.where(there, x[vector, column], 0), np.where(there, sums[vector, row, column], 0)
        wrong = (registers[0] != wanted_x) | ~(np.abs(registers[1] - wanted_y) <= 1e-5 * scale * there)
        if wrong.any():
            i, j = np.argwhere(wrong)[0].tolist()
            what = f"vector {vector[i, j]}" if there[i, j] else "inactive"
            check.fail(
                f"PE ({i}, {j}) after cycle {cycle} (counted from 0)",
                expected=f"x = {wanted_x[i, j]:.5g}, y = {wanted_y[i, j]:.5g} ({what})",
                got=f"x = {registers[0][i, j]:.5g}, y = {registers[1][i, j]:.5g}",
            )
        check.equal(registers[3], cycle + 1, "`cycle`, how many cycles have ended")


@number("2.2")
@weight(3)
@hint("All registers change at once, from what the neighbours held before. Handout, part 2, two phases.")
def test_registers_in_each_cycle(student, rng):
    """the inputs and partial sums of every PE after every cycle, 0 where it was not active"""
    for rows, columns, batch in ((3, 3, 3), (4, 4, int(rng.integers(1, 9))), (int(rng.integers(2, 7)), 5, 3)):
        weights, x = generators.bf16_normal(rng, rows, columns), generators.bf16_normal(rng, batch, columns)
        judge_registers(student(watched, weights, x), weights, x)


@number("2.3")
@weight(2)
@hint("Vector b reaches PE (i, j) in cycle b + i + j: component j enters j cycles late. Handout, part 2, skew.")
def test_when_each_pe_is_active(student, rng):
    """each PE is active exactly B times, for vector b in cycle b + i + j"""
    rows, columns, batch = (int(size) for size in rng.integers(2, 8, size=3))
    weights, x = generators.bf16_normal(rng, rows, columns), generators.bf16_normal(rng, batch, columns)
    x[rng.random(x.shape) < 0.3] = 0  # a PE works on a 0 as on any number
    seen = student(watched, weights, x)
    check.equal(len(seen), batch + rows + columns - 1, "how often watch was called")
    for cycle, (_, _, active, _) in enumerate(seen):
        _, there = in_array(cycle, rows, columns, batch)
        check.equal(active, there, f"which PEs are active in cycle {cycle} (counted from 0)")


@number("2.4")
@weight(1)
@hint("An array of R rows and C columns takes vectors of C components and gives R sums. Handout, part 2.")
def test_rectangular_arrays(student, rng):
    """stream on R × C arrays, in B + R + C − 1 cycles"""
    for _ in range(4):
        rows, columns, batch = (int(size) for size in rng.integers(1, 14, size=3))
        weights, x = generators.bf16_normal(rng, rows, columns), generators.bf16_normal(rng, batch, columns)
        judge_stream(student(streamed, weights, x), weights, x)


@probe
def back_to_back(weights, batches) -> tuple[list[np.ndarray], int]:
    """stream_batches on an array that holds other weights: the results, and the number of cycles."""
    from minitpu.systolic import SystolicArray

    ys, cycles = SystolicArray(weights).stream_batches([tuple(batch) for batch in batches])
    return [list(ys), int(cycles)]


def judge_batches(answer: tuple[list[np.ndarray], int], batches: list[list[np.ndarray]]) -> None:
    """Values of each batch, and cycles of all."""
    ys, cycles = answer
    check.equal(len(ys), len(batches), "the number of results")
    for place, (y, (weights, x)) in enumerate(zip(ys, batches, strict=True)):
        wanted = (x.astype(np.float64) @ weights.T.astype(np.float64)).astype(np.float32)
        check.close(y, wanted, ulps=4 * weights.shape[1] + 4, what=f"the results of batch {place}")
    rows, columns = batches[0][0].shape
    check.equal(cycles, sum(len(x) for _, x in batches) + rows + columns - 1, "the number of cycles")


@number("2.5")
@weight(2)
@hint("A PE swaps its weights as the first vector of the new batch reaches it. Handout, part 2, shadow weights.")
def test_weights_are_swapped_on_the_way(student, rng):
    """batches with weights of their own, back to back, without draining between them"""
    rows, columns = 3, 4
    sizes = [rows + columns - 1, rows + columns + int(rng.integers(0, 6)), int(rng.integers(1, 9))]
    batches = [
        [generators.bf16_normal(rng, rows, columns), generators.bf16_normal(rng, size, columns)] for size in sizes
    ]
    judge_batches(student(back_to_back, generators.bf16_normal(rng, rows, columns), batches), batches)


@probe
def counted(dataflows, sizes, rows, columns) -> list[list[int]]:
    """systolic_cycles for each size (M, N, K) and dataflow."""
    from minitpu.systolic import systolic_cycles

    return [[int(systolic_cycles(flow, *size, rows, columns)) for flow in dataflows] for size in sizes]


DATAFLOWS = ["weight-stationary", "output-stationary", "input-stationary"]
PUBLISHED = {
    (4, 4, 4): [13, 9, 13],
    (8, 4, 4): [17, 19, 27],
    (4, 8, 4): [27, 19, 17],
    (4, 4, 8): [27, 13, 27],
    (5, 6, 7): [59, 51, 63],
    (1, 4, 4): [10, 9, 13],
    (16, 3, 2): [25, 31, 51],
}
# From the formulas of the handout.
ON_3_BY_5 = {(4, 4, 4): [25, 19, 25], (7, 11, 2): [47, 71, 39], (9, 16, 7): [215, 155, 149]}


@number("2.6")
@weight(2)
@hint("A fold is our count, less 1, plus the cycles to load what is stationary. Handout, part 2, other dataflows.")
def test_published_cycle_counts(student, rng):
    """the cycles that SCALE-Sim reports for seven products on 4 × 4, and for three on 3 × 5; utilisation"""
    for (rows, columns), published in (((4, 4), PUBLISHED), ((3, 5), ON_3_BY_5)):
        got = student(counted, DATAFLOWS, [list(size) for size in published], rows, columns)
        check.equal(len(got), len(published), "the number of answers")
        for counts, (size, wanted) in zip(got, published.items(), strict=True):
            what = f"cycles for M, N, K = {size} on {rows} × {columns}: weight-, output-, input-stationary"
            check.equal(counts, wanted, what)
    error = student.error(counted, ["row-stationary"], [[4, 4, 4]], 4, 4)
    check.raised(error, "ValueError", "systolic_cycles for a dataflow that is none of the three")
    pairs = [[3, 3], [1024, 256], [int(rng.integers(1, 999)), int(rng.integers(1, 300))]]
    wanted = np.array([batch / (batch + 2 * n - 1) for batch, n in pairs])
    check.close(np.array(student(used, pairs)), wanted, ulps=8, what=f"utilisation(batch, n) for {pairs}")


@probe
def used(pairs) -> list[float]:
    """utilisation of each batch and n."""
    from minitpu.systolic import utilisation

    return [float(utilisation(batch, n)) for batch, n in pairs]
