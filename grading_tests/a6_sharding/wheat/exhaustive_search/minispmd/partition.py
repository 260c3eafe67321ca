"""The partitioner, by exhaustive search."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np

from . import collectives, program
from .errors import ProgramError
from .program import AllGather, AllReduce, AllToAll, Dot, Permute, ReduceScatter, Slice, State
from .spec import axes_of, check_spec


def sent_bytes(kind, elements, n, itemsize):
    pieces = -(-elements // n)
    return itemsize * {
        "AllGather": (n - 1) * elements,
        "AllReduce": 2 * (n - 1) * pieces,
        "ReduceScatter": (n - 1) * pieces,
        "AllToAll": (n - 1) * pieces,
        "Permute": elements,
        "Slice": 0,
    }[kind.__name__]


def _orders(axes):
    return [order for size in range(1, len(axes) + 1) for order in permutations(axes, size)]


def _every_step(operand, rank, axes):
    """Everything that could be written down; makers that take the number of bytes."""
    dims = range(rank)
    for names in _orders(axes):
        yield AllReduce, names, lambda b, names=names: AllReduce(operand, names, b)
        for dim in dims:
            yield AllGather, names, lambda b, names=names, dim=dim: AllGather(operand, names, dim, b)
            yield ReduceScatter, names, lambda b, names=names, dim=dim: ReduceScatter(operand, names, dim, b)
            yield Slice, names, lambda b, names=names, dim=dim: Slice(operand, names, dim)
            for to in dims:
                if to != dim:
                    yield AllToAll, names, lambda b, names=names, dim=dim, to=to: AllToAll(operand, names, dim, to, b)
    layouts = {((),) * rank}
    for names in _orders(axes):
        for places in product(dims, repeat=len(names)):
            layouts.add(tuple(tuple(n for n, p in zip(names, places) if p == dim) for dim in dims))
    for layout in sorted(layouts):
        yield Permute, (), lambda b, layout=layout: Permute(operand, layout, b)


class Table:
    """The cheapest way to every state of one operand: cost and program by (layout, partial axes)."""

    def __init__(self, operand, starts, mesh, axes, itemsize):
        self.mesh, self.itemsize, self.operand = mesh, itemsize, operand
        rank = len(next(iter(starts.values()))[2].layouts[operand])
        self.makers = list(_every_step(operand, rank, axes))
        self.best = dict(starts)
        fresh = set(self.best)
        while fresh:
            fresh = self._round(fresh)

    def _round(self, fresh):
        changed = set()
        for node in fresh:
            cost, steps, state = self.best[node]
            elements = int(np.prod(state.local_shape(self.operand, self.mesh)))
            for kind, names, make in self.makers:
                nbytes = sent_bytes(kind, elements, self.mesh.size_of(names), self.itemsize)
                step = make(nbytes)
                try:
                    after = program.apply(step, state, self.mesh)
                except ProgramError:
                    continue
                key = (after.layouts[self.operand], frozenset(after.partial))
                found = ((cost[0] + nbytes, cost[1], cost[2] + 1), (*steps, step), after)
                if key == node or (key in self.best and self.best[key][0] <= found[0]):
                    continue
                self.best[key] = found
                changed.add(key)
        return changed


def _named(*layouts):
    return sorted({axis for layout in layouts for axes in layout for axis in axes})


def _start(operand, shape, layout):
    state = State({operand: tuple(shape)}, {operand: layout})
    return {(layout, frozenset()): ((0, 0, 0), (), state)}


def reshard(src, dst, mesh, shape, itemsize=4):
    check_spec(shape, src, mesh)
    check_spec(shape, dst, mesh)
    before, after = axes_of(src, len(shape)), axes_of(dst, len(shape))
    table = Table("x", _start("x", shape, before), mesh, _named(before, after), itemsize)
    return table.best[after, frozenset()][1]


def partition_matmul(a_spec, b_spec, out_spec, mesh, shape, itemsize=4):
    m, k, n = shape
    check_spec((m, k), a_spec, mesh)
    check_spec((k, n), b_spec, mesh)
    check_spec((m, n), out_spec, mesh)
    a, b, goal = axes_of(a_spec, 2), axes_of(b_spec, 2), axes_of(out_spec, 2)
    axes = _named(a, b, goal)
    lefts = Table("a", _start("a", (m, k), a), mesh, axes, itemsize).best.values()
    rights = Table("b", _start("b", (k, n), b), mesh, axes, itemsize).best.values()
    products = {}
    for (one, first, left), (other, second, right) in product(lefts, rights):
        start = State({**left.shapes, **right.shapes}, {**left.layouts, **right.layouts})
        try:
            state = program.apply(Dot(), start, mesh)
        except ProgramError:
            continue
        cuts = [axis for axes_ in (*left.layouts["a"], right.layouts["b"][1]) for axis in axes_]
        work = m * k * n // mesh.size_of(cuts)
        found = ((one[0] + other[0], work, one[2] + other[2]), (*first, *second, Dot()), state)
        key = (state.layouts["c"], frozenset(state.partial))
        if key not in products or found[0] < products[key][0]:
            products[key] = found
    return Table("c", products, mesh, axes, itemsize).best[goal, frozenset()][1]


class _Interpreter:
    """Runs a program on one device."""

    def __init__(self, device, state, blocks):
        self.device, self.mesh, self.state, self.blocks = device, device.mesh, state, dict(blocks)

    def group(self, step):
        return self.mesh.group(self.device.id, step.axes)

    def step(self, step):
        name = type(step).__name__
        if name == "Dot":
            self.blocks = {"c": np.matmul(self.blocks["a"], self.blocks["b"])}
        else:
            self.blocks[step.operand] = getattr(self, name)(step, self.blocks[step.operand])
        self.state = program.apply(step, self.state, self.mesh)

    def AllGather(self, step, x):
        return collectives.all_gather(self.device, x, step.dim, self.group(step))

    def AllReduce(self, step, x):
        return collectives.all_reduce(self.device, x, self.group(step))

    def ReduceScatter(self, step, x):
        return collectives.reduce_scatter(self.device, x, step.dim, self.group(step))

    def AllToAll(self, step, x):
        return collectives.all_to_all(self.device, x, step.to_dim, step.from_dim, self.group(step))

    def Slice(self, step, x):
        size = x.shape[step.dim] // self.mesh.size_of(step.axes)
        start = self.group(step).index(self.device.id) * size
        return np.take(x, range(start, start + size), axis=step.dim)

    def Permute(self, step, x):
        pairs = program.permute_pairs(self.state.layouts[step.operand], step.to, self.mesh)
        return collectives.collective_permute(self.device, x, pairs, tuple(range(self.mesh.size)))


def execute(device, program, state, blocks):
    machine = _Interpreter(device, state, blocks)
    for step in program:
        machine.step(step)
    return next(iter(machine.blocks.values()))
