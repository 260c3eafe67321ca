"""Propagation, by sweeps forward and backward."""

from __future__ import annotations

from itertools import count
from math import prod

from .graph import (
    Broadcast,
    Conflict,
    Decision,
    DotGeneral,
    Elementwise,
    Propagated,
    Reduce,
    Reshape,
    Rule,
    Transpose,
)


def _letters(op, graph):
    """For each tensor, for each dimension, a tuple of letters; and the size of each letter."""
    shapes = [graph.shapes[value] for value in (*op.operands, op.result)]
    sizes = {}
    fresh = count()

    def letter(size):
        name = next(fresh)
        sizes[name] = size
        return (name,)

    if isinstance(op, Elementwise):
        dims = [letter(size) for size in shapes[0]]
        return sizes, [dims] * len(shapes)
    if isinstance(op, Reshape):
        return _common_pieces(shapes, letter, sizes)
    if isinstance(op, DotGeneral):
        right = [letter(size) for size in shapes[1]]
        pairs = dict(zip((*op.contracting[0], *op.batch[0]), (*op.contracting[1], *op.batch[1])))
        left = [right[pairs[dim]] if dim in pairs else letter(size) for dim, size in enumerate(shapes[0])]
        out = [left[dim] for dim in op.batch[0]]
        out += [name for dim, name in enumerate(left) if dim not in pairs]
        out += [name for dim, name in enumerate(right) if dim not in pairs.values()]
        return sizes, [left, right, out]
    dims = [letter(size) for size in shapes[0]]
    if isinstance(op, Transpose):
        return sizes, [dims, [dims[dim] for dim in op.permutation]]
    if isinstance(op, Reduce):
        return sizes, [dims, [name for dim, name in enumerate(dims) if dim not in op.dims]]
    assert isinstance(op, Broadcast)
    out = [None] * len(shapes[1])
    source = list(dims)
    for dim, place in enumerate(op.dims):
        if shapes[0][dim] == shapes[1][place]:
            out[place] = dims[dim]
        else:
            source[dim] = ()
    out = [name if name else letter(size) for name, size in zip(out, shapes[1])]
    return sizes, [source, out]


def _common_pieces(shapes, letter, sizes):
    ends = {1}
    for shape in shapes:
        ends |= {prod(shape[: dim + 1]) for dim in range(len(shape))}
    ends = sorted(ends)
    pieces = {start: letter(stop // start) for start, stop in zip(ends, ends[1:])}
    tensors = []
    for shape in shapes:
        dims, at = [], 1
        for size in shape:
            inside = [start for start in ends if at <= start < at * size]
            dims.append(tuple(name for start in inside for name in pieces[start]))
            at *= size
        tensors.append(dims)
    return sizes, tensors


def sharding_rule(op, graph):
    sizes, tensors = _letters(op, graph)
    used = sorted({name for dims in tensors for dim in dims for name in dim})
    numbers = {name: number for number, name in enumerate(used)}
    renamed = tuple(tuple(tuple(numbers[name] for name in dim) for dim in dims) for dims in tensors)
    return Rule(tuple(sizes[name] for name in used), renamed)


class _Sweeper:
    def __init__(self, graph, annotations, mesh):
        self.graph, self.annotations, self.mesh = graph, annotations, mesh
        self.rules = [sharding_rule(op, graph) for op in graph.ops]
        self.cuts = {(v, d): () for v, shape in enumerate(graph.shapes) for d in range(len(shape))}
        self.closed = set()
        self.kept = {}
        self.decisions = []

    def reveal(self, priority):
        for value, dims in self.annotations.items():
            self.kept[value] = {axis for item in dims if item.priority > priority for axis in item.axes}
            for dim, item in enumerate(dims):
                self.closed.discard((value, dim))
                if item.priority > priority or not item.open:
                    self.closed.add((value, dim))
                if item.priority == priority:
                    self.cuts[value, dim] = tuple(item.axes)

    def shares(self, number):
        """By factor: a list of [place, axes, room], in the order of the tensors."""
        op, rule = self.graph.ops[number], self.rules[number]
        found = {}
        for value, dims in zip((*op.operands, op.result), rule.tensors):
            for dim, names in enumerate(dims):
                axes = self.cuts[value, dim]
                blocked = (value, dim) in self.closed
                for name in names:
                    size, mine = rule.sizes[name], 0
                    while mine < len(axes) and size > 1 and size % self.mesh.axis_size(axes[mine]) == 0:
                        size //= self.mesh.axis_size(axes[mine])
                        mine += 1
                    room = 1 if blocked or mine < len(axes) else size
                    found.setdefault(name, []).append([(value, dim), axes[:mine], room])
                    axes = axes[mine:]
                    if size > 1:
                        axes, blocked = (), True
        return found

    def settle(self, number):
        """Apply the rule to one operation until it has nothing left; says whether it had something."""
        changed = False
        while self.one_axis(number):
            changed = True
        return changed

    def one_axis(self, number):
        result = self.graph.ops[number].result
        for shares in self.shares(number).values():
            common = _common([axes for _, axes, _ in shares])
            of_result = [axes for (value, _), axes, _ in shares if value == result]
            for (value, dim), axes, room in sorted(shares, key=lambda item: item[0][0] != result):
                limit = common if value == result or not of_result else common[: len(of_result[0])]
                if len(axes) >= len(limit):
                    continue
                axis = limit[len(axes)]
                rank = len(self.graph.shapes[value])
                used = self.kept.get(value, set()).union(*(self.cuts[value, d] for d in range(rank)))
                if room > 1 and room % self.mesh.axis_size(axis) == 0 and axis not in used:
                    self.cuts[value, dim] += (axis,)
                    self.decisions.append(Decision(number, value, dim, axis))
                    return True
        return False

    def conflicts(self):
        for number in range(len(self.graph.ops)):
            for shares in self.shares(number).values():
                lists = [axes for _, axes, _ in shares]
                common = _common(lists)
                if len({axes[len(common)] for axes in lists if len(axes) > len(common)}) > 1:
                    yield Conflict(number, tuple(sorted({place for place, _, _ in shares})))


def _common(lists):
    longest = max(lists, key=len)
    for place, axis in enumerate(longest):
        if any(len(axes) > place and axes[place] != axis for axes in lists):
            return longest[:place]
    return longest


def propagate(graph, annotations, mesh):
    sweeper = _Sweeper(graph, annotations, mesh)
    order = range(len(graph.ops))
    for priority in sorted({0} | {item.priority for dims in annotations.values() for item in dims}):
        sweeper.reveal(priority)
        busy = True
        while busy:
            busy = False
            for way in (order, reversed(order)):
                for number in way:
                    busy |= sweeper.settle(number)
    layouts = tuple(tuple(sweeper.cuts[v, d] for d in range(len(s))) for v, s in enumerate(graph.shapes))
    return Propagated(layouts, tuple(sweeper.decisions), tuple(sweeper.conflicts()))
