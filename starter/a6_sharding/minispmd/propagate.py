"""Propagation: a few annotations of the user decide how everything else is cut.

An operation ties dimensions of its tensors together, and a *factor* is such a tie: i, k or j of a matrix product.
If one tensor is cut along an axis in a factor, the others should be, too, or data would have to move. So axes
travel along factors, from operands to results and back, until nothing changes: a fixed point.

What makes it end: axes are only ever added, at the minor end of a dimension, and each at most once to a value.
Annotations are never changed: a closed dimension stays as it is, an open one keeps what it has in front.

One visit of an operation (`_visit`) applies the rule of the handout: per factor, the axes on which all its tensors
agree are offered to those that have fewer, the result first. Visits are made from a worklist: only operations
whose values have changed are looked at again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .graph import (
    Annotations,
    Broadcast,
    Conflict,
    Decision,
    DimSharding,
    DotGeneral,
    Elementwise,
    Graph,
    Op,
    Propagated,
    Reduce,
    Reshape,
    Rule,
    Transpose,
)
from .mesh import Mesh


def sharding_rule(op: Op, graph: Graph) -> Rule:
    """The factors of an operation, as `Rule` describes them; their numbering is free.

    Reduce: reduced dimensions have a factor of their own. Broadcast: new dimensions have one, and a dimension that
    is stretched from size 1 has none in the operand. Reshape: the factors are the finest pieces of which the
    dimensions on both sides are made: (8, 4) to (2, 16) is i=2, j=4, k=4 with (ij, k) to (i, jk). You may assume
    that such pieces exist; a dimension of size 1 has no factor there.
    """
    shapes = [graph.shapes[value] for value in (*op.operands, op.result)]
    # about 19 lines
    raise NotImplementedError("a6.4: a list of factors for each dimension of each tensor")


# a6.4: the rules of dot_general and reshape (about 36 lines)


# a6.4: the state, what a factor has in a tensor, and the visit of one operation (about 74 lines)


def propagate(graph: Graph, annotations: Annotations, mesh: Mesh) -> Propagated:
    """Cut every value of a graph as the annotations and the rule of the handout say.

    `annotations`: for some values, a DimSharding for each dimension; you may assume that they fit. `decisions` has
    one entry for each axis that was added, in order: replayed one by one, each is what the rule gives for its
    operation at that moment, those of lower priorities first. `conflicts` has an entry for each operation and
    factor on which tensors disagree in the end, by operation.
    """
    # about 27 lines
    raise NotImplementedError("a6.4: priority by priority, empty the worklist")


# a6.4: annotations of one priority, and the conflicts at the end (about 15 lines)
