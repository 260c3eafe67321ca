"""Part 0: whether the answers in the notebook have the form that the grader can read. No points."""

from __future__ import annotations

import pytest

from autograder.kit import check, hint, number, weight


@number("0.1")
@weight(0)
@hint("Answer cells hold one assignment of one literal: a list of numbers, or of letters.")
@pytest.mark.parametrize(
    ("name", "length"), [("reduction", 2), ("gradients", 2), ("critical", 2), ("blocks", 2), ("gather", 3)]
)
def test_answers_can_be_read(answers, name, length):
    """every paper answer is there and can be read (right or wrong is graded later)"""
    answer = answers.get(name, list)
    form = str if name == "critical" else (int, float)
    right = len(answer) == length and all(isinstance(item, form) for item in answer)
    words = f"{length} {'letters' if form is str else 'numbers'}"
    check.that(right, f"the answer of exercise {name}", expected=words, got=answer)
