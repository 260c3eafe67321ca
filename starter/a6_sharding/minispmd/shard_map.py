"""shard_map: write the program of one device, run it on all of them.

`shard_map(f, mesh, in_specs, out_specs)` cuts the arguments, runs `f` on every device with its blocks, and puts
the results together. Inside `f`, shapes are local, and data comes from other devices through collectives only,
which name the axes of the mesh along which they run. Each of them is a collective of part 2 among the devices
that differ from this one along those axes only.

All devices run the same program on different data (SPMD). So the collectives they meet must be the same in the
same order, which the fabric checks, and a result that is said to be the same everywhere must be.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import collectives
from .errors import ShardMapError
from .fabric import Device, Fabric, this_device
from .mesh import Mesh
from .spec import PartitionSpec, shard, unshard

Axes = str | tuple[str, ...]
IndexGroups = Sequence[Sequence[int]] | None


def shard_map(
    function: Callable[..., Any], mesh: Mesh, in_specs: Sequence[PartitionSpec], out_specs: Any
) -> Callable[..., Any]:
    """A function of whole arrays that runs `function` on the blocks of every device.

    `in_specs`: one spec for each argument. `out_specs`: one spec if `function` returns one array, a tuple of specs
    if it returns a tuple. The result has the attribute `fabric`: that of the last call.

    Raises ShardMapError if the number of arguments or results is not that of the specs, or if blocks of one result
    differ in shape or dtype; SpecError if a spec does not fit; ReplicaError if devices disagree about a block that
    `out_specs` says is the same; and what the fabric raises: Deadlock, CollectiveMismatch.
    """

    def mapped(*arguments: np.ndarray) -> Any:
        # about 12 lines
        raise NotImplementedError("a6.5: cut the arguments, run the devices, put the results together")

    return mapped


# a6.5: putting blocks together, and whom a collective is about (about 20 lines)


def axis_index(axes: Axes) -> int:
    """This device's position along the axes, the first one slowest. Raises ShardMapError like all that follow:
    outside `shard_map`, and for an axis that the mesh has not.
    """
    # about 2 lines
    raise NotImplementedError("a6.5: ask the mesh")


def psum(x: np.ndarray, axes: Axes, axis_index_groups: IndexGroups = None) -> np.ndarray:
    """The sum over the devices along the axes, or over this device's one of `axis_index_groups`."""
    # about 2 lines
    raise NotImplementedError("a6.5: an all-reduce among this device's group")


def all_gather(x: np.ndarray, axes: Axes, dim: int = 0, axis_index_groups: IndexGroups = None) -> np.ndarray:
    """The blocks of the devices along the axes, joined along `dim` (JAX's `tiled=True`)."""
    # about 2 lines
    raise NotImplementedError("a6.5: the same for a gather")


def psum_scatter(x: np.ndarray, axes: Axes, dim: int = 0, axis_index_groups: IndexGroups = None) -> np.ndarray:
    """The sum over the devices along the axes, of which each keeps its block of `dim` (JAX's `tiled=True`)."""
    # about 2 lines
    raise NotImplementedError("a6.5: the same for a reduce-scatter")


def all_to_all(
    x: np.ndarray, axes: Axes, split_dim: int, concat_dim: int, axis_index_groups: IndexGroups = None
) -> np.ndarray:
    """Pieces of `split_dim` to the devices along the axes, what arrives joined along `concat_dim` (tiled)."""
    # about 3 lines
    raise NotImplementedError("a6.5: the same for an all-to-all")


def ppermute(x: np.ndarray, axes: Axes, perm: Sequence[tuple[int, int]]) -> np.ndarray:
    """For each (source, target) of `perm`, positions along the axes, the target gets the source's x; others zeros.

    Raises ShardMapError if a position does not exist.
    """
    # about 5 lines
    raise NotImplementedError("a6.5: the same for a permute")
