"""Partition specs, by reshaping: an array with one leading axis for each axis of the mesh."""

from __future__ import annotations

import math

import numpy as np

from .errors import ReplicaError, SpecError


class PartitionSpec:
    """One entry for each dimension."""

    def __init__(self, *entries):
        self.entries = entries

    def _canonical(self):
        cuts = [(e,) if isinstance(e, str) else tuple(e or ()) for e in self.entries]
        while cuts and cuts[-1] == ():
            del cuts[-1]
        return tuple(cuts)

    def __repr__(self):
        return f"P{self.entries}"

    def __eq__(self, other):
        return type(other) is PartitionSpec and self._canonical() == other._canonical()

    def __hash__(self):
        return hash(("spec", self._canonical()))


P = PartitionSpec


def axes_of(spec, rank):
    if len(spec.entries) > rank:
        raise SpecError(spec, "rank")
    found = [()] * rank
    for dim, entry in enumerate(spec.entries):
        found[dim] = (entry,) if isinstance(entry, str) else tuple(entry or ())
    return tuple(found)


def check_spec(shape, spec, mesh):
    seen = []
    for dim, axes in enumerate(axes_of(spec, len(shape))):
        remaining = 1
        for axis in axes:
            if axis not in mesh.axis_names:
                raise SpecError(spec, "unknown axis", axis, dim)
            if axis in seen:
                raise SpecError(spec, "axis twice", axis, dim)
            seen.append(axis)
            remaining *= mesh.axis_size(axis)
        if shape[dim] != shape[dim] // remaining * remaining:
            raise SpecError(spec, "not divisible", "", dim)


def local_shape(shape, spec, mesh):
    check_spec(shape, spec, mesh)
    block = list(shape)
    for dim, axes in enumerate(axes_of(spec, len(shape))):
        for axis in axes:
            block[dim] //= mesh.axis_size(axis)
    return tuple(block)


def replication(spec, mesh):
    named = set().union(*axes_of(spec, len(spec.entries))) if spec.entries else set()
    return math.prod(size for name, size in zip(mesh.axis_names, mesh.shape) if name not in named)


def _spread(x, spec, mesh):
    """x as [*mesh axes, *block], the axes that the spec leaves out being broadcast."""
    split, where = [], {}
    for dim, (axes, size) in enumerate(zip(axes_of(spec, x.ndim), local_shape(x.shape, spec, mesh))):
        for axis in axes:
            where[axis] = len(split)
            split.append(mesh.axis_size(axis))
        split.append(size)
    parts = x.reshape(split)
    named = [name for name in mesh.axis_names if name in where]
    parts = np.moveaxis(parts, [where[name] for name in named], range(len(named)))
    index = tuple(slice(None) if name in where else None for name in mesh.axis_names)
    block = local_shape(x.shape, spec, mesh)
    return np.broadcast_to(parts[index], (*mesh.shape, *block)).reshape((mesh.size, *block))


def device_indices(shape, spec, mesh):
    """Found by sharding the coordinates themselves."""
    block = local_shape(shape, spec, mesh)
    found = [[] for _ in range(mesh.size)]
    for dim, size in enumerate(shape):
        line = np.arange(size).reshape([-1 if d == dim else 1 for d in range(len(shape))])
        pieces = _spread(np.broadcast_to(line, shape), spec, mesh)
        for device in range(mesh.size):
            start = int(pieces[device].reshape(-1)[0]) if pieces[device].size else 0
            found[device].append(slice(start, start + block[dim]))
    return [tuple(index) for index in found]


def shard(x, spec, mesh):
    return [np.array(block) for block in _spread(np.asarray(x), spec, mesh)]


def unshard(shards, spec, mesh):
    rank = np.asarray(shards[0]).ndim
    shape = [n * mesh.size_of(axes) for n, axes in zip(np.shape(shards[0]), axes_of(spec, rank))]
    numbers = shard(np.arange(math.prod(shape)).reshape(shape), spec, mesh)
    flat = np.empty(math.prod(shape), np.asarray(shards[0]).dtype)
    for device in reversed(range(mesh.size)):
        flat[numbers[device].reshape(-1)] = np.asarray(shards[device]).reshape(-1)
    whole = flat.reshape(shape)
    for device, block in enumerate(shard(whole, spec, mesh)):
        if block.tobytes() != np.asarray(shards[device]).tobytes():
            same = [d for d in range(device) if (numbers[d] == numbers[device]).all()]
            raise ReplicaError(same[0], device, spec)
    return whole
