"""What type an instruction's result has, known from its operands' types alone.

`infer` is a function of types. Where the operands do not decide (a reshape may go to any shape of
as many elements) it checks the declared one and gives it back. Memory spaces play no part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .hlo import (
    ELEMENTWISE_BINARY,
    ELEMENTWISE_UNARY,
    FLOATS,
    TRANSCENDENTAL,
    AnyShape,
    Instruction,
    Shape,
    TupleShape,
)


class Misfit(Exception):
    """Operands or attributes that an opcode does not take; the message says what and what is allowed."""


def without_spaces(shape: AnyShape) -> AnyShape:
    """The same type with every array in memory space 0."""
    if isinstance(shape, TupleShape):
        return TupleShape(tuple(map(without_spaces, shape.elements)))
    return shape if shape.memory_space == 0 else shape.in_space(0)


def infer(instruction: Instruction, operands: Sequence[AnyShape]) -> AnyShape:
    """The type of the result, all in memory space 0. Raises Misfit.

    `operands`: the operands' types. Fusions are not dealt with here: the callee says their type.
    """
    match instruction.opcode:
        case "tuple":
            return TupleShape(tuple(map(without_spaces, operands)))
        case "get-tuple-element":
            return _element(instruction, operands)
        case "copy-done":
            return _copy_done(instruction, operands)
        case "after-all":
            return Shape("token")
        case "outfeed":
            if operands[1] != Shape("token"):
                raise Misfit(f"outfeed takes a value and a token, not {operands[1]}")
            return Shape("token")
        case "custom-call":
            return without_spaces(instruction.shape)
    arrays = [_array(operand) for operand in operands]
    if instruction.opcode in ELEMENTWISE_UNARY or instruction.opcode in ELEMENTWISE_BINARY:
        return _elementwise(instruction, arrays)
    return _RULES[instruction.opcode](instruction, arrays)


def _array(shape: AnyShape) -> Shape:
    if isinstance(shape, TupleShape):
        raise Misfit(f"an operand is a tuple, {shape}; take an element of it with get-tuple-element first")
    if shape.dtype == "token":
        raise Misfit("an operand is a token; only after-all and outfeed take one")
    return shape if shape.memory_space == 0 else shape.in_space(0)


def _declared(instruction: Instruction) -> Shape:
    return instruction.array_shape.in_space(0)


def _elementwise(instruction: Instruction, operands: list[Shape]) -> Shape:
    opcode, first = instruction.opcode, operands[0]
    for other in operands[1:]:
        if other != first:
            raise Misfit(f"the operands of {opcode} must have one type, but they have {first} and {other}")
    if opcode in TRANSCENDENTAL or opcode in ("floor", "ceil"):
        _require(opcode, first, first.dtype in FLOATS, "floating-point operands")
    elif opcode in ("and", "or", "xor", "not") or opcode.startswith("shift"):
        _require(opcode, first, first.dtype not in FLOATS, "integers or preds")
    if opcode.startswith("shift") or opcode in ("negate", "abs", "sign", "subtract", "divide", "remainder"):
        _require(opcode, first, first.dtype != "pred", "numbers, not preds; convert them first")
    if opcode == "compare":
        if instruction.attribute("direction") not in ("EQ", "NE", "GT", "GE", "LT", "LE"):
            raise Misfit("the direction of a compare is EQ, NE, GT, GE, LT or LE")
        return Shape("pred", first.dims)
    return Shape(_declared(instruction).dtype, first.dims) if opcode == "convert" else first


def _require(opcode: str, shape: Shape, holds: bool, wanted: str) -> None:
    if not holds:
        raise Misfit(f"{opcode} takes {wanted}; this operand is {shape}")


def _select(instruction: Instruction, operands: list[Shape]) -> Shape:
    pred, on_true, on_false = operands
    if pred.dtype != "pred" or pred.dims not in ((), on_true.dims):
        raise Misfit(f"the first operand of select is a pred, a scalar or of the branches' dims, not {pred}")
    if on_true != on_false:
        raise Misfit(f"the branches of select must have one type, but they have {on_true} and {on_false}")
    return on_true


def _clamp(instruction: Instruction, operands: list[Shape]) -> Shape:
    low, x, high = operands
    for bound in (low, high):
        if bound.dtype != x.dtype or bound.dims not in ((), x.dims):
            raise Misfit(f"the bounds of clamp are scalars or of the type of x, {x}, not {bound}")
    return x


def _iota(instruction: Instruction, operands: list[Shape]) -> Shape:
    shape = _declared(instruction)
    if not 0 <= instruction.attribute("iota_dimension") < len(shape.dims):
        raise Misfit(f"iota_dimension must be an axis of {shape}")
    _require("iota", shape, shape.dtype != "pred", "a dtype of numbers")
    return shape


def _broadcast(instruction: Instruction, operands: list[Shape]) -> Shape:
    x, shape, dimensions = operands[0], _declared(instruction), instruction.attribute("dimensions")
    _check_axes("broadcast", dimensions, len(shape.dims))
    if len(dimensions) != len(x.dims) or list(dimensions) != sorted(dimensions):
        raise Misfit(f"dimensions of broadcast must increase and name an axis of the result for each axis of {x}")
    for size, axis in zip(x.dims, dimensions, strict=True):
        if shape.dims[axis] != size:
            raise Misfit(f"broadcast keeps sizes: an axis of size {size} cannot become axis {axis} of {shape}")
    return Shape(x.dtype, shape.dims)


def _same_elements(instruction: Instruction, operands: list[Shape]) -> Shape:
    shape = _declared(instruction)
    if shape.elements != operands[0].elements:
        raise Misfit(f"{instruction.opcode} keeps the number of elements; {operands[0]} has not that of {shape}")
    return Shape(operands[0].dtype, shape.dims)


def _transpose(instruction: Instruction, operands: list[Shape]) -> Shape:
    x, permutation = operands[0], instruction.attribute("dimensions")
    if sorted(permutation) != list(range(len(x.dims))):
        raise Misfit(f"dimensions of transpose must be a permutation of the axes of {x}")
    return Shape(x.dtype, tuple(x.dims[axis] for axis in permutation))


def _reduce(instruction: Instruction, operands: list[Shape]) -> Shape:
    (x, initial), dimensions = operands, instruction.attribute("dimensions")
    _check_axes("reduce", dimensions, len(x.dims))
    if initial != Shape(x.dtype):
        raise Misfit(f"the initial value of this reduce must be {Shape(x.dtype)}, not {initial}")
    return Shape(x.dtype, tuple(size for axis, size in enumerate(x.dims) if axis not in dimensions))


def _dot(instruction: Instruction, operands: list[Shape]) -> Shape:
    lhs, rhs = operands
    batches = (instruction.attribute("lhs_batch_dims", ()), instruction.attribute("rhs_batch_dims", ()))
    contracted = tuple(instruction.attribute(f"{side}_contracting_dims") for side in ("lhs", "rhs"))
    for side, x in enumerate(operands):
        _check_axes("dot", (*batches[side], *contracted[side]), len(x.dims))
    if lhs.dtype != rhs.dtype:
        raise Misfit(f"the operands of dot must have one dtype, but they are {lhs} and {rhs}")
    for axes in (batches, contracted):
        sizes = [[x.dims[axis] for axis in named] for x, named in zip(operands, axes, strict=True)]
        if sizes[0] != sizes[1]:
            raise Misfit(f"axes that dot pairs must have one size; {lhs} {axes[0]} and {rhs} {axes[1]} have not")
    batch = tuple(lhs.dims[axis] for axis in batches[0])
    free = tuple(
        size
        for side, x in enumerate(operands)
        for axis, size in enumerate(x.dims)
        if axis not in batches[side] and axis not in contracted[side]
    )
    wider = _declared(instruction).dtype
    return Shape(wider if lhs.dtype in ("bf16", "f16") and wider == "f32" else lhs.dtype, batch + free)


def _check_axes(opcode: str, axes: Sequence[int], rank: int) -> None:
    if len(set(axes)) != len(axes) or any(not 0 <= axis < rank for axis in axes):
        raise Misfit(
            f"{opcode} names axes {tuple(axes)}; each must be one of the {rank} there are, and named once"
        )


def _concatenate(instruction: Instruction, operands: list[Shape]) -> Shape:
    first, dimensions = operands[0], instruction.attribute("dimensions")
    _check_axes("concatenate", dimensions, len(first.dims))
    if len(dimensions) != 1:
        raise Misfit("concatenate needs one axis in dimensions")
    axis = dimensions[0]
    for other in operands[1:]:
        alike = other.dims[:axis] == first.dims[:axis] and other.dims[axis + 1 :] == first.dims[axis + 1 :]
        if other.dtype != first.dtype or len(other.dims) != len(first.dims) or not alike:
            raise Misfit(f"concatenate joins arrays that differ in axis {axis} only, not {first} and {other}")
    total = sum(x.dims[axis] for x in operands)
    return Shape(first.dtype, (*first.dims[:axis], total, *first.dims[axis + 1 :]))


def _slice(instruction: Instruction, operands: list[Shape]) -> Shape:
    x = operands[0]
    bounds = [instruction.attribute(name) for name in ("starts", "limits", "strides")]
    if any(len(each) != len(x.dims) for each in bounds):
        raise Misfit(f"slice needs a range for each axis of {x}")
    sizes = []
    for start, limit, stride, size in zip(*bounds, x.dims, strict=True):
        if not 0 <= start <= limit <= size or stride < 1:
            raise Misfit(f"the range [{start}:{limit}:{stride}] does not lie in an axis of size {size}")
        sizes.append(-(-(limit - start) // stride))
    return Shape(x.dtype, tuple(sizes))


def _dynamic_slice(instruction: Instruction, operands: list[Shape]) -> Shape:
    x, sizes = operands[0], instruction.attribute("dynamic_slice_sizes")
    _check_indices(operands[1:], x)
    if len(sizes) != len(x.dims) or any(not 0 <= size <= whole for size, whole in zip(sizes, x.dims, strict=True)):
        raise Misfit(f"dynamic_slice_sizes {sizes} must give a size within each axis of {x}")
    return Shape(x.dtype, sizes)


def _dynamic_update_slice(instruction: Instruction, operands: list[Shape]) -> Shape:
    x, update = operands[:2]
    _check_indices(operands[2:], x)
    fits = len(update.dims) == len(x.dims) and all(map(int.__le__, update.dims, x.dims))
    if update.dtype != x.dtype or not fits:
        raise Misfit(f"the update {update} must lie within {x} and have its dtype")
    return x


def _check_indices(indices: list[Shape], x: Shape) -> None:
    if len(indices) != len(x.dims):
        raise Misfit(f"one index for each axis of {x} is needed; there are {len(indices)}")
    for index in indices:
        if index.dims or index.dtype in FLOATS or index.dtype == "pred":
            raise Misfit(f"an index is an integer scalar, not {index}")


def _element(instruction: Instruction, operands: Sequence[AnyShape]) -> AnyShape:
    whole, index = operands[0], instruction.attribute("index")
    if not isinstance(whole, TupleShape) or not 0 <= index < len(whole.elements):
        raise Misfit(f"get-tuple-element takes an element of a tuple; {whole} has no element {index}")
    return without_spaces(whole.elements[index])


def _copy_start(instruction: Instruction, operands: list[Shape]) -> AnyShape:
    return TupleShape((operands[0], operands[0], Shape("u32")))


def _copy_done(instruction: Instruction, operands: Sequence[AnyShape]) -> AnyShape:
    if not isinstance(operands[0], TupleShape) or len(operands[0].elements) != 3:
        raise Misfit(f"copy-done takes what a copy-start made, not {operands[0]}")
    return without_spaces(operands[0].elements[0])


def _rng(instruction: Instruction, operands: list[Shape]) -> Shape:
    shape = _declared(instruction)
    _require("rng", shape, shape.dtype in FLOATS, "a floating-point dtype")
    if instruction.attribute("distribution") not in ("rng_uniform", "rng_normal"):
        raise Misfit("the distribution of rng is rng_uniform (from, to) or rng_normal (mean, deviation)")
    if any(operand != Shape(shape.dtype) for operand in operands):
        raise Misfit(f"the operands of this rng must be scalars {Shape(shape.dtype)}")
    return shape


_RULES: dict[str, Callable[[Instruction, list[Shape]], AnyShape]] = {
    "select": _select,
    "clamp": _clamp,
    "iota": _iota,
    "broadcast": _broadcast,
    "reshape": _same_elements,
    "bitcast": _same_elements,
    "transpose": _transpose,
    "reduce": _reduce,
    "dot": _dot,
    "concatenate": _concatenate,
    "slice": _slice,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
    "copy-start": _copy_start,
    "rng": _rng,
}
