"""The cache key of jit: everything about a call that its program may depend on.

Tracing sees the structure of the arguments, their shapes and dtypes, and static values; it
cannot see data. So two calls may share a program exactly if their keys are equal. "Equal"
needs care for static values: in Python 1 == True == 1.0, yet `x * 1` and `x * 1.0` are
different programs. Static values are compared by type and value.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .core import ShapedArray, aval_of
from .errors import StaticArgumentError
from .pytree import TreeDef
from .static_arguments import Label


class CacheKey(NamedTuple):
    """`structure` of the arguments that are data, `avals` of their leaves, typed `statics`."""

    structure: TreeDef
    avals: tuple[ShapedArray, ...]
    statics: tuple[tuple[Label, Hashable], ...]


def typed(value: Any) -> Hashable:
    """A pair `(type, value)` that equals another's only if type and value agree.

    In tuples and frozensets this holds for their elements, too: their `value` is a tuple or
    frozenset of such pairs. Values are compared by `==`, so 0.0 and -0.0 are one.
    """
    # about 5 lines
    raise NotImplementedError("a1.3: pair the value with its type; go into containers")


def make_key(structure: TreeDef, leaves: Sequence[Any], statics: dict[Label, Any]) -> CacheKey:
    """The key of a call: `leaves` are its data, `statics` its static values by label.

    Raises StaticArgumentError, naming the argument, for a static value that has no hash.
    """
    # about 9 lines
    raise NotImplementedError("a1.3: types of the leaves; static values by type and value, in one order")


@dataclass(frozen=True, slots=True)
class KeyDifference:
    """One way in which a call differs from a cached one.

    `part`: `"structure"`, `"shape"`, `"dtype"` or `"static"`. `argument`: which one (`"all"`
    for the structure). `cached` and `given`: that part of the two keys, as text.
    """

    part: str
    argument: str
    cached: str
    given: str

    def __str__(self) -> str:
        return f"{self.part} of {self.argument}: cached {self.cached}, given {self.given}"


def key_differences(cached: CacheKey, given: CacheKey, paths: Sequence[str]) -> tuple[KeyDifference, ...]:
    """All differences between two keys; `paths` names the leaves of `given`.

    Leaves are compared one by one only if the structures agree.
    """
    # about 12 lines
    raise NotImplementedError("a1.3: compare the keys part by part")


def _static_differences(cached: dict[Label, Hashable], given: dict[Label, Hashable]) -> Iterator[KeyDifference]:
    for label in sorted(cached.keys() | given.keys(), key=str):
        old, new = cached.get(label), given.get(label)
        if old != new:
            name = label if isinstance(label, str) else f"argument {label}"
            yield KeyDifference("static", name, _shown(old), _shown(new))


def _shown(stand_in: Any) -> str:
    """A typed static value as text: `int 3`."""
    if stand_in is None:
        return "absent"
    kind, value = stand_in
    if issubclass(kind, tuple):
        return f"{kind.__name__} ({', '.join(_shown(element) for element in value)})"
    if issubclass(kind, frozenset):
        return f"{kind.__name__} {{{', '.join(sorted(_shown(element) for element in value))}}}"
    return f"{kind.__name__} {value!r}"
