"""Propagation: a few annotations of the user decide how everything else is cut.

An operation ties dimensions of its tensors together, and a *factor* is such a tie: i, k or j of a matrix product.
If one tensor is cut along an axis in a factor, the others should be, too, or data would have to move. So axes
travel along factors, from operands to results and back, until nothing changes: a fixed point.

What makes it end: axes are only ever added, at the minor end of a dimension, and each at most once to a value.
Annotations are never changed: a closed dimension stays as it is, an open one keeps what it has in front.

One visit of an operation (`_visit`) applies the rule of the handout: per factor, the axes on which all its tensors
agree are offered to those that have fewer, the result first. Visits are made from a worklist: only operations
whose values have changed are looked at again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .graph import (
    Annotations,
    Broadcast,
    Conflict,
    Decision,
    DimSharding,
    DotGeneral,
    Elementwise,
    Graph,
    Op,
    Propagated,
    Reduce,
    Reshape,
    Rule,
    Transpose,
)
from .mesh import Mesh


def sharding_rule(op: Op, graph: Graph) -> Rule:
    """The factors of an operation, as `Rule` describes them; their numbering is free.

    Reduce: reduced dimensions have a factor of their own. Broadcast: new dimensions have one, and a dimension that
    is stretched from size 1 has none in the operand. Reshape: the factors are the finest pieces of which the
    dimensions on both sides are made: (8, 4) to (2, 16) is i=2, j=4, k=4 with (ij, k) to (i, jk). You may assume
    that such pieces exist; a dimension of size 1 has no factor there.
    """
    shapes = [graph.shapes[value] for value in (*op.operands, op.result)]
    ### BEGIN SOLUTION a6.4: a list of factors for each dimension of each tensor
    match op:
        case Elementwise():
            dims = tuple((dim,) for dim in range(len(shapes[0])))
            return Rule(shapes[0], (dims,) * len(shapes))
        case Transpose(_, _, permutation):
            dims = tuple((dim,) for dim in range(len(shapes[0])))
            return Rule(shapes[0], (dims, tuple(dims[dim] for dim in permutation)))
        case Reduce(_, _, reduced):
            dims = tuple((dim,) for dim in range(len(shapes[0])))
            return Rule(shapes[0], (dims, tuple(dims[dim] for dim in range(len(dims)) if dim not in reduced)))
        case Broadcast(_, _, places):
            dims = tuple((dim,) for dim in range(len(shapes[1])))
            stretched = [shapes[0][dim] != shapes[1][place] for dim, place in enumerate(places)]
            source = tuple(() if new else dims[place] for place, new in zip(places, stretched, strict=True))
            return Rule(shapes[1], (source, dims))
        case DotGeneral(_, _, contracting, batch):
            return _dot_rule(shapes[0], shapes[1], contracting, batch)
        case Reshape():
            return _reshape_rule(shapes[0], shapes[1])
    ### END SOLUTION


### BEGIN SOLUTION a6.4: the rules of dot_general and reshape
def _dot_rule(
    left: Sequence[int],
    right: Sequence[int],
    contracting: tuple[Sequence[int], Sequence[int]],
    batch: tuple[Sequence[int], Sequence[int]],
) -> Rule:
    """The left operand's dimensions are factors 0, 1, …; paired ones share them, the right's others follow."""
    sizes = list(left)
    partner = dict(zip((*contracting[1], *batch[1]), (*contracting[0], *batch[0]), strict=True))
    on_the_right = []
    for dim, size in enumerate(right):
        if dim not in partner:
            partner[dim] = len(sizes)
            sizes.append(size)
        on_the_right.append((partner[dim],))
    kept = [dim for dim in range(len(left)) if dim not in (*contracting[0], *batch[0])]
    others = [partner[dim] for dim in range(len(right)) if dim not in (*contracting[1], *batch[1])]
    result = tuple((factor,) for factor in (*batch[0], *kept, *others))
    return Rule(tuple(sizes), (tuple((dim,) for dim in range(len(left))), tuple(on_the_right), result))


def _reshape_rule(before: Sequence[int], after: Sequence[int]) -> Rule:
    """Walk both shapes from the left; each step takes what is common to what is left of the two dimensions."""
    sizes: list[int] = []
    dims: tuple[list[list[int]], list[list[int]]] = ([[] for _ in before], [[] for _ in after])
    here, left = [-1, -1], [1, 1]
    while True:
        for side, shape in enumerate((before, after)):
            while left[side] == 1 and here[side] + 1 < len(shape):
                here[side] += 1
                left[side] = shape[here[side]]
        size = min(left)
        if size == 1:
            return Rule(tuple(sizes), tuple(tuple(map(tuple, side)) for side in dims))
        for side in (0, 1):
            dims[side][here[side]].append(len(sizes))
            left[side] //= size
        sizes.append(size)


### END SOLUTION


### BEGIN SOLUTION a6.4: the state, what a factor has in a tensor, and the visit of one operation
@dataclass
class _State:
    """What is known of every value so far."""

    graph: Graph
    mesh: Mesh
    layouts: list[list[list[str]]]
    open: list[list[bool]]
    reserved: list[set[str]]  # axes of annotations that are still to come
    decisions: list[Decision] = field(default_factory=list)

    def used(self, value: int) -> set[str]:
        """Axes that nothing new in this value may use."""
        return {axis for axes in self.layouts[value] for axis in axes} | self.reserved[value]


@dataclass(frozen=True)
class _Piece:
    """What a factor has of a dimension: its axes, and how often it can still be cut (0 if it may not grow)."""

    value: int
    dim: int
    axes: tuple[str, ...]
    room: int


def _pieces(state: _State, rule: Rule, values: Sequence[int]) -> dict[int, list[_Piece]]:
    """For each factor, its piece in every tensor that has it: operands in order, then the result.

    A dimension's axes are dealt to its factors from the left. The next factor gets some only when the one before
    is cut completely; what divides neither stays where it is, and the dimension cannot grow any more.
    """
    found: dict[int, list[_Piece]] = {factor: [] for factor in range(len(rule.sizes))}
    for value, dims in zip(values, rule.tensors, strict=True):
        for dim, factors in enumerate(dims):
            axes, growing = list(state.layouts[value][dim]), state.open[value][dim]
            for factor in factors:
                left, taken = rule.sizes[factor], []
                while axes and left > 1 and left % state.mesh.axis_size(axes[0]) == 0:
                    left //= state.mesh.axis_size(axes[0])
                    taken.append(axes.pop(0))
                found[factor].append(_Piece(value, dim, tuple(taken), left if growing and not axes else 0))
                if left > 1:
                    axes, growing = [], False
    return found


def _agreed(pieces: Sequence[_Piece]) -> tuple[tuple[str, ...], bool]:
    """The axes on which all agree, as far as they go, and whether somebody disagrees after them."""
    agreed: list[str] = []
    while True:
        following = {piece.axes[len(agreed)] for piece in pieces if len(piece.axes) > len(agreed)}
        if len(following) != 1:
            return tuple(agreed), bool(following)
        agreed.append(following.pop())


def _offer(state: _State, pieces: Sequence[_Piece], result: int) -> tuple[_Piece, str] | None:
    """The next axis that the rule adds along one factor, and where; None if there is none.

    The result is served first. Where the result has the factor, an operand gets only what the result has, too.
    """
    agreed, _ = _agreed(pieces)
    in_result = next((piece.axes for piece in pieces if piece.value == result), agreed)
    for piece in reversed(pieces):
        offered = agreed if piece.value == result else in_result[: len(agreed)]
        if len(piece.axes) < len(offered):
            axis = offered[len(piece.axes)]
            fits = piece.room > 1 and piece.room % state.mesh.axis_size(axis) == 0
            if fits and axis not in state.used(piece.value):
                return piece, axis
    return None


def _visit(state: _State, number: int, rule: Rule) -> Iterator[int]:
    """Apply the rule to one operation until it has nothing to add; yields values that have changed.

    Factors take their turns in the order of their first dimension, operands first: if two want the same axis in
    one value, the first one gets it.
    """
    op = state.graph.ops[number]
    values = (*op.operands, op.result)
    pieces = _pieces(state, rule, values)
    for factor in dict.fromkeys(factor for dims in rule.tensors for factors in dims for factor in factors):
        while found := _offer(state, pieces[factor], op.result):
            piece, axis = found
            state.layouts[piece.value][piece.dim].append(axis)
            state.decisions.append(Decision(number, piece.value, piece.dim, axis))
            yield piece.value
            pieces = _pieces(state, rule, values)


### END SOLUTION


def propagate(graph: Graph, annotations: Annotations, mesh: Mesh) -> Propagated:
    """Cut every value of a graph as the annotations and the rule of the handout say.

    `annotations`: for some values, a DimSharding for each dimension; you may assume that they fit. `decisions` has
    one entry for each axis that was added, in order: replayed one by one, each is what the rule gives for its
    operation at that moment, those of lower priorities first. `conflicts` has an entry for each operation and
    factor on which tensors disagree in the end, by operation.
    """
    ### BEGIN SOLUTION a6.4: priority by priority, empty the worklist
    rules = [sharding_rule(op, graph) for op in graph.ops]
    users: list[list[int]] = [[] for _ in graph.shapes]
    for number, op in enumerate(graph.ops):
        for value in {*op.operands, op.result}:
            users[value].append(number)
    state = _State(
        graph,
        mesh,
        [[[] for _ in shape] for shape in graph.shapes],
        [[True for _ in shape] for shape in graph.shapes],
        [set() for _ in graph.shapes],
    )
    priorities = {dim.priority for dims in annotations.values() for dim in dims}
    for priority in sorted({0, *priorities}):
        _reveal(state, annotations, priority)
        waiting = deque(range(len(graph.ops)))
        queued = [True] * len(graph.ops)
        while waiting:
            number = waiting.popleft()
            queued[number] = False
            for value in _visit(state, number, rules[number]):
                for other in users[value]:
                    if other != number and not queued[other]:
                        queued[other] = True
                        waiting.append(other)
    layouts = tuple(tuple(tuple(axes) for axes in value) for value in state.layouts)
    return Propagated(layouts, tuple(state.decisions), tuple(_conflicts(state, rules)))
    ### END SOLUTION


### BEGIN SOLUTION a6.4: annotations of one priority, and the conflicts at the end
def _reveal(state: _State, annotations: Annotations, priority: int) -> None:
    """Put annotations of this priority in place; those of later ones are closed, empty, and keep their axes."""
    for value, dims in annotations.items():
        later: list[DimSharding] = [dim for dim in dims if dim.priority > priority]
        state.reserved[value] = {axis for dim in later for axis in dim.axes}
        for place, dim in enumerate(dims):
            if dim.priority == priority:
                state.layouts[value][place] = list(dim.axes)
            state.open[value][place] = dim.open and dim.priority <= priority


def _conflicts(state: _State, rules: Sequence[Rule]) -> Iterator[Conflict]:
    """Operations and factors on which two tensors disagree."""
    for number, (op, rule) in enumerate(zip(state.graph.ops, rules, strict=True)):
        for pieces in _pieces(state, rule, (*op.operands, op.result)).values():
            if _agreed(pieces)[1]:
                yield Conflict(number, tuple(sorted({(piece.value, piece.dim) for piece in pieces})))


### END SOLUTION
