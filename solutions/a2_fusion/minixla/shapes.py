"""Types and values of arrays: `f32[16,64]{1,0}`, and constants equal by their bits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

# Element types by XLA's names, and the NumPy types that hold them.
DTYPES: dict[str, np.dtype] = {
    "pred": np.dtype(np.bool_),
    **{f"s{bits}": np.dtype(f"int{bits}") for bits in (8, 16, 32, 64)},
    **{f"u{bits}": np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64)},
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f16": np.dtype(np.float16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
}
_NAME_OF: dict[np.dtype, str] = {dtype: name for name, dtype in DTYPES.items()}

FLOATS = frozenset({"bf16", "f16", "f32", "f64"})
SIGNED = frozenset({"s8", "s16", "s32", "s64"})
UNSIGNED = frozenset({"u8", "u16", "u32", "u64"})


@dataclass(frozen=True, slots=True)
class Shape:
    """The type of an array: element type, sizes, and the memory space it is kept in.

    `memory_space`: 0 is HBM, 1 is VMEM, 2 holds semaphores. The layout is always row-major.
    `dtype` `"token"` is for what orders side effects; it has no elements to speak of.
    """

    dtype: str
    dims: tuple[int, ...] = ()
    memory_space: int = 0

    @property
    def elements(self) -> int:
        """Number of elements: the product of the sizes, 1 for a scalar."""
        return math.prod(self.dims)

    @property
    def bytes(self) -> int:
        """Size in bytes without padding. A pred has 1 byte, a token none."""
        return 0 if self.dtype == "token" else math.prod(self.dims) * DTYPES[self.dtype].itemsize

    @property
    def numpy_dtype(self) -> np.dtype:
        """The NumPy type of the elements."""
        return DTYPES[self.dtype]

    @property
    def is_float(self) -> bool:
        """Whether the elements are floating-point numbers."""
        return self.dtype in FLOATS

    def in_space(self, memory_space: int) -> Shape:
        """The same type in another memory space."""
        return Shape(self.dtype, self.dims, memory_space)

    def __str__(self) -> str:
        text = f"{self.dtype}[{','.join(map(str, self.dims))}]"
        space = f":S({self.memory_space})" if self.memory_space else ""
        layout = ",".join(map(str, range(len(self.dims) - 1, -1, -1))) + space
        return f"{text}{{{layout}}}" if layout else text


@dataclass(frozen=True, slots=True)
class TupleShape:
    """The type of several values at once. Prints as `(f32[4]{0}, s32[])`."""

    elements: tuple[Shape | TupleShape, ...]

    @property
    def bytes(self) -> int:
        """The sum over the elements."""
        return sum(element.bytes for element in self.elements)

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.elements))})"


AnyShape = Shape | TupleShape


def dtype_name(dtype: Any) -> str:
    """XLA's name of a NumPy dtype: `f32` for `np.float32`. Raises KeyError for one that HLO has not."""
    return _NAME_OF[np.dtype(dtype)]


def leaves(shape: AnyShape) -> tuple[Shape, ...]:
    """The arrays in a shape, in order: a tuple's elements, or the array itself."""
    if isinstance(shape, Shape):
        return (shape,)
    return tuple(leaf for element in shape.elements for leaf in leaves(element))


@dataclass(frozen=True, slots=True)
class Literal:
    """An array as a value: equal when dtype, dims and every bit are equal.

    So 0.0 and −0.0 differ, and a NaN equals itself. Make one with `Literal.of`.
    """

    dtype: str
    dims: tuple[int, ...]
    data: bytes

    @classmethod
    def of(cls, value: Any, dtype: str | None = None) -> Literal:
        """The literal of an array or number, converted to `dtype` (XLA's name) if one is given."""
        array = np.asarray(value, None if dtype is None else DTYPES[dtype])
        return cls(_NAME_OF[array.dtype], array.shape, array.tobytes())

    @property
    def array(self) -> np.ndarray:
        """The value; read-only."""
        return np.frombuffer(self.data, DTYPES[self.dtype]).reshape(self.dims)

    @property
    def shape(self) -> Shape:
        """Its type."""
        return Shape(self.dtype, self.dims)

    @property
    def bytes(self) -> int:
        """Size in bytes."""
        return len(self.data)

    def __repr__(self) -> str:
        shown = self.array.tolist() if len(self.data) <= 64 else "..."
        return f"Literal({self.shape}: {shown})"
