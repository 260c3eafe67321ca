"""What a fused module must be, so that each kernel is one pass over memory.

An instruction of the entry that is not free (`hlo.FREE`) is a kernel. Alone it is always legal; a
fusion is legal if it could run as a single loop nest that reads its operands once:

1. contents: the body reads only its parameters and constants, which are arrays. It holds no
   fusion, rng, custom-call, outfeed, token, copy-start or copy-done, and a tuple only as root.
2. dot: there is at most one, and neither a dot nor a reduce of the same kernel lies before it: what
   goes into the matrix unit is ready when the loop arrives.
3. one pass: what depends on a reduce of the kernel has no more elements than that reduce's result
   (a statistic is known only when the pass has ended, so it cannot be broadcast back), and is not
   the input of another reduce.
4. iteration space: the number of elements that the loop visits is that of the dot's result, else
   that of the reduces' inputs, else that of the outputs. All of these that exist are equal, except
   that an output which depends on a reduce may be smaller.
5. kind: kOutput if there is a dot, else kInput if there is a reduce, else kLoop.
"""

from __future__ import annotations

from dataclasses import dataclass

from .errors import KernelError
from .hlo import Computation, Instruction, Module, Shape

_FORBIDDEN = frozenset({"fusion", "rng", "custom-call", "outfeed", "after-all", "copy-start", "copy-done"})


def verify_kernels(module: Module) -> None:
    """Check that every fusion of the entry is one legal kernel. Raises KernelError.

    The error's `computation` is the fusion's name, `instruction` the one inside that is at fault,
    `rule` one of `contents`, `dot`, `one pass`, `iteration space`, `kind`. Call `verify` before.
    """
    for each in module.entry_computation.instructions:
        if each.opcode == "fusion":
            _check_kernel(each, module.called(each))


@dataclass(frozen=True, slots=True)
class _Past:
    """What an instruction depends on inside its kernel."""

    dot: bool = False
    smallest_reduce: int | None = None  # elements of the smallest result of a reduce

    @property
    def reduce(self) -> bool:
        return self.smallest_reduce is not None


def _check_kernel(fusion: Instruction, body: Computation) -> None:
    pasts: dict[str, _Past] = {}
    spaces: list[tuple[Instruction, int]] = []  # dots and reduces, and how many elements each visits
    for each in body.instructions:
        _check_contents(fusion, body, each)
        past = _join([pasts[name] for name in each.operands])
        _check_order(fusion, each, past)
        pasts[each.name] = past
        if each.opcode == "dot":
            spaces.insert(0, (each, each.array_shape.elements))
            pasts[each.name] = _Past(True, past.smallest_reduce)
        elif each.opcode == "reduce":
            spaces.append((each, body[each.operands[0]].array_shape.elements))
            elements = each.array_shape.elements
            pasts[each.name] = _Past(past.dot, elements)
    _check_space(fusion, body, pasts, spaces)
    opcodes = {each.opcode for each, _ in spaces}
    kind = "kOutput" if "dot" in opcodes else "kInput" if "reduce" in opcodes else "kLoop"
    if fusion.attribute("kind") != kind:
        holds = "a dot" if "dot" in opcodes else "a reduce and no dot" if "reduce" in opcodes else "neither"
        raise KernelError(
            fusion.name,
            "",
            "kind",
            f"it is marked {fusion.attribute('kind')}, but is {kind}: of dot and reduce it holds {holds}",
        )


def _join(pasts: list[_Past]) -> _Past:
    sizes = [past.smallest_reduce for past in pasts if past.smallest_reduce is not None]
    return _Past(any(past.dot for past in pasts), min(sizes, default=None))


def _check_contents(fusion: Instruction, body: Computation, each: Instruction) -> None:
    misplaced_tuple = each.opcode == "tuple" and each.name != body.root
    if each.opcode in _FORBIDDEN or misplaced_tuple:
        problem = f"a kernel cannot hold {each.opcode}" + (" except as its root" if misplaced_tuple else "")
        raise KernelError(fusion.name, each.name, "contents", problem)
    if each.opcode != "tuple" and not isinstance(each.shape, Shape):
        raise KernelError(fusion.name, each.name, "contents", f"a kernel reads arrays, not {each.shape}")


def _check_order(fusion: Instruction, each: Instruction, past: _Past) -> None:
    if each.opcode == "dot" and (past.dot or past.reduce):
        before = "another dot" if past.dot else "a reduce"
        raise KernelError(fusion.name, each.name, "dot", f"{before} of the same kernel lies before this dot")
    if each.opcode == "reduce" and past.reduce:
        problem = "its input depends on another reduce of the kernel, so it needs a second pass"
        raise KernelError(fusion.name, each.name, "one pass", problem)
    if past.smallest_reduce is None or each.opcode == "tuple":
        return
    if each.array_shape.elements > past.smallest_reduce:
        problem = (
            f"{each.array_shape} has more elements than the result of a reduce of the same kernel on which it "
            f"depends ({past.smallest_reduce}); that is known only when the pass has ended"
        )
        raise KernelError(fusion.name, each.name, "one pass", problem)


def _check_space(
    fusion: Instruction, body: Computation, pasts: dict[str, _Past], spaces: list[tuple[Instruction, int]]
) -> None:
    if not body.outputs:
        raise KernelError(fusion.name, body.root, "contents", "a kernel has at least one output")
    dots = [each for each, _ in spaces if each.opcode == "dot"]
    if len(dots) > 1:
        raise KernelError(
            fusion.name, dots[0].name, "dot", f"there are {len(dots)} dots; a kernel has at most one"
        )
    elements = spaces[0][1] if spaces else body[body.outputs[0]].array_shape.elements
    for each, visited in spaces:
        if visited != elements:
            problem = f"this reduce visits {visited} elements, but the kernel visits {elements}"
            raise KernelError(fusion.name, each.name, "iteration space", problem)
    for name in body.outputs:
        size = body[name].array_shape.elements
        if size != elements and not pasts[name].reduce:
            problem = f"this output has {size} elements, but the kernel visits {elements}"
            raise KernelError(fusion.name, name, "iteration space", problem)
