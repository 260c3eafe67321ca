"""Part 6, hidden: larger products, larger graphs, and the graph of the leaderboard."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from given_tiledlayout.graph import transformer_graph
from hypothesis import strategies as st

from autograder.kit import check, given, hint, leaderboard, number, probe, weight

import generators
import judge
import oracle

TILES = [[[8, 128], [2, 1]], [[8, 128]], [[16, 128], [2, 1]]]
BITS = {"f32": 32, "bf16": 16, "s8": 8, "s4": 4}


@probe
def block_of(shape, dtype, budget) -> tuple[int, int, int]:
    """choose_block of a matrix product with this much fast memory."""
    import tiledlayout

    return [int(size) for size in tiledlayout.choose_block(tuple(shape), dtype, budget)]


@probe
def assigned(graph) -> dict[str, int]:
    """assign_layouts of a graph."""
    import tiledlayout

    import describe

    return {str(name): int(choice) for name, choice in tiledlayout.assign_layouts(describe.graph(graph)).items()}


@probe
def assigned_transformer() -> dict[str, int]:
    """assign_layouts of transformer_graph()."""
    import tiledlayout

    graph = tiledlayout.transformer_graph()
    return {str(name): int(choice) for name, choice in tiledlayout.assign_layouts(graph).items()}


def needed(m: Any, k: Any, n: Any, bits: int) -> Any:
    """Bytes of fast memory for blocks of these sizes, which may be arrays."""

    def whole(rows: Any, columns: Any, bits: int) -> Any:
        high = 8 * max(1, 32 // bits)
        return -(-rows // high) * high * (-(-columns // 128) * 128) * bits // 8

    return 2 * (whole(m, k, bits) + whole(k, n, bits) + whole(m, n, bits)) + whole(m, n, 32)


@number("6.4")
@weight(1)
@hint("All legal sizes of all three dimensions come into question. Handout, part 6, blocks.")
@given(
    shape=st.tuples(*[st.integers(500, 2048)] * 3),
    dtype=st.sampled_from(list(BITS)),
    budget=st.integers(400_000, 16_000_000),
    examples=8,
)
def test_blocks_of_larger_products(student, shape, dtype, budget):
    """the largest legal block of larger products"""
    axes = [np.array([*range(u, s, u), s]) for s, u in zip(shape, (8, 128, 128), strict=True)]
    m, k, n = np.meshgrid(*axes, indexing="ij", sparse=True)
    best = int(np.where(needed(m, k, n, BITS[dtype]) <= budget, m * k * n, 0).max())
    got = student(block_of, shape, dtype, budget)
    legal = all(size in axis for size, axis in zip(got, axes, strict=True))
    check.that(legal, f"the block for {shape}", expected="a legal one", got=list(got))
    check.at_most(int(needed(*got, BITS[dtype])), budget, f"bytes of the block {got} of {dtype}")
    check.equal(math.prod(got), best, f"multiply-adds of the block {got} for {shape}")


@number("6.5")
@weight(2)
@hint("Never more than the greedy way, and the least of all for six nodes. Handout, part 6, layouts of a graph.")
@given(
    small=generators.graphs(least=4, most=6, tiles=TILES, dtype="bf16"),
    large=generators.graphs(least=12, most=40, tiles=TILES, dtype="bf16"),
    examples=7,
)
def test_larger_graphs_are_no_worse_than_greedy(student, small, large):
    """no more bytes of copies than the greedy way, and the fewest for small graphs with nested tiles"""
    known = oracle.as_layouts(large)
    greedy = judge.graph_bytes(known, oracle.greedy(known), oracle.edge_bytes)
    check.at_most(judge.graph_bytes(known, student(assigned, large), oracle.edge_bytes), greedy, "bytes of copies")
    known = oracle.as_layouts(small)
    best = oracle.fewest_bytes(known)
    check.at_most(judge.graph_bytes(known, student(assigned, small), oracle.edge_bytes), best, "bytes of copies")


@number("6.6")
@weight(1)
@hint("The graph of the handout, at most as dear as the greedy way. Handout, part 6, leaderboard.")
@leaderboard("relayout MiB", "asc")
def test_layouts_of_a_transformer(student, set_leaderboard_value=None):
    """copies in the graph of forty nodes"""
    graph = [
        [node.name, list(node.operands), [[choice.operands, choice.result] for choice in node.choices]]
        for node in transformer_graph().nodes
    ]
    greedy = judge.graph_bytes(graph, oracle.greedy(graph), oracle.edge_bytes)
    spent = judge.graph_bytes(graph, student(assigned_transformer), oracle.edge_bytes)
    check.at_most(spent, greedy, "bytes of copies")
    set_leaderboard_value(round(spent / 2**20, 3))
