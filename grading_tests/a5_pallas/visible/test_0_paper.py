"""Part 0: whether the answers in the notebook have the form that the grader can read. No points."""

from __future__ import annotations

import pytest

from autograder.kit import check, hint, number, weight

FORMS = {"region": 4, "masks": None, "order": None, "fetches": 4, "tiles": 3, "waste": 2}


@number("0.1")
@weight(0)
@hint("Answer cells hold one assignment of one literal: a list of numbers, or of letters in quotes.")
@pytest.mark.parametrize(("name", "length"), FORMS.items())
def test_answers_can_be_read(answers, name, length):
    """every paper answer is there and can be read (right or wrong is graded later)"""
    answer = answers.get(name, list)
    if length is None:
        letters = all(isinstance(item, str) and len(item) == 1 for item in answer)
        check.that(letters, f"the answer of exercise {name}", expected="a list of letters", got=answer)
        return
    check.that(len(answer) == length, f"the answer of exercise {name}", expected=f"{length} items", got=answer)
    numbers = answer[:2] if name == "tiles" else answer
    plain = all(isinstance(item, int | float) and not isinstance(item, bool) for item in numbers)
    check.that(plain, f"the answer of exercise {name}", expected="numbers", got=answer)
