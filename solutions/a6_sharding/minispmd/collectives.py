"""Collectives, built from sends: every device of a group runs the same few lines.

All of them are about *blocks*: each device starts with some and must end with others. On a ring, each device talks
to its two neighbours only. In step s it hands on what it got in step s − 1, so after n − 1 steps every block has
been everywhere, and each device has sent n − 1 blocks: the least that is possible.

The order of a group matters. Position i of the group gives the i-th block of a gather and gets the i-th block of a
scatter, whatever the devices are called.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .errors import CollectiveError
from .fabric import Device, collective
from .mesh import Mesh

Group = tuple[int, ...]


def groups_of(
    mesh: Mesh, axes: Sequence[str], axis_index_groups: Sequence[Sequence[int]] | None = None
) -> list[Group]:
    """The groups that communicate when a collective runs along `axes`, as ordered tuples of devices.

    Without `axis_index_groups`: `mesh.groups(axes)`. With them, each of those groups is split: they are lists of
    *positions* along the axes, and each list, in its order, is a group. Every position must occur exactly once;
    otherwise raises CollectiveError, with `collective="axis_index_groups"`. Along x of `Mesh(x=4)`,
    `[[2, 0], [1, 3]]` gives `[(2, 0), (1, 3)]`.
    """
    ### BEGIN SOLUTION a6.2: pick positions out of each of the mesh's groups
    whole = mesh.groups(axes)
    if axis_index_groups is None:
        return whole
    size = mesh.size_of(axes)
    if sorted(position for part in axis_index_groups for position in part) != list(range(size)):
        raise CollectiveError(
            "axis_index_groups", f"{axis_index_groups} must hold each position from 0 to {size - 1} once"
        )
    return [tuple(group[position] for position in part) for group in whole for part in axis_index_groups]
    ### END SOLUTION


### BEGIN SOLUTION a6.2: a gather and a reduction on rings, for lists of blocks
def _rings(group: Group, both_ways: bool) -> list[Group]:
    """The orders in which blocks travel: round the ring, or half of each block either way."""
    return [group, group[::-1]] if both_ways else [group]


def _ring_gather(
    device: Device, parts: Sequence[np.ndarray], rings: Sequence[Group]
) -> list[dict[int, np.ndarray]]:
    """For each ring, every device's part of it. `parts`: this device's own, one for each ring."""
    held = [{device.id: part} for part in parts]
    n = len(rings[0])
    for step in range(n - 1):
        for ring, blocks in zip(rings, held, strict=True):
            me = ring.index(device.id)
            device.send(ring[(me + 1) % n], blocks[ring[(me - step) % n]])
        for ring, blocks in zip(rings, held, strict=True):
            me = ring.index(device.id)
            blocks[ring[(me - step - 1) % n]] = device.recv(ring[(me - 1) % n])
    return held


def _ring_reduce(
    device: Device, parts: Sequence[dict[int, np.ndarray]], rings: Sequence[Group]
) -> list[np.ndarray]:
    """For each ring, the sum over all devices of this device's block. `parts`: its terms of everyone's blocks.

    The sum of a block starts at its owner's successor and is added to on its way round, so it is made in one
    place and in one order.
    """
    n = len(rings[0])
    sums = []
    for ring, blocks in zip(rings, parts, strict=True):
        sums.append(blocks[ring[(ring.index(device.id) - 1) % n]])
    for step in range(n - 1):
        for ring, total in zip(rings, sums, strict=True):
            device.send(ring[(ring.index(device.id) + 1) % n], total)
        for number, (ring, blocks) in enumerate(zip(rings, parts, strict=True)):
            me = ring.index(device.id)
            sums[number] = device.recv(ring[(me - 1) % n]) + blocks[ring[(me - step - 2) % n]]
    return sums


def _cut(block: np.ndarray, count: int) -> list[np.ndarray]:
    """A block as `count` flat pieces of nearly equal size."""
    return np.array_split(block.reshape(-1), count)


### END SOLUTION


@collective
def all_gather(device: Device, x: np.ndarray, dim: int, group: Group, both_ways: bool = False) -> np.ndarray:
    """The blocks of all devices of the group, joined along `dim` in the group's order.

    x: any shape, the same on all. Each device sends (n − 1) blocks in n − 1 steps. With `both_ways`, half of every
    block travels the other way round, so that the busiest link carries half as much (for n > 2).
    """
    ### BEGIN SOLUTION a6.2: cut the block for the rings, gather, put together
    rings = _rings(group, both_ways)
    held = _ring_gather(device, _cut(x, len(rings)), rings)
    blocks = [np.concatenate([part[member] for part in held]).reshape(x.shape) for member in group]
    return np.concatenate(blocks, axis=dim)
    ### END SOLUTION


@collective
def reduce_scatter(device: Device, x: np.ndarray, dim: int, group: Group, both_ways: bool = False) -> np.ndarray:
    """The sum over the group of `x`, cut along `dim` into n blocks: position i gets block i.

    x: any shape, the same on all, with `x.shape[dim]` divisible by n (else CollectiveError). Each device sends
    n − 1 blocks in n − 1 steps. `both_ways` as in `all_gather`.
    """
    ### BEGIN SOLUTION a6.2: cut into blocks and these for the rings, reduce, put together
    n = len(group)
    if x.shape[dim] % n:
        raise CollectiveError("reduce_scatter", f"dimension {dim} of size {x.shape[dim]} is cut into {n} blocks")
    blocks = np.split(x, n, axis=dim)
    rings = _rings(group, both_ways)
    pieces = {member: _cut(block, len(rings)) for member, block in zip(group, blocks, strict=True)}
    parts = [{member: pieces[member][number] for member in group} for number in range(len(rings))]
    return np.concatenate(_ring_reduce(device, parts, rings)).reshape(blocks[0].shape)
    ### END SOLUTION


@collective
def all_reduce(device: Device, x: np.ndarray, group: Group, both_ways: bool = False) -> np.ndarray:
    """The sum over the group of `x`, the same bits on every device.

    x: any shape, the same on all; its number of elements need not be divisible by n. A reduce-scatter of the flat
    array, then an all-gather: each device sends at most 2(n − 1)·⌈elements / n⌉ elements in 2(n − 1) steps.
    """
    ### BEGIN SOLUTION a6.2: n flat pieces, reduced, then gathered
    rings = _rings(group, both_ways)
    pieces = {member: _cut(piece, len(rings)) for member, piece in zip(group, _cut(x, len(group)), strict=True)}
    parts = [{member: pieces[member][number] for member in group} for number in range(len(rings))]
    held = _ring_gather(device, _ring_reduce(device, parts, rings), rings)
    flat = np.concatenate([part[member] for member in group for part in held])
    return flat.reshape(x.shape)
    ### END SOLUTION


@collective
def all_reduce_by_axes(device: Device, x: np.ndarray, groups: Sequence[Group], group: Group) -> np.ndarray:
    """The sum of `x` over a whole torus, one axis after the other: the same bits on every device.

    groups: this device's group along each axis. group: all devices together (for the fabric's check). Scatter
    along the first axis, then the second …, then gather in the opposite order: the bytes of one long ring, in
    2 · Σ (n_axis − 1) steps.
    """
    ### BEGIN SOLUTION a6.2: go down scattering, come back gathering
    held = x.reshape(-1)
    for ring in groups:
        pieces = dict(zip(ring, np.array_split(held, len(ring)), strict=True))
        (held,) = _ring_reduce(device, [pieces], [ring])
    for ring in reversed(groups):
        (blocks,) = _ring_gather(device, [held], [ring])
        held = np.concatenate([blocks[member] for member in ring])
    return held.reshape(x.shape)
    ### END SOLUTION


@collective
def all_to_all(device: Device, x: np.ndarray, split_dim: int, concat_dim: int, group: Group) -> np.ndarray:
    """Cut `x` along `split_dim` into n pieces, send piece i to position i, join what arrives along `concat_dim`.

    Pieces are joined in the group's order. x: any shape, the same on all, with `x.shape[split_dim]` divisible by n
    (else CollectiveError). Each device sends n − 1 pieces, each straight to its owner: (n − 1)/n of its array.
    """
    ### BEGIN SOLUTION a6.2: send to everyone at a distance of 1, 2, …; join by position
    n, me = len(group), group.index(device.id)
    if x.shape[split_dim] % n:
        size = x.shape[split_dim]
        raise CollectiveError("all_to_all", f"dimension {split_dim} of size {size} is cut into {n} pieces")
    pieces = np.split(x, n, axis=split_dim)
    for distance in range(1, n):
        target = (me + distance) % n
        device.send(group[target], pieces[target])
    joined = [pieces[me] if member == device.id else device.recv(member) for member in group]
    return np.concatenate(joined, axis=concat_dim)
    ### END SOLUTION


@collective
def collective_permute(
    device: Device, x: np.ndarray, pairs: Sequence[tuple[int, int]], group: Group
) -> np.ndarray:
    """For each pair (source, target) of positions, the target gets the source's `x`; others get zeros.

    No position may be a source twice or a target twice (else CollectiveError). A pair (i, i) sends nothing.
    """
    ### BEGIN SOLUTION a6.2: send to my target, receive from my source
    me = group.index(device.id)
    sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
    if len(set(sources)) < len(sources) or len(set(targets)) < len(targets):
        raise CollectiveError("collective_permute", f"a source or a target occurs twice in {pairs}")
    result = np.zeros_like(x)
    for source, target in pairs:
        if source == me and target != me:
            device.send(group[target], x)
    for source, target in pairs:
        if target == me:
            result = x if source == me else device.recv(group[source])
    return result
    ### END SOLUTION


@collective
def broadcast(device: Device, x: np.ndarray, group: Group) -> np.ndarray:
    """The `x` of the group's first device, on all of them. What the others pass has its shape and dtype only.

    Nobody gets it twice: together the devices send n − 1 copies, in at most n − 1 steps.
    """
    ### BEGIN SOLUTION a6.2: hand it on along the group
    me = group.index(device.id)
    held = x if me == 0 else device.recv(group[me - 1])
    if me + 1 < len(group):
        device.send(group[me + 1], held)
    return held
    ### END SOLUTION
