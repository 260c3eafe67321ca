"""Part 6: choosing tiles, blocks and layouts."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

from hypothesis import strategies as st

from autograder.kit import check, given, hint, number, probe, weight

import generators
import judge

TILES = [[[4, 32]], [[8, 8]], []]


@probe
def tile_of(dtype, rank) -> list[int]:
    """default_tile of an element type and a rank."""
    import tiledlayout

    return [int(size) for size in tiledlayout.default_tile(dtype, rank)]


@probe
def block_of(shape, dtype, budget) -> tuple[int, int, int]:
    """choose_block of a matrix product with this much fast memory."""
    import tiledlayout

    return [int(size) for size in tiledlayout.choose_block(tuple(shape), dtype, budget)]


@probe
def block_bytes(block, dtype) -> int:
    """matmul_vmem_bytes of a block."""
    import tiledlayout

    return int(tiledlayout.matmul_vmem_bytes(tuple(block), dtype))


@probe
def assigned(graph) -> dict[str, int]:
    """assign_layouts of a graph."""
    import tiledlayout

    import describe

    return {str(name): int(choice) for name, choice in tiledlayout.assign_layouts(describe.graph(graph)).items()}


@probe
def bytes_of(graph, assignment) -> int:
    """relayout_bytes of a graph and an assignment."""
    import tiledlayout

    import describe

    return int(tiledlayout.relayout_bytes(describe.graph(graph), assignment))


def whole(rows: int, columns: int, bits: int) -> int:
    """Bytes of a matrix in whole registers of 32-bit words."""
    high = 8 * max(1, 32 // bits)
    return math.ceil(rows / high) * high * (math.ceil(columns / 128) * 128) * bits // 8


def needed(block: tuple[int, ...], dtype: str) -> int:
    """Bytes of fast memory for a block, by the docstring of matmul_vmem_bytes."""
    m, k, n = block
    bits = generators.BITS[dtype]
    return 2 * (whole(m, k, bits) + whole(k, n, bits) + whole(m, n, bits)) + whole(m, n, 32)


def legal(size: int, unit: int) -> list[int]:
    """The legal sizes of a block along a dimension."""
    return sorted({*range(unit, size, unit), size})


@number("6.1")
@weight(2)
@hint("8 sublanes times the packing by 128 lanes; for vectors, 128 times it. Handout, part 6, default tiles.")
def test_default_tiles(student):
    """the tile of one register, for every width of element"""
    rows = {"f32": 8, "s32": 8, "u32": 8, "bf16": 16, "f16": 16, "u16": 16, "s8": 32, "u8": 32, "f8e5m2": 32}
    rows |= {"pred": 32, "s4": 64, "u4": 64, "f4e2m1fn": 64, "s2": 128, "f64": 8, "s64": 8}
    for dtype, high in rows.items():
        for rank in (2, 3, 5):
            check.equal(student(tile_of, dtype, rank), [high, 128], f"default_tile({dtype}, {rank})")
        for rank in (0, 1):
            check.equal(student(tile_of, dtype, rank), [16 * high], f"default_tile({dtype}, {rank})")


@number("6.2")
@weight(2)
@hint("Two buffers for each block and one accumulator, padding included. Handout, part 6, blocks.")
@given(
    shape=st.tuples(st.integers(1, 100), st.integers(1, 600), st.integers(1, 600)),
    dtype=st.sampled_from(["f32", "bf16", "s8", "s4"]),
    share=st.integers(2, 120),
    examples=15,
)
def test_blocks_are_as_large_as_memory_allows(student, shape, dtype, share):
    """the largest legal block that fits, and a refusal if none does"""
    check.equal(student(block_bytes, shape, dtype), needed(shape, dtype), f"bytes of block {shape} of {dtype}")
    budget = needed(shape, dtype) * share // 100
    sizes = list(itertools.product(*(legal(s, u) for s, u in zip(shape, (8, 128, 128), strict=True))))
    fitting = [math.prod(block) for block in sizes if needed(block, dtype) <= budget]
    if not fitting:
        least = min(needed(block, dtype) for block in sizes)
        error = student.error(block_of, shape, dtype, budget)
        check.raised(error, "BudgetError", f"a budget of {budget:,} bytes", needed=least, budget=budget)
        return
    got = student(block_of, shape, dtype, budget)
    check.that(tuple(got) in sizes, f"the block for {shape}", expected="a legal one", got=list(got))
    check.at_most(needed(got, dtype), budget, f"bytes of the block {got} of {dtype}")
    check.equal(math.prod(got), max(fitting), f"multiply-adds of the block {got} for {shape}")


def edges(graph: list[Any]) -> tuple[list[Any], Any]:
    """The graph in layouts instead of their fields, and a function that gives the bytes of an edge."""
    known = [
        [name, operands, [[list(map(judge.layout_of, wanted)), judge.layout_of(made)] for wanted, made in choices]]
        for name, operands, choices in graph
    ]
    return known, functools.cache(judge.edge_bytes)


def greedy_bytes(graph: list[Any], edge: Any) -> int:
    """Bytes of the greedy way, by the docstring of assign_layouts."""
    made: dict[str, Any] = {}
    total = 0
    for name, operands, choices in graph:
        costs = [
            sum(edge(made[operand], want) for operand, want in zip(operands, wanted, strict=True))
            for wanted, _ in choices
        ]
        total += min(costs)
        made[name] = choices[costs.index(min(costs))][1]
    return total


ROWS, COLUMNS = (
    {"dtype": "f32", "dims": [8, 24], "minor_to_major": order, "tiles": []} for order in ([1, 0], [0, 1])
)
# Two readers of a, one of them twice, want the same copy of 768 + 768 bytes.
THRICE: list[Any] = [
    ["a", [], [[[], ROWS]]],
    ["b", ["a"], [[[COLUMNS], COLUMNS]]],
    ["c", ["a", "a"], [[[COLUMNS, COLUMNS], COLUMNS]]],
]


@number("6.3")
@weight(2)
@hint(
    "Every edge pays for itself, so what is best for a node alone may be dear for its neighbours. "
    "Handout, part 6, layouts of a graph."
)
@given(
    graph=generators.graphs(least=3, most=6, tiles=TILES),
    larger=generators.graphs(least=7, most=14, tiles=TILES),
    examples=10,
)
def test_small_graphs_get_the_best_layouts(student, graph, larger):
    """the fewest bytes of copies for up to six nodes, and for more no more than the greedy way"""
    known, edge = edges(graph)
    names = [name for name, _, _ in graph]
    every = itertools.product(*(range(len(choices)) for _, _, choices in graph))
    best = min(judge.graph_bytes(known, dict(zip(names, numbers, strict=True)), edge) for numbers in every)
    spent = judge.graph_bytes(known, student(assigned, graph), edge)
    check.at_most(spent, best, "bytes of copies")
    same = student(bytes_of, THRICE, dict.fromkeys("abc", 0))
    check.equal(same, 3 * 2 * 768, "relayout_bytes of three edges with the same copy: every edge pays for itself")
    first = dict.fromkeys(names, 0)
    want = judge.graph_bytes(known, first, edge)
    check.equal(student(bytes_of, graph, first), want, "relayout_bytes if every node takes its first choice")
    known, edge = edges(larger)
    spent = judge.graph_bytes(known, student(assigned, larger), edge)
    check.at_most(spent, greedy_bytes(known, edge), f"bytes of copies in a graph of {len(larger)} nodes")
