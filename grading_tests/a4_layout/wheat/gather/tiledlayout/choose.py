"""Choices by trying: every block, every assignment of a small graph, and local search in a large one."""

from __future__ import annotations

import itertools
import random

import numpy as np

from .dtypes import element_type
from .errors import BudgetError
from .operations import Reshape
from .padding import padded_bytes
from .relayout import is_bitcast


def default_tile(dtype, rank):
    """The tile of one register."""
    in_a_word = max(1, 32 // element_type(dtype).bits)
    return (8 * in_a_word, 128) if rank > 1 else (128 * in_a_word,)


def _whole(rows, columns, dtype):
    high, wide = default_tile(dtype, 2)
    rows, columns = -(-rows // high) * high, -(-columns // wide) * wide
    return rows * columns * element_type(dtype).bits // 8


def matmul_vmem_bytes(block, dtype):
    """Bytes of two buffers for each block and an accumulator."""
    m, k, n = block
    once = _whole(m, k, dtype) + _whole(k, n, dtype) + _whole(m, n, dtype)
    return once + once + _whole(m, n, "f32")


def choose_block(shape, dtype, vmem_bytes):
    """The largest block that fits, found by looking at all of them."""
    sizes = []
    for size, unit in zip(shape, (8, 128, 128), strict=True):
        multiples = list(range(unit, size, unit))
        sizes.append(np.array([*multiples, size]))
    m, k, n = np.meshgrid(*sizes, indexing="ij", sparse=True)
    needed = matmul_vmem_bytes((m, k, n), dtype)
    work = np.where(needed <= vmem_bytes, m * k * n, 0)
    if not work.any():
        raise BudgetError(needed.min(), vmem_bytes)
    best = np.unravel_index(work.argmax(), work.shape)
    return tuple(int(axis[i]) for axis, i in zip(sizes, best, strict=True))


class _Costs:
    """Bytes of edges, remembered."""

    def __init__(self, graph):
        self.choices = {node.name: node.choices for node in graph.nodes}
        self.edges = [(o, node.name, slot) for node in graph.nodes for slot, o in enumerate(node.operands)]
        self.known = {}

    def edge(self, edge, chosen):
        source, user, slot = edge
        key = edge, chosen[source], chosen[user]
        if key not in self.known:
            made = self.choices[source][chosen[source]].result
            wanted = self.choices[user][chosen[user]].operands[slot]
            same = is_bitcast(Reshape(made.dims), made, wanted)
            self.known[key] = 0 if same else padded_bytes(made) + padded_bytes(wanted)
        return self.known[key]

    def total(self, chosen):
        return sum(self.edge(edge, chosen) for edge in self.edges)


def relayout_bytes(graph, assignment):
    """Bytes of the copies on all edges."""
    return _Costs(graph).total(assignment)


def assign_layouts(graph):
    """All assignments of a small graph; for a large one the greedy way and others, improved one node at a time."""
    costs = _Costs(graph)
    names = [node.name for node in graph.nodes]
    if len(names) <= 6:
        every = itertools.product(*(range(len(node.choices)) for node in graph.nodes))
        return min((dict(zip(names, numbers, strict=True)) for numbers in every), key=costs.total)
    greedy = {}
    for node in graph.nodes:
        edges = [edge for edge in costs.edges if edge[1] == node.name]
        greedy[node.name] = min(
            range(len(node.choices)), key=lambda i: sum(costs.edge(e, {**greedy, node.name: i}) for e in edges)
        )
    rng = random.Random(0)
    starts = [greedy]
    starts += [{node.name: rng.randrange(len(node.choices)) for node in graph.nodes} for _ in range(20)]
    return min((_improved(graph, costs, start) for start in starts), key=costs.total)


def _improved(graph, costs, chosen):
    chosen, better = dict(chosen), True
    while better:
        better = False
        for node in graph.nodes:
            edges = [edge for edge in costs.edges if node.name in edge[:2]]
            now = sum(costs.edge(e, chosen) for e in edges)
            for i in range(len(node.choices)):
                other = sum(costs.edge(e, {**chosen, node.name: i}) for e in edges)
                if other < now:
                    chosen[node.name], now, better = i, other, True
    return chosen
