"""The partitioner: which collectives a matmul needs, and which program sends the fewest bytes.

Cutting is a shortest-path problem. A node is a state (a layout, and along which axes the operand is partial), an
edge is a step, and its length is what the step costs. `_cheapest` walks from some states in order of cost, so the
first time it reaches a node, it has found the best way there. A matmul is three such walks: from a's layout, from
b's layout, and from every product of the two. What is allowed is `program.apply`'s business.

Costs are compared in this order: bytes sent by each device, multiply-adds on each device, number of steps.
Only axes that some spec of the problem names are used: along the others, every copy does the same work.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations, count, pairwise, permutations, product

import numpy as np

from . import collectives
from .errors import ProgramError
from .fabric import Device
from .mesh import Mesh
from .program import (
    AllGather,
    AllReduce,
    AllToAll,
    Dot,
    Layout,
    Permute,
    Program,
    ReduceScatter,
    Slice,
    State,
    Step,
    apply,
    matmul_state,
    permute_pairs,
)
from .spec import PartitionSpec, axes_of, check_spec


def sent_bytes(kind: type, elements: int, n: int, itemsize: int) -> int:
    """Bytes that each of n devices sends in a collective, `elements` being in each one's block before it.

    `kind` is a class of `program`: AllGather n − 1 blocks; ReduceScatter and AllToAll n − 1 of n pieces; AllReduce
    twice n − 1 pieces of ⌈elements / n⌉; Permute one block (whatever n is); Slice nothing.
    """
    ### BEGIN SOLUTION a6.3: one formula for each kind
    if kind is AllGather:
        return (n - 1) * elements * itemsize
    if kind is AllReduce:
        return 2 * (n - 1) * math.ceil(elements / n) * itemsize
    if kind is Permute:
        return elements * itemsize
    return 0 if kind is Slice else (n - 1) * (elements // n) * itemsize
    ### END SOLUTION


### BEGIN SOLUTION a6.3: the steps that can follow a state, and the walk in order of cost
Cost = tuple[int, int, int]  # bytes, multiply-adds, steps


@dataclass(frozen=True)
class _Way:
    """How a state can be reached, and for how much."""

    cost: Cost
    program: Program
    state: State

    @property
    def node(self) -> tuple[object, ...]:
        """What tells states apart."""
        return (*self.state.layouts.values(), self.state.partial)


@dataclass(frozen=True)
class _Problem:
    """What does not change during a walk."""

    mesh: Mesh
    axes: tuple[str, ...]  # those that may be used
    itemsize: int

    def steps(self, state: State) -> Iterator[Step]:
        """Steps of the one operand of this state; some may not be allowed."""
        ((operand, layout),) = state.layouts.items()
        dims = range(len(layout))
        elements = math.prod(state.local_shape(operand, self.mesh))

        def nbytes(kind: type, axes: Sequence[str]) -> int:
            return sent_bytes(kind, elements, self.mesh.size_of(axes), self.itemsize)

        for dim in dims:
            for axes in (layout[dim][start:] for start in range(len(layout[dim]))):
                yield AllGather(operand, axes, dim, nbytes(AllGather, axes))
                for other in (other for other in dims if other != dim):
                    yield AllToAll(operand, axes, dim, other, nbytes(AllToAll, axes))
        used = {*state.partial, *chain(*layout)}
        for axes, dim in product(_orders(axis for axis in self.axes if axis not in used), dims):
            yield Slice(operand, axes, dim)
        for axes in _orders(state.partial):
            yield AllReduce(operand, axes, nbytes(AllReduce, axes))
            for dim in dims:
                yield ReduceScatter(operand, axes, dim, nbytes(ReduceScatter, axes))
        cuts = [self.mesh.size_of(axes) for axes in layout]
        for to in _layouts(len(layout), self.axes):
            if to != layout and [self.mesh.size_of(axes) for axes in to] == cuts:
                yield Permute(operand, to, nbytes(Permute, ()))

    def cheapest(self, starts: Iterable[_Way]) -> dict[tuple[object, ...], _Way]:
        """The cheapest way to every node that can be reached from these."""
        found: dict[tuple[object, ...], _Way] = {}
        ticket = count()
        queue = [(way.cost, next(ticket), way) for way in starts]
        heapq.heapify(queue)
        while queue:
            cost, _, way = heapq.heappop(queue)
            if way.node in found:
                continue
            found[way.node] = way
            for step in self.steps(way.state):
                try:
                    after = apply(step, way.state, self.mesh)
                except ProgramError:
                    continue
                more = (cost[0] + getattr(step, "bytes", 0), cost[1], cost[2] + 1)
                heapq.heappush(queue, (more, next(ticket), _Way(more, (*way.program, step), after)))
        return found


def _orders(axes: Iterable[str]) -> list[tuple[str, ...]]:
    """Every choice of at least one of the axes, in every order."""
    axes = list(axes)
    return [order for size in range(1, len(axes) + 1) for order in permutations(axes, size)]


def _layouts(rank: int, axes: Sequence[str]) -> Iterator[Layout]:
    """Every way to cut `rank` dimensions along some of the axes."""
    for order in [(), *_orders(axes)]:
        for ends in combinations(range(1, len(order) + rank), rank - 1):
            bounds = [0, *(end - dim - 1 for dim, end in enumerate(ends)), len(order)]
            yield tuple(order[start:stop] for start, stop in pairwise(bounds))


def _named(layouts: Sequence[Layout]) -> tuple[str, ...]:
    """The axes that occur in some layout, each once."""
    return tuple(dict.fromkeys(axis for layout in layouts for axis in chain(*layout)))


### END SOLUTION


def reshard(
    src: PartitionSpec, dst: PartitionSpec, mesh: Mesh, shape: Sequence[int], itemsize: int = 4
) -> Program:
    """The cheapest program that takes operand "x" of a global shape from one spec to another.

    Fewest bytes sent by each device; among those, fewest steps. Empty if nothing is to be done. Only axes that
    `src` or `dst` name are used. Raises SpecError if either spec does not fit the shape.
    """
    check_spec(shape, src, mesh)
    check_spec(shape, dst, mesh)
    ### BEGIN SOLUTION a6.3: the cheapest way from one layout to the other
    start, goal = axes_of(src, len(shape)), axes_of(dst, len(shape))
    problem = _Problem(mesh, _named([start, goal]), itemsize)
    ways = problem.cheapest([_Way((0, 0, 0), (), State({"x": tuple(shape)}, {"x": start}))])
    return ways[goal, ()].program
    ### END SOLUTION


def partition_matmul(
    a_spec: PartitionSpec,
    b_spec: PartitionSpec,
    out_spec: PartitionSpec,
    mesh: Mesh,
    shape: tuple[int, int, int],
    itemsize: int = 4,
) -> Program:
    """The cheapest program for c[m, n] = a[m, k] @ b[k, n] with these specs; `shape` is (m, k, n).

    Fewest bytes sent by each device; among those, fewest multiply-adds on each device; then fewest steps. Only
    axes that one of the three specs names are used. Raises SpecError if a spec does not fit its matrix.
    """
    m, k, n = shape
    for spec, sizes in ((a_spec, (m, k)), (b_spec, (k, n)), (out_spec, (m, n))):
        check_spec(sizes, spec, mesh)
    ### BEGIN SOLUTION a6.3: walk from a, walk from b, try every pair that can be multiplied, walk from there
    a, b, goal = (axes_of(spec, 2) for spec in (a_spec, b_spec, out_spec))
    problem = _Problem(mesh, _named([a, b, goal]), itemsize)
    a_ways = problem.cheapest([_Way((0, 0, 0), (), State({"a": (m, k)}, {"a": a}))])
    b_ways = problem.cheapest([_Way((0, 0, 0), (), State({"b": (k, n)}, {"b": b}))])
    products: dict[tuple[object, ...], _Way] = {}
    for left, right in product(a_ways.values(), b_ways.values()):
        a, b = left.state.layouts["a"], right.state.layouts["b"]
        if a[1] != b[0] or set(a[0]) & set(b[1]):
            continue
        work = m * k * n // mesh.size_of((*a[0], *a[1], *b[1]))
        cost = (left.cost[0] + right.cost[0], work, left.cost[2] + right.cost[2] + 1)
        state = apply(Dot(), matmul_state(shape, a, b), mesh)
        way = _Way(cost, (*left.program, *right.program, Dot()), state)
        if way.node not in products or cost < products[way.node].cost:
            products[way.node] = way
    return problem.cheapest(products.values())[goal, ()].program
    ### END SOLUTION


def execute(device: Device, program: Program, state: State, blocks: Mapping[str, np.ndarray]) -> np.ndarray:
    """Carry out a program on one device; returns its block of the result.

    `state`: how the operands are cut at the start. `blocks`: this device's, by operand. A collective along axes
    runs among `mesh.group(device.id, axes)`; a permute among all devices in order, with `permute_pairs`.
    """
    ### BEGIN SOLUTION a6.3: one collective of part 2 for each kind of step
    mesh, held = device.mesh, dict(blocks)
    for step in program:
        if isinstance(step, Dot):
            held = {"c": held["a"] @ held["b"]}
        else:
            x = held[step.operand]
            match step:
                case AllGather(_, axes, dim):
                    x = collectives.all_gather(device, x, dim, mesh.group(device.id, axes))
                case AllReduce(_, axes):
                    x = collectives.all_reduce(device, x, mesh.group(device.id, axes))
                case ReduceScatter(_, axes, dim):
                    x = collectives.reduce_scatter(device, x, dim, mesh.group(device.id, axes))
                case AllToAll(_, axes, dim, to_dim):
                    x = collectives.all_to_all(device, x, to_dim, dim, mesh.group(device.id, axes))
                case Slice(_, axes, dim):
                    x = np.split(x, mesh.size_of(axes), axis=dim)[mesh.position(device.id, axes)]
                case Permute(_, to):
                    pairs = permute_pairs(state.layouts[step.operand], to, mesh)
                    x = collectives.collective_permute(device, x, pairs, tuple(range(mesh.size)))
            held[step.operand] = x
        state = apply(step, state, mesh)
    (result,) = held.values()
    return result
    ### END SOLUTION
