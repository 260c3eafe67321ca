"""Judges what a pass did to a module: the result is parsed, verified, run and measured on this side.

Modules cross as text. Parser, verifier and interpreter are the given ones, as handed out. A failure shows what
was before, what is after, and which rule was broken, in that order, shortened to the lines that matter.
"""

from __future__ import annotations

from typing import Any, NoReturn

import msgspec
import numpy as np
from given_minixla import interpret, text
from given_minixla.errors import HloError, ParseError
from given_minixla.hlo import Module, has_side_effect, leaves
from given_minixla.kernel_rules import verify_kernels
from given_minixla.verifier import verify

from autograder.kit import probe, show
from autograder.kit.verdicts import CheckFailed

MAX_TEXT = 1 << 21
SHOWN_LINES = 40


class Rewritten(msgspec.Struct):
    """What a pass gave back: the module as text, whether it says it changed it, and the module it was given."""

    after: str
    changed: bool
    given: str


@probe
def rewrite(name, function, module, options) -> Rewritten:
    """one pass over a module"""
    import importlib

    from minixla import text

    run = getattr(importlib.import_module(f"minixla.{name}"), function)
    parsed = text.parse(module)
    after, changed = run(parsed, **options)
    return {"after": text.print_module(after), "changed": changed, "given": text.print_module(parsed)}


def fail(before: Module | None, after: Module | str | None, rule: str, only: set[str] | None = None) -> NoReturn:
    """Fail a pass: before, after, rule. `only` names the instructions of the entry that matter."""
    lines = []
    for what, module in (("before:", before), ("after: ", after)):
        if module is not None:
            written = module if isinstance(module, str) else text.print_module(module)
            lines.append(f"  {what} {_shortened(written, only)}")
    lines.append("  rule:   " + rule.replace("\n", "\n          "))
    raise CheckFailed("the pass broke a rule\n" + "\n".join(lines))


def _shortened(written: str, only: set[str] | None) -> str:
    lines = written.rstrip("\n").split("\n")
    if len(lines) > SHOWN_LINES and only is not None:
        kept = [line for line in lines if not line.startswith("  ") or _defined(line) in only]
        left = len(lines) - len(kept)
        lines = [*kept, f"… {left} lines that do not matter here"] if left else kept
    if len(lines) > SHOWN_LINES:
        lines = [*lines[: SHOWN_LINES // 2], f"… {len(lines) - SHOWN_LINES} lines", *lines[-SHOWN_LINES // 2 :]]
    return "\n          ".join(lines)


def _defined(line: str) -> str:
    return line.strip().removeprefix("ROOT ").split(" ")[0].lstrip("%")


def parsed(written: str, before: Module | None = None) -> Module:
    """A module that came as text: parsed, verified, and of a size that can be judged."""
    if len(written) > MAX_TEXT:
        fail(before, None, f"a module's text has at most {MAX_TEXT:,} characters; this has {len(written):,}")
    try:
        module = text.parse(written)
        verify(module)
    except (HloError, ParseError) as error:
        fail(before, written, f"the result must be a valid module: {error}")
    if before is not None and _size(module) > _room(before):
        fail(before, None, f"the result's arrays hold {_size(module):,} bytes in all, far more than before")
    return module


def _room(before: Module) -> int:
    return 16 * _size(before) + (1 << 20)


def _size(module: Module) -> int:
    """Bytes of all arrays of all computations, and some for every instruction."""
    each = [instruction.shape for computation in module.computations for instruction in computation.instructions]
    return sum(leaf.bytes + 16 for shape in each for leaf in leaves(shape))


def passed(
    student: Any, name: str, module: Module, *, function: str = "run", again: bool = True, **options: Any
) -> Module:
    """The module that a pass makes of this one, after all that must hold of every pass.

    The pass leaves its input alone, keeps parameters and outputs, says truly whether it changed anything, and
    has nothing left to do on its own result.
    """
    got = student(rewrite, name, function, text.print_module(module), options)
    after = accepted(module, got)
    if again:
        second = student(rewrite, name, function, got.after, options)
        if second.after != got.after or second.changed:
            fail(after, second.after, "a second run of the pass on its own result must change nothing")
    return after


def accepted(module: Module, got: Rewritten) -> Module:
    """What a pass gave back, as a module, if it keeps to the rules of every pass."""
    written = text.print_module(module)
    if got.given != written:
        fail(module, got.given, "a pass never changes the module it is given; it returns another one")
    after = parsed(got.after, module)
    same_signature(module, after)
    if got.changed != (got.after != written):
        said, is_ = ("changed", "the same") if got.changed else ("did not change", "another")
        fail(module, after, f"the pass said that it {said} the module, and what it returned is {is_} module")
    return after


def same_signature(before: Module, after: Module) -> None:
    """Parameters and outputs keep their number, order and types."""
    for what in ("parameters", "outputs"):
        old, new = ([str(shape) for shape in _signature(module, what)] for module in (before, after))
        if old != new:
            fail(before, after, f"the program's {what} stay what they are: {_list(old)} became {_list(new)}")


def _signature(module: Module, what: str) -> list[Any]:
    entry = module.entry_computation
    if what == "parameters":
        return [each.shape for each in entry.parameters]
    return [leaf.in_space(0) for leaf in leaves(entry.root_instruction.shape)]


def _list(names: list[str]) -> str:
    return ", ".join(names) or "none"


def run(module: Module, arguments: list[np.ndarray], before: Module | None = None) -> list[np.ndarray]:
    """The module's outputs. A module of a student's that cannot be run is a verdict."""
    if before is None:
        return interpret.evaluate(module, arguments)
    try:
        return interpret.evaluate(module, arguments, limit_bytes=_room(before))
    except Exception as error:
        fail(before, module, f"the result could not be run: {error}")


def same_values(
    before: Module, after: Module, arguments: list[np.ndarray], *, ulps: float = 0, rule: str = "every bit stays"
) -> None:
    """Both modules give the same outputs: the same bits (any NaN for a NaN), or within some ulps."""
    expected = run(before, arguments)
    got = run(after, arguments, before)
    for place, (want, have) in enumerate(zip(expected, got, strict=True)):
        wrong = _differs(want, have, ulps)
        if wrong.any():
            entry = before.entry_computation
            where = tuple(int(i) for i in np.argwhere(wrong)[0])
            inputs = ", ".join(
                f"%{each.name} = {show.value(value, 120)}"
                for each, value in zip(entry.parameters, arguments, strict=True)
            )
            within = f" (within {ulps:g} ulp)" if ulps else ""
            fail(
                before,
                after,
                f"{rule}{within}; output {place} has {int(wrong.sum()):,} of {wrong.size:,} values wrong,\n"
                f"the first at {list(where)}: expected {want[where]}, got {have[where]}\nwith {inputs}",
                needed(before, entry.outputs[place]) | needed(after, after.entry_computation.outputs[place]),
            )


def _differs(want: np.ndarray, have: np.ndarray, ulps: float) -> np.ndarray:
    if want.dtype.kind in "biu":
        return want != have
    with np.errstate(all="ignore"):
        a, b = want.astype(np.float64), have.astype(np.float64)
        same = ((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))
        if not ulps:
            return ~same
        step = np.spacing(np.abs(want)).astype(np.float64)
        return ~(same | (np.abs(a - b) <= ulps * step) | ((a == 0) & (b == 0)))


def needed(module: Module, name: str) -> set[str]:
    """An instruction of the entry and all that it depends on."""
    entry, found, waiting = module.entry_computation, set[str](), [name]
    while waiting:
        current = waiting.pop()
        if current not in found:
            found.add(current)
            waiting += entry[current].operands
    return found


def count(module: Module, *opcodes: str) -> int:
    """How many instructions of all computations have one of these opcodes; all, if none is named."""
    every = [each.opcode for computation in module.computations for each in computation.instructions]
    return sum(opcode in opcodes for opcode in every) if opcodes else len(every)


def at_most(before: Module, after: Module, budget: int, *opcodes: str, rule: str) -> None:
    """No more than so many instructions with these opcodes are left."""
    got = count(after, *opcodes)
    if got > budget:
        what = " or ".join(opcodes) or "instructions"
        fail(before, after, f"{rule}: at most {budget} {what} are left; there are {got}")


def at_least(before: Module, after: Module, floor: int, *opcodes: str, rule: str) -> None:
    """So many instructions with these opcodes, or more, are left."""
    got = count(after, *opcodes)
    if got < floor:
        fail(before, after, f"{rule}: at least {floor} {' or '.join(opcodes)} must be left; there are {got}")


def kernels(before: Module, after: Module) -> None:
    """Every kernel of the result is one that could be run in one pass."""
    try:
        verify_kernels(after)
    except HloError as error:
        fail(before, after, str(error))


def traffic(module: Module, arguments: list[np.ndarray], before: Module | None = None) -> tuple[int, int]:
    """Kernels run and bytes moved, measured by running the module kernel by kernel."""
    try:
        limit = None if before is None else _room(before)
        done = interpret.run_kernels(module, arguments, limit_bytes=limit).kernels
    except Exception as error:
        if before is None:
            raise
        fail(before, module, f"the result could not be run kernel by kernel: {error}")
    return len(done), sum(kernel.bytes_read + kernel.bytes_written for kernel in done)


def live(module: Module) -> Module:
    """The module without the instructions of its entry that no output and no side effect needs."""
    entry = module.entry_computation
    wanted = needed(module, entry.root)
    for each in entry.by_name.values():
        if has_side_effect(each):
            wanted |= needed(module, each.name)
    kept = [each for each in entry.instructions if each.name in wanted or each.opcode == "parameter"]
    return module.with_entry(kept)


def _literals(module: Module) -> list[Any]:
    every = [each for computation in module.computations for each in computation.instructions]
    return [each.literal for each in every if each.literal is not None]


def no_new_literals(before: Module, after: Module, limit: int) -> None:
    """No literal of more than `limit` bytes is there that was not there before."""
    old = set(_literals(before))
    for literal in _literals(after):
        if literal.bytes > limit and literal not in old:
            fail(
                before, after, f"folding makes no literal of more than {limit:,} bytes; one has {literal.bytes:,}"
            )


def nothing_foldable(before: Module, after: Module) -> None:
    """No live, pure operation on constants alone is left, if its result has at most 1 KiB. Broadcasts may stay."""
    entry = live(after).entry_computation
    stays = {"constant", "parameter", "tuple", "get-tuple-element", "fusion", "rng", "custom-call", "broadcast"}
    for each in entry.by_name.values():
        known = each.operands and all(entry[name].opcode == "constant" for name in each.operands)
        if known and each.opcode not in stays and each.array_shape.bytes <= 1024:
            fail(before, after, f"%{each.name} is computed from constants alone and could be a constant")


def opcodes(module: Module) -> list[str]:
    """The opcodes that occur in a module."""
    return sorted({each.opcode for computation in module.computations for each in computation.instructions})
