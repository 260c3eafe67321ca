"""The text of a module: `print_module` and `parse` are inverse to each other.

    HloModule jit_scale

    ENTRY %main {
      %x = f32[16,64]{1,0} parameter(0)
      %constant = f32[] constant(0.5)
      %broadcast = f32[16,64]{1,0} broadcast(%constant), dimensions={}
      ROOT %multiply = f32[16,64]{1,0} multiply(%x, %broadcast)
    }

It is what XLA prints, and XLA's own parser reads it. `parse` (in `parser.py`) takes a little more.
`parse(print_module(module)) == module` for every module that `verifier.verify` accepts, and both
are linear in the length of the text.
"""

from __future__ import annotations

import re

from .hlo import Attribute, Computation, Instruction, Module
from .literal_text import print_literal
from .parser import parse

__all__ = ["dump_name", "parse", "print_computation", "print_instruction", "print_module"]

_WORD = re.compile(r"[A-Za-z_][\w\-]*")


def print_module(module: Module) -> str:
    """The module as text, the entry last."""
    header = f"HloModule {module.name}"
    if module.is_scheduled:
        header += ", is_scheduled=true"
    if module.input_output_alias:
        header += f", input_output_alias={_print_alias(module)}"
    bodies = [print_computation(each, entry=each.name == module.entry) for each in module.computations]
    return "\n\n".join([header, *bodies]) + "\n"


def print_computation(computation: Computation, entry: bool = False) -> str:
    """One computation as text, without a line break at the end."""
    lines = [f"{'ENTRY ' if entry else ''}%{computation.name} {{"]
    for each in computation.instructions:
        root = "ROOT " if each.name == computation.root else ""
        lines.append(f"  {root}{print_instruction(each)}")
    lines.append("}")
    return "\n".join(lines)


def print_instruction(instruction: Instruction) -> str:
    """One instruction as text: `%add.3 = f32[16,64]{1,0} add(%a, %b)`."""
    attributes = instruction.attributes
    match instruction.opcode:
        case "constant" if instruction.literal is not None:
            inside = print_literal(instruction.literal)
        case "parameter":
            inside = str(instruction.attribute("index"))
            attributes = tuple(pair for pair in attributes if pair[0] != "index")
        case _:
            inside = ", ".join([f"%{operand}" for operand in instruction.operands])
    text = f"%{instruction.name} = {instruction.shape} {instruction.opcode}({inside})"
    return text + "".join(_print_attributes(attributes)) if attributes else text


def dump_name(module: Module, number: int, pass_name: str) -> str:
    """The file name of a dump, as XLA's: `module_0001.jit_f.006.algebraic_simplifier.txt`."""
    return f"module_0001.{module.name}.{number:03d}.{pass_name}.txt"


def _print_alias(module: Module) -> str:
    """`{ {1}: (0, {}, may-alias) }`: output 1 takes the buffer of parameter 0. A lone output is `{}`."""
    several = module.entry_computation.root_instruction.opcode == "tuple"
    pairs = (
        f"{{{output if several else ''}}}: ({number}, {{}}, may-alias)"
        for output, number in module.input_output_alias
    )
    return f"{{ {', '.join(pairs)} }}"


def _print_attributes(attributes: tuple[tuple[str, Attribute], ...]) -> list[str]:
    values = dict(attributes)
    printed = []
    if "starts" in values:
        printed.append(
            f", slice={_print_slice(values.pop('starts'), values.pop('limits'), values.pop('strides'))}"
        )
    op_name = values.pop("op_name", None)
    for name, value in sorted(values.items(), key=lambda pair: pair[0] == "calls"):  # the kind before the callee
        printed.append(f", {name}={_print_value(name, value)}")
    if op_name is not None:
        printed.append(f', metadata={{op_name="{op_name}"}}')
    return printed


def _print_slice(starts: Attribute, limits: Attribute, strides: Attribute) -> str:
    assert isinstance(starts, tuple) and isinstance(limits, tuple) and isinstance(strides, tuple)
    ranges = (
        f"[{start}:{limit}]" if stride == 1 else f"[{start}:{limit}:{stride}]"
        for start, limit, stride in zip(starts, limits, strides, strict=True)
    )
    return f"{{{', '.join(ranges)}}}"


def _print_value(name: str, value: Attribute) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case tuple():
            return "{" + ",".join(map(str, value)) + "}"
        case str() if name in ("calls", "to_apply"):
            return f"%{value}"
        case str() if name == "custom_call_target" or not _WORD.fullmatch(value):
            return f'"{value}"'
        case _:
            return str(value)
