"""Sibling fusion: kernels that read the same array become one that reads it once.

Two reduces of one array, say, make a kernel with two outputs. It must be possible to run both at
one time, so neither may need what the other writes, directly or through kernels between them. It
is enough to look at direct neighbours: if all that the later kernel reads is there before the
earlier one runs, it can move up to the earlier one's place; if the earlier one's first reader
comes after the later one, the earlier one can move down. Either way nothing else has to move.
"""

from __future__ import annotations

from collections.abc import Sequence

from .hlo import Computation
from .kernels import OpenKernel

# What siblings share: an array, the kind, and the dims of the loop.
Family = tuple[str, str, tuple[int, ...]]


def merge_siblings(computation: Computation, kernels: Sequence[OpenKernel]) -> list[OpenKernel]:
    """Merge kLoop with kLoop and kInput with kInput kernels that loop over the same dims and share an input.

    The input must have as many elements as the loop: a scalar that two kernels read makes no
    siblings. `kernels`, in the order in which they run, are used up.
    """
    merging = _Merging(computation, kernels)
    for number in range(len(kernels)):
        merging.offer(number)
    return [kernel for kernel in merging.kernels if kernel.stores]


class _Merging:
    """The kernels by the places at which they run; one that has been merged into another is left empty."""

    def __init__(self, computation: Computation, kernels: Sequence[OpenKernel]) -> None:
        self.computation = computation
        self.kernels = list(kernels)
        self.home = {name: number for number, kernel in enumerate(kernels) for name in kernel.stores}
        self.moved = list(range(len(kernels)))  # where each kernel went; itself if it did not
        self.first_reader = [len(kernels)] * len(kernels)
        self.latest: dict[Family, int] = {}
        for number, kernel in enumerate(kernels):
            for producer in self.producers(kernel):
                self.first_reader[producer] = min(self.first_reader[producer], number)

    def place(self, number: int) -> int:
        """Where a kernel runs now."""
        while self.moved[number] != number:
            self.moved[number] = self.moved[self.moved[number]]
            number = self.moved[number]
        return number

    def producers(self, kernel: OpenKernel) -> set[int]:
        """The places of the kernels that write what a kernel reads."""
        waiting, stored = list(kernel.reads), set[str]()
        while waiting:
            name = waiting.pop()
            if name in self.home:
                stored.add(name)
            else:  # a parameter, or a name of something stored
                waiting.extend(self.computation[name].operands)
        return {self.place(self.home[name]) for name in stored}

    def families(self, kernel: OpenKernel) -> list[Family]:
        """What would make another kernel a sibling, for each array that a kernel reads."""
        if kernel.kind not in ("kLoop", "kInput"):
            return []
        loop = kernel.space.array_shape
        return [
            (name, kernel.kind, loop.dims)
            for name in kernel.reads
            if self.computation[name].array_shape.elements == loop.elements
        ]

    def offer(self, number: int) -> None:
        """Merge a kernel with the siblings before it if possible, and let later ones find it."""
        families = self.families(self.kernels[number])
        ### BEGIN SOLUTION a2.4: for each family try the latest member known
        for family in families:
            here, other = self.place(number), self.place(self.latest.get(family, number))
            if here != other:
                self.try_to_merge(min(here, other), max(here, other))
            self.latest[family] = number
        ### END SOLUTION

    def try_to_merge(self, early: int, late: int) -> None:
        """Merge the kernels at two places at one of them, if nothing else has to move for that."""
        ### BEGIN SOLUTION a2.4: which of them can move to the other
        producers = self.producers(self.kernels[late])
        if max(producers, default=-1) < early:
            for producer in producers:
                self.first_reader[producer] = min(self.first_reader[producer], early)
            self.move(late, early)
        elif self.first_reader[early] > late:
            self.move(early, late)
        ### END SOLUTION

    def move(self, origin: int, target: int) -> None:
        """Let the kernel at `target` do what that at `origin` does, too."""
        old, new = self.kernels[origin], self.kernels[target]
        new.stores += old.stores
        new.reduced |= old.reduced
        new.reads |= old.reads
        old.stores = []
        self.moved[origin] = target
        self.first_reader[target] = min(self.first_reader[target], self.first_reader[origin])
