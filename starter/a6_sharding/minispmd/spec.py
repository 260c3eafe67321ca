"""Partition specs: which axes of the mesh cut which dimension of an array.

`P("x", None)` cuts dimension 0 into as many blocks as axis x is long, and leaves dimension 1 whole. `P(("x",
"y"))` cuts dimension 0 along both axes, x slowest: block number = x · |y| + y. An axis that the spec does not
name holds copies. So a device's coordinates say which block it holds, and there is one rule for it:

    block number along a dimension = the device's position along the dimension's axes, the first one slowest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .errors import ReplicaError, SpecError
from .mesh import Mesh

Entry = str | tuple[str, ...] | None
Layout = tuple[tuple[str, ...], ...]  # for each dimension, the axes that cut it


class PartitionSpec:
    """One entry for each dimension: an axis name, a tuple of names (major first), or None. Immutable.

    There may be fewer entries than dimensions: the rest are whole. `entries`: as given. Two specs are equal if
    they cut alike: `P("x")`, `P(("x",))` and `P("x", None)` are equal, and so are `P(None)`, `P(())` and `P()`.
    """

    def __init__(self, *entries: Entry) -> None:
        self.entries: tuple[Entry, ...] = tuple(
            tuple(entry) if isinstance(entry, (list, tuple)) else entry for entry in entries
        )

    def __repr__(self) -> str:
        return f"P({', '.join(map(repr, self.entries))})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PartitionSpec):
            return NotImplemented
        rank = max(len(self.entries), len(other.entries))
        return axes_of(self, rank) == axes_of(other, rank)

    def __hash__(self) -> int:
        axes = list(axes_of(self, len(self.entries)))
        while axes and not axes[-1]:
            axes.pop()
        return hash(tuple(axes))


P = PartitionSpec


def axes_of(spec: PartitionSpec, rank: int) -> Layout:
    """For each of `rank` dimensions, the tuple of axes that cut it. Raises SpecError "rank" if there are too few.

    `axes_of(P("x", ("y", "z")), 3)` is `(("x",), ("y", "z"), ())`.
    """
    # about 4 lines
    raise NotImplementedError("a6.1: each entry as a tuple, and empty ones up to the rank")


def check_spec(shape: Sequence[int], spec: PartitionSpec, mesh: Mesh) -> None:
    """Pass if the spec fits an array of this shape on this mesh; otherwise raise SpecError.

    Problems, looked for in this order, in each dimension from the left: "rank" (more entries than dimensions),
    "unknown axis", "axis twice" (in the whole spec), "not divisible" (the dimension by the product of its axes'
    sizes). `axis` names the axis concerned ("" for the rank and for divisibility), `dim` the dimension (-1 for the
    rank).
    """
    # about 11 lines
    raise NotImplementedError("a6.1: look at each dimension's axes, and remember those already used")


def local_shape(shape: Sequence[int], spec: PartitionSpec, mesh: Mesh) -> tuple[int, ...]:
    """The shape of each device's block: every dimension divided by the sizes of its axes. Raises SpecError."""
    # about 2 lines
    raise NotImplementedError("a6.1: check, then divide")


def replication(spec: PartitionSpec, mesh: Mesh) -> int:
    """How many devices hold a copy of each block: the product of the sizes of the axes that the spec omits."""
    # about 2 lines
    raise NotImplementedError("a6.1: the mesh's size divided by the number of blocks")


def device_indices(shape: Sequence[int], spec: PartitionSpec, mesh: Mesh) -> list[tuple[slice, ...]]:
    """For each device, the slices `start:stop`, one for each dimension, that cut its block. Raises SpecError."""
    # about 8 lines
    raise NotImplementedError("a6.1: block number times block size, in every dimension")


def shard(x: np.ndarray, spec: PartitionSpec, mesh: Mesh) -> list[np.ndarray]:
    """Each device's block of `x`, as an array of its own (a copy), by device. Raises SpecError."""
    # about 2 lines
    raise NotImplementedError("a6.1: cut by the indices")


def unshard(shards: Sequence[np.ndarray], spec: PartitionSpec, mesh: Mesh) -> np.ndarray:
    """The array whose blocks these are, one for each device; all of one shape and dtype.

    Raises ReplicaError if two devices that the spec says hold the same block differ in a bit: `first` is the
    lowest device with the block, `second` the lowest that differs from it. Raises SpecError if the spec does not
    fit the result.
    """
    # about 11 lines
    raise NotImplementedError("a6.1: the whole shape, then every block at its place, compared if one is there already")
