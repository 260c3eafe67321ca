"""Part 0: whether the answers in the notebook have the form that the grader can read. No points."""

from __future__ import annotations

import pytest

from autograder.kit import check, hint, number, weight


@number("0.1")
@weight(0)
@hint("Answer cells hold one assignment of one literal, here a list of numbers. Handout, part 0.")
@pytest.mark.parametrize(("name", "length"), [("array", 3), ("peak", 2), ("padding", 3), ("table", 4)])
def test_answers_can_be_read(answers, name, length):
    """every paper answer is there and can be read (right or wrong is graded later)"""
    answer = answers.get(name, list)
    numbers = all(type(item) in (int, float) for item in answer)
    check.that(
        numbers and len(answer) == length, f"exercise {name}", expected=f"{length} numbers", got=str(answer)[:80]
    )
