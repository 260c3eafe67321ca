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
    ### BEGIN SOLUTION a6.1: each entry as a tuple, and empty ones up to the rank
    if len(spec.entries) > rank:
        raise SpecError(spec, "rank", detail=f"{len(spec.entries)} entries for {rank} dimensions")
    cuts = [() if entry is None else (entry,) if isinstance(entry, str) else entry for entry in spec.entries]
    return (*cuts, *[()] * (rank - len(cuts)))
    ### END SOLUTION


def check_spec(shape: Sequence[int], spec: PartitionSpec, mesh: Mesh) -> None:
    """Pass if the spec fits an array of this shape on this mesh; otherwise raise SpecError.

    Problems, looked for in this order, in each dimension from the left: "rank" (more entries than dimensions),
    "unknown axis", "axis twice" (in the whole spec), "not divisible" (the dimension by the product of its axes'
    sizes). `axis` names the axis concerned ("" for the rank and for divisibility), `dim` the dimension (-1 for the
    rank).
    """
    ### BEGIN SOLUTION a6.1: look at each dimension's axes, and remember those already used
    used: set[str] = set()
    for dim, axes in enumerate(axes_of(spec, len(shape))):
        for axis in axes:
            if axis not in mesh.axis_names:
                raise SpecError(spec, "unknown axis", axis, dim, f"{mesh} has {', '.join(mesh.axis_names)}")
            if axis in used:
                raise SpecError(spec, "axis twice", axis, dim)
            used.add(axis)
        parts = mesh.size_of(axes)
        if shape[dim] % parts:
            raise SpecError(spec, "not divisible", "", dim, f"size {shape[dim]} into {parts} parts")
    ### END SOLUTION


def local_shape(shape: Sequence[int], spec: PartitionSpec, mesh: Mesh) -> tuple[int, ...]:
    """The shape of each device's block: every dimension divided by the sizes of its axes. Raises SpecError."""
    ### BEGIN SOLUTION a6.1: check, then divide
    check_spec(shape, spec, mesh)
    return tuple(size // mesh.size_of(axes) for size, axes in zip(shape, axes_of(spec, len(shape)), strict=True))
    ### END SOLUTION


def replication(spec: PartitionSpec, mesh: Mesh) -> int:
    """How many devices hold a copy of each block: the product of the sizes of the axes that the spec omits."""
    ### BEGIN SOLUTION a6.1: the mesh's size divided by the number of blocks
    named = [axis for axes in axes_of(spec, len(spec.entries)) for axis in axes]
    return mesh.size // mesh.size_of(named)
    ### END SOLUTION


def device_indices(shape: Sequence[int], spec: PartitionSpec, mesh: Mesh) -> list[tuple[slice, ...]]:
    """For each device, the slices `start:stop`, one for each dimension, that cut its block. Raises SpecError."""
    ### BEGIN SOLUTION a6.1: block number times block size, in every dimension
    block = local_shape(shape, spec, mesh)
    layout = axes_of(spec, len(shape))
    found = []
    for device in range(mesh.size):
        numbers = [mesh.position(device, axes) for axes in layout]
        starts = [number * size for number, size in zip(numbers, block, strict=True)]
        found.append(tuple(slice(start, start + size) for start, size in zip(starts, block, strict=True)))
    return found
    ### END SOLUTION


def shard(x: np.ndarray, spec: PartitionSpec, mesh: Mesh) -> list[np.ndarray]:
    """Each device's block of `x`, as an array of its own (a copy), by device. Raises SpecError."""
    ### BEGIN SOLUTION a6.1: cut by the indices
    x = np.asarray(x)
    return [x[index].copy() for index in device_indices(x.shape, spec, mesh)]
    ### END SOLUTION


def unshard(shards: Sequence[np.ndarray], spec: PartitionSpec, mesh: Mesh) -> np.ndarray:
    """The array whose blocks these are, one for each device; all of one shape and dtype.

    Raises ReplicaError if two devices that the spec says hold the same block differ in a bit: `first` is the
    lowest device with the block, `second` the lowest that differs from it. Raises SpecError if the spec does not
    fit the result.
    """
    ### BEGIN SOLUTION a6.1: the whole shape, then every block at its place, compared if one is there already
    layout = axes_of(spec, np.ndim(shards[0]))
    shape = [size * mesh.size_of(axes) for size, axes in zip(np.shape(shards[0]), layout, strict=True)]
    whole = np.zeros(shape, shards[0].dtype)
    owner: dict[tuple[int, ...], int] = {}
    for device, index in enumerate(device_indices(shape, spec, mesh)):
        first = owner.setdefault(tuple(piece.start for piece in index), device)
        if first == device:
            whole[index] = shards[device]
        elif shards[first].tobytes() != shards[device].tobytes():
            raise ReplicaError(first, device, spec)
    return whole
    ### END SOLUTION
