"""Follows a kernel over its grid without running it: which branches are taken, what is computed and copied.

A kernel's control flow hangs on a few scalars: the grid indices, prefetched integers, loop counters. This
module computes those, and only those, for all steps of the grid at once: a known scalar is an array with one
value for each step (or one for all), a Ref is a `Ref`, and anything else is `None`. What unknown scalars steer
is counted at its worst, every branch taken, and named in `Work.unknown`. Invariant: `active` says how many
times each step is here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .program import Body, Call, Equation, Program, Type, View, bytes_of
from .scalars import compute, flops_of, transcendentals_of

MAX_STEPS = 1 << 17
MAX_EVENTS = 20_000
MAX_WORK = 1e9  # about nanoseconds, for a whole program


class TooLong(ValueError):
    """A grid or a loop that is too long to follow; the message says so."""


class Budget:
    """What following a program may still cost, for all of its kernels together."""

    def __init__(self) -> None:
        self.left = MAX_WORK

    def spend(self, nanoseconds: float) -> None:
        """Take from what is left. Raises `TooLong` when nothing is."""
        self.left -= nanoseconds
        if self.left < 0:
            raise TooLong("its kernels, grids and loops together are too long to follow")


@dataclass(frozen=True)
class Ref:
    """A Ref in the kernel: its name, where it lies, and its values if it was prefetched."""

    name: str
    type: Type
    values: np.ndarray | None = None


@dataclass(frozen=True)
class Copy:
    """A manual copy that a step starts or waits for; starts are offsets in each dimension, `None` if unknown."""

    step: int
    act: str
    source: str
    source_start: tuple[int | None, ...]
    target: str
    target_start: tuple[int | None, ...]
    semaphore: tuple[str | int | None, ...]
    bytes: int


@dataclass
class Work:
    """What a kernel does; the arrays have one entry for each step of the grid, sizes are in bytes.

    `flops` are floating-point operations without the transcendentals, `dots` the part of them in matrix products.
    `largest` is the largest value that is made, `widest_dot` the largest result of a product.
    """

    flops: np.ndarray
    dots: np.ndarray
    transcendentals: np.ndarray
    loaded: np.ndarray
    stored: np.ndarray
    largest: Type = field(default_factory=lambda: Type([], "bool"))
    widest_dot: Type = field(default_factory=lambda: Type([], "bool"))
    scratch: int = 0
    copies: list[Copy] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


class Walk:
    """One kernel, followed over all steps of its grid."""

    def __init__(self, program: Program, call: Call, budget: Budget) -> None:
        if call.steps > MAX_STEPS:
            raise TooLong(f"a grid of {call.steps:,} steps is more than the {MAX_STEPS:,} that can be followed")
        budget.spend(10_000 + 500 * call.steps)
        self.program, self.call, self.steps = program, call, call.steps
        self.points = np.indices(call.grid).reshape(len(call.grid), self.steps).astype(np.int64)
        self._prefetched = [
            Ref(f"prefetched {place}", Type([], "int32", "smem"), values)
            for place, values in enumerate(call.scalars)
        ]
        self._counting = False
        self._budget = budget
        zero = np.zeros(self.steps)
        self.work = Work(zero, zero.copy(), zero.copy(), zero.copy(), zero.copy())

    def block_indices(self, index_map: int) -> np.ndarray | None:
        """Block indices over the grid, int64[steps, rank]; `None` where they depend on something unknown."""
        arguments = [*self.points, *self._prefetched]
        found = self._body(self.program.bodies[index_map], arguments, np.ones(self.steps))
        self._budget.spend(50 * self.steps * len(found))
        if any(value is None or isinstance(value, Ref) for value in found):
            return None
        columns = [np.broadcast_to(np.asarray(value), (self.steps,)) for value in found]
        return np.stack(columns, -1).astype(np.int64) if columns else np.zeros((self.steps, 0), np.int64)

    def kernel(self) -> Work:
        """Follow the kernel's body over the grid."""
        body, call = self.program.bodies[self.call.kernel], self.call
        names = [block.name for block in (*call.inputs, *call.outputs)]
        names += [f"scratch {place}" for place in range(len(body.inputs))]
        refs = [Ref(name, body.types[n]) for name, n in zip(names, body.inputs[len(call.scalars) :], strict=False)]
        self._counting = True
        self._body(body, [*self._prefetched, *refs], np.ones(self.steps))
        self._counting = False
        self.work.copies.sort(key=lambda copy: copy.step)  # stable: the order within a step stays
        return self.work

    def _body(
        self, body: Body, arguments: list[Any], active: np.ndarray, captured: Sequence[Any] = ()
    ) -> list[Any]:
        values: dict[int, Any] = dict(zip(body.inputs, arguments, strict=False))
        values |= dict(zip(body.constants, captured, strict=False))
        read = lambda operand: values.get(operand) if isinstance(operand, int) else operand.value  # noqa: E731
        self._budget.spend(2000)
        for equation in body.equations:
            self._budget.spend(3000 + 4 * self.steps)
            if self._counting:
                self._count(body, equation, active)
            operands = [read(operand) for operand in equation.operands]
            results = self._equation(body, equation, operands, values, active)
            values.update(zip(equation.results, results, strict=False))
        return [read(operand) for operand in body.outputs]

    def _equation(
        self, body: Body, equation: Equation, operands: list[Any], values: dict[int, Any], active: np.ndarray
    ) -> list[Any]:
        axis = equation.params.get("axis", 0)
        match equation.primitive:
            case "program_id" if axis in range(len(self.points)):
                return [self.points[axis]]
            case "num_programs" if axis in range(len(self.points)):
                return [np.int64(self.call.grid[axis])]
            case "get":
                return [self._get(equation, values)]
            case "cond" if equation.bodies:
                return self._cond(equation, operands, active)
            case "scan" if equation.bodies:
                return self._scan(equation, operands, active)
            case "while" if len(equation.bodies) == 2:
                return self._while(equation, operands, active)
            case "dma_start" | "dma_wait":
                if self._counting:
                    self._copy(equation, values, active)
            case _ if equation.bodies:
                return self._inner(equation, operands, active)
            case _ if len(equation.results) == 1:
                return [compute(equation, operands, body.types[equation.results[0]])]
        return [None] * len(equation.results)

    def _inner(self, equation: Equation, operands: list[Any], active: np.ndarray) -> list[Any]:
        """A body that is simply called, or one that gets scratch of its own."""
        inner = self.program.bodies[equation.bodies[0]]
        if equation.primitive != "run_scoped":
            return self._body(inner, operands, active)
        kinds = [inner.types[n] for n in inner.inputs]
        if self._counting:
            self.work.scratch += sum(kind.bytes for kind in kinds if kind.space == "vmem")
        refs = [Ref(f"scratch {place} within", kind) for place, kind in enumerate(kinds)]
        return self._body(inner, refs, active, captured=operands)

    def _cond(self, equation: Equation, operands: list[Any], active: np.ndarray) -> list[Any]:
        which, *rest = operands
        branches = [self.program.bodies[number] for number in equation.bodies]
        if which is None or isinstance(which, Ref):
            if self._counting and any(branch.equations for branch in branches):
                self.work.unknown.append("a condition on more than grid indices and prefetched values")
            for branch in branches:
                self._body(branch, rest, active)
            return [None] * len(equation.results)
        which = np.clip(np.broadcast_to(np.asarray(which), (self.steps,)).astype(np.int64), 0, len(branches) - 1)
        merged: list[Any] | None = None
        for number, branch in enumerate(branches):
            here = which == number
            if not (here & (active > 0)).any():
                continue
            found = self._body(branch, rest, active * here)
            merged = found if merged is None else [_merge(here, x, y) for x, y in zip(found, merged, strict=False)]
        return merged or [None] * len(equation.results)

    def _scan(self, equation: Equation, operands: list[Any], active: np.ndarray) -> list[Any]:
        inner = self.program.bodies[equation.bodies[0]]
        constants, carried = equation.params.get("num_consts", 0), equation.params.get("num_carry", 0)
        carry = operands[constants : constants + carried]
        sliced = [None] * max(len(inner.inputs) - constants - carried, 0)
        for _ in range(int(equation.params.get("length", 0))):
            carry = self._body(inner, [*operands[:constants], *carry, *sliced], active)[:carried]
        return [*carry, *[None] * len(equation.results)][: len(equation.results)]

    def _while(self, equation: Equation, operands: list[Any], active: np.ndarray) -> list[Any]:
        turn, test = (self.program.bodies[number] for number in equation.bodies)
        first, second = equation.params.get("cond_nconsts", 0), equation.params.get("body_nconsts", 0)
        tested, used, carry = operands[:first], operands[first : first + second], operands[first + second :]
        while True:
            (goes_on, *_) = self._body(test, [*tested, *carry], active) or [None]
            if goes_on is None or isinstance(goes_on, Ref):
                if self._counting:
                    self.work.unknown.append("a loop whose length does not follow from grid indices")
                self._body(turn, [*used, *carry], active)
                return [None] * len(equation.results)
            here = np.broadcast_to(np.asarray(goes_on, bool), (self.steps,)) & (active > 0)
            if not here.any():
                return carry
            found = self._body(turn, [*used, *carry], active * here)
            carry = [_merge(here, x, y) for x, y in zip(found, carry, strict=False)]

    def _get(self, equation: Equation, values: dict[int, Any]) -> Any:
        if not equation.views or equation.views[0].index is None:
            return None
        ref = values.get(equation.views[0].ref)
        if not isinstance(ref, Ref) or ref.values is None or ref.values.ndim != len(equation.views[0].index):
            return None
        places = []
        for part, size in zip(equation.views[0].index, ref.values.shape, strict=True):
            start = values.get(part.start) if isinstance(part.start, int) else part.start.value
            if part.size or start is None or isinstance(start, Ref) or size == 0:
                return None
            places.append(np.clip(np.asarray(start).astype(np.int64), 0, size - 1))
        return ref.values[tuple(places)].astype(np.int64)

    def _count(self, body: Body, equation: Equation, active: np.ndarray) -> None:
        if equation.bodies:
            return
        types = [body.types[n] for n in equation.results if not body.types[n].space]
        for kind in types:
            if kind.bytes > self.work.largest.bytes and active.any():
                self.work.largest = kind
        operands = [body.types[o] if isinstance(o, int) else Type([], "int32") for o in equation.operands]
        count = flops_of(equation, operands, types) * active
        self.work.flops += count
        if equation.primitive == "dot_general":
            self.work.dots += count
            self.work.widest_dot = max(self.work.widest_dot, *types, key=lambda kind: kind.size)
        self.work.transcendentals += transcendentals_of(equation, types) * active

    def _copy(self, equation: Equation, values: dict[int, Any], active: np.ndarray) -> None:
        """Note a manual copy: how many bytes it moves and, in order, what it is about."""
        views = equation.views
        refs = [ref for view in views[:3] if isinstance(ref := values.get(view.ref), Ref)]
        if len(refs) < 3:
            self.work.unknown.append("a copy between Refs that cannot be followed")
            return
        source, target, semaphore = refs
        sizes = [_bytes_of_view(view, ref.type) for view, ref in zip(views[:2], refs, strict=False)]
        amount = min(sizes)
        if equation.primitive == "dma_start":
            self.work.loaded += amount * active * (source.type.space == "any")
            self.work.stored += amount * active * (target.type.space == "any")
        steps = np.flatnonzero(active)
        if len(self.work.copies) + len(steps) > MAX_EVENTS:
            raise TooLong(f"more than {MAX_EVENTS:,} manual copies are too many to follow")
        places = [_starts(view, values, self.steps) for view in views[:3]]
        act = "start" if equation.primitive == "dma_start" else "wait"
        for step in map(int, steps):
            at = [tuple(None if place is None else int(place[step]) for place in starts) for starts in places]
            self.work.copies.append(
                Copy(step, act, source.name, at[0], target.name, at[1], (semaphore.name, *at[2]), amount)
            )


def _merge(here: np.ndarray, new: Any, old: Any) -> Any:
    """`new` where `here`, else `old`; Refs stay Refs."""
    if isinstance(new, Ref) or isinstance(old, Ref):
        return new
    return None if new is None or old is None else np.where(here, new, old)


def _bytes_of_view(view: View, kind: Type) -> int:
    if not view.index:
        return kind.bytes
    return bytes_of(int(np.prod([max(part.size, 1) for part in view.index])), kind.dtype)


def _starts(view: View, values: dict[int, Any], steps: int) -> list[np.ndarray | None]:
    """Where a view begins in each dimension, as one array over the steps for each."""
    found: list[np.ndarray | None] = []
    for part in view.index or []:
        start = values.get(part.start) if isinstance(part.start, int) else part.start.value
        known = start is not None and not isinstance(start, Ref)
        found.append(np.broadcast_to(np.asarray(start).astype(np.int64), (steps,)) if known else None)
    return found
