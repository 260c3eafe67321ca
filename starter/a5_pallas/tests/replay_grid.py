"""A kernel over its grid: blocks come and go, scratch stays, and what was not written is garbage.

An input block is fetched when its index differs from the step before, an output block is written back when it is
left, as on a TPU. What a block has beyond the edge of its array holds garbage, and is dropped when it is written.
Invariant: before a step, every block that the kernel sees is the one that its index map names for that step.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from given_pallas_kernels.program import Block, Call, Type

from numpy_rules import CannotReplay, need
from replay_control import new_ref
from replay_memory import Ref, garbage

if TYPE_CHECKING:
    from replay import Replay

STEP = 10_000  # about nanoseconds that a step costs, whatever it does
SAMPLES = 2


class Window:
    """An operand of a kernel in HBM, and the block of it that lies in VMEM."""

    def __init__(self, replay: Replay, block: Block, array: np.ndarray, output: bool) -> None:
        self.replay, self.block, self.array, self.output = replay, block, array, output
        need(list(array.shape) == block.array.shape, f"{block.name[:40]} has another shape than its operand")
        need(array.dtype.name == block.array.dtype, f"{block.name[:40]} has another dtype than its operand")
        self.sizes = [max(n, 1) for n in block.shape]
        self.at: list[int] | None = None
        self.ref = Ref(array)
        self.held: np.ndarray | None = None

    def move(self, indices: Sequence[Any]) -> Ref:
        """The Ref to the block with these indices."""
        if self.block.space == "any":
            return self.ref
        at = [int(i) for i in indices]
        if at != self.at:
            self.leave()
            self.at = at
            self._enter()
        return self.ref

    def _enter(self) -> None:
        inside, kept = self._places()
        self.replay.spend(2 * math.prod(self.sizes))
        if self.output and [s.stop - s.start for s in inside] == self.sizes:
            whole = self.array[inside]  # written where it belongs
            self.held = None
        else:
            whole = garbage(Type(self.sizes, self.block.array.dtype))
            whole[kept] = self.array[inside]
            self.held = whole if self.output else None
        self.ref = Ref(whole[(*(slice(None) if n else 0 for n in self.block.shape), ...)])

    def leave(self) -> None:
        """Write back what lies in VMEM, if the kernel may have written it."""
        if self.at is not None and self.held is not None:
            inside, kept = self._places()
            self.array[inside] = self.held[kept]

    def covers(self, at: Sequence[int]) -> int:
        """How many elements of the array lie in this block."""
        self.at = list(at)
        inside, _ = self._places()
        self.at = None
        return math.prod(part.stop - part.start for part in inside)

    def _places(self) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
        """The part of the array that the block covers, and the part of the block that lies in the array."""
        assert self.at is not None
        need(len(self.at) == len(self.sizes), f"the index map of {self.block.name[:40]} has another rank")
        inside, kept = [], []
        for index, size, n in zip(self.at, self.sizes, self.array.shape, strict=True):
            start = index if self.block.element else index * size
            if not 0 <= start < max(n, 1):
                raise CannotReplay(f"a block of {self.block.name[:40]} lies outside of its array")
            inside.append(slice(start, min(start + size, n)))
            kept.append(slice(0, min(size, n - start)))
        return tuple(inside), tuple(kept)


def run_grid(replay: Replay, number: int, operands: list[Any], kinds: list[Type]) -> list[np.ndarray]:
    """The results of a pallas_call."""
    call = replay.program.calls[number]
    replay.spend(STEP * call.steps)
    bounds = len(operands) - len(call.scalars) - len(call.inputs)
    need(bounds >= 0 and len(call.outputs) == len(kinds), "a pallas_call with too few operands")
    need(
        [int(n) for n in operands[:bounds]] == list(call.grid)[:bounds] or not bounds, "another grid than it says"
    )
    scalars, inputs = operands[bounds : bounds + len(call.scalars)], operands[bounds + len(call.scalars) :]
    need(not any(isinstance(operand, Ref) for operand in operands), "a pallas_call of Refs")
    for said, real in zip(call.scalars, scalars, strict=True):
        need(said is None or np.array_equal(said, real), "its kernel prefetches other values than it says")
    outputs = [_fresh(replay, kind) for kind in kinds]
    for source, target in call.aliases:
        need(source in range(len(inputs)) and target in range(len(outputs)), "an alias of nothing")
        need(inputs[source].shape == outputs[target].shape, "an alias of another shape")
        outputs[target][...] = inputs[source]
    windows = [Window(replay, block, array, False) for block, array in zip(call.inputs, inputs, strict=True)]
    windows += [Window(replay, block, array, True) for block, array in zip(call.outputs, outputs, strict=True)]
    prefetched = [Ref(array.copy()) for array in scalars]
    points = list(itertools.product(*map(range, call.grid)))
    if replay.sample is not None and number not in replay.needed and not call.aliases:
        points = _sampled(replay, call, prefetched, windows, points)
    _steps(replay, call, prefetched, windows, points)
    return outputs


def _fresh(replay: Replay, kind: Type) -> np.ndarray:
    replay.hold(kind)
    return garbage(kind)


Point = tuple[int, ...]


def _where(replay: Replay, call: Call, window: Window, point: Point, scalars: list[Ref]) -> list[Any]:
    """What an index map says for a step."""
    indices = [np.int32(i) for i in point]
    return replay.body(window.block.index_map, [*indices, *scalars], (point, call.grid))


def _sampled(
    replay: Replay, call: Call, scalars: list[Ref], windows: list[Window], points: list[Point]
) -> list[Point]:
    """The steps that visit a few blocks of the first output, in order; every step if its blocks are not few."""
    outputs = [window for window in windows if window.output]
    if not outputs or any(window.block.space == "any" for window in outputs) or replay.sample is None:
        return points
    at = [tuple(int(i) for i in _where(replay, call, outputs[0], point, scalars)) for point in points]
    blocks = sorted(set(at))
    if len(blocks) > SAMPLES:
        chosen = {blocks[i] for i in replay.sample.choice(len(blocks), SAMPLES, replace=False)}
        points = [point for point, block in zip(points, at, strict=True) if block in chosen]
    for window in outputs:
        visited = {tuple(int(i) for i in _where(replay, call, window, point, scalars)) for point in points}
        covered = sum(window.covers(block) for block in visited)
        size = window.array.size
        replay.covered[size] = min(covered, replay.covered.get(size, covered))
    return points


def _steps(replay: Replay, call: Call, scalars: list[Ref], windows: list[Window], points: list[Point]) -> None:
    for window in windows:
        if window.block.space != "any":
            replay.hold(Type(window.sizes, window.block.array.dtype))
    scratch = [new_ref(replay, kind) for kind in call.scratch]
    for point in points:
        blocks = [window.move(_where(replay, call, window, point, scalars)) for window in windows]
        replay.body(call.kernel, [*scalars, *blocks, *scratch], (point, call.grid))
    for window in windows:
        window.leave()
