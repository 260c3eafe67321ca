"""Part 0: whether the answers in the notebook have the form that the grader can read. No points."""

from __future__ import annotations

import pytest

from autograder.kit import check, hint, number, weight


@number("0.1")
@weight(0)
@hint("Answer cells hold one assignment of one literal, of the form that the exercise names.")
@pytest.mark.parametrize(
    ("name", "kind", "length"),
    [
        ("unfused", float, 0),
        ("suffices", list, 0),
        ("counting", list, 2),
        ("recompute", list, 2),
        ("exact", list, 0),
    ],
)
def test_answers_can_be_read(answers, name, kind, length):
    """every paper answer is there and can be read (right or wrong is graded later)"""
    answer = answers.get(name, kind)
    if length:
        numbers = [item for item in answer if type(item) in (int, float)]
        check.that(
            len(answer) == len(numbers) == length,
            f"the answer of exercise {name}",
            expected=f"{length} numbers",
            got=answer,
        )
    elif kind is list:
        letters = all(isinstance(item, str) and len(item) == 1 for item in answer)
        check.that(letters, f"the answer of exercise {name}", expected="single letters", got=answer)
