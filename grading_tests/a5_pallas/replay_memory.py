"""Memory of a program that is carried out: Refs, garbage, and what fits where."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from given_pallas_kernels.program import Type

from numpy_rules import DTYPES, CannotReplay, cast, need, wide

MAX_DEPTH = 50  # of bodies in bodies


@dataclass
class Ref:
    """Memory that equations read and write: all of an array, or a block of one. Semaphores have no `array`."""

    array: np.ndarray | None


Value = np.ndarray | Ref


def garbage(kind: Type) -> np.ndarray:
    """What lies in memory that nobody wrote: NaN, and the smallest integer, as in JAX's own interpreters."""
    dtype = DTYPES[kind.dtype]
    return np.full(kind.shape, smallest(dtype), dtype)


def untouched(array: np.ndarray) -> np.ndarray:
    """Where an array still holds garbage."""
    return np.isnan(wide(array)) if wide(array).dtype.kind == "f" else array == smallest(array.dtype)


def smallest(dtype: np.dtype) -> float:
    """The value that stands for garbage."""
    if wide(np.empty(0, dtype)).dtype.kind == "f":
        return np.nan
    if dtype.kind == "b":
        return False
    return -8 if dtype.name == "int4" else 0 if dtype.name == "uint4" else int(np.iinfo(dtype).min)


def fitting(value: Value, kind: Type) -> Value:
    """The value, which must have the type that its variable has."""
    if isinstance(value, Ref):
        need(bool(kind.space), "a Ref in the place of an array")
        array = value.array
        if array is not None and (list(array.shape) != kind.shape or array.dtype != DTYPES.get(kind.dtype)):
            raise CannotReplay(f"a Ref to {array.dtype}{list(array.shape)} in the place of one to {kind}")
        return value
    if kind.space or kind.dtype not in DTYPES or list(np.shape(value)) != kind.shape:
        raise CannotReplay(f"a value of shape {list(np.shape(value))} in the place of a {kind}")
    return cast(value, DTYPES[kind.dtype])
