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
    longest = max(len(row) for row in arrays)
    fitting = [length for length in lengths if length >= longest]
    if not fitting:
        raise ValueError(f"a row has length {longest}, longer than every bucket in {tuple(lengths)}")
    length = min(fitting)
    data = np.full((len(arrays), length, *arrays[0].shape[1:]), fill, np.result_type(*arrays))
    mask = np.zeros((len(arrays), length), bool)
    for place, row in enumerate(arrays):
        data[place, : len(row)] = row
        mask[place, : len(row)] = True
    return data, mask


def masked_mean(values: Any, mask: Any, axis: int | Sequence[int] | None = None) -> Any:
    """The mean of the values where the mask holds, over `axis` (None: all).

    `values`: `[*mask.shape, ...]`; axes of `values` beyond the mask's are masked as a whole.
    Values in the padding do not matter, not even nan. A mean over no value is 0.
    """
    shape = aval_of(values).shape
    wide = numpy_api.reshape(mask, (*aval_of(mask).shape, *[1] * (len(shape) - len(aval_of(mask).shape))))
    wide = numpy_api.broadcast_to(wide, shape)
    total = numpy_api.sum(numpy_api.where(wide, values, 0.0), axis)
    count = numpy_api.sum(wide, axis)
    return numpy_api.divide(total, numpy_api.maximum(count, 1))
