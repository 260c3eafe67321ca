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
    # about 9 lines
    raise NotImplementedError("a6.2: pick positions out of each of the mesh's groups")


# a6.2: a gather and a reduction on rings, for lists of blocks (about 38 lines)


@collective
def all_gather(device: Device, x: np.ndarray, dim: int, group: Group, both_ways: bool = False) -> np.ndarray:
    """The blocks of all devices of the group, joined along `dim` in the group's order.

    x: any shape, the same on all. Each device sends (n − 1) blocks in n − 1 steps. With `both_ways`, half of every
    block travels the other way round, so that the busiest link carries half as much (for n > 2).
    """
    # about 4 lines
    raise NotImplementedError("a6.2: cut the block for the rings, gather, put together")


@collective
def reduce_scatter(device: Device, x: np.ndarray, dim: int, group: Group, both_ways: bool = False) -> np.ndarray:
    """The sum over the group of `x`, cut along `dim` into n blocks: position i gets block i.

    x: any shape, the same on all, with `x.shape[dim]` divisible by n (else CollectiveError). Each device sends
    n − 1 blocks in n − 1 steps. `both_ways` as in `all_gather`.
    """
    # about 8 lines
    raise NotImplementedError("a6.2: cut into blocks and these for the rings, reduce, put together")


@collective
def all_reduce(device: Device, x: np.ndarray, group: Group, both_ways: bool = False) -> np.ndarray:
    """The sum over the group of `x`, the same bits on every device.

    x: any shape, the same on all; its number of elements need not be divisible by n. A reduce-scatter of the flat
    array, then an all-gather: each device sends at most 2(n − 1)·⌈elements / n⌉ elements in 2(n − 1) steps.
    """
    # about 6 lines
    raise NotImplementedError("a6.2: n flat pieces, reduced, then gathered")


@collective
def all_reduce_by_axes(device: Device, x: np.ndarray, groups: Sequence[Group], group: Group) -> np.ndarray:
    """The sum of `x` over a whole torus, one axis after the other: the same bits on every device.

    groups: this device's group along each axis. group: all devices together (for the fabric's check). Scatter
    along the first axis, then the second …, then gather in the opposite order: the bytes of one long ring, in
    2 · Σ (n_axis − 1) steps.
    """
    # about 8 lines
    raise NotImplementedError("a6.2: go down scattering, come back gathering")


@collective
def all_to_all(device: Device, x: np.ndarray, split_dim: int, concat_dim: int, group: Group) -> np.ndarray:
    """Cut `x` along `split_dim` into n pieces, send piece i to position i, join what arrives along `concat_dim`.

    Pieces are joined in the group's order. x: any shape, the same on all, with `x.shape[split_dim]` divisible by n
    (else CollectiveError). Each device sends n − 1 pieces, each straight to its owner: (n − 1)/n of its array.
    """
    # about 10 lines
    raise NotImplementedError("a6.2: send to everyone at a distance of 1, 2, …; join by position")


@collective
def collective_permute(
    device: Device, x: np.ndarray, pairs: Sequence[tuple[int, int]], group: Group
) -> np.ndarray:
    """For each pair (source, target) of positions, the target gets the source's `x`; others get zeros.

    No position may be a source twice or a target twice (else CollectiveError). A pair (i, i) sends nothing.
    """
    # about 12 lines
    raise NotImplementedError("a6.2: send to my target, receive from my source")


@collective
def broadcast(device: Device, x: np.ndarray, group: Group) -> np.ndarray:
    """The `x` of the group's first device, on all of them. What the others pass has its shape and dtype only.

    Nobody gets it twice: together the devices send n − 1 copies, in at most n − 1 steps.
    """
    # about 5 lines
    raise NotImplementedError("a6.2: hand it on along the group")
