"""Pytrees: nested containers as a flat list of leaves plus a structure.

Tracing and its transformations work on flat lists of arrays; users pass tuples, lists and
dicts. `tree_flatten` and `tree_unflatten` go between the two and are inverse to each other.
Nodes are exactly tuple, list, dict (in sorted key order, so insertion order never matters)
and None (a node without leaves); everything else is a leaf.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TreeDef:
    """The structure of a pytree; hashable, and equal when the structures are.

    `node` is tuple, list, dict, None or `"leaf"`; `keys` are a dict's sorted keys.
    """

    node: Any
    keys: tuple[Any, ...] = ()
    children: tuple[TreeDef, ...] = ()

    def __repr__(self) -> str:
        inner = [repr(child) for child in self.children]
        if self.node is dict:
            pairs = (f"{key!r}: {text}" for key, text in zip(self.keys, inner, strict=True))
            return "{" + ", ".join(pairs) + "}"
        if self.node is list:
            return f"[{', '.join(inner)}]"
        if self.node is tuple:
            return f"({', '.join(inner)}{',' if len(inner) == 1 else ''})"
        return "None" if self.node is None else "*"


_LEAF = TreeDef("leaf")


def _children(tree: Any) -> tuple[Any, tuple[Any, ...], list[Any]] | None:
    """(node, keys, subtrees) of a node, None for a leaf."""
    if tree is None:
        return None, (), []
    if type(tree) is tuple or type(tree) is list:
        return type(tree), (), list(tree)
    if type(tree) is dict:
        try:
            keys = tuple(sorted(tree))
        except TypeError:
            raise TypeError(
                f"The keys of a dict in a pytree are sorted, but {list(tree)} cannot be; "
                f"use keys of one type, such as strings."
            ) from None
        return dict, keys, [tree[key] for key in keys]
    return None


def tree_flatten(tree: Any) -> tuple[list[Any], TreeDef]:
    """The leaves of a pytree, left to right, and its structure."""
    leaves: list[Any] = []

    def visit(subtree: Any) -> TreeDef:
        node = _children(subtree)
        if node is None:
            leaves.append(subtree)
            return _LEAF
        kind, keys, children = node
        return TreeDef(kind, keys, tuple(visit(child) for child in children))

    structure = visit(tree)
    return leaves, structure


def tree_unflatten(structure: TreeDef, leaves: Iterable[Any]) -> Any:
    """The pytree of that structure whose leaves, left to right, are `leaves`."""
    supply = iter(leaves)
    tree = _build(structure, supply)
    if next(supply, supply) is not supply:
        raise ValueError(f"There are more leaves than the structure {structure} has places for.")
    return tree


def _build(structure: TreeDef, supply: Iterator[Any]) -> Any:
    if structure.node == "leaf":
        try:
            return next(supply)
        except StopIteration:
            raise ValueError("There are fewer leaves than the structure has places for.") from None
    if structure.node is None:
        return None
    children = [_build(child, supply) for child in structure.children]
    if structure.node is dict:
        return dict(zip(structure.keys, children, strict=True))
    return structure.node(children)


def tree_map(function: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """Apply `function` leaf by leaf to one or more pytrees of one structure.

    Raises ValueError when the structures differ.
    """
    leaves, structure = tree_flatten(tree)
    columns = [leaves]
    for other in rest:
        other_leaves, other_structure = tree_flatten(other)
        if other_structure != structure:
            raise ValueError(f"The pytrees differ in structure: {structure} and {other_structure}.")
        columns.append(other_leaves)
    return tree_unflatten(structure, map(function, *columns))


def tree_paths(tree: Any, root: str = "") -> list[str]:
    """Where each leaf is, in Python's notation: `root['w'][0]`."""
    node = _children(tree)
    if node is None:
        return [root]
    kind, keys, children = node
    steps = [f"[{key!r}]" for key in (keys if kind is dict else range(len(children)))]
    pairs = zip(steps, children, strict=True)
    return [path for step, child in pairs for path in tree_paths(child, root + step)]


def broadcast_prefix(prefix: Any, tree: Any, what: str) -> list[Any]:
    """One entry of `prefix` for each leaf of `tree`, in order.

    `prefix` mirrors the upper part of `tree`; an entry that is not a container (None
    included) stands for the whole subtree below it. `what` names `prefix` in errors.
    Raises ValueError when the containers do not match.
    """
    node = None if prefix is None else _children(prefix)
    if node is None:
        return [prefix] * len(tree_flatten(tree)[0])
    below = _children(tree)
    if below is None or node[:2] != below[:2] or len(node[2]) != len(below[2]):
        structure = tree_flatten(tree)[1]
        raise ValueError(
            f"{what} has {prefix!r} where the values have the structure {structure}: "
            f"give one entry for the whole, or the same container with one entry for each part."
        )
    pairs = zip(node[2], below[2], strict=True)
    return [entry for part, subtree in pairs for entry in broadcast_prefix(part, subtree, what)]
