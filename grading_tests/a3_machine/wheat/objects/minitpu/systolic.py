"""A systolic array of objects: each PE is one, with registers of its own, and knows its neighbours.

A cycle has two phases. In the first every PE looks at its neighbours' registers and works out its next
ones; in the second all of them take these over.
"""

from __future__ import annotations

from math import ceil

import numpy as np


class Register:
    """What a PE passes on: a value, and whether there is one; `swap` travels with inputs."""

    def __init__(self):
        self.value, self.there, self.swap = np.float32(0), False, False


class PE:
    """One processing element."""

    def __init__(self, weight):
        self.weight, self.shadow = weight, weight
        self.down, self.right = Register(), Register()

    def look(self, above, left):
        """First phase: what the registers will hold."""
        self.next_down, self.next_right = Register(), Register()
        if above.there:
            if above.swap:
                self.weight = self.shadow
            self.next_down.value, self.next_down.there, self.next_down.swap = above.value, True, above.swap
            self.next_right.value, self.next_right.there = left.value + self.weight * above.value, True

    def tick(self):
        """Second phase: they hold it."""
        self.down, self.right = self.next_down, self.next_right


class SystolicArray:
    """R × C PEs; `x`, `y`, `active`, `cycle` as in the handout."""

    def __init__(self, weights):
        self.pes = [[PE(np.float32(w)) for w in row] for row in np.asarray(weights)]
        self.cycle = 0

    @property
    def weights(self):
        return np.array([[pe.weight for pe in row] for row in self.pes], np.float32)

    def _set_shadow(self, weights):
        for row, values in zip(self.pes, np.asarray(weights)):
            for pe, value in zip(row, values):
                pe.shadow = np.float32(value)

    shadow = property(fset=_set_shadow)

    @property
    def x(self):
        return np.array([[pe.down.value for pe in row] for row in self.pes], np.float32)

    @property
    def y(self):
        return np.array([[pe.right.value for pe in row] for row in self.pes], np.float32)

    @property
    def active(self):
        return np.array([[pe.right.there for pe in row] for row in self.pes], bool)

    def step(self, top, present, swap=None):
        edge = np.array([row[-1].right.value for row in self.pes], np.float32)
        for i, row in enumerate(self.pes):
            for j, pe in enumerate(row):
                if i == 0:
                    above = Register()
                    above.value, above.there = np.float32(top[j]), bool(present[j])
                    above.swap = swap is not None and bool(swap[j])
                else:
                    above = self.pes[i - 1][j].down
                pe.look(above, row[j - 1].right if j else Register())
        for row in self.pes:
            for pe in row:
                pe.tick()
        self.cycle += 1
        return edge

    def stream(self, x, watch=None):
        ys, cycles = self.stream_batches([(self.weights, x)], watch)
        return ys[0], cycles

    def stream_batches(self, batches, watch=None):
        rows, columns = len(self.pes), len(self.pes[0])
        queue = [(np.asarray(x, np.float32)[b], b == 0, k) for k, (_, x) in enumerate(batches) for b in range(len(x))]
        found = [[0.0] * rows for _ in queue]
        cycles = len(queue) + rows + columns - 1
        for now in range(cycles):
            if now < len(queue) and queue[now][1]:
                self._set_shadow(batches[queue[now][2]][0])
            top, present, swap = np.zeros(columns, np.float32), np.zeros(columns, bool), np.zeros(columns, bool)
            for j in range(columns):
                if 0 <= now - j < len(queue):
                    vector, is_first, _ = queue[now - j]
                    top[j], present[j], swap[j] = vector[j], True, is_first
            edge = self.step(top, present, swap)
            for i in range(rows):
                if 0 <= now - columns - i < len(queue):
                    found[now - columns - i][i] = edge[i]
            if watch is not None:
                watch(self)
        ys, taken = [], 0
        for _, x in batches:
            ys.append(np.array(found[taken : taken + len(x)], np.float32))
            taken += len(x)
        return ys, cycles


def utilisation(batch: int, n: int) -> float:
    """The fraction of PE cycles that do a multiplication, streaming `batch` vectors through an n × n array."""
    return batch / (batch + 2 * n - 1)


def systolic_cycles(dataflow: str, m: int, n: int, k: int, rows: int, columns: int) -> int:
    """The number that SCALE-Sim reports for an m × k by k × n product on a rows × columns array.

    `dataflow`: "weight-stationary", "output-stationary" or "input-stationary". Loading what is
    stationary counts, and the number is that of the last cycle, counted from 0. Raises ValueError
    for another dataflow.
    """
    match dataflow:
        case "weight-stationary":
            folds, fold = ceil(k / rows) * ceil(n / columns), 2 * rows + columns + m - 2
        case "input-stationary":
            folds, fold = ceil(k / rows) * ceil(m / columns), 2 * rows + columns + n - 2
        case "output-stationary":
            folds, fold = ceil(m / rows) * ceil(n / columns), rows + columns + k - 2
        case _:
            raise ValueError(f"{dataflow!r} is none of weight-stationary, output-stationary, input-stationary")
    return folds * fold - 1
