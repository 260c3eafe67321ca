"""The grader's own answers, for hidden tests: cheapest programs, propagation, plans. Not shipped to students.

Nothing clever: every step that could be written down is tried, and `program.apply` of the given files says which
of them are allowed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import permutations, product

from given_minispmd import program as given
from given_minispmd.errors import ProgramError
from given_minispmd.mesh import Mesh

import judge_programs

Layout = tuple[tuple[str, ...], ...]
Cost = tuple[int, int, int]  # bytes, multiply-adds, steps


def _tuples(axes: Sequence[str]) -> list[tuple[str, ...]]:
    return [order for count in range(1, len(axes) + 1) for order in permutations(axes, count)]


def _layouts(rank: int, axes: Sequence[str]) -> list[Layout]:
    """All layouts, by dealing every sequence of axes to the dimensions in every way."""
    found = {((),) * rank}
    for order in _tuples(axes):
        for dims in product(range(rank), repeat=len(order)):
            found.add(
                tuple(tuple(axis for axis, d in zip(order, dims, strict=True) if d == dim) for dim in range(rank))
            )
    return sorted(found)


def _candidates(operand: str, rank: int, axes: Sequence[str]) -> list[given.Step]:
    dims = range(rank)
    steps: list[given.Step] = []
    for names in _tuples(axes):
        steps.append(given.AllReduce(operand, names, 0))
        for dim in dims:
            steps += [given.AllGather(operand, names, dim, 0), given.ReduceScatter(operand, names, dim, 0)]
            steps.append(given.Slice(operand, names, dim))
            steps += [given.AllToAll(operand, names, dim, to, 0) for to in dims if to != dim]
    return steps + [given.Permute(operand, layout, 0) for layout in _layouts(rank, axes)]


Node = tuple[Layout, tuple[str, ...]]


def _node(state: given.State) -> Node:
    (layout,) = state.layouts.values()
    return layout, tuple(sorted(state.partial))


def _relax(
    starts: dict[Node, tuple[Cost, given.State]], mesh: Mesh, axes: Sequence[str], itemsize: int
) -> dict[Node, tuple[Cost, given.State]]:
    """The least cost of every state that can be reached, by trying until nothing gets cheaper."""
    best = dict(starts)
    (operand,) = next(iter(starts.values()))[1].layouts
    steps = _candidates(operand, len(next(iter(starts.values()))[1].layouts[operand]), axes)
    edges: dict[Node, list[tuple[int, Node, given.State]]] = {}
    waiting = list(starts)
    while waiting:
        node = waiting.pop(0)
        cost, state = best[node]
        if node not in edges:
            edges[node] = list(_edges(state, steps, mesh, itemsize))
        for nbytes, after, reached in edges[node]:
            more = (cost[0] + nbytes, cost[1], cost[2] + 1)
            if after not in best or more < best[after][0]:
                best[after] = more, reached
                waiting.append(after)
    return best


def _edges(
    state: given.State, steps: list[given.Step], mesh: Mesh, itemsize: int
) -> Iterator[tuple[int, Node, given.State]]:
    for step in steps:
        try:
            after = given.apply(step, state, mesh)
        except ProgramError:
            continue
        yield judge_programs.step_bytes(step, state, mesh, itemsize), _node(after), after


def named(layouts: Sequence[Layout]) -> list[str]:
    """Axes that some layout names."""
    return sorted({axis for layout in layouts for axes in layout for axis in axes})


def cheapest_reshard(shape: Sequence[int], src: Layout, dst: Layout, mesh: Mesh, itemsize: int = 4) -> Cost:
    """The least (bytes, 0, steps) from one layout to another."""
    state = given.State({"x": tuple(shape)}, {"x": src})
    return _relax({_node(state): ((0, 0, 0), state)}, mesh, named([src, dst]), itemsize)[dst, ()][0]


def cheapest_matmul(
    shape: Sequence[int], a: Layout, b: Layout, goal: Layout, mesh: Mesh, itemsize: int = 4
) -> Cost:
    """The least (bytes, multiply-adds a device, steps) of a program for c = a @ b."""
    m, k, n = shape
    axes = named([a, b, goal])
    ways = []
    for operand, sizes, layout in (("a", (m, k), a), ("b", (k, n), b)):
        state = given.State({operand: sizes}, {operand: layout})
        ways.append(_relax({_node(state): ((0, 0, 0), state)}, mesh, axes, itemsize))
    products: dict[Node, tuple[Cost, given.State]] = {}
    for ((left, _), (one, _)), ((right, _), (other, _)) in product(ways[0].items(), ways[1].items()):
        try:
            state = given.apply(given.Dot(), given.matmul_state((m, k, n), left, right), mesh)
        except ProgramError:
            continue
        work = math.prod(shape) // mesh.size_of((*left[0], *left[1], *right[1]))
        cost = (one[0] + other[0], work, one[2] + other[2] + 1)
        if _node(state) not in products or cost < products[_node(state)][0]:
            products[_node(state)] = cost, state
    return _relax(products, mesh, axes, itemsize)[goal, ()][0]
