"""A systolic array without registers that move: the wavefront is computed from the history of what entered.

What stands in PE (i, j) at the end of cycle t entered column j at the top i cycles ago; its partial sum is
made of what entered columns j' ≤ j, i + j − j' cycles ago. So one gather over the history gives all
registers of a cycle.
"""

from __future__ import annotations

from math import ceil

import numpy as np


class SystolicArray:
    """R × C PEs; `x`, `y`, `active`, `cycle` as in the handout."""

    def __init__(self, weights):
        self.weights = np.array(weights, np.float32)
        self.shadow = self.weights
        rows, columns = self.weights.shape
        self.row, self.column = np.arange(rows)[:, None], np.arange(columns)[None, :]
        self.entered = np.zeros((rows + columns, columns), np.float32)  # row a: what entered a cycles ago
        self.present = np.zeros((rows + columns, columns), bool)
        self.generation = np.zeros((rows + columns, columns), int)  # of the weights each input meets
        self.newest = np.zeros(columns, int)
        self.sets = [self.weights]
        self.x = np.zeros_like(self.weights)
        self.y = np.zeros_like(self.weights)
        self.active = np.zeros(self.weights.shape, bool)
        self.cycle = 0

    def step(self, top, present, swap=None):
        edge = self.y[:, -1].copy()
        if swap is not None and np.any(swap & present):
            if swap[0] and present[0]:
                self.sets.append(np.array(self.shadow, np.float32))
            self.newest = np.where(swap & present, len(self.sets) - 1, self.newest)
        for history, new in ((self.entered, np.where(present, top, 0)), (self.present, present)):
            history[1:] = history[:-1].copy()
            history[0] = new
        self.generation[1:] = self.generation[:-1].copy()
        self.generation[0] = self.newest
        self.active = self.present[self.row, self.column]
        self.x = np.where(self.active, self.entered[self.row, self.column], np.float32(0))
        self.y = self._partial_sums()
        self.cycle += 1
        return edge

    def _partial_sums(self):
        rows, columns = self.weights.shape
        sets = np.stack(self.sets)
        total = np.zeros((rows, columns), np.float32)
        for distance in range(columns):  # a product made so many columns to the left
            left = np.arange(distance, columns) - distance
            ago = self.row + distance
            products = sets[self.generation[ago, left], self.row, left] * self.entered[ago, left]
            total[:, distance:] += products
        return np.where(self.active, total, np.float32(0))

    def stream(self, x, watch=None):
        ys, cycles = self.stream_batches([(self.weights, x)], watch)
        return ys[0], cycles

    def stream_batches(self, batches, watch=None):
        rows, columns = self.weights.shape
        flat = np.concatenate([np.asarray(x, np.float32) for _, x in batches])
        count = len(flat)
        first = np.cumsum([0] + [len(x) for _, x in batches])
        skewed = np.zeros((count + rows + columns - 1, columns), np.float32)
        there = np.zeros(skewed.shape, bool)
        swaps = np.zeros(skewed.shape, bool)
        for j in range(columns):
            skewed[j : j + count, j] = flat[:, j]
            there[j : j + count, j] = True
            swaps[first[:-1] + j, j] = True
        edges = []
        for cycle in range(len(skewed)):
            for (weights, _), start in zip(batches, first):
                if cycle == start:
                    self.shadow = weights
            edges.append(self.step(skewed[cycle], there[cycle], swaps[cycle]))
            if watch is not None:
                watch(self)
        edges = np.array(edges)
        y = np.stack([edges[i + columns : i + columns + count, i] for i in range(rows)], axis=1)
        return np.split(y, first[1:-1]), len(skewed)


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
