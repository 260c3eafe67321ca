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
    # about 7 lines
    raise NotImplementedError("a2.1: sweep over every computation until a sweep changes nothing")


def sweep(computation: Computation, fast: bool) -> Computation:
    """Offer every instruction to the rules once, operands first."""
    # about 9 lines
    raise NotImplementedError("a2.1: keep an instruction, or let what a rule found stand in for it")


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
    # about 12 lines
    raise NotImplementedError("a2.1: which literals change nothing on the right, and for some opcodes on the left")


def divide_by_constant(it: Instruction, out: Rewriter, fast: bool) -> str | None:
    """x / c → x · (1/c) on floats; x / 2^k → x shifted right by k on unsigned integers.

    c is a constant, or a broadcast of one. Signed division rounds toward zero, a shift does not.
    """
    # about 18 lines
    raise NotImplementedError("a2.1: the reciprocal if it is good enough; the shift if c is a power of two")


def reciprocal_of(divisor: Literal, fast: bool) -> Literal | None:
    """1/c for every element, or None if multiplying by it is not as good as dividing by c.

    It must be a normal number: one that overflowed, or lost bits as a subnormal, is far from 1/c.
    If not `fast`, the product must be the quotient to the bit, so c must be a power of two.
    """
    # about 9 lines
    raise NotImplementedError("a2.1: divide in the literal's own dtype, look at every element")


def factor_out(it: Instruction, out: Rewriter, fast: bool) -> str | None:
    """c·a + c·b → c·(a + b), likewise with minus, if that is exact and saves a multiplication.

    Scaling by a positive power of two rounds nothing, and integer arithmetic wraps alike both ways;
    with another c, (0.1·a + 0.1·b) and 0.1·(a + b) are rounded at different places, and a negative c
    turns the sign of a zero.
    """
    # about 10 lines
    raise NotImplementedError("a2.1: two products by the same literal, both read only here")


# a2.1: helpers for factoring (about 10 lines)


def undo_twice(it: Instruction, out: Rewriter) -> str | None:
    """−(−x) → x, and likewise `not`."""
    # about 2 lines
    raise NotImplementedError("a2.1: look at the operand's opcode")


def merge_transposes(it: Instruction, out: Rewriter) -> str | None:
    """A transpose of a transpose is one transpose, and one that moves no axis is its operand."""
    # about 9 lines
    raise NotImplementedError("a2.1: compose the permutations; axis i of a transpose is operand axis dimensions[i]")


def merge_reshapes(it: Instruction, out: Rewriter) -> str | None:
    """A reshape of a reshape is one reshape, and one to the dims there are is its operand."""
    # about 5 lines
    raise NotImplementedError("a2.1: look through the operand if it is a reshape too")


def drop_no_op(it: Instruction, out: Rewriter) -> str | None:
    """A broadcast to the dims there are, axes in order, or a convert to the dtype there is, is its operand."""
    # about 3 lines
    raise NotImplementedError("a2.1: compare with the operand's shape")


def move_reshape_out(it: Instruction, out: Rewriter) -> str | None:
    """op(reshape a, reshape b) → reshape(op(a, b)), so that arithmetic comes to lie beside arithmetic.

    a and b have the same dims. Instead of a reshape there may be a scalar that all elements
    share (it is filled into the other dims), or a scalar operand of select or clamp. Not done if
    it would leave more reshapes than before, the old ones being read elsewhere too.
    """
    # about 18 lines
    raise NotImplementedError("a2.1: find the sources' dims, check every operand, then write op and reshape")
