"""Part 0, hidden: the answers of the paper exercises."""

from __future__ import annotations

from autograder.kit import check, hint, number, weight
from autograder.manifest import load
from autograder.project import ROOT

import paper

CLASS_SEED = load(ROOT / "assignments" / "a5_pallas").paper_seed
RIGHT = {exercise.name: exercise.answer for exercise in paper.exercises(CLASS_SEED)}


def near(answers, name, tolerance):
    """Pass if a list of numbers is right to a tolerance."""
    got, want = answers.get(name, list), RIGHT[name]
    numbers = [item for item in want if not isinstance(item, str)]
    plain = len(got) == len(want) and all(type(item) in (int, float) for item in got[: len(numbers)])
    check.that(plain, f"the answer of exercise {name}", expected=f"{len(want)} items, numbers first", got=got)
    for place, (mine, right) in enumerate(zip(got, numbers, strict=False)):
        right_enough = abs(mine - right) <= tolerance
        check.that(right_enough, f"item {place} of exercise {name}", expected=str(right), got=str(mine))
    check.equal(got[len(numbers) :], want[len(numbers) :], f"the rest of exercise {name}")


@number("0.2")
@weight(1)
@hint("Exercise region: the index map's first result counts blocks of rows, whatever the grid's axes are called.")
def test_region(answers):
    """exercise: what a step sees"""
    near(answers, "region", 0)


@number("0.3")
@weight(1)
@hint("Exercise masks: garbage does harm where it is added to something that is kept.")
def test_masks(answers):
    """exercise: who needs a mask?"""
    check.equal(sorted(map(str, answers.get("masks", list))), RIGHT["masks"], "the letters")


@number("0.4")
@weight(1)
@hint("Exercise order: all visits to an output block must follow one another.")
def test_order(answers):
    """exercise: the order of the grid"""
    check.equal(sorted(map(str, answers.get("order", list))), RIGHT["order"], "the letters")


@number("0.5")
@weight(1)
@hint("Exercise fetches: write down the block indices of the first few steps.")
def test_fetches(answers):
    """exercise: counting fetches"""
    near(answers, "fetches", 0)


@number("0.6")
@weight(1)
@hint("Exercise tiles: 2·bm·bk·bn FLOPs; bytes of a and b only; two buffers, one accumulator.")
def test_tile_figures(answers):
    """exercise: a tile's figures"""
    near(answers, "tiles", 0.01)


@number("0.7")
@weight(1)
@hint("Exercise waste: count the blocks on and below the diagonal, and the pairs that a causal mask shows.")
def test_waste(answers):
    """exercise: large blocks under a causal mask"""
    near(answers, "waste", 0.005)
