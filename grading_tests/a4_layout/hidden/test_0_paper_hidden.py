"""Part 0, hidden: the answers of the paper exercises."""

from __future__ import annotations

from autograder.kit import check, hint, number, weight
from autograder.manifest import load
from autograder.project import ROOT

import paper

CLASS_SEED = load(ROOT / "assignments" / "a4_layout").paper_seed
RIGHT = {exercise.name: exercise.answer for exercise in paper.exercises(CLASS_SEED)}


def near(answers, name, tolerance):
    """Compare an answer with the right one, number by number."""
    got, want = answers.get(name, list), RIGHT[name]
    numbers = all(isinstance(x, int | float) and not isinstance(x, bool) for x in got)
    right = (
        numbers and len(got) == len(want) and all(abs(g - w) <= tolerance for g, w in zip(got, want, strict=True))
    )
    check.that(right, f"the answer of exercise {name}", expected="another list of numbers", got=got)


@number("0.2")
@weight(2)
@hint("Exercise slots: number the tiles row by row, then the places in the tile.")
def test_slots(answers):
    """exercise: two elements of a tiled array"""
    near(answers, "slots", 0)


@number("0.3")
@weight(2)
@hint("Exercise padded: each dimension goes up to the next multiple of its tile dimension.")
def test_padded(answers):
    """exercise: a padded array"""
    near(answers, "padded", 0.06)


@number("0.4")
@weight(2)
@hint("Exercise waste: the last dimension fills lanes, the one before it sublanes; narrow types pack rows.")
def test_waste(answers):
    """exercise: how much is data"""
    near(answers, "waste", 0.06)


@number("0.5")
@weight(2)
@hint("Exercise pairs: the second tile takes two rows of one column next to each other.")
def test_pairs(answers):
    """exercise: pairs of rows"""
    near(answers, "pairs", 0)
