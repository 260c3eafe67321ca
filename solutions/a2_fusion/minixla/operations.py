"""What the opcodes compute, in NumPy.

A function here takes an instruction and its operands as arrays and returns an array of the
declared type. Arithmetic is done in the operands' own dtype and silently: log(0) is −inf, integers
wrap around, and what C leaves undefined is as in XLA: dividing an integer by zero gives −1 (all
bits set), a remainder by zero the dividend; floats convert to the nearest integer that there is,
NaN to 0. Sums and products of matrices of bf16 and f16 are accumulated in f32 and rounded once.

The same operands must give the same bits wherever an instruction stands. NumPy does not promise
that for arrays that lie differently in memory, so transcendental functions, reductions and dots see
contiguous copies.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from .hlo import TRANSCENDENTAL, Instruction

Array = np.ndarray


def contiguous(x: Array) -> Array:
    """The array itself if it lies in row-major order, else a copy that does."""
    return x if x.flags.c_contiguous else x.copy(order="C")


def _sign(x: Array) -> Any:
    return np.where(x == 0, x, np.sign(x))  # keeps −0.0


def _divide(x: Array, y: Array) -> Any:
    if x.dtype.kind not in "iu":
        return np.divide(x, y)
    divisor = np.where(y == 0, np.ones_like(y), y)
    quotient = np.floor_divide(x - np.fmod(x, divisor), divisor)  # exact, so it is truncated
    return np.where(y == 0, ~np.zeros_like(x), quotient)


def _remainder(x: Array, y: Array) -> Any:
    if x.dtype.kind not in "iu":
        return np.fmod(x, y)
    return np.where(y == 0, x, np.fmod(x, np.where(y == 0, np.ones_like(y), y)))


def _signed(x: Array) -> Array:
    return x.view(f"i{x.dtype.itemsize}")


def _shift_left(x: Array, y: Array) -> Any:
    return np.where(_in_width(y), np.left_shift(x, _within(y)), np.zeros_like(x))


def _shift_right_logical(x: Array, y: Array) -> Any:
    unsigned = contiguous(x).view(f"u{x.dtype.itemsize}")
    shifted = np.right_shift(unsigned, _within(y).astype(unsigned.dtype)).view(x.dtype)
    return np.where(_in_width(y), shifted, np.zeros_like(x))


def _shift_right_arithmetic(x: Array, y: Array) -> Any:
    last = y.dtype.type(8 * x.dtype.itemsize - 1)
    amount = np.where(_in_width(y), y, last)
    return np.right_shift(_signed(contiguous(x)), _signed(contiguous(amount))).view(x.dtype)


def _in_width(y: Array) -> Array:
    return np.logical_and(y >= 0, y < 8 * y.dtype.itemsize)


def _within(y: Array) -> Array:
    return np.where(_in_width(y), y, np.zeros_like(y))


def _maximum(x: Array, y: Array) -> Array:
    """NumPy's, but of two zeros the positive one, whichever comes first: operands may swap."""
    return _with_zeros(np.maximum(x, y), x, y, np.add)


def _minimum(x: Array, y: Array) -> Array:
    """NumPy's, but of two zeros the negative one, whichever comes first."""
    return _with_zeros(np.minimum(x, y), x, y, lambda x, y: -(-x - y))


def _with_zeros(result: Array, x: Array, y: Array, of_zeros: Callable[[Array, Array], Any]) -> Array:
    """The result, with `of_zeros` where both floats are zeros."""
    if x.dtype.kind in "biu":
        return result
    zeros = (x == 0) & (y == 0)
    return np.where(zeros, of_zeros(x, y), result) if np.any(zeros) else result


_NUMPY_NAMES = {"EQ": np.equal, "NE": np.not_equal, "GT": np.greater}
_COMPARE = {**_NUMPY_NAMES, "GE": np.greater_equal, "LT": np.less, "LE": np.less_equal}

_ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": _divide,
    "remainder": _remainder,
    "maximum": _maximum,
    "minimum": _minimum,
    "power": np.power,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "not": np.invert,
    "shift-left": _shift_left,
    "shift-right-logical": _shift_right_logical,
    "shift-right-arithmetic": _shift_right_arithmetic,
    "negate": np.negative,
    "abs": np.abs,
    "sign": _sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "exponential": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sine": np.sin,
    "cosine": np.cos,
    "copy": np.copy,
    "select": np.where,
    "clamp": lambda low, x, high: _minimum(_maximum(x, low), high),
}
_REDUCERS: dict[str, np.ufunc] = {
    "add": np.add,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
}


def operation(instruction: Instruction, operands: list[Any], reducer: str = "add") -> Any:
    """The value of an instruction that calls nothing and is no tuple.

    `reducer`: the opcode in the region of a reduce. A custom-call hands on its first operand if
    that has the declared type, else zeros: what else it does is not seen here.
    """
    opcode = instruction.opcode
    if opcode in TRANSCENDENTAL:
        operands = [contiguous(x) for x in operands]
    function = _ELEMENTWISE.get(opcode)
    if function is not None:
        return np.asarray(function(*operands))
    if opcode == "reduce":
        return _reduce(instruction, operands[0], operands[1], _REDUCERS[reducer])
    return np.asarray(_OTHERS[opcode](instruction, *operands))


def _reduce(instruction: Instruction, x: Array, initial: Array, combine: np.ufunc) -> Array:
    axes, dtype = instruction.attribute("dimensions"), x.dtype
    if x.size == 0:
        return np.full(instruction.array_shape.dims, initial, dtype)
    wide = np.dtype(np.float32) if _is_half(dtype) else dtype
    reduced = combine.reduce(contiguous(x).astype(wide, copy=False), axis=axes, dtype=wide)
    return np.asarray(combine(initial.astype(wide, copy=False), reduced)).astype(dtype, copy=False)


def _is_half(dtype: np.dtype) -> bool:
    return dtype.itemsize == 2 and dtype.kind not in "iu"


def _dot(instruction: Instruction, lhs: Array, rhs: Array) -> Array:
    """Move axes to (batch, free, contracted) · (batch, contracted, free), and multiply matrices."""
    shape = instruction.array_shape
    if _is_half(lhs.dtype):
        lhs, rhs = lhs.astype(np.float32), rhs.astype(np.float32)
    sides = []
    for side, x in (("lhs", lhs), ("rhs", rhs)):
        batch = instruction.attribute(f"{side}_batch_dims", ())
        contracted = instruction.attribute(f"{side}_contracting_dims")
        free = tuple(axis for axis in range(x.ndim) if axis not in batch and axis not in contracted)
        order = (*batch, *free, *contracted) if side == "lhs" else (*batch, *contracted, *free)
        sizes = [[x.shape[axis] for axis in axes] for axes in (batch, free, contracted)]
        sides.append((contiguous(x.transpose(order)), [int(np.prod(each)) for each in sizes]))
    (left, (count, rows, inner)), (right, (_, columns, _)) = sides
    left, right = left.reshape(count, rows, inner), right.reshape(count, inner, columns)
    return np.matmul(left, right).reshape(shape.dims).astype(shape.numpy_dtype, copy=False)


def _convert(instruction: Instruction, x: Array) -> Array:
    dtype = instruction.array_shape.numpy_dtype
    if dtype.kind == "b":
        return np.asarray(x != 0)
    if dtype.kind not in "iu" or x.dtype.kind in "iub":
        return x.astype(dtype)
    limits, wide = np.iinfo(dtype), x.astype(np.float64)
    below, above = wide <= float(limits.min), wide >= float(limits.max)
    inside = np.where(below | above | np.isnan(wide), 0.0, wide).astype(dtype)
    return np.where(below, dtype.type(limits.min), np.where(above, dtype.type(limits.max), inside))


def _iota(instruction: Instruction) -> Array:
    shape, axis = instruction.array_shape, instruction.attribute("iota_dimension")
    aligned = [1] * len(shape.dims)
    aligned[axis] = shape.dims[axis]
    return np.broadcast_to(np.arange(shape.dims[axis]).astype(shape.numpy_dtype).reshape(aligned), shape.dims)


def _broadcast(instruction: Instruction, x: Array) -> Array:
    dims = instruction.array_shape.dims
    aligned = [1] * len(dims)
    for size, axis in zip(x.shape, instruction.attribute("dimensions"), strict=True):
        aligned[axis] = size
    return np.broadcast_to(x.reshape(aligned), dims)


def _slice(instruction: Instruction, x: Array) -> Array:
    bounds = [instruction.attribute(name) for name in ("starts", "limits", "strides")]
    return x[tuple(slice(*each) for each in zip(*bounds, strict=True))]


def _window(x: Array, sizes: tuple[int, ...], indices: tuple[Array, ...]) -> tuple[slice, ...]:
    """The place of a dynamic slice; indices are moved so that it lies inside, as in XLA."""
    starts = [min(max(int(index), 0), x.shape[axis] - sizes[axis]) for axis, index in enumerate(indices)]
    return tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))


def _dynamic_slice(instruction: Instruction, x: Array, *indices: Array) -> Array:
    return x[_window(x, instruction.attribute("dynamic_slice_sizes"), indices)]


def _dynamic_update_slice(instruction: Instruction, x: Array, update: Array, *indices: Array) -> Array:
    result = x.copy(order="C")
    result[_window(x, update.shape, indices)] = update
    return result


def _rng(instruction: Instruction, first: Array, second: Array) -> Array:
    """Random numbers from a stream of the instruction's name: two rngs differ, a second run does not."""
    shape, stream = instruction.array_shape, np.random.default_rng(zlib.crc32(instruction.name.encode()))
    first, second = first.astype(np.float64), second.astype(np.float64)
    if instruction.attribute("distribution") == "rng_uniform":
        drawn = first + (second - first) * stream.random(shape.dims)
    else:
        drawn = first + second * stream.standard_normal(shape.dims)
    return np.asarray(drawn).astype(shape.numpy_dtype)


def _custom_call(instruction: Instruction, *operands: Any) -> Array:
    shape = instruction.array_shape
    if operands and isinstance(operands[0], np.ndarray):
        first = operands[0]
        if first.shape == shape.dims and shape.dtype != "token" and first.dtype == shape.numpy_dtype:
            return first
    return _token() if shape.dtype == "token" else np.zeros(shape.dims, shape.numpy_dtype)


def _token(*operands: Any) -> Array:
    return np.zeros(0, np.bool_)  # nothing


_OTHERS: dict[str, Callable[..., Any]] = {
    "compare": lambda instruction, x, y: _COMPARE[instruction.attribute("direction")](x, y),
    "convert": _convert,
    "iota": _iota,
    "broadcast": _broadcast,
    "reshape": lambda instruction, x: contiguous(x).reshape(instruction.array_shape.dims),
    "bitcast": lambda instruction, x: contiguous(x).reshape(instruction.array_shape.dims),
    "transpose": lambda instruction, x: contiguous(x.transpose(instruction.attribute("dimensions"))),
    "dot": _dot,
    "concatenate": lambda instruction, *xs: np.concatenate(xs, axis=instruction.attribute("dimensions")[0]),
    "slice": _slice,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
    "rng": _rng,
    "custom-call": _custom_call,
    "after-all": _token,
    "outfeed": _token,
}
