"""Operations on arrays, and the answers of part 5, as data."""

from __future__ import annotations

from dataclasses import dataclass

from .layout import ArrayLayout

REGISTER_BYTES = 4096  # 8 sublanes × 128 lanes × 32 bits


@dataclass(frozen=True, slots=True)
class Reshape:
    """The same elements in row-major order, in another shape `dims`."""

    dims: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Transpose:
    """Dimension i of the result is dimension `permutation[i]` of the operand."""

    permutation: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Broadcast:
    """The dimensions `axes`, which have size 1, are stretched."""

    axes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Reduce:
    """The dimensions `axes` are summed away."""

    axes: tuple[int, ...]


Operation = Reshape | Transpose | Broadcast | Reduce


@dataclass(frozen=True, slots=True)
class Bitcast:
    """Whether the operand's bytes serve as the result, and why, in a sentence."""

    possible: bool
    reason: str

    def __bool__(self) -> bool:
        return self.possible


@dataclass(frozen=True, slots=True)
class Cost:
    """What a copy into another layout takes.

    `bytes_read`, `bytes_written`: padding included. `registers_shuffled`: registers of the result
    that are not filled by moving one register of the operand as it is.
    """

    bytes_read: int
    bytes_written: int
    registers_shuffled: int

    @property
    def total(self) -> int:
        """One number to compare by: a shuffled register counts as its 4096 bytes once more."""
        return self.bytes_read + self.bytes_written + REGISTER_BYTES * self.registers_shuffled


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a plan: its kind, the layout after it, its cost, and why it is taken, in a sentence.

    `kind` is `"bitcast"`, `"retile"`, `"transpose"` or `"sublane shuffle"`.
    """

    kind: str
    layout: ArrayLayout
    cost: Cost
    reason: str


@dataclass(frozen=True, slots=True)
class Plan:
    """A chain of steps from one layout to another; none if there is nothing to do."""

    steps: tuple[Step, ...]

    @property
    def total(self) -> int:
        """The steps' costs together."""
        return sum(step.cost.total for step in self.steps)
