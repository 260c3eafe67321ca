"""Element types: their XLA names, how many bits they have, and their NumPy dtypes.

An element occupies a *slot*. A slot has as many bits as the layout's `E(…)` says; without one it
is the element's own width, and a whole byte for the types that are smaller than a byte. So
`s4[8]{0}` takes eight bytes and `s4[8]{0:E(4)}` takes four.
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from .errors import LayoutError

WORD_BITS = 32  # of one lane of a vector register


@dataclass(frozen=True, slots=True)
class ElementType:
    """An element type. `name` as XLA prints it; `bits` of one element; `numpy` is its NumPy dtype."""

    name: str
    bits: int
    numpy: np.dtype


# XLA's names, each with NumPy's or that of ml_dtypes.
_NUMPY = dict(
    pair.split("=")
    for pair in (
        "pred=bool s8=int8 u8=uint8 s16=int16 u16=uint16 s32=int32 u32=uint32 s64=int64 u64=uint64 "
        "f16=float16 f32=float32 f64=float64 c64=complex64 c128=complex128"
    ).split()
)
_SMALL = dict(
    pair.split("=")
    for pair in (
        "s2=int2 u2=uint2 s4=int4 u4=uint4 f4e2m1fn=float4_e2m1fn f8e4m3fn=float8_e4m3fn f8e5m2=float8_e5m2 "
        "f8e4m3b11fnuz=float8_e4m3b11fnuz f8e4m3fnuz=float8_e4m3fnuz f8e5m2fnuz=float8_e5m2fnuz bf16=bfloat16"
    ).split()
)
_SUB_BYTE_BITS = {"s2": 2, "u2": 2, "s4": 4, "u4": 4, "f4e2m1fn": 4}


def _types() -> dict[str, ElementType]:
    dtypes = {name: np.dtype(numpy) for name, numpy in _NUMPY.items()}
    dtypes |= {name: np.dtype(getattr(ml_dtypes, numpy)) for name, numpy in _SMALL.items()}
    bits = {name: _SUB_BYTE_BITS.get(name, 8 * dtype.itemsize) for name, dtype in dtypes.items()}
    return {name: ElementType(name, bits[name], dtype) for name, dtype in dtypes.items()}


ELEMENT_TYPES = _types()


def element_type(name: str) -> ElementType:
    """The element type of this name. Raises `LayoutError` (rule `"element type"`) for an unknown one."""
    if name not in ELEMENT_TYPES:
        known = ", ".join(ELEMENT_TYPES)
        raise LayoutError("element type", f"{name!r} is none of {known}")
    return ELEMENT_TYPES[name]


def packing(name: str) -> int:
    """How many elements of this type share a 32-bit word: f32 1, bf16 2, s8 4, s4 8; wider types 1."""
    return max(1, WORD_BITS // element_type(name).bits)
