"""Part 0, hidden: the answers of the paper exercises."""

from __future__ import annotations

from autograder.kit import check, hint, number, weight
from autograder.manifest import load
from autograder.project import ROOT

import paper

RIGHT = {
    exercise.name: exercise.answer
    for exercise in paper.exercises(load(ROOT / "assignments" / "a3_machine").paper_seed)
}


def judge_numbers(answers, name, relative=2e-3):
    """Each number of an answer must be right to about three significant digits; whole numbers exactly."""
    got, right = answers.get(name, list), RIGHT[name]
    if len(got) != len(right) or not all(type(item) in (int, float) for item in got):
        check.fail(f"exercise {name}", expected=f"a list of {len(right)} numbers", got=str(got)[:80])
    for place, (mine, wanted) in enumerate(zip(got, right, strict=True)):
        near = mine == wanted if isinstance(wanted, int) else abs(mine - wanted) <= relative * abs(wanted)
        check.that(near, f"number {place + 1} of exercise {name}", expected="another number", got=str(mine)[:40])


@number("0.2")
@weight(2)
@hint("Exercise array: the last vector enters in cycle B − 1; then its last component has to cross the array.")
def test_array(answers):
    """exercise: an array and its batch"""
    judge_numbers(answers, "array")


@number("0.3")
@weight(2)
@hint("Exercise peak: PEs times 2 FLOP times cycles in a second; a TFLOP is 10^12.")
def test_peak(answers):
    """exercise: how many MXUs?"""
    judge_numbers(answers, "peak")


@number("0.4")
@weight(2)
@hint("Exercise padding: round both axes up to whole tiles.")
def test_padding(answers):
    """exercise: padding"""
    judge_numbers(answers, "padding")


@number("0.5")
@weight(2)
@hint("Exercise table: B over all the cycles that streaming B vectors takes.")
def test_table(answers):
    """exercise: the utilisation table"""
    judge_numbers(answers, "table")
