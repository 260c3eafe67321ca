"""Bucketing: pad ragged data to a few lengths, so that jit traces a few times.

Each new shape is traced anew. Sentences come in every length; padded to the next of a few
chosen lengths (the buckets) they come in a few, and there are at most as many traces. The
padding must not change a result: a mask says what is data, and means count that alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import numpy_api
from .abstract_eval import promote_types
from .core import aval_of


def pad_to_bucket(rows: Sequence[Any], lengths: Sequence[int], fill: float = 0) -> tuple[np.ndarray, np.ndarray]:
    """Stack ragged rows, padded to the smallest of `lengths` that holds the longest row.

    `rows`: arrays that differ in their first axis only, `[n_i, ...]`. Returns the data
    `[len(rows), length, ...]`, `fill` in the padding, and the mask `bool[len(rows), length]`,
    True where there is data. Raises ValueError for no rows, and for a row that is longer than
    every bucket.
    """
    arrays = [np.asarray(row) for row in rows]
    if not arrays:
        raise ValueError("pad_to_bucket needs at least one row; an empty batch has no shape.")
    longest = max(len(array) for array in arrays)
    fitting = [length for length in lengths if length >= longest]
    if not fitting:
        raise ValueError(f"no bucket among {tuple(lengths)} holds a row of length {longest}")
    length = min(fitting)
    dtype = promote_types(*(array.dtype for array in arrays))
    data = np.full((len(arrays), length, *arrays[0].shape[1:]), fill, dtype)
    mask = np.zeros((len(arrays), length), bool)
    for number, array in enumerate(arrays):
        data[number, : len(array)] = array
        mask[number, : len(array)] = True
    return data, mask


def masked_mean(values: Any, mask: Any, axis: int | Sequence[int] | None = None) -> Any:
    """The mean of the values where the mask holds, over `axis` (None: all).

    `values`: `[*mask.shape, ...]`; axes of `values` beyond the mask's are masked as a whole.
    Values in the padding do not matter, not even nan. A mean over no value is 0.
    """
    shape = aval_of(values).shape
    mask_shape = aval_of(mask).shape
    aligned = numpy_api.reshape(mask, mask_shape + (1,) * (len(shape) - len(mask_shape)))
    total = numpy_api.sum(numpy_api.where(aligned, values, 0), axis)
    count = numpy_api.sum(numpy_api.broadcast_to(aligned, shape), axis)
    return numpy_api.divide(total, numpy_api.maximum(count, 1))
