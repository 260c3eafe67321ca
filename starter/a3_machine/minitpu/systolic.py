"""A systolic array, register by register: weights stay, inputs move down, sums move right.

PE (i, j) holds weights[i, j] and two registers: x, the input that it passes to the PE below, and
y, the partial sum that it passes to the PE on its right. In each cycle all PEs take what their
neighbours held at the end of the cycle before: so all registers change at once, and no value
moves by two PEs in one cycle. Inputs enter at the top, component j into column j, one cycle later
than component j − 1; sums start at 0 on the left and meet each component just in time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

import numpy as np


class SystolicArray:
    """A weight-stationary array of R × C PEs: y[i] = Σ_j weights[i, j] · x[j].

    weights: float32 [R, C]. After each `step`: `x`, `y`: float32 [R, C], the registers; `active`:
    bool [R, C], which PEs did a multiplication in the cycle that has just ended (the registers
    of the others hold 0); `cycle`: how many cycles have ended.
    """

    def __init__(self, weights: np.ndarray) -> None:
        self.weights = np.array(weights, np.float32)
        self.shadow = self.weights.copy()  # what a PE takes over when it is told to swap
        self.x = np.zeros_like(self.weights)
        self.y = np.zeros_like(self.weights)
        self.active = np.zeros(self.weights.shape, bool)
        self.swapping = np.zeros(self.weights.shape, bool)
        self.cycle = 0

    def step(self, top: np.ndarray, present: np.ndarray, swap: np.ndarray | None = None) -> np.ndarray:
        """One cycle. Returns float32 [R]: what stood at the right edge when the cycle began (0 if nothing).

        top: float32 [C], what enters at the top of each column. present: bool [C], into which
        columns something enters. swap: bool [C], for which of these the PE, and all PEs below it
        as the input gets there, first take over their weights from `shadow`.
        """
        swap = np.zeros(len(top), bool) if swap is None else swap
        # about 10 lines
        raise NotImplementedError("a3.2: new registers from the old ones of the neighbours above and on the left")

    def stream(
        self, x: np.ndarray, watch: Callable[[SystolicArray], None] | None = None
    ) -> tuple[np.ndarray, int]:
        """Let a batch of vectors flow through: float32 [B, C] → (y, cycles), y float32 [B, R].

        Takes B + R + C − 1 cycles, the last of which only reads the edge. `watch` is called with
        the array after each of them. The array must be empty.
        """
        # about 2 lines
        raise NotImplementedError("a3.2: a batch is the only one of a sequence")

    def stream_batches(
        self,
        batches: Sequence[tuple[np.ndarray, np.ndarray]],
        watch: Callable[[SystolicArray], None] | None = None,
    ) -> tuple[list[np.ndarray], int]:
        """Several batches, each with weights of its own, back to back: pairs of [R, C] and [B, C] → (ys, cycles).

        The weights of a batch, also of the first, are put into `shadow` in the cycle in which its first
        component enters; each PE swaps as that vector reaches it, while the batch before still drains. Every
        batch but the last has at least R + C − 1 vectors, so that all PEs have swapped before
        the next swap begins. `watch` as in `stream`.
        """
        # about 19 lines
        raise NotImplementedError("a3.2: skew the inputs, step, and collect y[b, i] in cycle b + i + C")


def utilisation(batch: int, n: int) -> float:
    """The fraction of PE cycles that do a multiplication, streaming `batch` vectors through an n × n array."""
    # about 1 line
    raise NotImplementedError("a3.2: each PE works `batch` cycles of all")


def systolic_cycles(dataflow: str, m: int, n: int, k: int, rows: int, columns: int) -> int:
    """The number that SCALE-Sim reports for an m × k by k × n product on a rows × columns array.

    `dataflow`: "weight-stationary", "output-stationary" or "input-stationary". Loading what is
    stationary counts, and the number is that of the last cycle, counted from 0. Raises ValueError
    for another dataflow.
    """
    # about 10 lines
    raise NotImplementedError("a3.2: folds, times the cycles of a fold, less 1")
