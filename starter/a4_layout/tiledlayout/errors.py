"""Exceptions of tiledlayout: facts first, wording second.

Every class takes plain facts, keeps them as attributes, and builds its sentence from them.
Whoever raises one says *what* is wrong; the class knows how to say it.
"""

from __future__ import annotations

from collections.abc import Sequence


class LayoutError(ValueError):
    """A layout, or a part of one, that breaks a rule.

    `rule`: `"element type"`, `"dimension"`, `"rank"`, `"permutation"`, `"tile"` or `"value"`.
    `problem`: what was given and what is allowed.
    """

    def __init__(self, rule: str, problem: str) -> None:
        self.rule = rule
        self.problem = problem
        super().__init__(f"{rule}: {problem}")


class ParseError(ValueError):
    """A text that is no layout.

    `position`: the character, counted from 0, at which the rule is broken; the text's length if it
    ends too early. `rule`: one of those of `LayoutError`, or `"suffix"`, or `"syntax"`.
    `problem`: what was given and what is allowed. `text`: the whole text.
    """

    def __init__(self, position: int, rule: str, problem: str, text: str) -> None:
        self.position = position
        self.rule = rule
        self.problem = problem
        self.text = text
        super().__init__(f"at character {position}: {rule}: {problem}\n    {text}\n    {' ' * position}^")


class OutOfBoundsError(IndexError):
    """An index, or an offset, of something that is not there.

    `index`: the first one that is out of bounds, as a tuple (of one number for an offset).
    `dims`: the bounds, a tuple of the same length.
    """

    def __init__(self, index: Sequence[int], dims: Sequence[int]) -> None:
        self.index = tuple(int(i) for i in index)
        self.dims = tuple(int(n) for n in dims)
        super().__init__(
            f"{self.index} is out of bounds of {self.dims}; numbers start at 0 and stay below their bound."
        )


class MismatchError(ValueError):
    """An array, or bytes, that do not fit the layout.

    `wanted` and `given`: for bytes, texts such as `"512 bytes"`; for an array, any text that says its
    dtype and shape.
    """

    def __init__(self, wanted: str, given: str) -> None:
        self.wanted = wanted
        self.given = given
        super().__init__(f"The layout is for {wanted}, but {given} was given.")


class OperationError(ValueError):
    """An operation that cannot make this result of this operand at all, whatever their layouts.

    `operation`: its name, such as `"reshape"`. `problem`: what does not fit.
    """

    def __init__(self, operation: str, problem: str) -> None:
        self.operation = operation
        self.problem = problem
        super().__init__(f"{operation}: {problem}")


class BudgetError(ValueError):
    """Not even the smallest legal block fits. `needed` and `budget` are bytes."""

    def __init__(self, needed: int, budget: int) -> None:
        self.needed = int(needed)
        self.budget = int(budget)
        super().__init__(f"The smallest legal block needs {needed:,} bytes, but the budget is {budget:,}.")
