"""Algebraic simplification: the same values from cheaper instructions.

Each rule looks at one instruction and at what makes its operands, and names a value that may
stand in for its result. The rules are those of arithmetic on *floats*: a rule is used only if it
gives the same bits for every operand, NaN, infinities, zeros of both signs and subnormals
included. So there is no x·0 → 0 (∞·0 is NaN), no x − x → 0, no x/x → 1, no x + (y − x) → y, and
the variance stays as it was written. Three rules are inexact at the edges and yet worth it; they
are used unless `fast=False` forbids them:

| rule                          | what may differ                                                    |
|-------------------------------|--------------------------------------------------------------------|
| x + 0 → x                     | −0.0 stays −0.0 and does not become 0.0                            |
| x / c → x · (1/c)             | the last bit; nothing if c is a power of two (then always done)    |
| c·a + c·b → c·(a + b)         | nothing, c being 2^k, while no product leaves the range            |
|                               | of normal numbers                                                  |

A sweep goes from operands to users, so what a rule makes of an operand is seen by the rules of
its users at once; a second sweep finds what the first uncovered, and sweeps end when nothing
changes.
"""

from __future__ import annotations

import ml_dtypes
import numpy as np

from .hlo import COMMUTATIVE, ELEMENTWISE, FLOATS, UNSIGNED, Computation, Instruction, Literal, Module, Shape
from .rewrite import Rewriter, rewrite_each

MAX_SWEEPS = 32


def run(module: Module, fast: bool = True) -> tuple[Module, bool]:
    """Simplify until nothing changes, at most MAX_SWEEPS times; also say whether anything has changed.

    `fast`: use the rules of the table above that are not exact to the bit.
    """
    ### BEGIN SOLUTION a2.1: sweep over every computation until a sweep changes nothing
    changed = False
    for _ in range(MAX_SWEEPS):
        module, again = rewrite_each(module, lambda computation: sweep(computation, fast))
        if not again:
            break
        changed = True
    return module, changed
    ### END SOLUTION


def sweep(computation: Computation, fast: bool) -> Computation:
    """Offer every instruction to the rules once, operands first."""
    ### BEGIN SOLUTION a2.1: keep an instruction, or let what a rule found stand in for it
    out = Rewriter(computation)
    for instruction in computation.instructions:
        it = out.current(instruction)
        better = simplify(it, out, fast)
        if better is None:
            out.keep(it)
        else:
            out.stand_in(it.name, better)
    return out.finish()
    ### END SOLUTION


def simplify(it: Instruction, out: Rewriter, fast: bool) -> str | None:
    """The name of a value that may stand in for `it`, written if it is new; None if no rule applies."""
    match it.opcode:
        case "add" | "subtract":
            found = drop_neutral(it, out, fast) or factor_out(it, out, fast)
        case "multiply":
            found = drop_neutral(it, out, fast)
        case "divide":
            found = drop_neutral(it, out, fast) or divide_by_constant(it, out, fast)
        case "negate" | "not":
            found = undo_twice(it, out)
        case "transpose":
            found = merge_transposes(it, out)
        case "reshape":
            found = merge_reshapes(it, out)
        case "broadcast" | "convert":
            found = drop_no_op(it, out)
        case _:
            found = None
    return found or (move_reshape_out(it, out) if it.opcode in ELEMENTWISE else None)


def drop_neutral(it: Instruction, out: Rewriter, fast: bool) -> str | None:
    """x + 0, 0 + x, x − 0, x · 1, 1 · x, x / 1 → x.

    On floats x + (−0.0) and x − 0.0 are x for every x; x + 0.0 and x − (−0.0) are not for −0.0.
    """
    ### BEGIN SOLUTION a2.1: which literals change nothing on the right, and for some opcodes on the left
    dtype = it.array_shape.dtype
    zero, negative_zero, one = Literal.of(0, dtype), Literal.of(-0.0, dtype), Literal.of(1, dtype)
    neutral = {
        "add": {negative_zero, zero} if fast else {negative_zero},
        "subtract": {zero, negative_zero} if fast else {zero},
    }.get(it.opcode, {one})
    x, y = it.operands
    if out.uniform(y) in neutral:
        return x
    if it.opcode in COMMUTATIVE and out.uniform(x) in neutral:
        return y
    return None
    ### END SOLUTION


def divide_by_constant(it: Instruction, out: Rewriter, fast: bool) -> str | None:
    """x / c → x · (1/c) on floats; x / 2^k → x shifted right by k on unsigned integers.

    c is a constant, or a broadcast of one. Signed division rounds toward zero, a shift does not.
    """
    ### BEGIN SOLUTION a2.1: the reciprocal if it is good enough; the shift if c is a power of two
    x, y = it.operands
    shape = it.array_shape
    divisor = out[y]
    source = out[divisor.operands[0]] if divisor.opcode == "broadcast" else divisor
    if shape.dtype in FLOATS and source.literal is not None:
        reciprocal = reciprocal_of(source.literal, fast)
        if reciprocal is not None:
            factor = out.add_constant(reciprocal)
            if source is not divisor:
                factor = out.add_like(divisor, divisor.shape, factor)
            return out.add("multiply", shape, x, factor)
    value = out.uniform(y)
    if shape.dtype in UNSIGNED and value is not None:
        c = int(value.array)
        if c.bit_count() == 1:
            bits = out.add_filled(Literal.of(c.bit_length() - 1, shape.dtype), shape.dims)
            return out.add("shift-right-logical", shape, x, bits)
    return None
    ### END SOLUTION


def reciprocal_of(divisor: Literal, fast: bool) -> Literal | None:
    """1/c for every element, or None if multiplying by it is not as good as dividing by c.

    It must be a normal number: one that overflowed, or lost bits as a subnormal, is far from 1/c.
    If not `fast`, the product must be the quotient to the bit, so c must be a power of two.
    """
    ### BEGIN SOLUTION a2.1: divide in the literal's own dtype, look at every element
    c = divisor.array
    with np.errstate(all="ignore"):
        reciprocal = np.ones_like(c) / c
    smallest = float(ml_dtypes.finfo(c.dtype).smallest_normal)
    size = np.abs(reciprocal.astype(np.float64))
    good = (size >= smallest) & (size < np.inf)
    if not fast:
        good &= np.abs(np.frexp(c.astype(np.float64))[0]) == 0.5
    return Literal.of(reciprocal) if good.all() else None
    ### END SOLUTION


def factor_out(it: Instruction, out: Rewriter, fast: bool) -> str | None:
    """c·a + c·b → c·(a + b), likewise with minus, if that is exact and saves a multiplication.

    Scaling by a positive power of two rounds nothing, and integer arithmetic wraps alike both ways;
    with another c, (0.1·a + 0.1·b) and 0.1·(a + b) are rounded at different places, and a negative c
    turns the sign of a zero.
    """
    ### BEGIN SOLUTION a2.1: two products by the same literal, both read only here
    left, right = (_constant_product(out[name], out) for name in it.operands)
    if left is None or right is None or it.operands[0] == it.operands[1]:
        return None
    factor, a, value = left
    _, b, other_value = right
    shape = it.array_shape
    exact = not shape.is_float or (fast and _is_power_of_two(value))
    if value != other_value or not exact or any(out.uses(product) > 1 for product in it.operands):
        return None
    return out.add("multiply", shape, out.add_like(it, shape, a, b), factor)
    ### END SOLUTION


### BEGIN SOLUTION a2.1: helpers for factoring
def _constant_product(it: Instruction, out: Rewriter) -> tuple[str, str, Literal] | None:
    """The constant factor's name, the other factor's and the constant, of an instruction c·a or a·c."""
    if it.opcode == "multiply":
        for c, a in (it.operands, it.operands[::-1]):
            value = out.uniform(c)
            if value is not None:
                return c, a, value
    return None


def _is_power_of_two(value: Literal) -> bool:
    return float(np.frexp(value.array.astype(np.float64))[0]) == 0.5


### END SOLUTION


def undo_twice(it: Instruction, out: Rewriter) -> str | None:
    """−(−x) → x, and likewise `not`."""
    ### BEGIN SOLUTION a2.1: look at the operand's opcode
    inner = out[it.operands[0]]
    return inner.operands[0] if inner.opcode == it.opcode else None
    ### END SOLUTION


def merge_transposes(it: Instruction, out: Rewriter) -> str | None:
    """A transpose of a transpose is one transpose, and one that moves no axis is its operand."""
    ### BEGIN SOLUTION a2.1: compose the permutations; axis i of a transpose is operand axis dimensions[i]
    inner = out[it.operands[0]]
    axes = it.attribute("dimensions")
    source = it.operands[0]
    if inner.opcode == "transpose":
        axes = tuple(inner.attribute("dimensions")[axis] for axis in axes)
        source = inner.operands[0]
    if axes == tuple(range(len(axes))):
        return source
    return out.add("transpose", it.shape, source, dimensions=axes) if inner.opcode == "transpose" else None
    ### END SOLUTION


def merge_reshapes(it: Instruction, out: Rewriter) -> str | None:
    """A reshape of a reshape is one reshape, and one to the dims there are is its operand."""
    ### BEGIN SOLUTION a2.1: look through the operand if it is a reshape too
    inner = out[it.operands[0]]
    source = inner.operands[0] if inner.opcode == "reshape" else it.operands[0]
    if out[source].shape == it.shape:
        return source
    return out.add("reshape", it.shape, source) if inner.opcode == "reshape" else None
    ### END SOLUTION


def drop_no_op(it: Instruction, out: Rewriter) -> str | None:
    """A broadcast to the dims there are, axes in order, or a convert to the dtype there is, is its operand."""
    ### BEGIN SOLUTION a2.1: compare with the operand's shape
    dims = it.array_shape.dims
    in_order = it.attribute("dimensions", ()) == tuple(range(len(dims))) or it.opcode == "convert"
    return it.operands[0] if in_order and out[it.operands[0]].shape == it.shape else None
    ### END SOLUTION


def move_reshape_out(it: Instruction, out: Rewriter) -> str | None:
    """op(reshape a, reshape b) → reshape(op(a, b)), so that arithmetic comes to lie beside arithmetic.

    a and b have the same dims. Instead of a reshape there may be a scalar that all elements
    share (it is filled into the other dims), or a scalar operand of select or clamp. Not done if
    it would leave more reshapes than before, the old ones being read elsewhere too.
    """
    ### BEGIN SOLUTION a2.1: find the sources' dims, check every operand, then write op and reshape
    reshapes = [name for name in it.operands if out[name].opcode == "reshape" and out.uniform(name) is None]
    if not reshapes or all(out.uses(name) > 1 for name in reshapes):
        return None
    dims = out[out[reshapes[0]].operands[0]].array_shape.dims
    plan: list[str | Literal] = []
    for name in it.operands:
        operand, value = out[name], out.uniform(name)
        if name in reshapes and out[operand.operands[0]].array_shape.dims == dims:
            plan.append(operand.operands[0])
        elif operand.array_shape.dims == () != it.array_shape.dims:
            plan.append(name)
        elif value is not None:
            plan.append(value)
        else:
            return None
    operands = [each if isinstance(each, str) else out.add_filled(each, dims) for each in plan]
    inner = out.add_like(it, Shape(it.array_shape.dtype, dims), *operands)
    return out.add("reshape", it.shape, inner)
    ### END SOLUTION
