"""Primitives that move elements and compute nothing: the other half of `numpy_rules`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from given_pallas_kernels.program import Type

from numpy_rules import DTYPES, Arrays, Params, Rule, axes_of, cast, need, wide


def _reshape(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    x, order = operands[0], params.get("dimensions")
    if order is not None and "new_sizes" in params:  # squeeze and expand_dims have dimensions, too
        x = x.transpose(axes_of(order, x.ndim))
    return [x.reshape(kinds[0].shape)]


def _transpose(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    return [operands[0].transpose(axes_of(params["permutation"], operands[0].ndim))]


def _reverse(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    return [np.flip(operands[0], axes_of(params["dimensions"], operands[0].ndim))]


def _concatenate(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    (axis,) = axes_of([params["dimension"]], len(kinds[0].shape))
    need(sum(x.size for x in operands) == kinds[0].size, "a concatenate whose result has another size")
    return [np.concatenate(operands, axis)]


def _stack(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    (axis,) = axes_of([params["axis"]], len(kinds[0].shape))
    need(sum(x.size for x in operands) == kinds[0].size, "a stack whose result has another size")
    return [np.stack(operands, axis)]


def _unstack(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    (axis,) = axes_of([params["axis"]], operands[0].ndim)
    return list(np.moveaxis(operands[0], axis, 0))


def _split(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    (axis,) = axes_of([params["axis"]], operands[0].ndim)
    return np.split(operands[0], np.cumsum(params["sizes"])[:-1], axis)


def _pad(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    x, value = operands
    config, shape = params["padding_config"], kinds[0].shape
    sizes = [
        low + high + max(n + (n - 1) * inner, 0) for n, (low, high, inner) in zip(x.shape, config, strict=True)
    ]
    need(sizes == shape and value.ndim == 0 and all(inner >= 0 for _, _, inner in config), "a pad of other sizes")
    result = np.full(shape, value, x.dtype)
    here, there = [], []
    for n, size, (low, _, inner) in zip(x.shape, shape, config, strict=True):
        step = inner + 1
        first = max(-(low // step), 0) if low < 0 else 0
        last = min(n, -((low - size) // step))
        need(last >= first, "a pad that leaves nothing")
        here.append(
            slice(low + first * step, low + (last - 1) * step + 1 if last > first else low + first * step, step)
        )
        there.append(slice(first, last))
    result[tuple(here)] = x[tuple(there)]
    return [result]


def _slice(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    starts, limits = params["start_indices"], params["limit_indices"]
    strides = params.get("strides") or [1] * len(starts)
    need(min([*starts, 0]) >= 0 and min([*strides, 1]) >= 1, "a slice that begins before the array")
    return [operands[0][tuple(map(slice, starts, limits, strides))]]


def window(shape: tuple[int, ...], starts: list[Any], sizes: list[int]) -> tuple[slice, ...]:
    """Slices of these sizes, moved inside where they would reach beyond the array, as XLA does."""
    need(len(starts) == len(sizes) == len(shape), "a dynamic slice with another rank than its array")
    need(
        all(0 <= size <= n for size, n in zip(sizes, shape, strict=True)), "a dynamic slice larger than its array"
    )
    firsts = [min(max(int(s), 0), n - size) for s, n, size in zip(starts, shape, sizes, strict=True)]
    return tuple(slice(first, first + size) for first, size in zip(firsts, sizes, strict=True))


def _dynamic_slice(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    x, *starts = operands
    return [x[window(x.shape, starts, params["slice_sizes"])]]


def _dynamic_update(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    x, update, *starts = operands
    result = x.copy()
    result[window(x.shape, starts, list(update.shape))] = update
    return [result]


def _bitcast(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    dtype = DTYPES[kinds[0].dtype]
    need(dtype.itemsize == operands[0].dtype.itemsize, "a bitcast between sizes")
    return [np.ascontiguousarray(operands[0]).view(dtype).reshape(operands[0].shape)]


def _reduce_precision(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    names = {(8, 7): "bfloat16", (5, 10): "float16", (8, 23): "float32", (11, 52): "float64"}
    name = names.get((params["exponent_bits"], params["mantissa_bits"]))
    need(name is not None, "a reduce_precision to an unusual format")
    return [cast(cast(operands[0], DTYPES[str(name)]), operands[0].dtype)]


def _power(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    y, x = params["y"], wide(operands[0])
    need(type(y) is int and abs(y) <= 1 << 16, "an integer_pow with an unusual exponent")
    return [x**y if y >= 0 else 1 / x**-y]


def _round(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    x = wide(operands[0])
    even = params.get("rounding_method") in ("TO_NEAREST_EVEN", 1)
    return [np.rint(x) if even else np.copysign(np.floor(np.abs(x) + x.dtype.type(0.5)), x)]


def _tile(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    sizes = [n * times for n, times in zip(operands[0].shape, params["reps"], strict=True)]
    need(sizes == kinds[0].shape, "a tile of another shape")
    return [np.tile(operands[0], params["reps"])]


def _roll(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    (axis,) = axes_of([params["axis"]], operands[0].ndim)
    need(len(operands) == 2 and params.get("stride") is None, "a roll with a stride")
    return [np.roll(operands[0], int(operands[1]), axis)]


def _sort(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    (axis,) = axes_of([params["dimension"]], operands[0].ndim)
    need(params.get("num_keys") == 1 and all(x.shape == operands[0].shape for x in operands), "an unusual sort")
    order = np.argsort(wide(operands[0]), axis=axis, kind="stable")
    return [np.take_along_axis(x, order, axis) for x in operands]


def _gather(params: Params, operands: Arrays, kinds: list[Type]) -> list[Any]:
    x, indices = operands
    offset, collapsed, index_map, *batching = params["dimension_numbers"]
    along, inside_of = (
        axes_of(axes, rank) for axes, rank in zip(batching, (x.ndim, indices.ndim - 1), strict=True)
    )
    need(len(params["slice_sizes"]) == x.ndim and len(along) == len(inside_of), "a gather of another rank")
    sizes, batch = params["slice_sizes"], indices.shape[:-1]
    need(all(0 < size <= n for size, n in zip(sizes, x.shape, strict=True)), "a gather larger than its array")
    need(math.prod(batch) * math.prod(sizes) == kinds[0].size, "a gather whose result has another size")
    need(len(axes_of(index_map, x.ndim)) == indices.shape[-1], "a gather with too few indices")
    inside = np.ones(batch, bool)
    places = []
    for axis, size in enumerate(sizes):
        if axis in along:
            start = np.indices(batch, sparse=True)[inside_of[along.index(axis)]] + np.zeros(batch, int)
        else:
            here = axis in index_map
            start = indices[..., index_map.index(axis)].astype(np.int64) if here else np.zeros(batch, int)
        inside &= (start >= 0) & (start <= x.shape[axis] - size)
        start = np.clip(start, 0, x.shape[axis] - size).reshape(*batch, *[1] * x.ndim)
        places.append(start + np.arange(size).reshape([-1 if axis == other else 1 for other in range(x.ndim)]))
    found = x[tuple(places)]
    if params.get("mode") == "FILL_OR_DROP":
        fill = params.get("fill_value", np.nan if wide(x).dtype.kind == "f" else 0)
        found = np.where(inside.reshape(*batch, *[1] * x.ndim), found, np.asarray(fill).astype(x.dtype))
    dropped = axes_of([*collapsed, *along], x.ndim)
    found = found.reshape(*batch, *(size for axis, size in enumerate(sizes) if axis not in dropped))
    windows = list(range(len(batch), found.ndim))
    return [np.moveaxis(found, windows, axes_of(offset, found.ndim))]


SHAPE_RULES: dict[str, Rule] = {
    "reshape": _reshape,
    "squeeze": _reshape,
    "expand_dims": _reshape,
    "transpose": _transpose,
    "rev": _reverse,
    "concatenate": _concatenate,
    "stack": _stack,
    "unstack": _unstack,
    "split": _split,
    "pad": _pad,
    "slice": _slice,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update,
    "bitcast_convert_type": _bitcast,
    "reduce_precision": _reduce_precision,
    "integer_pow": _power,
    "round": _round,
    "tile": _tile,
    "roll": _roll,
    "sort": _sort,
    "gather": _gather,
}
