"""Judges programs of collectives that came back as data.

Every step is checked with the pristine copy of the given `program.py`, and its bytes are counted here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from given_minispmd import program as given
from given_minispmd.errors import ProgramError
from given_minispmd.mesh import Mesh

from autograder.kit import check

import judge

MAX_STEPS = 40
Cuts = list[list[str]]
Step = list[Any]


class Executed(msgspec.Struct, frozen=True):
    """A program, and the run that carried it out."""

    steps: list[list[Any]]
    run: judge.Run


def read_program(steps: list[Step]) -> tuple[given.Step, ...]:
    """A program from data; fails as a check if it has not the form of one."""
    if len(steps) > MAX_STEPS:
        check.fail("the program", expected=f"at most {MAX_STEPS} steps", got=f"{len(steps)} steps")
    return tuple(_read_step(number, step) for number, step in enumerate(steps))


_FIELDS: dict[str, list[Any]] = {
    "AllGather": [str, tuple[str, ...], int, int],
    "AllReduce": [str, tuple[str, ...], int],
    "ReduceScatter": [str, tuple[str, ...], int, int],
    "AllToAll": [str, tuple[str, ...], int, int, int],
    "Permute": [str, tuple[tuple[str, ...], ...], int],
    "Slice": [str, tuple[str, ...], int],
    "Dot": [],
}


def _read_step(number: int, step: Step) -> given.Step:
    try:
        kind, *rest = step
        fields = [msgspec.convert(value, form) for value, form in zip(rest, _FIELDS[kind], strict=True)]
        return getattr(given, kind)(*fields)
    except (msgspec.ValidationError, KeyError, ValueError, TypeError) as error:
        check.fail(f"step {number} of the program", expected="a step of program.py", got=f"{step!r:.200}: {error}")


def run_program(steps: list[Step], start: given.State, sizes: judge.Sizes, goal: Any, itemsize: int = 4) -> int:
    """The bytes that each device sends in a program, counted here; fails as a check if it is not a right one.

    It must lead from `start` to a result of layout `goal`, and say of each of its steps how many bytes it sends.
    """
    program = read_program(steps)
    where = judge.mesh(sizes)
    total, state = 0, start
    try:
        for number, step in enumerate(program):
            nbytes = step_bytes(step, state, where, itemsize)
            after = given.apply(step, state, where, number)
            if getattr(step, "bytes", 0) != nbytes:
                check.fail(
                    f"bytes of step {number} ({in_words(step)})", expected=f"{nbytes:,}", got=f"{step.bytes:,}"
                )
            total, state = total + nbytes, after
        given.check_program((), state, where, goal)
    except ProgramError as error:
        check.fail(
            "the program", expected="steps that are allowed, and a right end", got=f"{error}\n{text(program)}"
        )
    return total


def step_bytes(step: given.Step, state: given.State, where: Mesh, itemsize: int) -> int:
    """Bytes that each device sends in a step; 0 for one that `apply` will refuse anyway."""
    operand = getattr(step, "operand", "")
    axes = getattr(step, "axes", ())
    if operand not in state.layouts or not set(axes) <= set(where.axis_names):
        return 0
    elements = int(np.prod(state.local_shape(operand, where)))
    n = where.size_of(axes)
    others = n - 1
    sent = {
        given.AllGather: others * elements,
        given.AllReduce: 2 * others * -(-elements // n),
        given.ReduceScatter: others * (elements // n),
        given.AllToAll: others * (elements // n),
        given.Permute: elements,
    }
    return itemsize * sent.get(type(step), 0)


def in_words(step: given.Step) -> str:
    """A step as the student knows it."""
    return given.in_words(step)


def text(program: Sequence[given.Step]) -> str:
    """A program as the student knows it."""
    return "\n".join(f"{number}. {in_words(step)}" for number, step in enumerate(program)) or "(no step)"


def no_more_than(got: int, least: int, steps: list[Step]) -> None:
    """Pass if a right program sends at most `least` bytes; says what is too dear about it otherwise."""
    if got > least:
        program = read_program(steps)
        check.fail(
            "bytes sent by each device",
            expected=f"{least:,}: there is a program that sends no more",
            got=f"{got:,}, by\n{text(program)}",
            off=diagnosis(program) or (f"{got / least:.3g}× the bytes" if least else "all of it"),
        )


def diagnosis(program: Sequence[given.Step]) -> str:
    """What is known to be too dear about a program, in words; "" if nothing is."""
    for index, step in enumerate(program):
        for later in program[index + 1 :]:
            same = getattr(later, "operand", "") == getattr(step, "operand", "c") and isinstance(
                later, given.Slice
            )
            if isinstance(step, given.AllReduce) and same and set(later.axes) & set(step.axes):
                return "1 all-reduce where a reduce-scatter suffices: 2× bytes"
            if isinstance(step, given.AllGather) and same and set(later.axes) & set(step.axes):
                return "an all-gather and a slice along the same axis: an all-to-all moves it with fewer bytes"
    return ""


def kinds(steps: list[Step]) -> list[str]:
    """The kinds of a program's steps that send something, in order."""
    return [type(step).__name__ for step in read_program(steps) if getattr(step, "bytes", 0)]
