"""Part 4: from a few annotations to a layout of every value."""

from __future__ import annotations

from typing import Any

import pytest

from autograder.kit import check, hint, number, probe, weight

import judge

MESH = [["a", 2], ["b", 2], ["c", 2]]


@probe
def rule_of(shapes, ops) -> list[tuple[list[int], list[list[list[int]]]]]:
    """sharding_rule of each operation: sizes and factors of each dimension."""
    import minispmd

    import describe

    graph = describe.graph(shapes, ops)
    rules = [minispmd.sharding_rule(op, graph) for op in graph.ops]
    return [
        [[int(s) for s in rule.sizes], [[[int(f) for f in dim] for dim in tensor] for tensor in rule.tensors]]
        for rule in rules
    ]


def canonical(sizes: list[int], tensors: list[Any]) -> list[Any]:
    """Factors numbered by their first dimension; factors of size 1 left out."""
    known = [[[f for f in dim if 0 <= f < len(sizes)] for dim in tensor] for tensor in tensors]
    numbers: dict[int, int] = {}
    renamed = [[[numbers.setdefault(f, len(numbers)) for f in dim if sizes[f] > 1] for dim in t] for t in known]
    return [[sizes[f] for f in numbers], renamed]


@number("4.1")
@weight(1)
@hint("Write the operation in einsum notation; a merged dimension has several factors. Handout, part 4, factors.")
@pytest.mark.parametrize(
    "kind", ["Elementwise", "DotGeneral", "batched", "Reduce", "Transpose", "merge", "split", "both", "Broadcast"]
)
def test_factors(student, rng, kind):
    """the factors of every kind of operation"""
    i, j, k, m = (int(size) for size in rng.permutation([2, 3, 4, 5]))
    cases = {
        "Elementwise": ([[i, j], [i, j], [i, j]], ["Elementwise", [0, 1], 2], [i, j], [[[0], [1]]] * 3),
        "DotGeneral": (
            [[i, k], [k, j], [i, j]],
            ["DotGeneral", [0, 1], 2, [[1], [0]], [[], []]],
            [i, k, j],
            [[[0], [1]], [[1], [2]], [[0], [2]]],
        ),
        "batched": (
            [[i, k, m], [j, m, i], [m, k, j]],
            ["DotGeneral", [0, 1], 2, [[0], [2]], [[2], [1]]],
            [i, k, m, j],
            [[[0], [1], [2]], [[3], [2], [0]], [[2], [1], [3]]],
        ),
        "Reduce": ([[i, j, k], [i, k]], ["Reduce", [0], 1, [1]], [i, j, k], [[[0], [1], [2]], [[0], [2]]]),
        "Transpose": (
            [[i, j, k], [k, i, j]],
            ["Transpose", [0], 1, [2, 0, 1]],
            [i, j, k],
            [[[0], [1], [2]], [[2], [0], [1]]],
        ),
        "merge": ([[i, j, k], [i, j * k]], ["Reshape", [0], 1], [i, j, k], [[[0], [1], [2]], [[0], [1, 2]]]),
        "split": (
            [[i * j, 1, k], [i, j, k]],
            ["Reshape", [0], 1],
            [i, j, k],
            [[[0, 1], [], [2]], [[0], [1], [2]]],
        ),
        "both": ([[i * j, k], [i, j * k]], ["Reshape", [0], 1], [i, j, k], [[[0, 1], [2]], [[0], [1, 2]]]),
        "Broadcast": ([[1, j], [i, j, k]], ["Broadcast", [0], 1, [0, 1]], [j, i, k], [[[], [0]], [[1], [0], [2]]]),
    }
    shapes, op, sizes, tensors = cases[kind]
    rules = student(rule_of, shapes, [op])
    check.equal(len(rules), 1, "the number of rules")
    check.equal(
        canonical(*rules[0]), [sizes, tensors], f"the rule of {op} on {shapes}: sizes, and factors by dimension"
    )


@probe
def propagated(mesh, shapes, ops, annotations) -> judge.Propagated:
    """propagate, as data."""
    import minispmd

    import describe

    result = minispmd.propagate(
        describe.graph(shapes, ops), describe.annotations(annotations), describe.mesh(mesh)
    )
    return describe.propagated(result)


def dims(*cuts: str, is_open: bool = True, priority: int = 0) -> list[Any]:
    """Annotations of one value: each dimension's axes as one word; a trailing "." closes the dimension."""
    return [[list(word.rstrip(".")), is_open and not word.endswith("."), priority] for word in cuts]


def words(layouts: list[Any]) -> list[str]:
    """Layouts, each value as one word, such as "a|bc|" for three dimensions."""
    return ["|".join("".join(axes) for axes in value) for value in layouts]


def renamed(rng: Any) -> dict[str, str]:
    """Another name for each axis of the mesh, so that nothing can be known by heart."""
    return dict(zip("abc", [str(name) for name in rng.permutation(list("abc"))], strict=True))


def accounted(shapes: Any, ops: Any, annotations: Any, got: judge.Propagated) -> None:
    """Pass if annotations and then decisions give the layouts, and each decision is one its operation can make.

    An elementwise operation gives an axis to a dimension if another tensor has it at this place.
    """
    layouts: list[Any] = [[[] for _ in shape] for shape in shapes]
    for value, each in annotations:
        layouts[value] = [list(axes) for axes, _, _ in each]
    for op, value, dim, axis in got.decisions:
        values = (*ops[op][1], ops[op][2]) if 0 <= op < len(ops) else ()
        possible = value in values and 0 <= dim < len(shapes[value])
        if possible and ops[op][0] == "Elementwise":
            more = [*layouts[value][dim], axis]
            possible = any(layouts[other][dim][: len(more)] == more for other in values if other != value)
        expected = "a dimension of a value of its operation, and an axis that another value has there"
        check.that(possible, "a decision [op, value, dim, axis]", expected=expected, got=[op, value, dim, axis])
        layouts[value][dim].append(axis)
    check.equal(layouts, got.layouts, "the annotations and then the decisions, compared with the layouts")


def judged(
    student: Any, rng: Any, shapes: Any, ops: Any, annotations: Any, want: list[str], mesh: Any = MESH
) -> judge.Propagated:
    """Propagate under the vector's names and under drawn ones; compare the layouts. Returns the first answer."""
    names = renamed(rng)
    again = [[v, [[[names[axis] for axis in axes], *rest] for axes, *rest in each]] for v, each in annotations]
    first = student(propagated, mesh, shapes, ops, annotations)
    check.equal(words(first.layouts), want, "the layouts of all values")
    accounted(shapes, ops, annotations, first)
    second = student(propagated, [[names[axis], size] for axis, size in mesh], shapes, ops, again)
    other = ["".join(names.get(letter, letter) for letter in word) for word in want]
    check.equal(words(second.layouts), other, "the layouts of all values")
    accounted(shapes, ops, again, second)
    return first


DOT = ["DotGeneral", [3, 2], 4, [[1], [0]], [[], []]]


@number("4.2")
@weight(2)
@hint("An annotation reaches operands through results and results through operands. Handout, part 4, the rule.")
def test_forward_and_backward(student, rng):
    """dot(x + y, z) with x cut along a and b; and a chain of reshape, transpose, reduce, broadcast, both ways"""
    add = ["Elementwise", [0, 1], 3]
    shapes = [[8, 8], [8, 8], [8, 16], [8, 8], [8, 16]]
    judged(student, rng, shapes, [add, DOT], [[0, dims("a.", "b.")]], ["a|b", "a|b", "b|", "a|b", "a|"])
    judged(student, rng, shapes, [add, DOT], [[4, dims("a", "c")]], ["a|", "a|", "|c", "a|", "a|c"])
    # A chain of sums whose operations are listed in another order than the one in which axes travel.
    chain = [["Elementwise", [place, place + 1], 7 + place] for place in (4, 2, 0, 1, 3, 5)]
    judged(student, rng, [[8, 8]] * 13, chain, [[0, dims("a", "")], [6, dims("", "b")]], ["a|b"] * 13)
    shapes = [[2, 4, 32], [8, 32], [32, 8], [32], [4, 32]]
    ops = [
        ["Reshape", [0], 1],
        ["Transpose", [1], 2, [1, 0]],
        ["Reduce", [2], 3, [1]],
        ["Broadcast", [3], 4, [1]],
    ]
    judged(student, rng, shapes, ops, [[0, dims("a", "b", "c")]], ["a|b|c", "ab|c", "c|ab", "c", "|c"])
    judged(student, rng, shapes, ops, [[4, dims("b", "ca")]], ["||ca", "|ca", "ca|", "ca", "b|ca"])
    judged(student, rng, shapes, ops, [[2, dims("", "cb")]], ["c|b|", "cb|", "|cb", "", "|"])


@number("4.3")
@weight(1)
@hint("A closed dimension takes nothing; an open one keeps what it has in front. Handout, part 4, the rule.")
def test_closed_dimensions(student, rng):
    """closed dimensions stay as they are, open ones are only added to"""
    shapes, add = [[8, 8]] * 3, [["Elementwise", [0, 1], 2]]
    cases = [
        ([[0, dims("a", "b.")], [1, dims(".", "bc")]], ["a|b", "|bc", "a|bc"]),
        ([[0, dims("a.", "")], [2, dims(".", "")]], ["a|", "|", "|"]),
        ([[0, dims("ab.", "")], [2, dims("a.", "")]], ["ab|", "a|", "a|"]),
        ([[0, dims("ab", "")], [1, dims("a", "c")]], ["ab|c", "ab|c", "ab|c"]),
    ]
    for said, want in cases:
        judged(student, rng, shapes, add, said, want)


@number("4.4")
@weight(2)
@hint(
    "Disagreement in one factor says nothing about another; an axis cuts a value once. Handout, part 4, conflicts."
)
def test_conflicts_in_one_operation(student, rng):
    """[a,?] + [b,a] gives [?,a]; [a,-] + [b,-] gives nothing; where two factors want an axis, the first gets it"""
    shapes, add = [[8, 8]] * 3, [["Elementwise", [0, 1], 2]]
    judged(student, rng, shapes, add, [[0, dims("a", "")], [1, dims("b", "a")]], ["a|", "b|a", "|a"])
    judged(student, rng, shapes, add, [[0, dims("a", ".")], [1, dims("b", ".")]], ["a|", "b|", "|"])
    judged(student, rng, shapes, add, [[0, dims("a", "")], [1, dims("", "a")]], ["a|", "|a", "a|"])
    judged(student, rng, shapes, add, [[0, dims("ab", "")], [1, dims("ac", "")]], ["ab|", "ac|", "a|"])
    shapes = [[8, 8], [8, 8], [8, 8]]
    dot = [["DotGeneral", [0, 1], 2, [[1], [0]], [[], []]]]
    judged(student, rng, shapes, dot, [[0, dims("a.", "")], [1, dims("", "ac.")]], ["a|", "|ac", "a|"])


@number("4.5")
@weight(1)
@hint("Finish one priority before the next is looked at; later annotations keep their place. Handout, part 4.")
def test_priorities(student, rng):
    """an annotation of priority 4 loses to one of priority 1"""
    shapes = [[8, 8]] * 5
    ops = [["Elementwise", [0, 1], 3], ["Elementwise", [3, 2], 4]]
    first = [[["a"], False, 0], [["b"], False, 4]]
    last = [[[], True, 0], [["c"], True, 1]]
    judged(student, rng, shapes, ops, [[0, first], [4, last]], ["a|b", "a|c", "a|c", "a|c", "a|c"])
    first = [[["a"], True, 1], [["b"], False, 1]]
    judged(student, rng, shapes, ops, [[0, first], [4, dims("c.", "")]], ["a|b", "c|b", "c|b", "c|b", "c|b"])
    shapes, add = [[8, 8]] * 3, [["Elementwise", [0, 1], 2]]
    later = [[[], True, 0], [["a"], True, 1]]
    judged(student, rng, shapes, add, [[0, later], [1, dims("a", "")]], ["|a", "a|", "a|"])
    later = [[["b"], True, 1], [[], True, 0]]
    judged(student, rng, shapes, add, [[0, later], [1, dims("a", "")]], ["b|", "a|", "a|"])


@number("4.6")
@weight(1)
@hint("One decision for each axis that was added, naming the operation. Handout, part 4, the report.")
def test_decisions_and_conflicts_are_reported(student, rng):
    """every axis that was added is a decision of an operation, and every disagreement a conflict"""
    shapes = [[8, 8]] * 5
    ops = [["Elementwise", [0, 1], 3], ["Elementwise", [3, 2], 4]]
    annotations = [[0, dims("a", "b")], [2, dims("c", "")]]
    got = judged(student, rng, shapes, ops, annotations, ["a|b", "a|b", "c|b", "a|b", "|b"])
    check.equal(got.conflicts, [[1, [[2, 0], [3, 0], [4, 0]]]], "the conflicts")
    # Fewer axes than others have is no disagreement.
    annotations = [[0, dims(".", "")], [1, dims("a", "")], [2, dims("", "c.")]]
    got = judged(student, rng, shapes, ops, annotations, ["|c", "a|c", "a|c", "a|c", "a|c"])
    check.equal(got.conflicts, [], "the conflicts")


LONG = [["a", 4], ["b", 2], ["c", 2]]


@number("4.10")
@weight(1)
@hint("Axes are dealt from the left, and what does not fit stops the dimension. Handout, part 4, the rule.")
@pytest.mark.parametrize(
    ("before", "after", "said", "want"),
    [
        ([2, 2], [4], [[0, dims("b", "")], [1, dims("a")]], ["b|", "a"]),
        ([2, 4], [8], [[1, dims("a")]], ["|", "a"]),
        ([2, 4], [8], [[0, dims("", "c")]], ["|c", ""]),
        ([6, 4], [24], [[1, dims("ab")]], ["|", "ab"]),
        ([2, 2, 4], [16], [[0, dims("", "", "b")], [1, dims("a")]], ["||b", "a"]),
        ([2, 4, 4], [32], [[0, dims("b", "", "a")]], ["b||a", "b"]),
        ([2, 4, 4], [32], [[1, dims("bac")]], ["b|a|c", "bac"]),
        ([4, 2, 4], [32], [[1, dims("ba")]], ["b||", "ba"]),
        ([4, 2, 4], [32], [[0, dims("bc", "", "a")]], ["bc||a", "bc"]),
    ],
)
def test_axes_of_merged_dimensions(student, rng, before, after, said, want):
    """axes of sizes 2 and 4 on dimensions of two and three factors, merged and split"""
    merge, split = [["Reshape", [0], 1]], [["Reshape", [1], 0]]
    judged(student, rng, [before, after], merge, said, want, LONG)
    judged(student, rng, [before, after], split, said, want, LONG)
