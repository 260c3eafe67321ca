"""A small graph of operations on arrays, as the propagation of shardings sees it: shapes, and who uses what.

Values are numbered: inputs and results of operations, in the order in which they were made. Operations stand in an
order in which every value is made before it is used. There is no data here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

Shape = tuple[int, ...]
Layout = tuple[tuple[str, ...], ...]  # for each dimension, the axes that cut it, major first


@dataclass(frozen=True)
class Elementwise:
    """Operands and result have one shape: add, mul, tanh, …"""

    operands: tuple[int, ...]
    result: int


@dataclass(frozen=True)
class DotGeneral:
    """A product of two arrays. `contracting`, `batch`: each operand's dimensions of that kind, paired in order.

    The result's dimensions: batch, then the left operand's others, then the right operand's others.
    """

    operands: tuple[int, int]
    result: int
    contracting: tuple[tuple[int, ...], tuple[int, ...]]
    batch: tuple[tuple[int, ...], tuple[int, ...]]


@dataclass(frozen=True)
class Reduce:
    """Sums (or maxima) over `dims`, which are gone in the result."""

    operands: tuple[int]
    result: int
    dims: tuple[int, ...]


@dataclass(frozen=True)
class Transpose:
    """Dimension i of the result is dimension `permutation[i]` of the operand."""

    operands: tuple[int]
    result: int
    permutation: tuple[int, ...]


@dataclass(frozen=True)
class Reshape:
    """Dimensions of the operand are split or merged; the elements stay in order."""

    operands: tuple[int]
    result: int


@dataclass(frozen=True)
class Broadcast:
    """Dimension i of the operand becomes dimension `dims[i]` of the result; the result's others are new.

    A dimension of size 1 may become a longer one.
    """

    operands: tuple[int]
    result: int
    dims: tuple[int, ...]


Op = Elementwise | DotGeneral | Reduce | Transpose | Reshape | Broadcast


@dataclass(frozen=True)
class Graph:
    """`shapes`: one for each value. `ops`: in order."""

    shapes: tuple[Shape, ...]
    ops: tuple[Op, ...]


@dataclass(frozen=True)
class Rule:
    """How the dimensions of an operation's tensors belong together, by *factors*.

    A factor is an index that runs over several tensors at once, such as i, k and j of a matrix product.
    `sizes`: one for each factor. `tensors`: for each operand and then the result, for each dimension, its
    factors, major first: most dimensions have one, the result of merging two dimensions has two, one of size 1
    may have none.
    """

    sizes: tuple[int, ...]
    tensors: tuple[tuple[tuple[int, ...], ...], ...]

    def __str__(self) -> str:
        names = [chr(ord("i") + number) if number < 18 else f"z{number}" for number in range(len(self.sizes))]
        dims = [["".join(names[f] for f in dim) or "1" for dim in tensor] for tensor in self.tensors]
        words = [f"[{','.join(tensor)}]" for tensor in dims]
        sizes = " ".join(f"{name}={size}" for name, size in zip(names, self.sizes, strict=True))
        return f"({', '.join(words[:-1])})->{words[-1]} {{{sizes}}}"


@dataclass(frozen=True)
class DimSharding:
    """What a user says of one dimension: the axes that cut it, and whether propagation may add more (`open`).

    `priority`: propagation looks at the annotations of priority 0 first, then also at those of 1, and so on.
    """

    axes: tuple[str, ...] = ()
    open: bool = True
    priority: int = 0


Annotations = dict[int, tuple[DimSharding, ...]]  # by value; what is not annotated is open and whole


@dataclass(frozen=True)
class Decision:
    """Propagation cut dimension `dim` of `value` along one more axis because of operation number `op`."""

    op: int
    value: int
    dim: int
    axis: str


@dataclass(frozen=True)
class Conflict:
    """Tensors of operation number `op` that disagree about a factor, and stay so.

    `places`: (value, dimension) of every tensor with that factor, sorted, each once.
    """

    op: int
    places: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Propagated:
    """`layouts`: one for each value. `decisions`: in order. `conflicts`: by operation."""

    layouts: tuple[Layout, ...]
    decisions: tuple[Decision, ...]
    conflicts: tuple[Conflict, ...]


class GraphBuilder:
    """Makes a graph: each method adds one value and returns its number.

    Raises ValueError for operands that do not fit.
    """

    def __init__(self) -> None:
        self.shapes: list[Shape] = []
        self.ops: list[Op] = []

    def graph(self) -> Graph:
        """The graph so far."""
        return Graph(tuple(self.shapes), tuple(self.ops))

    def input(self, *shape: int) -> int:
        """An input."""
        self.shapes.append(tuple(shape))
        return len(self.shapes) - 1

    def _result(self, op_class: type, operands: tuple[int, ...], shape: Sequence[int], *rest: object) -> int:
        self.shapes.append(tuple(shape))
        self.ops.append(op_class(operands, len(self.shapes) - 1, *rest))
        return len(self.shapes) - 1

    def elementwise(self, *operands: int) -> int:
        """An operation on arrays of one shape."""
        shapes = {self.shapes[operand] for operand in operands}
        if len(shapes) != 1:
            raise ValueError(f"elementwise: operands have the shapes {sorted(shapes)}; they must be equal.")
        return self._result(Elementwise, operands, shapes.pop())

    def dot_general(
        self,
        left: int,
        right: int,
        contracting: tuple[Sequence[int], Sequence[int]],
        batch: tuple[Sequence[int], Sequence[int]] = ((), ()),
    ) -> int:
        """A product; dimensions paired by `contracting` are summed over, those paired by `batch` stay."""
        shapes = [self.shapes[left], self.shapes[right]]
        for dims in (contracting, batch):
            sizes = [[shape[dim] for dim in dims[side]] for side, shape in enumerate(shapes)]
            if sizes[0] != sizes[1]:
                raise ValueError(f"dot_general: paired dimensions have sizes {sizes[0]} and {sizes[1]}.")
        rest = [
            [size for dim, size in enumerate(shape) if dim not in (*contracting[side], *batch[side])]
            for side, shape in enumerate(shapes)
        ]
        shape = [*(shapes[0][dim] for dim in batch[0]), *rest[0], *rest[1]]
        paired = [(tuple(dims[0]), tuple(dims[1])) for dims in (contracting, batch)]
        return self._result(DotGeneral, (left, right), shape, *paired)

    def dot(self, left: int, right: int) -> int:
        """The product of two matrices."""
        return self.dot_general(left, right, ((1,), (0,)))

    def reduce(self, operand: int, *dims: int) -> int:
        """A sum over some dimensions."""
        kept = [size for dim, size in enumerate(self.shapes[operand]) if dim not in dims]
        return self._result(Reduce, (operand,), kept, tuple(dims))

    def transpose(self, operand: int, *permutation: int) -> int:
        """Dimensions in another order."""
        shape = self.shapes[operand]
        if sorted(permutation) != list(range(len(shape))):
            raise ValueError(f"transpose: {permutation} is not a permutation of the dimensions of {shape}.")
        return self._result(Transpose, (operand,), [shape[dim] for dim in permutation], tuple(permutation))

    def reshape(self, operand: int, *shape: int) -> int:
        """Another shape of as many elements."""
        before = self.shapes[operand]
        if _product(before) != _product(shape):
            raise ValueError(f"reshape: {before} has not as many elements as {shape}.")
        return self._result(Reshape, (operand,), shape)

    def broadcast(self, operand: int, shape: Sequence[int], dims: Sequence[int]) -> int:
        """A larger shape; the operand's dimensions become `dims` of it."""
        before = self.shapes[operand]
        fits = len(dims) == len(before)
        if not fits or any(size not in (1, shape[place]) for size, place in zip(before, dims, strict=True)):
            raise ValueError(f"broadcast: dimensions {tuple(dims)} of {tuple(shape)} do not fit {before}.")
        return self._result(Broadcast, (operand,), shape, tuple(dims))


def _product(shape: Sequence[int]) -> int:
    result = 1
    for size in shape:
        result *= size
    return result
