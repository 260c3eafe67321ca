"""Collectives by recursive halving and doubling where the group's size is a power of two."""

from __future__ import annotations

import numpy as np

from .errors import CollectiveError
from .fabric import collective


def groups_of(mesh, axes, axis_index_groups=None):
    groups = mesh.groups(axes)
    if axis_index_groups is None:
        return groups
    flat = [place for part in axis_index_groups for place in part]
    if len(flat) != len(groups[0]) or set(flat) != set(range(len(flat))):
        raise CollectiveError("axis_index_groups", "every position must occur once")
    return [tuple(np.array(group)[list(part)].tolist()) for group in groups for part in axis_index_groups]


def _power_of_two(n):
    return n & (n - 1) == 0


def _scatter(device, blocks, group):
    """blocks: one flat array for each position; returns the sum of the own position's."""
    n, me = len(group), group.index(device.id)
    if not _power_of_two(n):
        return _ring_scatter(device, blocks, group)
    blocks, low, high = list(blocks), 0, n
    while high - low > 1:
        middle = (low + high) // 2
        half = middle - low
        partner = me + half if me < middle else me - half
        theirs = range(middle, high) if me < middle else range(low, middle)
        mine = range(low, middle) if me < middle else range(middle, high)
        device.send(group[partner], np.concatenate([blocks[place] for place in theirs]))
        came = device.recv(group[partner])
        at = 0
        for place in mine:
            size = blocks[place].size
            blocks[place] = blocks[place] + came[at : at + size]
            at += size
        low, high = (low, middle) if me < middle else (middle, high)
    return blocks[me]


def _ring_scatter(device, blocks, group):
    n, me = len(group), group.index(device.id)
    for step in range(1, n):
        out, into = (me - step) % n, (me - step - 1) % n
        device.send(group[(me + 1) % n], blocks[out])
        blocks = [*blocks[:into], blocks[into] + device.recv(group[me - 1]), *blocks[into + 1 :]]
    return blocks[me]


def _collect(device, block, sizes, group):
    """The blocks of all positions, whose sizes are known."""
    n, me = len(group), group.index(device.id)
    held = {me: block}
    if not _power_of_two(n):
        for step in range(n - 1):
            device.send(group[(me + 1) % n], held[(me - step) % n])
            held[(me - step - 1) % n] = device.recv(group[me - 1])
        return [held[place] for place in range(n)]
    distance = 1
    while distance < n:
        partner = me ^ distance
        device.send(group[partner], np.concatenate([held[place] for place in sorted(held)]))
        came, at = device.recv(group[partner]), 0
        first = partner & ~(distance - 1)
        for place in range(first, first + distance):
            held[place] = came[at : at + sizes[place]]
            at += sizes[place]
        distance *= 2
    return [held[place] for place in range(n)]


def _two_rings(device, cut, finish, group):
    """Both ways: messages of two rings, taking turns; `cut` and `finish` are generators of one ring's messages."""
    rings = [finish(device, cut[0], group), finish(device, cut[1], group[::-1])]
    answers = [None, None]
    results = [None, None]
    while any(ring is not None for ring in rings):
        wants = []
        for number, ring in enumerate(rings):
            if ring is None:
                continue
            try:
                wants.append((number, ring.send(answers[number])))
            except StopIteration as end:
                results[number], rings[number] = end.value, None
        for number, source in wants:
            answers[number] = device.recv(source)
    return results


def _gather_messages(device, block, group):
    n, me = len(group), group.index(device.id)
    held = {group[me]: block}
    for step in range(n - 1):
        device.send(group[(me + 1) % n], held[group[(me - step) % n]])
        held[group[(me - step - 1) % n]] = yield group[me - 1]
    return held


def _scatter_messages(device, blocks, group):
    n, me = len(group), group.index(device.id)
    total = blocks[group[me - 1]]
    for step in range(2, n + 1):
        device.send(group[(me + 1) % n], total)
        total = blocks[group[(me - step) % n]] + (yield group[me - 1])
    return total


def _halves(flat):
    return flat[: flat.size // 2], flat[flat.size // 2 :]


def _both_gather(device, flat, group):
    first, second = _two_rings(device, _halves(flat), _gather_messages, group)
    return [np.concatenate([first[member], second[member]]) for member in group]


def _both_scatter(device, blocks, group):
    pieces = dict(zip(group, map(_halves, blocks)))
    cut = [{member: pieces[member][side] for member in group} for side in (0, 1)]
    return np.concatenate(_two_rings(device, cut, _scatter_messages, group))


@collective
def all_gather(device, x, dim, group, both_ways=False):
    flat = x.reshape(-1)
    if both_ways:
        blocks = _both_gather(device, flat, group)
    else:
        blocks = _collect(device, flat, [flat.size] * len(group), group)
    return np.concatenate([block.reshape(x.shape) for block in blocks], axis=dim)


@collective
def reduce_scatter(device, x, dim, group, both_ways=False):
    if x.shape[dim] % len(group):
        raise CollectiveError("reduce_scatter", "the dimension does not divide")
    blocks = np.split(x, len(group), axis=dim)
    shape = blocks[0].shape
    run = _both_scatter if both_ways else _scatter
    return run(device, [block.reshape(-1) for block in blocks], group).reshape(shape)


@collective
def all_reduce(device, x, group, both_ways=False):
    pieces = np.array_split(x.reshape(-1), len(group))
    if both_ways:
        blocks = _both_gather(device, _both_scatter(device, pieces, group), group)
    else:
        sizes = [piece.size for piece in pieces]
        blocks = _collect(device, _scatter(device, pieces, group), sizes, group)
    return np.concatenate(blocks).reshape(x.shape)


def _down_and_up(device, flat, groups):
    if not groups:
        return flat
    first, *rest = groups
    pieces = np.array_split(flat, len(first))
    mine = _down_and_up(device, _scatter(device, pieces, first), rest)
    return np.concatenate(_collect(device, mine, [piece.size for piece in pieces], first))


@collective
def all_reduce_by_axes(device, x, groups, group):
    return _down_and_up(device, x.reshape(-1), list(groups)).reshape(x.shape)


@collective
def all_to_all(device, x, split_dim, concat_dim, group):
    n, me = len(group), group.index(device.id)
    if x.shape[split_dim] % n:
        raise CollectiveError("all_to_all", "the dimension does not divide")
    pieces = np.split(x, n, axis=split_dim)
    arrived = {me: pieces[me]}
    for distance in range(1, n):
        device.send(group[(me - distance) % n], pieces[(me - distance) % n])
        source = (me + distance) % n
        arrived[source] = device.recv(group[source])
    return np.concatenate([arrived[place] for place in range(n)], axis=concat_dim)


@collective
def collective_permute(device, x, pairs, group):
    target_of = {}
    source_of = {}
    for source, target in pairs:
        if source in target_of or target in source_of:
            raise CollectiveError("collective_permute", "a position occurs twice")
        target_of[source], source_of[target] = target, source
    me = group.index(device.id)
    if target_of.get(me, me) != me:
        device.send(group[target_of[me]], x)
    if me not in source_of:
        return x * 0
    return x if source_of[me] == me else device.recv(group[source_of[me]])


@collective
def broadcast(device, x, group):
    """A binomial tree: whoever has it passes it on over half the distance."""
    n, me = len(group), group.index(device.id)
    reach = 1
    while reach < n:
        reach *= 2
    held = x if me == 0 else None
    while reach > 1:
        reach //= 2
        if me % (2 * reach) == 0 and me + reach < n:
            device.send(group[me + reach], held)
        elif me % (2 * reach) == reach:
            held = device.recv(group[me - reach])
    return held
