"""Part 0, hidden: the answers of the paper exercises."""

from __future__ import annotations

import numpy as np

from autograder.kit import check, hint, number, weight
from autograder.kit.verdicts import CheckFailed
from autograder.manifest import load
from autograder.project import ROOT

import jaxpr_text
import judge
import paper

CLASS_SEED = load(ROOT / "assignments" / "a1_tracer").paper_seed
DRAWN = paper.drawn(CLASS_SEED)
RIGHT = {exercise.name: exercise.answer for exercise in paper.exercises(CLASS_SEED)}


def parsed(answers, name):
    """An answer that is a jaxpr."""
    try:
        return jaxpr_text.parse(answers.get(name, str))
    except jaxpr_text.JaxprSyntaxError as error:
        raise CheckFailed(f"not a jaxpr: {error}") from None


@number("0.2")
@weight(2)
@hint("Exercise forward: one equation for each operation, in an order in which everything is defined before use.")
def test_forward(answers):
    """exercise: a jaxpr by hand"""
    got = parsed(answers, "forward")
    want = jaxpr_text.parse(RIGHT["forward"])
    check.equal(jaxpr_text.canonical(got), jaxpr_text.canonical(want), "the jaxpr, up to names and order")


@number("0.3")
@weight(1)
@hint("Exercise backward: put numbers in. The product rule gives two terms.")
def test_backward(answers, rng):
    """exercise: its gradient by hand"""
    jaxpr = parsed(answers, "backward")
    x = rng.uniform(0.2, 1.0, size=DRAWN["size"]).astype("float32")
    check.equal([len(jaxpr.invars), len(jaxpr.outvars)], [1, 1], "inputs and results")
    check.at_most(len(jaxpr.eqns), 12, "equations")
    f = {"exp": np.exp, "tanh": np.tanh, "sin": np.sin}[DRAWN["unary"]]
    slope = {"exp": np.exp, "tanh": lambda x: 1 - np.tanh(x) ** 2, "sin": np.cos}[DRAWN["unary"]]
    (gradient,) = judge.run(jaxpr, [x])
    check.close(gradient, f(x) + slope(x) * x, ulps=32, what="the gradient")


@number("0.4")
@weight(1)
@hint("Exercise traces: which calls have a key that was seen before?")
def test_traces(answers):
    """exercise: how often is it traced?"""
    check.equal(answers.get("traces", list), RIGHT["traces"], "traces and prints")


@number("0.5")
@weight(1)
@hint("Exercise rewrites: a static n is a Python number, a traced n has no truth value.")
def test_rewrites(answers):
    """exercise: branches that can be jitted"""
    check.equal(sorted(map(str, answers.get("rewrites", list))), RIGHT["rewrites"], "the letters")


@number("0.6")
@weight(1)
@hint("Exercise configs: one program for each static value, one for all traced ones.")
def test_configs(answers):
    """exercise: the price of a static argument"""
    check.equal(answers.get("configs", list), RIGHT["configs"], "programs in the two caches")
