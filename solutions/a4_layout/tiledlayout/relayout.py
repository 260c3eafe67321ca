"""Moving arrays: when the same bytes serve as they are, and what it costs when they do not.

An address is a sum with one term for each dimension (dimensions that a `*` merges count as one).
So two layouts agree everywhere if they agree along each dimension by itself, and that is a
question about one number for each index along each dimension, and not for each element.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .address import linear_index
from .errors import OperationError
from .layout import STAR, ArrayLayout
from .operations import (
    REGISTER_BYTES,
    Bitcast,
    Broadcast,
    Cost,
    Operation,
    Plan,
    Reduce,
    Reshape,
    Step,
    Transpose,
)
from .padding import padded_bytes


def is_bitcast(op: Reshape | Transpose, a: ArrayLayout, b: ArrayLayout) -> Bitcast:
    """Whether the bytes of the operand, in layout `a`, serve as the result, in layout `b`.

    They do if the result has as many bytes, slots of the same width, the same memory space, and every
    element of the result lies where that element of the operand lies. What the padding holds does
    not matter. Without elements, the number of bytes, the width and the memory space still count.
    `reason` says why or why not. Raises `OperationError` if `op` cannot make an array of `b`'s type and dims of
    one of `a`'s, whatever the layouts: another element type, number of elements or rank,
    a permutation that is none.
    """
    _check_operation(op, a, b)
    ### BEGIN SOLUTION a4.5: compare sizes, then the addresses along each group of dimensions
    if a.slot_bits != b.slot_bits or a.memory_space != b.memory_space:
        return Bitcast(False, "The slots have another width, or lie in another memory space.")
    if padded_bytes(a) != padded_bytes(b):
        return Bitcast(False, f"The operand has {padded_bytes(a):,} bytes, the result {padded_bytes(b):,}.")
    if a.elements == 0:
        return Bitcast(True, "There are no elements, and as many bytes.")
    for axes_a, axes_b in _groups(op, a, b):
        at_a, at_b = _addresses(a, axes_a), _addresses(b, axes_b)
        if isinstance(op, Transpose) and len(axes_a) > 1:  # merged by a star: all dimensions at once
            at_a = at_a.reshape(a.dims).transpose(op.permutation).reshape(-1)
        (wrong,) = np.nonzero(at_a != at_b)
        if wrong.size:
            first = int(wrong[0])
            reason = f"dimensions {axes_b} of the result: element {first} along them is at {at_b[first]}"
            return Bitcast(False, f"Along {reason}, but that of the operand is at {at_a[first]}.")
    return Bitcast(True, "Every element of the result lies where it lies in the operand.")
    ### END SOLUTION


def relayout_cost(a: ArrayLayout, b: ArrayLayout) -> Cost:
    """What it takes to copy an array from layout `a` to layout `b`, of the same type and dims.

    Nothing if it is a bitcast. Else all bytes of `a` are read and all bytes of `b` are written,
    padding included, and a register of the result is *shuffled* unless all its elements come from one
    register of the operand and stood at the same places in it. (Cut both buffers into pieces of
    4096 bytes: these are the registers. A register without elements is not shuffled.) Slots have
    the same width in both, of which 4096 bytes are a multiple; the memory space may be another one.
    Raises `OperationError` for another type or other dims.
    """
    _check_operation(Reshape(a.dims), a, b)
    ### BEGIN SOLUTION a4.5: find each element's register and place, before and after
    if is_bitcast(Reshape(a.dims), a, b):
        return Cost(0, 0, 0)
    index = np.argwhere(np.ones(a.dims, np.bool_))  # of every element
    bits = 8 * REGISTER_BYTES
    register_a, place_a = np.divmod(linear_index(a, index) * a.slot_bits, bits)
    register_b, place_b = np.divmod(linear_index(b, index) * b.slot_bits, bits)
    source = np.full(-(-padded_bytes(b) // REGISTER_BYTES), -1)
    source[register_b] = register_a  # one of them; the others must be the same
    moved = (source[register_b] != register_a) | (place_a != place_b)
    shuffled = int(np.unique(register_b[moved]).size)
    return Cost(padded_bytes(a), padded_bytes(b), shuffled)
    ### END SOLUTION


def plan(a: ArrayLayout, b: ArrayLayout) -> Plan:
    """The cheapest chain of steps from layout `a` to layout `b`, of the same type and dims.

    | kind                | keeps                                  | changes                         |
    |---------------------|----------------------------------------|---------------------------------|
    | `"bitcast"`         | every address                          | anything else                   |
    | `"transpose"`       | the tiles                              | minor-to-major                  |
    | `"sublane shuffle"` | minor-to-major, the first tile         | the tiles after the first       |
    | `"retile"`          | minor-to-major                         | the first tile, maybe the others|

    (Having no tiles counts as another first tile.) A bitcast costs nothing; the cost of another step
    is its `relayout_cost`. Layouts on the way have any minor-to-major and, as tiles, the first few (or
    none, or all) of `a`'s or of `b`'s tiles. Of all these chains, the plan has the least `total`.
    Each step says why, in a sentence of three words or more.
    Raises `OperationError` if the layouts differ in more than minor-to-major and tiles.
    """
    _check_operation(Reshape(a.dims), a, b)
    if replace(a, minor_to_major=b.minor_to_major, tiles=b.tiles) != b:
        raise OperationError("plan", "the layouts may differ in minor-to-major and in tiles, and in nothing else")
    ### BEGIN SOLUTION a4.5: Dijkstra's search over these layouts
    tiles = {x.tiles[:count] for x in (a, b) for count in range(len(x.tiles) + 1)}
    orders = list(itertools.permutations(range(a.rank)))
    states = [
        replace(b, minor_to_major=order, tiles=tile)
        for order, tile in itertools.product(orders, sorted(tiles, key=str))
    ]
    number = itertools.count()  # breaks ties, so that layouts are never compared
    queue: list[tuple[int, int, int, ArrayLayout, tuple[Step, ...]]] = [(0, 0, next(number), a, ())]
    done: set[ArrayLayout] = set()
    while queue:
        total, length, _, here, steps = heapq.heappop(queue)
        if here == b:
            return Plan(steps)
        if here in done:
            continue
        done.add(here)
        for step in _steps(here, (state for state in states if state not in done)):
            heapq.heappush(queue, (total + step.cost.total, length + 1, next(number), step.layout, (*steps, step)))
    raise OperationError("plan", "no chain of steps leads from the one layout to the other")
    ### END SOLUTION


def op_cost(op: Operation, layout: ArrayLayout) -> str:
    """How dear an operation on an array in this layout is: `"free"`, `"cheap"` or `"dear"`.

    It depends on the most minor dimension that the operation touches: dear for the most minor one
    (data crosses lanes), cheap for the second most minor (data crosses sublanes), free for the
    leading ones (whole registers change places). Touched are

    - `Reduce` and `Broadcast`: the axes, which are counted from 0 and never negative;
    - `Transpose`: the dimensions i with `permutation[i] != i`;
    - `Reshape` (of row-major layouts): of the dimensions, counted from the last one, all from the
      first that is not the same before and after; one that is there on one side only is not the same.
      So it is free if the last two stay, cheap if only the last one does (from [4] to [1, 4], say),
      and dear if that changes. From [2, 3, 4] to [6, 4], the 4 stays, and 3 and 2 are touched: cheap.

    An operation that touches nothing is free, a reshape to the same dims included.
    """
    ### BEGIN SOLUTION a4.5: which dimensions are touched, and the most minor of them
    match op:
        case Reduce(axes) | Broadcast(axes):
            touched = set(axes)
        case Transpose(permutation):
            touched = {dim for dim, source in enumerate(permutation) if dim != source}
        case Reshape(dims):
            same = [old == new for old, new in zip(reversed(layout.dims), reversed(dims), strict=False)]
            kept = (*same, False).index(False)
            return "free" if dims == layout.dims else ("dear", "cheap", "free")[min(kept, 2)]
    for dim, cost in zip(layout.minor_to_major, ("dear", "cheap"), strict=False):
        if dim in touched:
            return cost
    return "free"
    ### END SOLUTION


def _check_operation(op: Operation, a: ArrayLayout, b: ArrayLayout) -> None:
    """Raise `OperationError` if `op` cannot make an array of b's type and dims of one of a's."""
    ### BEGIN SOLUTION a4.5: compare types, then dims, with what the operation makes
    name = type(op).__name__.lower()
    if a.dtype != b.dtype:
        given = f"{a.dtype} cannot become {b.dtype}"
        raise OperationError(
            name, f"{given}: that is a bitcast-convert, which reads the same bits as another type"
        )
    match op:
        case Reshape(dims):
            if dims != b.dims or math.prod(dims) != a.elements:
                raise OperationError(name, f"{list(a.dims)} into {list(dims)} does not give {list(b.dims)}")
        case Transpose(permutation):
            if sorted(permutation) != list(range(a.rank)):
                raise OperationError(name, f"{permutation} is not a permutation of {a.rank} dimensions")
            if tuple(a.dims[dim] for dim in permutation) != b.dims:
                raise OperationError(name, f"{list(a.dims)} by {permutation} does not give {list(b.dims)}")
        case _:
            raise OperationError(name, "only a reshape or a transpose can be a bitcast")
    ### END SOLUTION


### BEGIN SOLUTION a4.5: groups of dimensions that correspond, addresses along them, single steps
Axes = tuple[int, ...]


def _groups(op: Reshape | Transpose, a: ArrayLayout, b: ArrayLayout) -> Iterator[tuple[Axes, Axes]]:
    """Dimensions of the operand and of the result that hold the same elements, as small as possible."""
    if any(STAR in tile for tile in a.tiles + b.tiles):
        yield tuple(range(a.rank)), tuple(range(b.rank))
    elif isinstance(op, Transpose):
        yield from (((source,), (dim,)) for dim, source in enumerate(op.permutation))
    else:
        yield from _common_factors(a.dims, b.dims)


def _common_factors(a: Axes, b: Axes) -> Iterator[tuple[Axes, Axes]]:
    """Cuts both shapes wherever the products of what is in front are equal."""
    start_a = start_b = 0
    while start_a < len(a) or start_b < len(b):
        end_a, end_b = min(start_a + 1, len(a)), min(start_b + 1, len(b))
        while (size_a := math.prod(a[start_a:end_a])) != (size_b := math.prod(b[start_b:end_b])):
            if size_a < size_b:
                end_a += 1
            else:
                end_b += 1
        yield tuple(range(start_a, end_a)), tuple(range(start_b, end_b))
        start_a, start_b = end_a, end_b


def _addresses(layout: ArrayLayout, axes: Axes) -> np.ndarray:
    """The slots of the elements along some dimensions, in row-major order; all other indices are 0."""
    sizes = tuple(layout.dims[axis] for axis in axes)
    index = np.zeros((math.prod(sizes), layout.rank), np.int64)
    index[:, list(axes)] = np.argwhere(np.ones(sizes, np.bool_))
    return linear_index(layout, index)


def _steps(here: ArrayLayout, others: Iterator[ArrayLayout]) -> Iterator[Step]:
    """Every legal step from here to one of the others."""
    for there in others:
        cost = None
        if is_bitcast(Reshape(here.dims), here, there):
            kind, reason = "bitcast", "Every element already lies where the new layout wants it."
            cost = Cost(0, 0, 0)
        elif here.tiles == there.tiles:
            kind = "transpose"
            reason = f"Dimension {there.minor_to_major[0]} becomes the fastest; the tiles stay."
        elif here.minor_to_major != there.minor_to_major:
            continue
        elif here.tiles and here.tiles[:1] == there.tiles[:1]:
            kind = "sublane shuffle"
            reason = f"Rows move inside the tiles {here.tiles[0]}, which stay where they are."
        else:
            kind, reason = "retile", f"The array is cut anew, into tiles {there.tiles or 'of nothing'}."
        yield Step(kind, there, cost or relayout_cost(here, there), reason)


### END SOLUTION
