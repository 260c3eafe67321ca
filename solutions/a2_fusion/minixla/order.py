"""Orders in which what is needed comes first, and names that are new. All linear."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .hlo import Computation, Instruction


def called_first(computations: Iterable[Computation], entry: str) -> tuple[Computation, ...]:
    """The computations that the entry needs, callees before callers, otherwise in the given order."""
    by_name = {each.name: each for each in computations}
    calls = {
        each.name: [
            str(value) for it in each.instructions for key, value in it.attributes if key in ("calls", "to_apply")
        ]
        for each in by_name.values()
    }
    needed, waiting = {entry}, [entry]
    while waiting:
        for name in calls.get(waiting.pop(), ()):
            if name in by_name and name not in needed:
                needed.add(name)
                waiting.append(name)
    order = _operands_first([name for name in by_name if name in needed], calls)
    return tuple(by_name[name] for name in order)


def operands_first(instructions: Iterable[Instruction]) -> tuple[Instruction, ...]:
    """The same instructions with operands before users, otherwise in the given order.

    Linear in the number of operands. Raises ValueError when instructions wait for each other.
    """
    by_name = {each.name: each for each in instructions}
    order = _operands_first(list(by_name), {name: each.operands for name, each in by_name.items()})
    return tuple(by_name[name] for name in order)


def _operands_first(names: list[str], needs: Mapping[str, Iterable[str]]) -> list[str]:
    """Depth-first, with a stack of our own: graphs are deeper than Python's."""
    known, done, open_ = set(names), dict[str, None](), set[str]()
    for name in names:
        stack = [name]
        while stack:
            current = stack[-1]
            if current in done:
                stack.pop()
                continue
            missing = [need for need in needs[current] if need not in done and need in known]
            if not missing:
                done[stack.pop()] = None
                open_.discard(current)
                continue
            if current in open_:
                raise ValueError(f"%{current} depends on itself, so there is no order to compute it in.")
            open_.add(current)
            stack.extend(reversed(missing))
    return list(done)


class Names:
    """Makes names that are not taken yet: `fresh("add")` is `add`, then `add.1`, `add.2`, …

    A number at the end of what is asked for is dropped first. Constant time, amortised.
    """

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._next: dict[str, int] = {}

    def fresh(self, base: str) -> str:
        """A new name from `base`, taken from now on."""
        base = _NUMBER.sub("", base)
        number = self._next.get(base, 0)
        name = f"{base}.{number}" if number else base
        while name in self._taken:
            number += 1
            name = f"{base}.{number}"
        self._next[base] = number + 1
        self._taken.add(name)
        return name


_NUMBER = re.compile(r"(\.\d+)+$")


def names_of(computation: Computation) -> Names:
    """A maker of names that are new to the computation."""
    return Names(each.name for each in computation.instructions)
