"""Programs in HLO, built by hand or drawn at random, and the values that passes go wrong on.

`Builder` writes an entry computation; its methods return names of instructions. Random programs are drawn
with hypothesis from the run's seed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from given_minixla.hlo import (
    DTYPES,
    Computation,
    Instruction,
    Module,
    Names,
    Shape,
    TupleShape,
    constant,
    instruction,
    operands_first,
    parameter,
    reducer,
)
from hypothesis import strategies as st

NASTY = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, 1e-45, -1e-40, 1.2e-38, 3e38, -3e38, 0.1, 3.0, -7.25, 1e20]


class Builder:
    """Writes the entry of a module, instruction by instruction."""

    def __init__(self, name: str = "program") -> None:
        self.name = name
        self.names = Names()
        self.instructions: list[Instruction] = []
        self.regions: dict[str, Computation] = {}
        self.shapes: dict[str, Any] = {}
        self.outputs: tuple[str, ...] = ()

    def add(self, made: Instruction) -> str:
        """Append an instruction as it is."""
        self.instructions.append(made)
        self.shapes[made.name] = made.shape
        return made.name

    def parameter(self, dtype: str, *dims: int) -> str:
        """The next parameter."""
        count = sum(each.opcode == "parameter" for each in self.instructions)
        return self.add(parameter(self.names.fresh("p"), count, Shape(dtype, dims)))

    def constant(self, value: Any, dtype: str = "f32") -> str:
        """A constant, of rank 0 for a number."""
        return self.add(constant(self.names.fresh("constant"), value, dtype))

    def op(
        self, opcode: str, *operands: str, dims: tuple[int, ...] | None = None, dtype: str = "", **rest: Any
    ) -> str:
        """An instruction; without `dims` and `dtype` the result is like the last operand (pred for compare)."""
        like = self.shapes[operands[-1]]
        dtype = dtype or ("pred" if opcode == "compare" else like.dtype)
        shape = Shape(dtype, like.dims if dims is None else tuple(dims))
        return self.add(instruction(self.names.fresh(opcode), opcode, shape, operands, **rest))

    def spread(self, value: Any, like: str) -> str:
        """A constant number broadcast to the shape of `like`."""
        shape = self.shapes[like]
        number = value if isinstance(value, str) else self.constant(value, shape.dtype)
        return self.op("broadcast", number, dims=shape.dims, dimensions=()) if shape.dims else number

    def along(self, operand: str, dims: tuple[int, ...], *dimensions: int) -> str:
        """`operand` broadcast to `dims`: its axis i becomes axis dimensions[i]."""
        return self.op("broadcast", operand, dims=dims, dimensions=tuple(dimensions))

    def reduce(self, operand: str, *dimensions: int, opcode: str = "add") -> str:
        """A sum, or a maximum, over some axes."""
        shape = self.shapes[operand]
        region = reducer(opcode, shape.dtype)
        self.regions[region.name] = region
        start = self.constant(
            {"add": 0, "multiply": 1, "maximum": -np.inf, "minimum": np.inf}[opcode], shape.dtype
        )
        dims = tuple(size for axis, size in enumerate(shape.dims) if axis not in dimensions)
        name = self.names.fresh("reduce")
        made = instruction(
            name, "reduce", Shape(shape.dtype, dims), (operand, start), dimensions=dimensions, to_apply=region.name
        )
        return self.add(made)

    def dot(self, left: str, right: str) -> str:
        """The product of two matrices."""
        dims = (self.shapes[left].dims[0], self.shapes[right].dims[1])
        return self.op("dot", left, right, dims=dims, lhs_contracting_dims=(1,), rhs_contracting_dims=(0,))

    def fusion(self, body: Builder, kind: str, *operands: str) -> list[str]:
        """A fusion whose body another builder wrote, ended by `body.outputs`; the names of its results."""
        name = self.names.fresh("fused")
        outputs = body.outputs
        shape: Any = body.shapes[outputs[0]]
        root = outputs[0]
        if len(outputs) > 1:
            shape = TupleShape(tuple(body.shapes[each] for each in outputs))
            root = body.add(instruction(body.names.fresh("results"), "tuple", shape, outputs))
        self.regions |= body.regions | {name: Computation(name, tuple(body.instructions), root)}
        call = self.add(instruction(self.names.fresh("fusion"), "fusion", shape, operands, kind=kind, calls=name))
        if len(outputs) == 1:
            return [call]
        parts = [(index, body.shapes[each]) for index, each in enumerate(outputs)]
        get = "get-tuple-element"
        return [self.add(instruction(self.names.fresh("part"), get, leaf, (call,), index=n)) for n, leaf in parts]

    def outfeed(self, operand: str) -> str:
        """An instruction with a side effect."""
        target, effect = {"custom_call_target": "log_value"}, {"custom_call_has_side_effect": True}
        return self.op("custom-call", operand, **target, **effect)

    def module(self, *outputs: str, **fields: Any) -> Module:
        """The module that returns these."""
        root, *others = outputs
        if others:
            shape = TupleShape(tuple(self.shapes[name] for name in outputs))
            root = self.add(instruction(self.names.fresh("tuple"), "tuple", shape, outputs))
        entry = Computation("main", tuple(self.instructions), root)
        return Module(self.name, (*self.regions.values(), entry), "main", **fields)


def nasty(rng: np.random.Generator, dtype: str, *dims: int) -> np.ndarray:
    """Values on which inexact rewrites show: NaN, infinities, both zeros, subnormals, huge numbers."""
    kind = DTYPES[dtype]
    if dtype == "pred":
        return rng.integers(0, 2, size=dims).astype(bool)
    if kind.kind in "iu":
        info = np.iinfo(kind)
        drawn = rng.integers(info.min, info.max, size=dims, dtype=kind, endpoint=True)
        small = rng.integers(0 if kind.kind == "u" else -20, 20, size=dims).astype(kind)
        return np.where(rng.integers(0, 2, size=dims) == 0, drawn, small).astype(kind)
    chosen = rng.choice(np.array(NASTY), size=dims)
    drawn = np.where(rng.integers(0, 3, size=dims) == 0, chosen, rng.normal(size=dims) * 3)
    with np.errstate(all="ignore"):
        return np.asarray(drawn).astype(np.float32).astype(kind)


def tame(rng: np.random.Generator, dtype: str, *dims: int) -> np.ndarray:
    """Ordinary values: normally distributed floats, small integers, either truth value."""
    if DTYPES[dtype].kind in "iub":
        return nasty(rng, dtype, *dims) if dtype == "pred" else rng.integers(0, 9, size=dims).astype(DTYPES[dtype])
    return rng.normal(size=dims).astype(DTYPES[dtype])


def arguments(module: Module, rng: np.random.Generator, values: Any = tame) -> list[np.ndarray]:
    """Arguments for the entry's parameters, with values drawn by `tame` or `nasty`."""
    shapes = [each.array_shape for each in module.entry_computation.parameters]
    return [values(rng, shape.dtype, *shape.dims) for shape in shapes]


def shuffled(module: Module, rng: np.random.Generator) -> Module:
    """The same entry with new names, in another order that works."""
    entry = module.entry_computation
    names = {
        each.name: f"v{number}" for each, number in zip(entry.instructions, rng.permutation(10**4), strict=False)
    }
    renamed = [each.renamed(names).replace(name=names[each.name]) for each in entry.instructions]
    mixed = operands_first(renamed[place] for place in rng.permutation(len(renamed)))
    return module.with_entry(mixed, names[entry.root])


def resized(module: Module, sizes: dict[int, int]) -> Module:
    """The same program at other sizes: every size that is a key becomes its value. For modules without literals
    of rank 1 and up."""

    def shape_of(shape: Any) -> Any:
        if isinstance(shape, TupleShape):
            return TupleShape(tuple(map(shape_of, shape.elements)))
        return Shape(shape.dtype, tuple(sizes.get(size, size) for size in shape.dims), shape.memory_space)

    def of(computation: Computation) -> Computation:
        changed = [each.replace(shape=shape_of(each.shape)) for each in computation.instructions]
        return computation.replace(instructions=tuple(changed))

    return module.replace(computations=tuple(map(of, module.computations)))


UNARY = ["negate", "abs", "exponential", "tanh", "sqrt", "log"]
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum"]
_STEPS = [*UNARY, *BINARY, *BINARY, "row", "column", "statistic", "transpose", "select", "number", "dot"]


@st.composite
def programs(draw: Any, most: int = 25, dots: bool = True, outputs: int = 3) -> Module:
    """A random program on matrices f32[m,n] and vectors: elementwise, rows broadcast, reductions, dots."""
    rows, columns = draw(st.sampled_from([(4, 4), (3, 5), (8, 2)]))
    builder = Builder("fuzz")
    matrices = [builder.parameter("f32", rows, columns) for _ in range(draw(st.integers(1, 2)))]
    vectors = {rows: [builder.parameter("f32", rows)], columns: [builder.parameter("f32", columns)]}
    if rows == columns:
        vectors[rows].append(builder.parameter("f32", rows))
    weight = builder.parameter("f32", columns, columns) if dots else ""

    def pick(values: list[str]) -> str:
        return values[-1 - draw(st.integers(0, min(len(values), 6) - 1))]

    for step in draw(st.lists(st.sampled_from(_STEPS), min_size=1, max_size=most)):
        axis = draw(st.integers(0, 1))
        if step in ("row", "column"):
            size, places = (columns, 1) if step == "row" else (rows, 0)
            made = builder.along(pick(vectors[size]), (rows, columns), places)
        elif step == "statistic":
            opcode = draw(st.sampled_from(["add", "maximum"]))
            vectors[(columns, rows)[axis]].append(builder.reduce(pick(matrices), axis, opcode=opcode))
            continue
        elif step == "transpose":
            if rows != columns:
                continue
            made = builder.op("transpose", pick(matrices), dims=(columns, rows), dimensions=(1, 0))
        elif step == "select":
            a, b = pick(matrices), pick(matrices)
            made = builder.op("select", builder.op("compare", a, b, direction="GT"), a, b)
        elif step == "number":
            made = builder.op(
                "multiply", pick(matrices), builder.spread(draw(st.sampled_from([0.5, 3.0])), matrices[0])
            )
        elif step == "dot":
            if not dots:
                continue
            made = builder.dot(pick(matrices), weight)
        elif axis and step in BINARY:
            pool = vectors[draw(st.sampled_from(sorted(vectors)))]
            pool.append(builder.op(step, pick(pool), pick(pool)))
            continue
        else:
            made = builder.op(step, *(pick(matrices) for _ in range(1 if step in UNARY else 2)))
        matrices.append(made)
    made = [each.name for each in builder.instructions if each.opcode not in ("parameter", "constant")]
    if not made:
        made = [builder.op("negate", matrices[0])]
    kept = draw(st.lists(st.sampled_from(made), min_size=1, max_size=outputs, unique=True))
    return builder.module(made[-1], *(name for name in kept if name != made[-1]))
