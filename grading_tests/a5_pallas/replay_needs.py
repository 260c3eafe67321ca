"""Which kernels' results other kernels need: those have to be carried out in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from given_pallas_kernels.program import Operand

from numpy_rules import CannotReplay
from replay_memory import MAX_DEPTH

if TYPE_CHECKING:
    from replay import Replay

_BRANCHING = ("cond", "scan", "while")


class Needs:
    """Follows results of kernels through a program; fills `replay.needed` with calls whose results enter another.

    A set of calls stands for each value: the kernels it was computed from, up to the next kernel. Inside of
    branches and loops all is taken to depend on all.
    """

    def __init__(self, replay: Replay) -> None:
        self.replay, self._depth = replay, 0

    def body(self, number: int, given: Sequence[set[int]]) -> list[set[int]]:
        """From what the outputs of a body come, if its inputs come from these calls."""
        body = self.replay.program.bodies[number]
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise CannotReplay("its bodies are nested too deeply")
        origins: dict[int, set[int]] = dict(zip(body.inputs, given, strict=False))

        def origin(operand: Operand) -> set[int]:
            return origins.get(operand, set()) if isinstance(operand, int) else set()

        for equation in body.equations:
            self.replay.spend(3_000)
            sources = [origin(operand) for operand in equation.operands]
            every = set().union(*sources)
            found = [every] * len(equation.results)
            if equation.call is not None:
                self.replay.needed |= every
                found = [{equation.call}] * len(equation.results)
            elif equation.primitive in _BRANCHING:
                inside = [every] * (len(sources) + 1)
                outputs = [self.body(inner, inside) for inner in equation.bodies]
                everything = every.union(*(x for output in outputs for x in output))
                self.replay.needed |= everything
                found = [everything] * len(equation.results)
            elif equation.bodies:
                found = self.body(equation.bodies[0], sources)
            origins |= dict(zip(equation.results, found, strict=False))
        self._depth -= 1
        return [origin(operand) for operand in body.outputs]
