"""Part 4, hidden: Shardy's graphs, replayed decisions, long chains."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.kit import check, hint, limits, number, probe, weight

import oracle_propagation

SHARDY = json.loads((Path(__file__).parent / "golden_shardy.json").read_text())
MESH = [[name, size] for name, size in SHARDY["axes"].items()]


@probe
def propagated(mesh, cases) -> list[oracle_propagation.Outcome]:
    """propagate of each case, as data."""
    import minispmd

    import describe

    where = describe.mesh(mesh)
    found = []
    for case in cases:
        graph = describe.graph(case["shapes"], case["ops"])
        found.append(minispmd.propagate(graph, describe.annotations(case["annotations"]), where))
    return [describe.propagated(result) for result in found]


@number("4.7")
@weight(2)
@hint("Axes travel along factors, both ways, to a fixed point. Handout, part 4, the rule.")
@pytest.mark.parametrize("which", ["graphs", "priorities"])
def test_graphs_agree_with_shardy(student, which):
    """layouts of all values of random graphs, as Shardy has them"""
    cases = SHARDY[which]
    answers = student(propagated, MESH, cases)
    check.equal(len(answers), len(cases), "the number of answers")
    for case, outcome in zip(cases, answers, strict=True):
        asked = {key: case[key] for key in ("shapes", "ops", "annotations")}
        check.equal(outcome.layouts, case["layouts"], f"the layouts of all values of {asked}")


def random_case(rng: np.random.Generator, mesh: list[Any], count: int) -> dict[str, Any]:
    """A graph of this many operations with annotations that contradict one another."""
    shapes: list[list[int]] = [[8, 16]]
    ops: list[list[Any]] = []
    while len(ops) < count:
        x = int(rng.integers(max(0, len(shapes) - 6), len(shapes)))
        shape, result = shapes[x], len(shapes)
        match int(rng.integers(5)):
            case 0:
                same = [value for value, other in enumerate(shapes) if other == shape]
                ops.append(["Elementwise", [x, int(rng.choice(same))], result])
                shapes.append(shape)
            case 1 if len(shape) == 2:
                shapes += [[shape[1], 8], [shape[0], 8]]
                ops.append(["DotGeneral", [x, result], result + 1, [[1], [0]], [[], []]])
            case 2:
                order = [int(dim) for dim in rng.permutation(len(shape))]
                ops.append(["Transpose", [x], result, order])
                shapes.append([shape[dim] for dim in order])
            case 3 if len(shape) < 3 and shape[-1] >= 4:
                ops.append(["Reshape", [x], result])
                shapes.append([*shape[:-1], 2, shape[-1] // 2])
            case 4 if len(shape) == 3:
                ops.append(["Reshape", [x], result] if rng.integers(3) else ["Reduce", [x], result, [1]])
                first, middle, last = shape
                merged = [[first, middle * last], [first * middle, last], [first * middle * last]]
                shapes.append(merged[rng.integers(3)] if ops[-1][0] == "Reshape" else [first, last])
    annotations = []
    for value in sorted(int(v) for v in rng.permutation(len(shapes))[: rng.integers(2, 5)]):
        dims: list[list[str]] = [[] for _ in shapes[value]]
        for axis in rng.permutation(list("abc"))[: rng.integers(1, 4)]:
            dims[rng.integers(len(dims))].append(str(axis))
        marks = [[axes, bool(rng.integers(3)), int(rng.integers(2))] for axes in dims]
        cuts = [math.prod(dict(mesh)[axis] for axis in axes) for axes in dims]
        if all(size % parts == 0 for size, parts in zip(shapes[value], cuts, strict=True)):
            annotations.append([value, marks])
    return {"shapes": shapes, "ops": ops, "annotations": annotations}


@number("4.8")
@weight(2)
@hint("Each decision must be what the rule gives at that moment, and in the end nothing is left. Handout, part 4.")
def test_decisions_follow_the_rule(student, rng):
    """random graphs with contradicting annotations: the decisions, replayed one by one"""
    for mesh in (MESH, [["a", 4], ["b", 2], ["c", 2]]):
        cases = [random_case(rng, mesh, int(rng.integers(1, 12))) for _ in range(25)]
        answers = student(propagated, mesh, cases)
        check.equal(len(answers), len(cases), "the number of answers")
        for case, outcome in zip(cases, answers, strict=True):
            oracle_propagation.judge(case["shapes"], case["ops"], case["annotations"], mesh, outcome)


@probe
def ends(mesh, shapes, ops, annotations, chosen) -> list[list[list[str]]]:
    """The layouts of a few values of a long chain."""
    import minispmd

    import describe

    graph = describe.graph(shapes, ops)
    result = minispmd.propagate(graph, describe.annotations(annotations), describe.mesh(mesh))
    return [[list(map(str, axes)) for axes in result.layouts[value]] for value in chosen]


@number("4.9")
@limits(seconds=30)
@weight(1)
@hint("Look again only at operations whose values have changed, and do not recurse.")
def test_long_chains(student, rng):
    """a chain of 3,000 operations, annotated at its beginning and at its end"""
    count = 3_000
    flips = [bool(flip) for flip in rng.integers(0, 2, size=count)]
    shapes = [[8, 8]] * (count + 1)
    ops: list[list[Any]] = []
    for step, flip in enumerate(flips):
        ops.append(["Transpose", [step], step + 1, [1, 0]] if flip else ["Elementwise", [step], step + 1])
    annotations = [[0, [[["a"], True, 0], [[], True, 0]]], [count, [[[], True, 0], [[], True, 0]]]]
    turned = sum(flips) % 2
    annotations[1][1][1 - turned] = [["b"], True, 0]
    chosen = [0, *(int(value) for value in rng.integers(1, count, size=20)), count]
    got = student(ends, MESH, shapes, ops, annotations, chosen)
    check.equal(len(got), len(chosen), "the number of layouts")
    for value, layout in zip(chosen, got, strict=True):
        want = [["b"], ["a"]] if sum(flips[:value]) % 2 else [["a"], ["b"]]
        check.equal(layout, want, f"the layout of value {value} of {count}")
