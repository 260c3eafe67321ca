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
    # about 7 lines
    raise NotImplementedError("a6.3: one formula for each kind")


# a6.3: the steps that can follow a state, and the walk in order of cost (about 72 lines)


def reshard(
    src: PartitionSpec, dst: PartitionSpec, mesh: Mesh, shape: Sequence[int], itemsize: int = 4
) -> Program:
    """The cheapest program that takes operand "x" of a global shape from one spec to another.

    Fewest bytes sent by each device; among those, fewest steps. Empty if nothing is to be done. Only axes that
    `src` or `dst` name are used. Raises SpecError if either spec does not fit the shape.
    """
    check_spec(shape, src, mesh)
    check_spec(shape, dst, mesh)
    # about 4 lines
    raise NotImplementedError("a6.3: the cheapest way from one layout to the other")


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
    # about 16 lines
    raise NotImplementedError("a6.3: walk from a, walk from b, try every pair that can be multiplied, walk from there")


def execute(device: Device, program: Program, state: State, blocks: Mapping[str, np.ndarray]) -> np.ndarray:
    """Carry out a program on one device; returns its block of the result.

    `state`: how the operands are cut at the start. `blocks`: this device's, by operand. A collective along axes
    runs among `mesh.group(device.id, axes)`; a permute among all devices in order, with `permute_pairs`.
    """
    # about 24 lines
    raise NotImplementedError("a6.3: one collective of part 2 for each kind of step")
