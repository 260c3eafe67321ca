"""Part 0, hidden: the answers of the paper exercises."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.kit import check, hint, number, weight
from autograder.kit.verdicts import CheckFailed
from autograder.manifest import load
from autograder.project import ROOT

import paper

RIGHT = {
    exercise.name: exercise.answer
    for exercise in paper.exercises(load(ROOT / "assignments" / "a2_fusion").paper_seed)
}


def letters(answers: Any, name: str) -> None:
    """Judge an answer that is a set of letters."""
    check.equal(sorted(set(map(str, answers.get(name, list)))), RIGHT[name], "the letters")


def numbers(answers: Any, name: str) -> np.ndarray:
    """An answer that is a list of as many numbers as the right one."""
    got = answers.get(name, list)
    if len(got) != len(RIGHT[name]) or any(type(item) not in (int, float) for item in got):
        raise CheckFailed(f"The answer of exercise {name} must be a list of {len(RIGHT[name])} numbers.")
    return np.array(got, float)


@number("0.2")
@weight(1)
@hint("Exercise unfused: which arrays of n by n elements are written and read back between the three kernels?")
def test_unfused(answers):
    """exercise: what the first kernel of attention saves"""
    check.close(np.float64(answers.get("unfused", float)), np.float64(RIGHT["unfused"]), relative=0.005)


@number("0.3")
@weight(1)
@hint("Exercise suffices: a masked score is -1e38, and nothing but the mask says where those are.")
def test_suffices(answers):
    """exercise: what the last kernel must read"""
    letters(answers, "suffices")


@number("0.4")
@weight(1.5)
@hint("Exercise counting: x·x reads one array, not two; an element of a pred is one byte.")
def test_counting(answers):
    """exercise: bytes by the lecture's rule"""
    check.equal(numbers(answers, "counting").tolist(), [float(item) for item in RIGHT["counting"]], "the bytes")


@number("0.5")
@weight(1.5)
@hint("Exercise recompute: bytes over bytes a second; operations over operations a second.")
def test_recompute(answers):
    """exercise: store it or compute it again?"""
    got = numbers(answers, "recompute")
    for place, what in enumerate(["the write", "the second exponential"]):
        check.close(got[place], np.float64(RIGHT["recompute"][place]), relative=0.01, what=what)


@number("0.6")
@weight(1)
@hint("Exercise exact: try each with NaN, an infinity, -0.0 and an ordinary number, in np.float32.")
def test_exact(answers):
    """exercise: which rewrites are exact?"""
    letters(answers, "exact")
