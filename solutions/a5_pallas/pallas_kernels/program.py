"""A traced program as plain data: what `read_jaxpr` writes down and `inspect_kernel` measures.

Nothing here knows JAX. A `Program` holds every jaxpr of the traced function in one flat list, `bodies`, in
which equations name each other's bodies by number; `calls` holds what a `pallas_call` says beyond its kernel.
Variables are numbers within their body, and `types[n]` is the type of variable `n`. Because all of this is
numbers, strings and lists, it can be sent to another process and measured there, and even carried out there.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes  # noqa: F401  (teaches NumPy the names bfloat16, int4 and so on)
import numpy as np


@dataclass(frozen=True)
class Type:
    """An array's type, or a Ref's: then `space` says where it lies (`vmem`, `smem`, `any`, `semaphore`)."""

    shape: list[int]
    dtype: str
    space: str = ""

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int:
        """Bytes of the elements; 0 for semaphores."""
        return bytes_of(self.size, self.dtype)

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class Literal:
    """A constant operand; `value` is `None` for one that is not a number, `dtype` empty where none is known."""

    value: bool | int | float | None = None
    dtype: str = ""


Operand = int | Literal


@dataclass(frozen=True)
class Index:
    """One dimension of `ref[...]`: `size` elements from `start` on; `size` 0 stands for a single, dropped one."""

    start: Operand
    size: int
    stride: int = 1


@dataclass(frozen=True)
class View:
    """A Ref and the part of it that is meant; `index` is `None` where the part could not be read.

    For a part of a part, `index` is `None` as well, and `path` holds one index after the other.
    """

    ref: int
    index: list[Index] | None
    path: list[list[Index]] = field(default_factory=list)


@dataclass(frozen=True)
class Equation:
    """`results = primitive(operands)`. `bodies` are the jaxprs in its parameters, `views` the Refs it touches.

    `params` holds the parameters that are plain; for a `pallas_call`, `call` is its number in `Program.calls`.
    """

    primitive: str
    operands: list[Operand]
    results: list[int]
    params: dict[str, Any] = field(default_factory=dict)
    bodies: list[int] = field(default_factory=list)
    views: list[View] = field(default_factory=list)
    call: int | None = None


@dataclass(frozen=True)
class Body:
    """A jaxpr. `captured` are the values of its constants, `None` where they are too large or not numbers."""

    types: list[Type]
    inputs: list[int]
    constants: list[int]
    equations: list[Equation]
    outputs: list[Operand]
    captured: list[np.ndarray | None] = field(default_factory=list)


@dataclass(frozen=True)
class Block:
    """An operand of a kernel with its BlockSpec: `shape` has 0 where a dimension is squeezed.

    `index_map` is a body from grid indices (and prefetched arrays) to block indices. `element` says that the
    index is one of elements, not of blocks. `buffers` is how many copies of the block VMEM holds.
    """

    name: str
    array: Type
    shape: list[int]
    space: str
    index_map: int
    element: bool = False
    buffers: int = 2

    @property
    def bytes(self) -> int:
        """Bytes of one block."""
        return bytes_of(math.prod(n for n in self.shape if n), self.array.dtype)


@dataclass(frozen=True)
class Call:
    """A `pallas_call`. `scalars` are the values of its prefetched operands, `None` where they are unknown."""

    name: str
    grid: list[int]
    scalars: list[np.ndarray | None]
    inputs: list[Block]
    outputs: list[Block]
    scratch: list[Type]
    kernel: int
    semantics: list[str]
    aliases: list[list[int]]
    cost: list[int] | None = None

    @property
    def steps(self) -> int:
        """Number of points of the grid."""
        return math.prod(self.grid)


@dataclass(frozen=True)
class Program:
    """A traced function: `bodies[0]` is the whole of it; `constants` are the types of the arrays it captured."""

    bodies: list[Body]
    calls: list[Call]
    constants: list[Type]


def bytes_of(elements: int, dtype: str) -> int:
    """Bytes that so many elements take; 0 for what holds no numbers, such as semaphores."""
    if dtype in ("int4", "uint4"):
        return (elements + 1) // 2
    try:
        return elements * np.dtype(dtype).itemsize
    except TypeError:
        return 0
