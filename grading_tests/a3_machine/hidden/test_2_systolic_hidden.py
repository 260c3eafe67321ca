"""Part 2, hidden: steps one by one, more batches, other sizes."""

from __future__ import annotations

import numpy as np

from autograder.kit import check, hint, number, probe, weight

import generators


@probe
def stepped(weights, tops, presents) -> list[tuple[np.ndarray, np.ndarray]]:
    """step called with these inputs: what each call returned, and active after it."""
    import numpy as np
    from minitpu.systolic import SystolicArray

    array, seen = SystolicArray(weights), []
    for top, present in zip(tops, presents, strict=True):
        edge = array.step(top, present)
        seen.append([np.array(edge), np.array(array.active)])
    return seen


@number("2.7")
@weight(2)
@hint("step returns what stood at the right edge before this cycle's change. Handout, part 2, two phases.")
def test_steps_with_gaps_between_vectors(student, rng):
    """vectors that enter with gaps: what leaves on the right, and when"""
    rows, columns, enters = 3, 4, sorted(rng.choice(9, size=4, replace=False).tolist())
    weights, x = generators.bf16_normal(rng, rows, columns), generators.bf16_normal(rng, 4, columns)
    cycles = enters[-1] + rows + columns
    tops = np.zeros((cycles, columns), np.float32)
    presents = np.zeros((cycles, columns), bool)
    for vector, entered in enumerate(enters):
        for column in range(columns):
            tops[entered + column, column] = x[vector, column]
            presents[entered + column, column] = True
    seen = student(stepped, weights, tops, presents)
    check.equal(len(seen), cycles, "the number of steps")
    edges = np.zeros((cycles, rows), np.float32)
    for vector, entered in enumerate(enters):
        for row in range(rows):
            edges[entered + row + columns, row] = (weights[row].astype(np.float64) @ x[vector]).astype(np.float32)
    busy = 0
    for cycle, (edge, active) in enumerate(seen):
        check.array_type(edge, edges[cycle], "what step returns")
        near = np.abs(edge - edges[cycle]) <= 1e-5 * np.abs(edges).max()
        check.that(bool(near.all()), f"the right edge in cycle {cycle}", expected=f"{edges[cycle]}", got=edge)
        check.array_type(active, np.zeros(weights.shape, bool), "active")
        busy += int(active.sum())
    check.equal(busy, 4 * rows * columns, "multiplications in all")


@probe
def many_batches(batches) -> tuple[list[np.ndarray], int, np.ndarray]:
    """stream_batches: the results, the cycles, and how often PE (i, j) was active."""
    import numpy as np
    from minitpu.systolic import SystolicArray

    active = np.zeros(batches[0][0].shape, np.int64)

    def watch(array):
        active[...] += np.array(array.active)

    ys, cycles = SystolicArray(batches[0][0]).stream_batches([tuple(batch) for batch in batches], watch)
    return [list(ys), int(cycles), active]


@number("2.8")
@weight(1)
@hint("K batches save (K − 1)·(R + C − 1) cycles against draining after each. Handout, part 2, shadow weights.")
def test_cycles_saved_by_shadow_weights(student, rng):
    """five batches back to back save what the formula says"""
    rows, columns = int(rng.integers(2, 6)), int(rng.integers(2, 6))
    sizes = [rows + columns - 1 + int(rng.integers(0, 5)) for _ in range(4)] + [2]
    batches = [
        [generators.bf16_normal(rng, rows, columns), generators.bf16_normal(rng, b, columns)] for b in sizes
    ]
    ys, cycles, active = student(many_batches, batches)
    drained = sum(size + rows + columns - 1 for size in sizes)
    check.equal(drained - cycles, 4 * (rows + columns - 1), "the cycles that are saved")
    check.equal(active, np.full((rows, columns), sum(sizes)), "how often each PE was active")
    check.equal(len(ys), len(batches), "the number of results")
    for y, (weights, x) in zip(ys, batches, strict=True):
        wanted = (x.astype(np.float64) @ weights.T.astype(np.float64)).astype(np.float32)
        check.close(y, wanted, ulps=4 * columns + 4, what="the results of a batch")


@probe
def figures(cases, pairs) -> tuple[list[int], list[float]]:
    """systolic_cycles and utilisation for drawn sizes."""
    from minitpu.systolic import systolic_cycles, utilisation

    return [
        [int(systolic_cycles(*case)) for case in cases],
        [float(utilisation(batch, n)) for batch, n in pairs],
    ]


@number("2.9")
@weight(2)
@hint("Each dataflow has its own T and its own folds; rows and columns of the array may differ. Part 2, other.")
def test_cycle_counts_of_other_sizes(student, rng):
    """systolic_cycles on rectangular arrays, and utilisation"""
    cases, wanted = [], []
    for _ in range(12):
        m, n, k, rows, columns = (int(size) for size in rng.integers(1, 40, size=5))
        up = lambda size, tile: -(-size // tile)
        cases += [["weight-stationary", m, n, k, rows, columns], ["input-stationary", m, n, k, rows, columns]]
        cases.append(["output-stationary", m, n, k, rows, columns])
        wanted.append(up(k, rows) * up(n, columns) * (2 * rows + columns + m - 2) - 1)
        wanted.append(up(k, rows) * up(m, columns) * (2 * rows + columns + n - 2) - 1)
        wanted.append(up(m, rows) * up(n, columns) * (rows + columns + k - 2) - 1)
    pairs = [[16, 16], [1024, 256], [int(rng.integers(1, 999)), int(rng.integers(1, 300))]]
    counts, used = student(figures, cases, pairs)
    check.equal(counts, wanted, "the cycles")
    check.close(np.array(used), np.array([b / (b + 2 * n - 1) for b, n in pairs]), ulps=8, what="the utilisation")
