"""Bitcasts by looking at every element; plans by relaxing all steps until nothing gets cheaper."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np

from .address import linear_index
from .errors import OperationError
from .operations import REGISTER_BYTES, Bitcast, Broadcast, Cost, Plan, Reduce, Reshape, Step, Transpose
from .padding import padded_bytes


def _fits(op, a, b):
    name = type(op).__name__.lower()
    if a.dtype != b.dtype:
        raise OperationError(name, f"{a.dtype} as {b.dtype} is a bitcast-convert")
    if isinstance(op, Transpose):
        if set(op.permutation) != set(range(a.rank)) or len(op.permutation) != a.rank:
            raise OperationError(name, "that is no permutation")
        made = tuple(a.dims[dim] for dim in op.permutation)
    else:
        made = op.dims
    if made != b.dims or np.prod(made, dtype=object) != np.prod(a.dims, dtype=object):
        raise OperationError(name, f"{a.dims} does not become {b.dims}")


def _every(layout):
    """The slots of all elements as an array of the layout's dims."""
    grid = np.indices(layout.dims, sparse=False)
    return linear_index(layout, np.moveaxis(grid, 0, -1)).reshape(layout.dims)


def is_bitcast(op, a, b):
    """Whether the same bytes serve."""
    _fits(op, a, b)
    if (a.slot_bits, a.memory_space, padded_bytes(a)) != (b.slot_bits, b.memory_space, padded_bytes(b)):
        return Bitcast(False, "The buffers are not of the same kind and size.")
    if a.elements > 50_000:  # along each dimension by itself: addresses are sums of one term for each
        same = isinstance(op, Reshape) and a.dims == b.dims
        for dim, size in enumerate(a.dims):
            index = np.zeros((size, a.rank), np.int64)
            index[:, dim] = np.arange(size)
            same = same and np.array_equal(linear_index(a, index), linear_index(b, index))
        return Bitcast(same, "The addresses along each dimension were compared.")
    here = _every(a)
    moved = here.transpose(op.permutation) if isinstance(op, Transpose) else here.reshape(op.dims)
    if np.array_equal(moved, _every(b)):
        return Bitcast(True, "Nothing has to move at all.")
    return Bitcast(False, "Some elements would have to move.")


def relayout_cost(a, b):
    """What a copy takes."""
    if is_bitcast(Reshape(a.dims), a, b):
        return Cost(0, 0, 0)
    before, after = (_every(x).reshape(-1) * x.slot_bits for x in (a, b))
    bits = REGISTER_BYTES * 8
    shift = after - before
    register = after // bits
    good = set()
    count = -(-padded_bytes(b) // REGISTER_BYTES)
    low, high = np.full(count, np.iinfo(np.int64).max), np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(low, register, shift)
    np.maximum.at(high, register, shift)
    used = low <= high
    good = used & (low == high) & (low % bits == 0)
    return Cost(padded_bytes(a), padded_bytes(b), int(used.sum() - good.sum()))


def _kind(here, there):
    if is_bitcast(Reshape(here.dims), here, there):
        return "bitcast"
    if here.tiles == there.tiles:
        return "transpose"
    if here.minor_to_major == there.minor_to_major:
        return "sublane shuffle" if here.tiles and here.tiles[:1] == there.tiles[:1] else "retile"
    return None


def plan(a, b):
    """The cheapest chain."""
    _fits(Reshape(a.dims), a, b)
    if replace(a, minor_to_major=b.minor_to_major, tiles=b.tiles) != b:
        raise OperationError("plan", "they differ in more than order and tiles")
    tiles = {x.tiles[:n] for x in (a, b) for n in range(4)}
    states = [replace(a, minor_to_major=o, tiles=t) for o in itertools.permutations(range(a.rank)) for t in tiles]
    edges = {}
    for here, there in itertools.permutations(states, 2):
        kind = _kind(here, there)
        if kind:
            edges[here, there] = kind, Cost(0, 0, 0) if kind == "bitcast" else None
    best = {a: (0, 0, None, None)}
    changed = [a]
    while changed:
        here = changed.pop(0)
        for there in states:
            if (here, there) not in edges:
                continue
            kind, cost = edges[here, there]
            least = padded_bytes(here) + padded_bytes(there) if kind != "bitcast" else 0
            known = best.get(there, (float("inf"), 0, None, None))
            target = best.get(b, (float("inf"), 0, None, None))
            if best[here][0] + least > min(known[0], target[0]):
                continue
            if cost is None:
                cost = relayout_cost(here, there)
                edges[here, there] = kind, cost
            new = best[here][0] + cost.total, best[here][1] + 1
            if new < known[:2]:
                best[there] = (*new, here, Step(kind, there, cost, f"It is cheapest to {kind} here."))
                if there not in changed:
                    changed.append(there)
    steps, here = [], b
    while here != a:
        steps.append(best[here][3])
        here = best[here][2]
    return Plan(tuple(reversed(steps)))


def op_cost(op, layout):
    """The price of an operation."""
    prices = dict.fromkeys(range(layout.rank), 0)
    for price, dim in zip((2, 1), layout.minor_to_major, strict=False):
        prices[dim] = price
    match op:
        case Reduce(axes) | Broadcast(axes):
            touched = axes
        case Transpose(permutation):
            touched = [i for i in range(layout.rank) if permutation[i] != i]
        case Reshape(dims):
            if dims == layout.dims:
                return "free"
            kept = 0
            for old, new in zip(layout.dims[::-1], dims[::-1], strict=False):
                if old != new:
                    break
                kept += 1
            return "dear" if kept == 0 else "cheap" if kept == 1 else "free"
    return ("free", "cheap", "dear")[max((prices[dim] for dim in touched), default=0)]
