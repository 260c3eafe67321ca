"""Constant folding: what depends on constants only is computed now, once.

The values are the interpreter's, so folding changes no bit: 1.0/0.0 becomes ∞, and an integer
divided by zero −1. What must not happen is that a program of a few lines becomes one of many
megabytes. So a broadcast of a constant stays a broadcast, arithmetic on filled arrays is done on
the scalar that fills them, and no literal above LIMIT_BYTES is made. Reductions make large
literals small: they are worth some work, up to WORK_BYTES.
"""

from __future__ import annotations

import numpy as np

from .hlo import DATA_MOVEMENT, ELEMENTWISE, Computation, Instruction, Literal, Module, Shape
from .operations import operation
from .rewrite import Rewriter, rewrite_each

LIMIT_BYTES = 1024  # of a literal that folding makes
WORK_BYTES = 2**20  # of the operands of one instruction: more is left to the machine
FOLDABLE = (ELEMENTWISE | DATA_MOVEMENT | {"reduce", "dot"}) - {"broadcast"}


def run(module: Module) -> tuple[Module, bool]:
    """Fold in every computation; also say whether anything has changed. A second run changes nothing."""
    return rewrite_each(module, lambda computation: fold(module, computation))


def fold(module: Module, computation: Computation) -> Computation:
    """The computation with constants, or broadcasts of scalar constants, for what can be known."""
    ### BEGIN SOLUTION a2.1: go from operands to users with a dictionary of known values
    out = Rewriter(computation)
    known: dict[str, np.ndarray] = {}
    for instruction in computation.instructions:
        it = out.current(instruction)
        value = value_of(module, it, known)
        if value is None:
            out.keep(it)
        elif it.opcode in ("constant", "broadcast"):
            known[out.keep(it)] = value
        else:
            name = write(value, out)
            known[name] = value
            out.stand_in(it.name, name)
    return out.finish()
    ### END SOLUTION


def value_of(module: Module, it: Instruction, known: dict[str, np.ndarray]) -> np.ndarray | None:
    """The value of an instruction, if it is known or can be found within the limits, else None.

    `known`: values found so far, by name. An array that repeats one scalar is a view of the scalar
    with strides 0 (`np.broadcast_to`), so it takes no memory however large it is.
    """
    ### BEGIN SOLUTION a2.1: constants and broadcasts; on filled arrays the scalar; else all of it, if small
    if it.literal is not None:
        return it.literal.array
    if it.opcode not in FOLDABLE | {"broadcast"} or not all(name in known for name in it.operands):
        return None
    operands = [known[name] for name in it.operands]
    shape = it.array_shape
    with np.errstate(all="ignore"):
        if it.opcode == "broadcast":
            return operation(it, operands)
        if shape.elements and all(map(is_filled, operands)):
            scalars = [np.asarray(each[(0,) * each.ndim]) for each in operands]
            if it.opcode in ELEMENTWISE:
                return np.broadcast_to(operation(it.replace(shape=Shape(shape.dtype)), scalars), shape.dims)
            if it.opcode in ("reshape", "transpose", "slice"):
                return np.broadcast_to(scalars[0], shape.dims)
        if shape.bytes > LIMIT_BYTES or sum(each.nbytes for each in operands) > WORK_BYTES:
            return None
        reducer = module.called(it).root_instruction.opcode if it.opcode == "reduce" else ""
        return operation(it, operands, reducer)
    ### END SOLUTION


def is_filled(array: np.ndarray) -> bool:
    """Whether an array repeats one element, as its strides show; scalars do."""
    return array.size > 0 and all(
        stride == 0 or size == 1 for stride, size in zip(array.strides, array.shape, strict=True)
    )


def write(value: np.ndarray, out: Rewriter) -> str:
    """Write a value, as a filled array if it is one; returns its name."""
    if is_filled(value):
        return out.add_filled(Literal.of(value[(0,) * value.ndim]), value.shape)
    return out.add_constant(Literal.of(value))
