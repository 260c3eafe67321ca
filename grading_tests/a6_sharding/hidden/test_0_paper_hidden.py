"""Part 0, hidden: the answers of the paper exercises."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.kit import check, hint, number, weight
from autograder.manifest import load
from autograder.project import ROOT

import paper

DRAWN = paper.drawn(load(ROOT / "assignments" / "a6_sharding").paper_seed)


def compare(answers: Any, name: str, want: list[float]) -> None:
    """Pass if the numbers agree to half a percent."""
    got = answers.get(name, list)
    numbers = len(got) == len(want) and all(type(x) in (int, float) and abs(x) < 1e15 for x in got)
    check.that(numbers, f"the answer of exercise {name}", expected=f"{len(want)} numbers", got=got)
    for index, (one, right) in enumerate(zip(got, want, strict=True)):
        what = f"number {index} of exercise {name}"
        check.close(np.asarray(float(one)), np.asarray(float(right)), relative=5e-3, what=what)


@number("0.2")
@weight(2)
@hint("Exercise reduction: every device holds partial sums of the whole C. Handout, part 2, what it costs.")
def test_reduction(answers):
    """exercise: cutting the contracted dimension"""
    compare(answers, "reduction", paper.reduction(DRAWN))


@number("0.3")
@weight(2)
@hint("Exercise gradients: four bytes a parameter, and an all-reduce sends nearly twice that. GB are 10⁹ bytes.")
def test_gradients(answers):
    """exercise: the gradients of a step"""
    compare(answers, "gradients", paper.gradients(DRAWN))


@number("0.4")
@weight(1)
@hint("Exercise critical: who waits for the result, and when? Handout, part 6, the timeline.")
def test_critical(answers):
    """exercise: what can be hidden"""
    want = ["b", "a"] if DRAWN["swap"] else ["a", "b"]
    check.equal(answers.get("critical", list), want, "the letters")


@number("0.5")
@weight(1)
@hint("Exercise blocks: the axes that are not named hold copies. Handout, part 1, copies.")
def test_blocks(answers):
    """exercise: bytes of a sharded array"""
    compare(answers, "blocks", paper.blocks(DRAWN))


@number("0.6")
@weight(2)
@hint("Exercise gather: hops times the time of a hop, and a hop takes at least 1 µs. Handout, part 6, rings.")
def test_gather(answers):
    """exercise: how long does a gather take?"""
    compare(answers, "gather", paper.gather(DRAWN))
