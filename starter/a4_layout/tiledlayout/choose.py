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
    # about 3 lines
    raise NotImplementedError("a4.6: packed elements times sublanes, or times lanes")


def matmul_vmem_bytes(block: tuple[int, int, int], dtype: str) -> int:
    """Bytes of fast memory that a blocked matrix product needs, for blocks (bm, bk, bn).

    Twice (double buffering) the blocks [bm, bk], [bk, bn] and [bm, bn] of `dtype`, and once an
    accumulator f32[bm, bn]; each in the default tile of its type, and with slots as wide as
    the element, padding included.
    """
    # about 3 lines
    raise NotImplementedError("a4.6: two buffers for each block, one accumulator")


def choose_block(shape: tuple[int, int, int], dtype: str, vmem_bytes: int) -> tuple[int, int, int]:
    """The largest legal block (bm, bk, bn) of a product [m, k] · [k, n] that fits into `vmem_bytes`.

    `shape` is (m, k, n), each from 1 to 2048. Legal: bm is m or a multiple of 8 below m; bk is k or a
    multiple of 128 below k; bn is n or a multiple of 128 below n. Largest: the most multiply-adds,
    bm · bk · bn; among equals any one. Raises `BudgetError` with the bytes of the smallest legal
    block if not even that fits.
    """
    # about 10 lines
    raise NotImplementedError("a4.6: for each bk and bn, the largest bm that fits")


def relayout_bytes(graph: Graph, assignment: Mapping[str, int]) -> int:
    """Bytes that the copies on all edges read and write, if each node takes the choice of this number.

    An edge costs nothing if the layout made is, or can be bitcast to, the layout wanted; else the
    padded bytes of both. Every edge pays for itself, also if two nodes want the same copy.
    """
    # about 6 lines
    raise NotImplementedError("a4.6: add up the edges")


def assign_layouts(graph: Graph) -> dict[str, int]:
    """The number of the choice of each node, such that `relayout_bytes` is small.

    Guaranteed: the least possible for at most six nodes; for more, no more than the greedy way,
    which goes through the nodes in order and takes the choice that adds the fewest bytes on the
    edges to its operands, the first of several.
    """
    # about 18 lines
    raise NotImplementedError("a4.6: eliminate one node after the other, exactly")


# a4.6: legal sizes, bytes of one edge, tables of costs (about 32 lines)
