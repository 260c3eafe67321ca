"""From jaxpr to HLO: the arrow of the chain that `jax.jit(f).lower(x)` stands for.

A jaxpr says `add a b` and leaves it to NumPy's rules what happens when a and b differ in dtype or
shape. HLO has no such rules: the operands of an elementwise instruction have one type. So lowering
writes down what the jaxpr left out, and nothing else: one instruction for each equation, and

- a `constant` for each literal (with a `broadcast`, where an array repeats one number),
- a `convert` where an operand has not the dtype that the operation is done in,
- a `broadcast` where an operand is stretched. An HLO broadcast adds axes but stretches none, so a
  `reshape` drops the axes of size 1 before,
- a `reshape` after a reduction that keeps its axes, because an HLO reduce never does.

The jaxpr is data, as it comes from JSON:

    {"name": "scale",
     "invars": [{"name": "a", "shape": [16, 64], "dtype": "float32"}],
     "eqns": [{"primitive": "mul",
               "inputs": [{"var": "a"}, {"literal": 0.5, "shape": [], "dtype": "float32"}],
               "params": {},
               "output": {"name": "b", "shape": [16, 64], "dtype": "float32"}}],
     "outvars": [{"var": "b"}]}

Variables are assigned once, before their use. Dtypes have NumPy's names and are ordered
bool < int32 < int64 < float32 < float64: an operation on several is done in the highest.

| primitives                    | params                      | HLO                                       |
|-------------------------------|-----------------------------|-------------------------------------------|
| add mul                       |                             | add, multiply; of bools: or, and          |
| sub div neg                   |                             | subtract, divide, negate                  |
| exp log tanh sqrt sin cos     |                             | exponential, log, tanh, sqrt, sine, cosine|
| eq gt                         |                             | compare, direction EQ, GT                 |
| select (pred, true, false)    |                             | select                                    |
| dot: `np.matmul`              |                             | dot                                       |
| transpose                     | permutation                 | transpose                                 |
| reshape                       | shape                       | reshape                                   |
| broadcast                     | shape, broadcast_dimensions | broadcast                                 |
| reduce_sum reduce_max         | axis (number, list or None: | reduce with a region (add, maximum; of    |
|                               | all; may be negative),      | bools: or) and its neutral element: 0,    |
|                               | keepdims                    | −inf, the lowest integer, false           |
| convert                       | dtype                       | convert                                   |

The dtype of a result is declared with the equation; arithmetic is done in it (so the operands of a
div of ints, declared float32, are converted first). A comparison is done in the highest dtype of
its operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .builder import Builder
from .hlo import Instruction, Literal, Module, Shape, dtype_name

_ELEMENTWISE = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "neg": "negate",
    "exp": "exponential",
    "log": "log",
    "tanh": "tanh",
    "sqrt": "sqrt",
    "sin": "sine",
    "cos": "cosine",
}
_DTYPES_BY_RANK = ("pred", "s32", "s64", "f32", "f64")  # lowest first


def lower(jaxpr: dict[str, Any]) -> Module:
    """The HLO module `jit_<name>` that computes what the jaxpr does.

    Parameters are the invars in order, under their names; the output is the lone outvar, or a
    tuple of them. Raises ValueError for a primitive that is not in the table.
    """
    build = Builder(f"jit_{jaxpr['name']}")
    values: dict[str, Instruction] = {}
    for var in jaxpr["invars"]:
        values[var["name"]] = build.parameter(_shape(var), var["name"])
    ### BEGIN SOLUTION a2.1a: lower the equations in order, then the outvars
    for eqn in jaxpr["eqns"]:
        operands = [_read(build, values, atom) for atom in eqn["inputs"]]
        values[eqn["output"]["name"]] = lower_equation(
            build, eqn["primitive"], operands, eqn["params"], _shape(eqn["output"])
        )
    return build.finish(*[_read(build, values, atom) for atom in jaxpr["outvars"]])
    ### END SOLUTION


def lower_equation(
    build: Builder, primitive: str, operands: Sequence[Instruction], params: dict[str, Any], shape: Shape
) -> Instruction:
    """Emit one equation whose result has type `shape`; returns the instruction that has its value."""
    match primitive:
        case "eq" | "gt":
            dtype = max((operand.array_shape.dtype for operand in operands), key=_DTYPES_BY_RANK.index)
            x, y = (stretch(build, convert(build, each, dtype), shape.dims) for each in operands)
            return build.emit("compare", shape, x, y, direction=primitive.upper())
        case "select":
            pred, *branches = operands
            cases = [stretch(build, convert(build, each, shape.dtype), shape.dims) for each in branches]
            return build.emit("select", shape, stretch(build, pred, shape.dims), *cases)
        case "dot":
            x, y = (convert(build, each, shape.dtype) for each in operands)
            return lower_dot(build, x, y, shape)
        case "transpose":
            return build.emit("transpose", shape, operands[0], dimensions=tuple(params["permutation"]))
        case "reshape":
            return build.emit("reshape", shape, operands[0])
        case "broadcast":
            return broadcast(build, operands[0], shape.dims, tuple(params["broadcast_dimensions"]))
        case "reduce_sum" | "reduce_max":
            x = convert(build, operands[0], shape.dtype)
            return lower_reduce(build, primitive, x, params["axis"], shape)
        case "convert":
            return build.emit("convert", shape, operands[0])
        case _ if primitive in _ELEMENTWISE:
            return lower_elementwise(build, primitive, operands, shape)
        case _:
            raise ValueError(f"{primitive!r} is no primitive of this jaxpr language; lower_jaxpr.py lists them.")


def convert(build: Builder, x: Instruction, dtype: str) -> Instruction:
    """x in another dtype; x itself if it has that dtype."""
    if x.array_shape.dtype == dtype:
        return x
    return build.emit("convert", Shape(dtype, x.array_shape.dims), x)


def stretch(build: Builder, x: Instruction, dims: tuple[int, ...]) -> Instruction:
    """x broadcast to dims by NumPy's rule (aligned at the right); x itself if it has these dims."""
    if x.array_shape.dims == dims:
        return x
    offset = len(dims) - len(x.array_shape.dims)
    return broadcast(build, x, dims, tuple(range(offset, len(dims))))


def broadcast(build: Builder, x: Instruction, dims: tuple[int, ...], dimensions: tuple[int, ...]) -> Instruction:
    """Emit a broadcast to dims, in which axis i of x becomes axis dimensions[i].

    An axis of size 1 may become a larger one. HLO has no such stretching, so these axes are
    dropped first, by a reshape.
    """
    ### BEGIN SOLUTION a2.1a: drop the axes that are stretched, if there are any, and broadcast the others
    sizes, dtype = x.array_shape.dims, x.array_shape.dtype
    kept = [axis for axis, size in enumerate(sizes) if size == dims[dimensions[axis]]]
    if len(kept) < len(sizes):
        x = build.emit("reshape", Shape(dtype, tuple(sizes[axis] for axis in kept)), x)
    return build.emit("broadcast", Shape(dtype, dims), x, dimensions=tuple(dimensions[axis] for axis in kept))
    ### END SOLUTION


def lower_elementwise(
    build: Builder, primitive: str, operands: Sequence[Instruction], shape: Shape
) -> Instruction:
    """add, sub, mul, div, neg and the functions of one operand."""
    ### BEGIN SOLUTION a2.1a: operands of one dtype and shape; bools have or and and
    opcode = _ELEMENTWISE[primitive]
    if shape.dtype == "pred":
        opcode = {"add": "or", "multiply": "and"}[opcode]
    alike = [stretch(build, convert(build, each, shape.dtype), shape.dims) for each in operands]
    return build.emit(opcode, shape, *alike)
    ### END SOLUTION


def lower_dot(build: Builder, x: Instruction, y: Instruction, shape: Shape) -> Instruction:
    """dot with the meaning of `np.matmul`, from vectors to stacks of matrices.

    An HLO dot has three kinds of axes: batch (the same in both), contracted, and free; its result
    has the batch axes, then the free ones of x, then those of y. So y with axes before its last
    two makes them batch axes, and both operands must have them in the result's sizes.
    """
    ### BEGIN SOLUTION a2.1a: name the contracted axes; with a stack in y, stretch both to the batch
    rank = len(y.array_shape.dims)
    batch = shape.dims[: _stack(x, y)] if rank > 2 else ()
    if rank > 2:
        x = stretch(build, x, batch + x.array_shape.dims[-2:])
        y = stretch(build, y, batch + y.array_shape.dims[-2:])
    axes = tuple(range(len(batch)))
    return build.emit(
        "dot",
        shape,
        x,
        y,
        lhs_contracting_dims=(len(x.array_shape.dims) - 1,),
        rhs_contracting_dims=(max(len(y.array_shape.dims) - 2, 0),),
        **({"lhs_batch_dims": axes, "rhs_batch_dims": axes} if batch else {}),
    )
    ### END SOLUTION


def lower_reduce(build: Builder, primitive: str, x: Instruction, axis: Any, shape: Shape) -> Instruction:
    """reduce_sum, reduce_max; `shape` tells whether the reduced axes are kept."""
    ### BEGIN SOLUTION a2.1a: axes as non-negative numbers, region and neutral element, and a reshape
    dims, dtype = x.array_shape.dims, x.array_shape.dtype
    named = range(len(dims)) if axis is None else axis if isinstance(axis, list) else [axis]
    axes = tuple(sorted(number % len(dims) for number in named))
    opcode, neutral = _reduction(primitive, x.array_shape)
    left = Shape(dtype, tuple(size for number, size in enumerate(dims) if number not in axes))
    region = build.region(opcode, dtype)
    reduced = build.emit("reduce", left, x, build.constant(neutral), dimensions=axes, to_apply=region)
    return reduced if left == shape else build.emit("reshape", shape, reduced)
    ### END SOLUTION


### BEGIN SOLUTION a2.1a: helper functions
def _stack(x: Instruction, y: Instruction) -> int:
    """How many axes before the last two the result of a matmul has."""
    return max(len(x.array_shape.dims), len(y.array_shape.dims)) - 2


def _reduction(primitive: str, shape: Shape) -> tuple[str, Literal]:
    """The opcode that combines two elements, and the element that changes nothing."""
    if primitive == "reduce_sum":
        return "add", Literal.of(0, shape.dtype)
    if shape.dtype == "pred":
        return "or", Literal.of(False, shape.dtype)
    lowest = -np.inf if shape.is_float else np.iinfo(shape.numpy_dtype).min
    return "maximum", Literal.of(lowest, shape.dtype)


### END SOLUTION


def _read(build: Builder, values: dict[str, Instruction], atom: dict[str, Any]) -> Instruction:
    """The value of a variable, or a constant for a literal.

    Of a literal array whose elements are all the same, one is kept, and broadcast.
    """
    if "var" in atom:
        return values[atom["var"]]
    array = np.asarray(atom["literal"], atom["dtype"]).reshape(atom["shape"])
    first = array.reshape(-1)[:1]
    if array.size < 2 or array.tobytes() != first.tobytes() * array.size:
        return build.constant(array)
    shape = Shape(dtype_name(array.dtype), array.shape)
    return build.emit("broadcast", shape, build.constant(first.reshape(())), dimensions=())


def _shape(var: dict[str, Any]) -> Shape:
    """The type of a variable as HLO has it."""
    return Shape(dtype_name(var["dtype"]), tuple(var["shape"]))
