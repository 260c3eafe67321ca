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
| c·a + c·b → c·(a + b)         | nothing, c being a power of two, while no product leaves the range |
|                               | of normal numbers                                                  |

There are no sweeps. A worklist holds the instructions that a rule may apply to: all of them in the
beginning, later those near a change: who reads a replaced value (and who reads these, since rules
look two instructions deep), and who shares an operand with what has gone (since some rules ask for
the number of readers). When the worklist is empty, no rule applies anywhere.
"""

from __future__ import annotations

from collections import deque
from functools import lru_cache

import ml_dtypes
import numpy as np

from .hlo import COMMUTATIVE, ELEMENTWISE, FLOATS, UNSIGNED, Computation, Instruction, Literal, Module, Shape
from .hlo import constant as make_constant
from .hlo import instruction, names_of, operands_first
from .rewrite import rewrite_each


def run(module: Module, fast: bool = True) -> tuple[Module, bool]:
    """Simplify until no rule applies; also say whether anything has changed.

    `fast`: use the rules of the table above that are not exact to the bit.
    """
    return rewrite_each(module, lambda computation: _Graph(computation).simplify(fast))


class _Graph:
    """A computation that can be changed: instructions by name, their readers, and what is to be looked at."""

    def __init__(self, computation: Computation) -> None:
        self.computation = computation
        self.root = computation.root
        self.names = names_of(computation)
        self.by_name = {it.name: it for it in computation.instructions}
        self.readers: dict[str, dict[str, None]] = {name: {} for name in self.by_name}
        for it in computation.instructions:
            for operand in it.operands:
                self.readers[operand][it.name] = None
        self.waiting = deque(self.by_name)
        self.is_waiting = set(self.by_name)
        self.slots: dict[str, list[str]] = {}  # what was written while an instruction was looked at
        self.slot: dict[str, str] = {}  # for what is new, the old instruction in whose place it stands
        self.now = ""

    def simplify(self, fast: bool) -> Computation:
        """Offer what waits to the rules until nothing waits."""
        while self.waiting:
            name = self.waiting.popleft()
            self.is_waiting.discard(name)
            if name not in self.by_name:
                continue
            self.now = self.slot.get(name, name)
            found = simplify(self.by_name[name], self, fast)
            if found is not None:
                self.replace(name, found)
        if not self.slots and len(self.by_name) == len(self.computation.instructions):
            return self.computation
        order = [name for it in self.computation.instructions for name in (*self.slots.get(it.name, ()), it.name)]
        written = operands_first(self.by_name[name] for name in order if name in self.by_name)
        return Computation(self.computation.name, written, self.root)

    def replace(self, old: str, new: str) -> None:
        """Let all readers of `old` read `new`; `old` goes."""
        gone = self.by_name.pop(old)
        for operand in dict.fromkeys(gone.operands):
            self.readers[operand].pop(old, None)
            if self.uses(operand) == 1:  # its reader is the only one now, which some rules wait for
                self.look_at(*self.readers[operand])
        for reader in self.readers.pop(old):
            it = self.by_name[reader] = self.by_name[reader].renamed({old: new})
            for operand in it.operands:
                self.readers[operand][reader] = None
            self.look_at(reader, *self.readers[reader])
        if old == self.root:
            self.root = new

    def look_at(self, *names: str) -> None:
        for name in names:
            if name not in self.is_waiting:
                self.is_waiting.add(name)
                self.waiting.append(name)

    # What the rules ask for, as of `rewrite.Rewriter`.

    def __getitem__(self, name: str) -> Instruction:
        return self.by_name[name]

    def uses(self, name: str) -> int:
        """How many instructions read a value now, the caller of the computation included."""
        return len(self.readers[name]) + (name == self.root)

    def uniform(self, name: str) -> Literal | None:
        """The scalar that every element of a value is, if the program says so."""
        it = self.by_name[name]
        while it.opcode in ("broadcast", "reshape"):
            it = self.by_name[it.operands[0]]
        return _only_element(it.literal) if it.opcode == "constant" and it.literal is not None else None

    def write(self, it: Instruction) -> str:
        self.by_name[it.name] = it
        self.readers[it.name] = {}
        for operand in it.operands:
            self.readers[operand][it.name] = None
        self.slots.setdefault(self.now, []).append(it.name)
        self.slot[it.name] = self.now
        self.look_at(it.name)
        return it.name

    def add(self, opcode: str, shape: Shape, *operands: str, **attributes: object) -> str:
        return self.write(instruction(self.names.fresh(opcode), opcode, shape, operands, **attributes))

    def add_like(self, it: Instruction, shape: Shape, *operands: str) -> str:
        return self.write(it.replace(name=self.names.fresh(it.name), shape=shape, operands=operands))

    def add_constant(self, literal: Literal) -> str:
        return self.write(make_constant(self.names.fresh("constant"), literal))

    def add_filled(self, value: Literal, dims: tuple[int, ...]) -> str:
        scalar = self.add_constant(value)
        return self.add("broadcast", Shape(value.dtype, dims), scalar, dimensions=()) if dims else scalar


@lru_cache(maxsize=4096)
def _only_element(literal: Literal) -> Literal | None:
    count = literal.shape.elements
    if count == 0:
        return None
    first = literal.data[: len(literal.data) // count]
    return Literal(literal.dtype, (), first) if first * count == literal.data else None


def simplify(it: Instruction, out: _Graph, fast: bool) -> str | None:
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


def drop_neutral(it: Instruction, out: _Graph, fast: bool) -> str | None:
    """x + 0, 0 + x, x − 0, x · 1, 1 · x, x / 1 → x.

    On floats x + (−0.0) and x − 0.0 are x for every x; x + 0.0 and x − (−0.0) are not for −0.0.
    """
    left, right = it.operands
    if _is_neutral(it.opcode, out.uniform(right), fast):
        return left
    if it.opcode in COMMUTATIVE and _is_neutral(it.opcode, out.uniform(left), fast):
        return right
    return None


def _is_neutral(opcode: str, literal: Literal | None, fast: bool) -> bool:
    if literal is None:
        return False
    value = literal.array.astype(np.float64) if literal.dtype in FLOATS else literal.array
    if opcode in ("multiply", "divide"):
        return bool(value == 1)
    if value != 0:
        return False
    exact = bool(np.signbit(value)) == (opcode == "add") if literal.dtype in FLOATS else True
    return exact or fast


def divide_by_constant(it: Instruction, out: _Graph, fast: bool) -> str | None:
    """x / c → x · (1/c) on floats; x / 2^k → x shifted right by k on unsigned integers.

    c is a constant, or a broadcast of one. Signed division rounds toward zero, a shift does not.
    """
    x, name = it.operands
    shape = it.array_shape
    uniform = out.uniform(name)
    source = out[name]
    broadcast = None
    if uniform is None and source.opcode == "broadcast":
        broadcast, source = source, out[source.operands[0]]
    divisor = uniform or (source.literal if source.opcode == "constant" else None)
    if divisor is None:
        return None
    if shape.is_float:
        opcode, factor = "multiply", reciprocal_of(divisor, fast)
    elif shape.dtype in UNSIGNED:
        opcode, factor = "shift-right-logical", _shift_of(divisor)
    else:
        return None
    if factor is None:
        return None
    if uniform is not None:
        new = out.add_filled(factor, shape.dims)
    else:
        new = out.add_constant(factor)
        if broadcast is not None:
            new = out.add_like(broadcast, broadcast.shape, new)
    return out.add(opcode, shape, x, new)


def _shift_of(divisor: Literal) -> Literal | None:
    values = [int(each) for each in divisor.array.reshape(-1)]
    if not all(each > 0 and each & (each - 1) == 0 for each in values):
        return None
    shifts = np.array([each.bit_length() - 1 for each in values]).reshape(divisor.dims)
    return Literal.of(shifts, divisor.dtype)


@lru_cache(maxsize=4096)
def reciprocal_of(divisor: Literal, fast: bool) -> Literal | None:
    """1/c for every element, or None if multiplying by it is not as good as dividing by c.

    It must be a normal number: one that overflowed, or lost bits as a subnormal, is far from 1/c.
    If not `fast`, the product must be the quotient to the bit, so c must be a power of two.
    """
    array = divisor.array
    with np.errstate(all="ignore"):
        reciprocal = np.divide(array.dtype.type(1), array).astype(array.dtype)
        wide = np.abs(reciprocal.astype(np.float64))
        normal = np.isfinite(wide) & (wide >= float(ml_dtypes.finfo(array.dtype).tiny))
        exact = np.abs(np.frexp(array.astype(np.float64))[0]) == 0.5
    if not np.all(normal) or not (fast or np.all(exact)):
        return None
    return Literal.of(reciprocal)


def factor_out(it: Instruction, out: _Graph, fast: bool) -> str | None:
    """c·a + c·b → c·(a + b), likewise with minus, if that is exact and saves a multiplication.

    Scaling by a power of two rounds nothing, and integer arithmetic wraps alike both ways; with
    another c, (0.1·a + 0.1·b) and 0.1·(a + b) are rounded at different places.
    """
    left, right = it.operands
    if left == right or out.uses(left) > 1 or out.uses(right) > 1:
        return None
    for factor, a in _products(left, out, fast):
        for other, b in _products(right, out, fast):
            if out.uniform(factor) == out.uniform(other):
                return out.add("multiply", it.shape, factor, out.add_like(it, it.shape, a, b))
    return None


def _products(name: str, out: _Graph, fast: bool) -> list[tuple[str, str]]:
    """The ways to see a value as c · x with a constant c that may be factored out."""
    it = out[name]
    if it.opcode != "multiply":
        return []
    x, y = it.operands
    return [(c, other) for c, other in ((x, y), (y, x)) if _may_factor(out.uniform(c), fast)]


def _may_factor(literal: Literal | None, fast: bool) -> bool:
    if literal is None or literal.dtype == "pred":
        return False
    if literal.dtype not in FLOATS:
        return True
    return fast and float(np.frexp(float(literal.array))[0]) == 0.5


def undo_twice(it: Instruction, out: _Graph) -> str | None:
    """−(−x) → x, and likewise `not`."""
    inner = out[it.operands[0]]
    return inner.operands[0] if inner.opcode == it.opcode else None


def merge_transposes(it: Instruction, out: _Graph) -> str | None:
    """A transpose of a transpose is one transpose, and one that moves no axis is its operand."""
    dimensions, source = it.attribute("dimensions"), it.operands[0]
    inner = out[source]
    if inner.opcode == "transpose":
        dimensions = tuple(inner.attribute("dimensions")[axis] for axis in dimensions)
        source = inner.operands[0]
    if dimensions == tuple(range(len(dimensions))):
        return source
    if source != it.operands[0]:
        return out.add("transpose", it.shape, source, dimensions=dimensions)
    return None


def merge_reshapes(it: Instruction, out: _Graph) -> str | None:
    """A reshape of a reshape is one reshape, and one to the dims there are is its operand."""
    inner = out[it.operands[0]]
    source = inner.operands[0] if inner.opcode == "reshape" else inner.name
    if out[source].shape == it.shape:
        return source
    return out.add("reshape", it.shape, source) if source != inner.name else None


def drop_no_op(it: Instruction, out: _Graph) -> str | None:
    """A broadcast to the dims there are, axes in order, or a convert to the dtype there is, is its operand."""
    in_order = tuple(range(len(it.array_shape.dims)))
    same = out[it.operands[0]].shape == it.shape and it.attribute("dimensions", in_order) == in_order
    return it.operands[0] if same else None


def move_reshape_out(it: Instruction, out: _Graph) -> str | None:
    """op(reshape a, reshape b) → reshape(op(a, b)), so that arithmetic comes to lie beside arithmetic.

    a and b have the same dims. Instead of a reshape there may be a scalar that all elements
    share (it is filled into the other dims), or a scalar operand of select or clamp. Not done if
    it would leave more reshapes than before, the old ones being read elsewhere too.
    """
    shape = it.array_shape
    operands: list[tuple[str, str]] = []  # what to do, and a name
    for place, name in enumerate(it.operands):
        operand = out[name]
        scalar = operand.array_shape.dims == () and (it.opcode, place) in _SCALARS
        if scalar and shape.dims:
            operands.append(("scalar", name))
        elif out.uniform(name) is not None:
            operands.append(("filled", name))
        elif operand.opcode == "reshape":
            operands.append(("reshape", name))
        elif scalar:
            operands.append(("scalar", name))
        else:
            return None
    reshapes = {name for kind, name in operands if kind == "reshape"}
    sources = {out[out[name].operands[0]].array_shape.dims for name in reshapes}
    if len(sources) != 1 or all(out.uses(name) > 1 for name in reshapes):
        return None
    (dims,) = sources
    written = []
    for kind, name in operands:
        literal = out.uniform(name)
        if kind == "reshape":
            written.append(out[name].operands[0])
        elif kind == "filled" and literal is not None:
            written.append(out.add_filled(literal, dims))
        else:
            written.append(name)
    return out.add("reshape", shape, out.add_like(it, Shape(shape.dtype, dims), *written))


_SCALARS = {("select", 0), ("clamp", 0), ("clamp", 2)}
