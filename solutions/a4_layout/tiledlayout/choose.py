"""Choosing tiles, blocks and layouts.

The tile that an array gets by default is one vector register full of 32-bit words, into which narrower
elements are packed. A kernel's block is as large as fast memory allows. And in a graph, the best
layout of a node depends on its neighbours': what one saves, another may pay.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Mapping
from functools import cache

import numpy as np

from .dtypes import element_type, packing
from .errors import BudgetError
from .graph import Graph
from .layout import ArrayLayout
from .operations import Reshape
from .padding import padded_bytes
from .relayout import is_bitcast

SUBLANES, LANES = 8, 128


def default_tile(dtype: str, rank: int) -> tuple[int, ...]:
    """The tile of one register: (8 · packing, 128) from rank 2 up, (128 · packing,) below.

    So f32 has (8, 128), bf16 (16, 128), s8 (32, 128); a vector or scalar of f32 has (128,).
    Raises `LayoutError` for an unknown type.
    """
    ### BEGIN SOLUTION a4.6: packed elements times sublanes, or times lanes
    if rank < 2:
        return (LANES * packing(dtype),)
    return (SUBLANES * packing(dtype), LANES)
    ### END SOLUTION


def matmul_vmem_bytes(block: tuple[int, int, int], dtype: str) -> int:
    """Bytes of fast memory that a blocked matrix product needs, for blocks (bm, bk, bn).

    Twice (double buffering) the blocks [bm, bk], [bk, bn] and [bm, bn] of `dtype`, and once an
    accumulator f32[bm, bn]; each in the default tile of its type, and with slots as wide as
    the element, padding included.
    """
    ### BEGIN SOLUTION a4.6: two buffers for each block, one accumulator
    bm, bk, bn = block
    buffers = _tiled_bytes(bm, bk, dtype) + _tiled_bytes(bk, bn, dtype) + _tiled_bytes(bm, bn, dtype)
    return 2 * buffers + _tiled_bytes(bm, bn, "f32")
    ### END SOLUTION


def choose_block(shape: tuple[int, int, int], dtype: str, vmem_bytes: int) -> tuple[int, int, int]:
    """The largest legal block (bm, bk, bn) of a product [m, k] · [k, n] that fits into `vmem_bytes`.

    `shape` is (m, k, n), each from 1 to 2048. Legal: bm is m or a multiple of 8 below m; bk is k or a
    multiple of 128 below k; bn is n or a multiple of 128 below n. Largest: the most multiply-adds,
    bm · bk · bn; among equals any one. Raises `BudgetError` with the bytes of the smallest legal
    block if not even that fits.
    """
    ### BEGIN SOLUTION a4.6: for each bk and bn, the largest bm that fits
    m, k, n = shape
    all_bm, all_bk, all_bn = _legal(m, SUBLANES), _legal(k, LANES), _legal(n, LANES)
    best: tuple[int, int, int] | None = None
    for bk, bn in itertools.product(all_bk, all_bn):
        # The bytes grow with bm, so how many of them fit is found by halving.
        fitting = bisect.bisect_right(all_bm, vmem_bytes, key=lambda bm: matmul_vmem_bytes((bm, bk, bn), dtype))
        if fitting and (best is None or all_bm[fitting - 1] * bk * bn > math.prod(best)):
            best = all_bm[fitting - 1], bk, bn
    if best is None:
        raise BudgetError(matmul_vmem_bytes((all_bm[0], all_bk[0], all_bn[0]), dtype), vmem_bytes)
    return best
    ### END SOLUTION


def relayout_bytes(graph: Graph, assignment: Mapping[str, int]) -> int:
    """Bytes that the copies on all edges read and write, if each node takes the choice of this number.

    An edge costs nothing if the layout made is, or can be bitcast to, the layout wanted; else the
    padded bytes of both. Every edge pays for itself, also if two nodes want the same copy.
    """
    ### BEGIN SOLUTION a4.6: add up the edges
    total = 0
    for node in graph.nodes:
        wanted = node.choices[assignment[node.name]].operands
        for operand, want in zip(node.operands, wanted, strict=True):
            total += _edge_bytes(graph.node(operand).choices[assignment[operand]].result, want)
    return total
    ### END SOLUTION


def assign_layouts(graph: Graph) -> dict[str, int]:
    """The number of the choice of each node, such that `relayout_bytes` is small.

    Guaranteed: the least possible for at most six nodes; for more, no more than the greedy way,
    which goes through the nodes in order and takes the choice that adds the fewest bytes on the
    edges to its operands, the first of several.
    """
    ### BEGIN SOLUTION a4.6: eliminate one node after the other, exactly
    factors = _edge_tables(graph)
    sizes = {node.name: len(node.choices) for node in graph.nodes}
    decisions: list[tuple[str, tuple[str, ...], np.ndarray]] = []
    remaining = set(sizes)
    while remaining:
        name = min(sorted(remaining), key=lambda name: _joint_size(name, factors, sizes))
        touching = [factor for factor in factors if name in factor[0]]
        around = tuple(sorted({other for names, _ in touching for other in names} - {name}))
        joint = np.zeros([sizes[other] for other in (*around, name)])
        for names, table in touching:
            joint = joint + _aligned(names, table, (*around, name))
        decisions.append((name, around, joint.argmin(axis=-1)))
        factors = [factor for factor in factors if name not in factor[0]] + [(around, joint.min(axis=-1))]
        remaining.discard(name)
    assignment: dict[str, int] = {}
    for name, around, best in reversed(decisions):
        assignment[name] = int(best[tuple(assignment[other] for other in around)])
    return assignment
    ### END SOLUTION


### BEGIN SOLUTION a4.6: legal sizes, bytes of one edge, tables of costs
Factor = tuple[tuple[str, ...], np.ndarray]  # names of nodes; bytes for every combination of their choices


def _tiled_bytes(rows: int, columns: int, dtype: str) -> int:
    """Bytes of a matrix in the default tile, slots as wide as the element."""
    tile_rows, tile_columns = default_tile(dtype, 2)
    slots = -(-rows // tile_rows) * tile_rows * -(-columns // tile_columns) * tile_columns
    return slots * element_type(dtype).bits // 8


def _legal(size: int, unit: int) -> list[int]:
    return [*range(unit, size, unit), size]


@cache
def _edge_bytes(made: ArrayLayout, wanted: ArrayLayout) -> int:
    if is_bitcast(Reshape(made.dims), made, wanted):
        return 0
    return padded_bytes(made) + padded_bytes(wanted)


def _edge_tables(graph: Graph) -> list[Factor]:
    tables: list[Factor] = []
    for node in graph.nodes:
        for slot, operand in enumerate(node.operands):
            table = [
                [_edge_bytes(made.result, choice.operands[slot]) for choice in node.choices]
                for made in graph.node(operand).choices
            ]
            tables.append(((operand, node.name), np.array(table, float)))
    return tables


def _joint_size(name: str, factors: list[Factor], sizes: dict[str, int]) -> int:
    """How large a table the elimination of this node would make."""
    around = {other for names, _ in factors if name in names for other in names}
    return math.prod(sizes[other] for other in around)


def _aligned(names: tuple[str, ...], table: np.ndarray, axes: tuple[str, ...]) -> np.ndarray:
    """The table with its axes in the order of `axes`, and unit axes for those it has not."""
    order = sorted(range(len(names)), key=lambda i: axes.index(names[i]))
    sizes = dict(zip(names, table.shape, strict=True))
    return table.transpose(order).reshape([sizes.get(axis, 1) for axis in axes])


### END SOLUTION
