"""Ties a program's structure to what it computes: the grader carries the program out on inputs of its own.

What a program fetches, holds and computes is measured from its equations, which come from the process of the
student's code. A program that was invented there could be measured as well. It could not be right on inputs that
it never saw, unless it is a right program: then it earns what it is measured for. So whoever judges structure ends
with `computes`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from given_pallas_kernels.program import Program

from autograder.kit import check
from autograder.kit.verdicts import CheckFailed

import judge
from numpy_rules import DTYPES, CannotReplay, wide
from replay import Replay
from replay_memory import untouched

UNITS = {"bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}
SMALL, LARGE = 1.5e9, 1e10
"""What carrying out a program may cost, in about nanoseconds."""


def computes(
    rng: np.random.Generator,
    plan: Program,
    arguments: Sequence[Any],
    rule: Callable[..., Any],
    what: str,
    *,
    ulps: float,
    dtype: str = "float32",
) -> None:
    """Pass if the program computes `rule` of arrays like `arguments`, with other numbers in them.

    `arguments` are arrays or, where nothing was run, `[shape, dtype name]`. Integers and masks steer kernels and
    stay. The rule gets all of them and gives an array or several. NumPy adds in another order than XLA: twice the
    `ulps` are allowed, of the largest magnitude.
    """
    inputs = [another(rng, argument) for argument in arguments]
    found = carried_out(Replay(plan, SMALL), inputs, what)
    for got, want, said in _pairs(found, rule(*inputs), what):
        _close(got, want, said, 2 * ulps, dtype)


def computes_in_part(
    rng: np.random.Generator,
    plan: Program,
    arguments: Sequence[Any],
    rule: Callable[..., Any],
    what: str,
    *,
    ulps: float,
    dtype: str = "float32",
    axis: int = 0,
) -> None:
    """The same for large arrays: a few blocks of the results are computed, and compared in a few of their rows.

    The rule gets numbers of rows (places along `axis` of the first result) before the inputs, and gives these rows
    of the results, `None` for a result that is not compared. A kernel whose blocks hang on one another, as they
    may, fails on a few blocks; then all of them are computed.
    """
    inputs = [another(rng, argument) for argument in arguments]
    for last, replay in enumerate((Replay(plan, LARGE, sample=rng), Replay(plan, LARGE))):
        try:
            found = carried_out(replay, inputs, what)
            rows = _touched_rows(rng, found, axis, replay.covered)
            for got, want, said in _pairs(found, rule(rows, *inputs), what):
                _partly_close(got, want, said, 2 * ulps, dtype, (rows, axis), replay.covered)
            return
        except CheckFailed:
            if last:
                raise


def _pairs(found: list[np.ndarray], wanted: Any, what: str) -> list[tuple[np.ndarray, np.ndarray, str]]:
    """Results and what they should be, with words for both."""
    wanted = list(wanted) if isinstance(wanted, list | tuple) else [wanted]
    check.that(
        len(found) == len(wanted), f"{what}: results of the program", expected=f"{len(wanted)}", got=len(found)
    )
    said = f"what the program that was reported for {what} computes, of inputs that the grader draws"
    return [(got, want, said) for got, want in zip(found, wanted, strict=True) if want is not None]


def _close(got: np.ndarray, want: np.ndarray, said: str, ulps: float, dtype: str) -> None:
    """Near enough to tell one function from another; how exact a kernel is, its own values say."""
    if want.dtype.kind in "iub":
        check.close(got, want, ulps=1, what=said)
        return
    check.array_type(got, np.empty(want.shape, DTYPES[dtype]), said)
    near = wide(got)
    check.close(near, np.asarray(want).astype(near.dtype), relative=ulps * UNITS[dtype], what=said)


def _touched_rows(
    rng: np.random.Generator, found: list[np.ndarray], axis: int, covered: dict[int, int]
) -> np.ndarray:
    """Sixteen rows of the first result, among those that were computed."""
    if not found or found[0].ndim <= axis:
        return np.zeros(0, int)
    there = np.arange(found[0].shape[axis])
    if found[0].size in covered:
        others = tuple(other for other in range(found[0].ndim) if other != axis)
        there = np.flatnonzero(~untouched(found[0]).all(axis=others))
    return rng.choice(there, size=min(16, len(there)), replace=False)


def _partly_close(
    got: np.ndarray, want: np.ndarray, said: str, ulps: float, dtype: str, part: Any, covered: dict[int, int]
) -> None:
    """Compare rows, in so far as they were computed; what should have been computed must have been."""
    rows, axis = part
    check.that(len(rows) > 0 and got.ndim > axis, said, expected="rows of it", got="nothing")
    missing = untouched(got)
    computed = covered.get(got.size, got.size)
    check.that(
        got.size - int(missing.sum()) >= computed,
        said,
        expected=f"numbers in {computed:,} places",
        got=f"garbage in all but {got.size - int(missing.sum()):,}",
    )
    check.that(int(rows.max()) < got.shape[axis], said, expected="as many rows as the first result", got="fewer")
    mine, missing = np.take(got, rows, axis), np.take(missing, rows, axis)
    check.array_type(mine, np.empty(want.shape, want.dtype if want.dtype.kind in "iub" else DTYPES[dtype]), said)
    _close(np.where(missing, np.asarray(want).astype(mine.dtype), mine), want, said, ulps, dtype)


def another(rng: np.random.Generator, argument: Any) -> np.ndarray:
    """Other floats like those of the argument: its own in another order, and a little smaller each."""
    if isinstance(argument, list):
        shape, name = argument
        if "float" not in name:
            return rng.integers(-127, 128, shape).astype(DTYPES[name])
        drawn = rng.random(shape, np.float32) - np.float32(0.5)
        drawn *= np.float32(3)
        return np.asarray(drawn).astype(DTYPES[name], copy=False)
    array = np.asarray(argument)
    numbers = np.isfinite(wide(array))
    if wide(array).dtype.kind != "f":
        return array
    changed = wide(array).copy()
    changed[numbers] = rng.permutation(changed[numbers]) * rng.uniform(0.7, 1.0, int(numbers.sum()))
    return changed.astype(array.dtype)


def carried_out(replay: Replay, inputs: Sequence[np.ndarray], what: str) -> list[np.ndarray]:
    """The results of a program for these inputs; one that is malformed, foreign or endless fails the check."""
    problem = judge.malformed(replay.program)
    if not problem:
        try:
            return replay.run(inputs)
        except CannotReplay as why:
            problem = str(why)
    expected = "one that the grader can carry out"
    if "the primitive" in problem:
        expected += ', of what the handout lists ("How it is graded")'
    check.fail(f"the program of {what}", expected=expected, got=problem)
