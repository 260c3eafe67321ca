"""The grader's own propagation rule, to replay a log of decisions. For hidden tests; not shipped to students.

Any order of visits is right, so results are not compared where order matters. Instead every decision must be one
that the rule offers at that moment, at the operation that it names, and when a priority is over nothing may be
left to decide.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from autograder.kit import check

from judge import Propagated as Outcome

Shapes = list[list[int]]
Ops = list[list[Any]]
Annotations = list[list[Any]]  # [value, [[axes, open, priority], …]]
MAX_DECISIONS = 50_000


def factors(op: list[Any], shapes: Shapes) -> tuple[list[int], list[list[list[int]]]]:
    """Sizes of the factors, and the factors of each dimension of each operand and of the result."""
    kind, operands, result, *rest = op
    kinds = [shapes[value] for value in (*operands, result)]
    own = [[dim] for dim in range(len(kinds[0]))]
    match kind:
        case "Elementwise":
            return list(kinds[0]), [own] * len(kinds)
        case "Transpose":
            return list(kinds[0]), [own, [own[dim] for dim in rest[0]]]
        case "Reduce":
            return list(kinds[0]), [own, [own[dim] for dim in range(len(own)) if dim not in rest[0]]]
        case "Broadcast":
            new = [[dim] for dim in range(len(kinds[1]))]
            same = [kinds[0][dim] == kinds[1][place] for dim, place in enumerate(rest[0])]
            return list(kinds[1]), [[new[p] if s else [] for p, s in zip(rest[0], same, strict=True)], new]
        case "DotGeneral":
            (left, right), (b_left, b_right) = rest
            pairs = dict(zip([*right, *b_right], [*left, *b_left], strict=True))
            extra = [dim for dim in range(len(kinds[1])) if dim not in pairs]
            pairs |= {dim: len(own) + place for place, dim in enumerate(extra)}
            out = [*b_left, *(d for d in range(len(own)) if d not in (*left, *b_left)), *(pairs[d] for d in extra)]
            sizes = [*kinds[0], *(kinds[1][dim] for dim in extra)]
            return sizes, [own, [[pairs[dim]] for dim in range(len(kinds[1]))], [[factor] for factor in out]]
    return _reshape_factors(*kinds)


def _ends(shape: list[int]) -> list[int]:
    return [math.prod(shape[: dim + 1]) for dim in range(len(shape))]


def _reshape_factors(before: list[int], after: list[int]) -> tuple[list[int], list[list[list[int]]]]:
    """Cut at every end of a dimension on either side, counting elements of the major dimensions."""
    cuts = sorted({1, *_ends(before), *_ends(after)})
    sizes = [stop // start for start, stop in pairwise(cuts)]
    tensors = []
    for shape in (before, after):
        starts = [1, *_ends(shape)]
        spans = zip(starts, _ends(shape), strict=False)
        tensors.append([[f for f, cut in enumerate(cuts[:-1]) if start <= cut < stop] for start, stop in spans])
    return sizes, tensors


class Replay:
    """Where a propagation stands."""

    def __init__(self, shapes: Shapes, ops: Ops, annotations: Annotations, mesh: list[list[Any]]) -> None:
        self.shapes, self.ops, self.annotations, self.sizes = shapes, ops, annotations, dict(mesh)
        self.rules = [factors(op, shapes) for op in ops]
        self.layouts: list[list[list[str]]] = [[[] for _ in shape] for shape in shapes]
        self.open = [[True] * len(shape) for shape in shapes]
        self.reserved: list[set[str]] = [set() for _ in shapes]
        self.users: list[list[int]] = [[] for _ in shapes]
        for number, op in enumerate(ops):
            for value in {*op[1], op[2]}:
                self.users[value].append(number)

    def reveal(self, priority: int) -> None:
        """Put the annotations of a priority in place."""
        for value, dims in self.annotations:
            self.reserved[value] = {axis for axes, _, p in dims if p > priority for axis in axes}
            for dim, (axes, is_open, p) in enumerate(dims):
                if p == priority:
                    self.layouts[value][dim] = list(axes)
                self.open[value][dim] = bool(is_open) and p <= priority

    def cut(self, number: int) -> dict[int, list[tuple[int, int, list[str], int]]]:
        """For each factor of an operation: (value, dimension, its axes, room for more) in every tensor with it."""
        sizes, tensors = self.rules[number]
        op = self.ops[number]
        found: dict[int, list[tuple[int, int, list[str], int]]] = {}
        for value, dims in zip((*op[1], op[2]), tensors, strict=True):
            for dim, parts in enumerate(dims):
                axes, room = list(self.layouts[value][dim]), self.open[value][dim]
                for factor in parts:
                    size, taken = sizes[factor], []
                    while axes and size > 1 and size % self.sizes[axes[0]] == 0:
                        size //= self.sizes[axes[0]]
                        taken.append(axes.pop(0))
                    found.setdefault(factor, []).append((value, dim, taken, size if room and not axes else 0))
                    if size > 1:
                        room, axes = False, []
        return found

    def offers(self, number: int) -> list[tuple[int, int, str]]:
        """(value, dimension, axis) of everything that the rule adds next at an operation."""
        result = self.ops[number][2]
        found: list[tuple[int, int, str]] = []
        wanted: set[tuple[int, str]] = set()
        for pieces in self.cut(number).values():
            common = agreement([axes for _, _, axes, _ in pieces])
            in_result = [axes for value, _, axes, _ in pieces if value == result]
            mine: set[tuple[int, str]] = set()
            for value, dim, axes, room in pieces:
                limit = len(common) if value == result or not in_result else min(len(common), len(in_result[0]))
                if len(axes) >= limit:
                    continue
                axis = common[len(axes)]
                taken = self.reserved[value] | {axis for cuts in self.layouts[value] for axis in cuts}
                if room > 1 and room % self.sizes[axis] == 0 and axis not in taken:
                    mine.add((value, axis))
                    if (value, axis) not in wanted:
                        found.append((value, dim, axis))
            wanted |= mine
        return found

    def conflicts(self) -> list[tuple[int, list[tuple[int, int]]]]:
        """Operations and places that disagree."""
        found = []
        for number in range(len(self.ops)):
            for pieces in self.cut(number).values():
                common = agreement([axes for _, _, axes, _ in pieces])
                if len({axes[len(common)] for _, _, axes, _ in pieces if len(axes) > len(common)}) > 1:
                    found.append((number, sorted({(value, dim) for value, dim, _, _ in pieces})))
        return sorted(found)


def agreement(lists: Sequence[Sequence[str]]) -> list[str]:
    """The axes on which all lists agree, as far as they go."""
    common: list[str] = []
    while len({axes[len(common)] for axes in lists if len(axes) > len(common)}) == 1:
        common.append(next(axes[len(common)] for axes in lists if len(axes) > len(common)))
    return common


def judge(shapes: Shapes, ops: Ops, annotations: Annotations, mesh: list[list[Any]], outcome: Outcome) -> None:
    """Pass if the decisions are what the rule gives, nothing is left, and layouts and conflicts are theirs."""
    if len(outcome.decisions) > MAX_DECISIONS:
        check.fail("the decisions", expected=f"at most {MAX_DECISIONS:,}", got=f"{len(outcome.decisions):,}")
    replay = Replay(shapes, ops, annotations, mesh)
    left = list(reversed(outcome.decisions))
    for priority in sorted({0, *(dim[2] for _, dims in annotations for dim in dims)}):
        replay.reveal(priority)
        while left:
            number, value, dim, axis = left[-1]
            legal = 0 <= number < len(ops) and (value, dim, axis) in replay.offers(number)
            if not legal:
                break
            replay.layouts[value][dim].append(axis)
            left.pop()
        for number in range(len(ops)):
            if rest := replay.offers(number):
                done = len(outcome.decisions) - len(left)
                after = f"after decision {done} of {len(outcome.decisions)} (priority {priority})"
                tail = f"; the next one is {outcome.decisions[done]}" if left else ""
                got = f"operation {number} {ops[number]} still gives {rest[0]} (value, dimension, axis){tail}"
                check.fail(
                    f"the propagation {after}", expected="a fixed point, or what the rule gives next", got=got
                )
    if left:
        count = len(outcome.decisions) - len(left)
        check.fail(f"decision {count}", expected="what the rule gives at this operation", got=str(left[-1]))
    check.equal(outcome.layouts, replay.layouts, "the layouts, compared with annotations and decisions")
    got = sorted((number, sorted(places)) for number, places in outcome.conflicts)
    check.equal(got, replay.conflicts(), "the conflicts: (operation, [(value, dimension), …])")
