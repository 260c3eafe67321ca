"""A small graph of operations, each with a few layouts to choose from.

Every node makes one array. A `Choice` says in which layout the node wants each operand and in which
it makes its result. Where the layout that is made is not the one that is wanted, a copy has to be put
on that edge, unless it is a bitcast.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .layout import ArrayLayout, Tile

BF16_TILES: tuple[Tile, ...] = ((8, 128), (2, 1))


@dataclass(frozen=True, slots=True)
class Choice:
    """One way to run a node: the layout wanted of each operand, and that of the result."""

    operands: tuple[ArrayLayout, ...]
    result: ArrayLayout


@dataclass(frozen=True, slots=True)
class Node:
    """An operation. `operands`: names of earlier nodes, one may occur twice. `choices`: at least one."""

    name: str
    operands: tuple[str, ...]
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in an order in which operands come first."""

    nodes: tuple[Node, ...]

    def node(self, name: str) -> Node:
        """The node of this name."""
        return {node.name: node for node in self.nodes}[name]


def rows(*dims: int) -> ArrayLayout:
    """A bf16 matrix by rows, tiled as on a TPU."""
    return ArrayLayout("bf16", dims, (1, 0), BF16_TILES)


def columns(*dims: int) -> ArrayLayout:
    """A bf16 matrix by columns, tiled as on a TPU."""
    return ArrayLayout("bf16", dims, (0, 1), BF16_TILES)


class _Builder:
    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.dims: dict[str, tuple[int, ...]] = {}

    def add(self, name: str, dims: tuple[int, ...], operands: Sequence[str], choices: list[Choice]) -> None:
        self.dims[name] = dims
        self.nodes.append(Node(name, tuple(operands), tuple(choices)))

    def parameter(self, name: str, *dims: int) -> None:
        """An input; whoever calls the program has laid it out by rows."""
        self.add(name, dims, (), [Choice((), rows(*dims))])

    def elementwise(self, name: str, *operands: str) -> None:
        """All arrays by rows, or all by columns."""
        dims = self.dims[operands[0]]
        self.add(name, dims, operands, [Choice((f(*dims),) * len(operands), f(*dims)) for f in (rows, columns)])

    def transpose(self, name: str, operand: str) -> None:
        """Nothing moves: rows are read as columns."""
        m, n = self.dims[operand]
        both = [Choice((columns(m, n),), rows(n, m)), Choice((rows(m, n),), columns(n, m))]
        self.add(name, (n, m), (operand,), both)

    def by_row(self, name: str, operand: str) -> None:
        """Something that reduces along each row, and wants the rows across the sublanes for that."""
        dims = self.dims[operand]
        self.add(name, dims, (operand,), [Choice((columns(*dims),), columns(*dims))])

    def dot(self, name: str, left: str, right: str) -> None:
        """The left operand by rows, the right one either way; the result by rows, or both transposed."""
        (m, k), n = self.dims[left], self.dims[right][1]
        ways = [(rows, rows, rows), (rows, columns, rows), (columns, columns, columns), (rows, columns, columns)]
        self.add(name, (m, n), (left, right), [Choice((f(m, k), g(k, n)), h(m, n)) for f, g, h in ways])


def transformer_graph() -> Graph:
    """Forty nodes: a layer with one attention head and an MLP, and some of its gradients."""
    b = _Builder()
    tokens, model, head, hidden = 1024, 512, 64, 1536
    b.parameter("x", tokens, model)
    b.parameter("dy", tokens, model)
    for name, inner, outer in (
        *(("wq", model, head), ("wk", model, head), ("wv", model, head), ("wo", head, model)),
        *(("w1", model, hidden), ("w2", hidden, model)),
    ):
        b.parameter(name, inner, outer)
    b.by_row("norm1", "x")
    for name, weight in (("q", "wq"), ("k", "wk"), ("v", "wv")):
        b.dot(name, "norm1", weight)
    b.transpose("k_t", "k")
    b.dot("scores", "q", "k_t")
    b.by_row("probs", "scores")
    b.dot("mixed", "probs", "v")
    b.dot("attended", "mixed", "wo")
    b.elementwise("residual1", "x", "attended")
    b.by_row("norm2", "residual1")
    b.dot("up", "norm2", "w1")
    b.elementwise("gelu", "up")
    b.dot("down", "gelu", "w2")
    b.elementwise("residual2", "residual1", "down")
    b.by_row("output", "residual2")
    b.transpose("w2_t", "w2")
    b.dot("d_gelu", "dy", "w2_t")
    b.elementwise("d_up", "d_gelu", "up")
    b.transpose("gelu_t", "gelu")
    b.dot("d_w2", "gelu_t", "dy")
    b.transpose("norm2_t", "norm2")
    b.dot("d_w1", "norm2_t", "d_up")
    b.transpose("w1_t", "w1")
    b.dot("d_norm2", "d_up", "w1_t")
    b.elementwise("d_residual1", "dy", "d_norm2")
    b.transpose("wo_t", "wo")
    b.dot("d_mixed", "d_residual1", "wo_t")
    b.transpose("mixed_t", "mixed")
    b.dot("d_wo", "mixed_t", "d_residual1")
    b.transpose("probs_t", "probs")
    b.dot("d_v", "probs_t", "d_mixed")
    return Graph(tuple(b.nodes))
