"""Part 0: whether the answers in the notebook have the form that the grader can read. No points."""

from __future__ import annotations

import pytest

from autograder.kit import check, hint, number, weight
from autograder.kit.verdicts import CheckFailed

import jaxpr_text


@number("0.1")
@weight(0)
@hint("Answer cells hold one assignment of one literal, and jaxprs are written as minijax prints them.")
@pytest.mark.parametrize(
    ("name", "kind"),
    [("forward", str), ("backward", str), ("traces", list), ("rewrites", list), ("configs", list)],
)
def test_answers_can_be_read(answers, name, kind):
    """every paper answer is there and can be read (right or wrong is graded later)"""
    answer = answers.get(name, kind)
    if kind is str:
        try:
            jaxpr_text.parse(answer)
        except jaxpr_text.JaxprSyntaxError as error:
            raise CheckFailed(f"the answer of exercise {name} is not a jaxpr: {error}") from None
    elif name != "rewrites":
        check.that(len(answer) == 2, f"the answer of exercise {name}", expected="two integers", got=answer)
