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
        ### BEGIN SOLUTION a6.5: cut the arguments, run the devices, put the results together
        if len(arguments) != len(in_specs):
            raise ShardMapError(f"{len(arguments)} arguments came for {len(in_specs)} in_specs")
        blocks = [shard(x, spec, mesh) for x, spec in zip(arguments, in_specs, strict=True)]
        fabric = mapped.fabric = Fabric(mesh)  # type: ignore[attr-defined]
        results = fabric.run(lambda device, *mine: function(*mine), *blocks)
        one = isinstance(out_specs, PartitionSpec)
        specs = (out_specs,) if one else tuple(out_specs)
        by_device = [result if isinstance(result, tuple) else (result,) for result in results]
        if {len(result) for result in by_device} != {len(specs)}:
            raise ShardMapError(f"the function does not return {len(specs)} results, one for each of out_specs")
        whole = [_join([result[i] for result in by_device], spec, mesh) for i, spec in enumerate(specs)]
        return whole[0] if one else tuple(whole)
        ### END SOLUTION

    return mapped


### BEGIN SOLUTION a6.5: putting blocks together, and whom a collective is about
def _join(blocks: Sequence[Any], spec: PartitionSpec, mesh: Mesh) -> np.ndarray:
    arrays = [np.asarray(block) for block in blocks]
    kinds = {(array.shape, array.dtype.name) for array in arrays}
    if len(kinds) > 1:
        raise ShardMapError(f"devices return blocks of different kinds for one result: {sorted(kinds)}")
    return unshard(arrays, spec, mesh)


def _names(axes: Axes) -> tuple[str, ...]:
    return (axes,) if isinstance(axes, str) else tuple(axes)


def _device(axes: Axes) -> Device:
    """The device that runs now, if the axes are those of its mesh."""
    device = this_device()
    if device is None:
        raise ShardMapError(f"a collective along {axes} was called outside shard_map, where no axis has a name")
    for name in _names(axes):
        if name not in device.mesh.axis_names:
            raise ShardMapError(f"there is no axis {name!r} in {device.mesh}")
    return device


def _group(device: Device, axes: Axes, axis_index_groups: IndexGroups) -> tuple[int, ...]:
    groups = collectives.groups_of(device.mesh, _names(axes), axis_index_groups)
    return next(group for group in groups if device.id in group)


### END SOLUTION


def axis_index(axes: Axes) -> int:
    """This device's position along the axes, the first one slowest. Raises ShardMapError like all that follow:
    outside `shard_map`, and for an axis that the mesh has not.
    """
    ### BEGIN SOLUTION a6.5: ask the mesh
    device = _device(axes)
    return device.mesh.position(device.id, _names(axes))
    ### END SOLUTION


def psum(x: np.ndarray, axes: Axes, axis_index_groups: IndexGroups = None) -> np.ndarray:
    """The sum over the devices along the axes, or over this device's one of `axis_index_groups`."""
    ### BEGIN SOLUTION a6.5: an all-reduce among this device's group
    device = _device(axes)
    return collectives.all_reduce(device, x, _group(device, axes, axis_index_groups))
    ### END SOLUTION


def all_gather(x: np.ndarray, axes: Axes, dim: int = 0, axis_index_groups: IndexGroups = None) -> np.ndarray:
    """The blocks of the devices along the axes, joined along `dim` (JAX's `tiled=True`)."""
    ### BEGIN SOLUTION a6.5: the same for a gather
    device = _device(axes)
    return collectives.all_gather(device, x, dim, _group(device, axes, axis_index_groups))
    ### END SOLUTION


def psum_scatter(x: np.ndarray, axes: Axes, dim: int = 0, axis_index_groups: IndexGroups = None) -> np.ndarray:
    """The sum over the devices along the axes, of which each keeps its block of `dim` (JAX's `tiled=True`)."""
    ### BEGIN SOLUTION a6.5: the same for a reduce-scatter
    device = _device(axes)
    return collectives.reduce_scatter(device, x, dim, _group(device, axes, axis_index_groups))
    ### END SOLUTION


def all_to_all(
    x: np.ndarray, axes: Axes, split_dim: int, concat_dim: int, axis_index_groups: IndexGroups = None
) -> np.ndarray:
    """Pieces of `split_dim` to the devices along the axes, what arrives joined along `concat_dim` (tiled)."""
    ### BEGIN SOLUTION a6.5: the same for an all-to-all
    device = _device(axes)
    group = _group(device, axes, axis_index_groups)
    return collectives.all_to_all(device, x, split_dim, concat_dim, group)
    ### END SOLUTION


def ppermute(x: np.ndarray, axes: Axes, perm: Sequence[tuple[int, int]]) -> np.ndarray:
    """For each (source, target) of `perm`, positions along the axes, the target gets the source's x; others zeros.

    Raises ShardMapError if a position does not exist.
    """
    ### BEGIN SOLUTION a6.5: the same for a permute
    device = _device(axes)
    group = _group(device, axes, None)
    if any(not 0 <= place < len(group) for pair in perm for place in pair):
        raise ShardMapError(f"{perm} names a position that is not between 0 and {len(group) - 1}")
    return collectives.collective_permute(device, x, perm, group)
    ### END SOLUTION
