"""Dead-code elimination: what nobody reads is not computed.

Live is what the program returns or does to the world outside, and what something live reads. One
walk from the end decides, because users come after their operands: when the walk comes to an
instruction, all its readers have been seen. Fusions need a closer look. Of a fusion's results only
those are wanted that something live takes, and of its operands only those that the wanted results
depend on; so the walk goes through its body before it goes on to the operands, and whatever dies
with them is found in the same walk.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from .hlo import Computation, Instruction, Module, Names, TupleShape, has_side_effect
from .kernels import kernel_kind
from .rewrite import Rewriter


def run(module: Module) -> tuple[Module, bool]:
    """Remove what is dead; also say whether anything has changed. A second run changes nothing.

    All outputs, side effects and parameters of the module stay. Fusions lose results that nobody
    takes and operands that their bodies do not need; a fusion left with one result is no tuple
    any more. Computations that nobody calls any more go.
    """
    elimination = _Elimination(module)
    entry = elimination.trim(module.entry_computation)
    result = module.with_computations([*elimination.bodies, entry])
    return (result, True) if result != module else (module, False)


class _Elimination:
    """Trims the entry and, on the way, the bodies of its fusions."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.bodies: list[Computation] = []  # those that have changed
        self.names = Names(each.name for each in module.computations)
        self.calls = Counter({module.entry: 1})  # how often each computation is called, through all callers
        for each in reversed(module.computations):
            for it in each.instructions:
                self.calls[it.attribute("calls") or ""] += self.calls[each.name]

    def trim(self, computation: Computation) -> Computation:
        """The computation without what is dead; all parameters stay if it is the entry."""
        # about 21 lines
        raise NotImplementedError("a2.2: walk back and collect what is live, and which results of each fusion are taken")

    def trim_fusion(self, fusion: Instruction, wanted: list[int]) -> Instruction:
        """The fusion with the results numbered in `wanted` only, and with the operands that these need.

        Its body, if it is another now, is added to `bodies`, under a new name if others call the old one.
        """
        old = self.module.called(fusion)
        # about 18 lines
        raise NotImplementedError("a2.2: trim the body with fewer outputs, number the parameters left, drop the operands")


def _with_outputs(computation: Computation, wanted: list[int]) -> Computation:
    """The computation with some of its outputs; a single one is no tuple."""
    if len(wanted) == len(computation.outputs):
        return computation
    if len(wanted) == 1:
        return computation.replace(root=computation.outputs[wanted[0]])
    names = tuple(computation.outputs[result] for result in wanted)
    elements = tuple(computation[name].array_shape for name in names)
    root = computation.root_instruction.replace(shape=TupleShape(elements), operands=names)
    instructions = tuple(root if it.name == root.name else it for it in computation.instructions)
    return computation.replace(instructions=instructions)


def _write(
    computation: Computation, live: set[str], fusions: dict[str, tuple[Instruction, list[int]]]
) -> Computation:
    """The live instructions, with new fusions, each with the numbers of the results that it still has."""
    out = Rewriter(computation)
    for old in computation.instructions:
        if old.name not in live:
            continue
        it = out.current(fusions[old.name][0] if old.name in fusions else old)
        results = (
            fusions[it.operands[0]][1] if it.opcode == "get-tuple-element" and it.operands[0] in fusions else []
        )
        if results and not isinstance(out[it.operands[0]].shape, TupleShape):
            out.stand_in(it.name, it.operands[0])
        else:
            out.keep(it.with_attributes(index=results.index(it.attribute("index"))) if results else it)
    return out.finish()
