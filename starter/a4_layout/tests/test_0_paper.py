"""Part 0: whether the answers in the notebook have the form that the grader can read. No points."""

from __future__ import annotations

import pytest

from autograder.kit import check, hint, number, weight


@number("0.1")
@weight(0)
@hint("Answer cells hold one assignment of one literal: a list of numbers.")
@pytest.mark.parametrize(("name", "count"), [("slots", 2), ("padded", 3), ("waste", 4), ("pairs", 2)])
def test_answers_can_be_read(answers, name, count):
    """every paper answer is there and can be read (right or wrong is graded later)"""
    answer = answers.get(name, list)
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in answer)
    expected = f"{count} numbers"
    check.that(len(answer) == count and numbers, f"the answer of exercise {name}", expected=expected, got=answer)
