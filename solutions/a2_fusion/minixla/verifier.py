"""Whether a module makes sense: names, order, attributes, calls and types.

`verify` holds for every module at every stage; a pass that breaks it has a bug. `verify_kernels`
(in `kernel_rules.py`) says more: that each fusion could run as one pass over memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from .errors import HloError, KernelError, ShapeError, StructureError
from .hlo import COMMUTATIVE, AnyShape, Computation, Instruction, Module, Shape, TupleShape, leaves
from .instruction_form import NAME, check_form
from .kernel_rules import verify_kernels
from .shape_inference import Misfit, infer, without_spaces

__all__ = ["HloError", "KernelError", "ShapeError", "StructureError", "verify", "verify_kernels"]


def verify(module: Module) -> None:
    """Check a whole module. Raises StructureError or ShapeError, which say where, which rule, and why.

    Linear in the number of instructions. The rules, by the name that an error has in `rule`:

    - entry: it exists and is the last computation
    - names: they can be read back from text
    - unique names: of computations, and of the instructions of each
    - callees first: a computation calls only those before it, so that there is no recursion
    - operands first: an operand is an instruction of the same computation, and stands before
    - root: it exists
    - parameters: they are numbered 0, 1, 2, …, each number once
    - opcode, operands, attributes, literal: known, as many as the opcode takes, of the right type
    - shape: what `shape_inference.infer` gives; memory spaces are compared only where the entry
      names a buffer a second time (a tuple and its elements, copy-start and copy-done)
    - region: what a reduce applies is one commutative operation on its two scalar parameters
    - fusion: operands and result have the types of the callee's parameters and root
    - alias: an output and a parameter of one type, each named once
    """
    _check_names(module)
    checked: dict[str, Computation] = {}
    for computation in module.computations:
        _check_computation(computation, checked, is_entry=computation.name == module.entry)
        checked[computation.name] = computation
    _check_alias(module)


def _check_names(module: Module) -> None:
    names = [computation.name for computation in module.computations]
    for name in (module.name, *names):
        if not NAME.fullmatch(name):
            raise StructureError("", "", "names", f"{name!r} is no name; use letters, digits, and _ . - between")
    for name, count in Counter(names).items():
        if count > 1:
            raise StructureError(name, "", "unique names", f"{count} computations have this name")
    if not names or names[-1] != module.entry:
        raise StructureError("", "", "entry", f"the entry, %{module.entry}, must be the last computation")


def _check_computation(computation: Computation, callees: Mapping[str, Computation], is_entry: bool) -> None:
    shapes: dict[str, AnyShape] = {}
    for each in computation.instructions:
        check_form(computation.name, each)
        if each.name in shapes:
            raise StructureError(computation.name, each.name, "unique names", "two instructions have this name")
        for operand in each.operands:
            if operand not in shapes:
                later = any(it.name == operand for it in computation.instructions)
                where = "stands after it or is itself" if later else "is not in this computation"
                problem = f"its operand %{operand} {where}; operands come before their users"
                raise StructureError(computation.name, each.name, "operands first", problem)
        _check_call(computation.name, each, callees)
        _check_shape(computation.name, each, [shapes[name] for name in each.operands], callees, is_entry)
        shapes[each.name] = each.shape
    if computation.root not in shapes:
        raise StructureError(computation.name, "", "root", f"the root, %{computation.root}, is not in it")
    numbers = [each.attribute("index") for each in computation.parameters]
    if numbers != list(range(len(numbers))):
        problem = f"parameters must be numbered 0 to {len(numbers) - 1}, each once; found {numbers}"
        raise StructureError(computation.name, "", "parameters", problem)


def _check_call(computation: str, instruction: Instruction, callees: Mapping[str, Computation]) -> None:
    for attribute in ("calls", "to_apply"):
        name = instruction.attribute(attribute)
        if name is None:
            continue
        if name not in callees:
            problem = f"it calls %{name}, which is not among the computations before this one"
            raise StructureError(computation, instruction.name, "callees first", problem)
        if attribute == "to_apply":
            _check_region(computation, instruction, callees[name])
    if instruction.opcode == "fusion" and instruction.attribute("kind") not in ("kLoop", "kInput", "kOutput"):
        problem = f"the kind of a fusion is kLoop, kInput or kOutput, not {instruction.attribute('kind')}"
        raise StructureError(computation, instruction.name, "attributes", problem)


def _check_region(computation: str, instruction: Instruction, region: Computation) -> None:
    root, scalar = region.root_instruction, Shape(instruction.array_shape.dtype)
    names = [each.name for each in region.parameters]
    combines = root.opcode in COMMUTATIVE and sorted(root.operands) == sorted(names) and len(names) == 2
    if not combines or len(region.instructions) != 3 or root.shape != scalar:
        problem = f"the region %{region.name} must be one of {', '.join(sorted(COMMUTATIVE))} on two {scalar}"
        raise StructureError(computation, instruction.name, "region", problem)


def _check_shape(
    computation: str,
    instruction: Instruction,
    operands: list[AnyShape],
    callees: Mapping[str, Computation],
    is_entry: bool,
) -> None:
    declared = without_spaces(instruction.shape)
    if instruction.opcode in ("parameter", "constant"):
        return
    if instruction.opcode == "fusion":
        _check_fusion(computation, instruction, operands, callees[instruction.attribute("calls")])
        return
    try:
        expected = infer(instruction, operands)
    except Misfit as misfit:
        raise ShapeError(computation, instruction.name, "shape", str(misfit)) from None
    if declared != expected:
        problem = f"declared {instruction.shape}, but {instruction.opcode} of its operands is {expected}"
        raise ShapeError(computation, instruction.name, "shape", problem)
    if is_entry:
        _check_spaces(computation, instruction, operands)


def _check_fusion(computation: str, fusion: Instruction, operands: list[AnyShape], callee: Computation) -> None:
    parameters = [each.shape for each in callee.parameters]
    if list(map(without_spaces, operands)) != list(map(without_spaces, parameters)):
        given, wanted = ", ".join(map(str, operands)), ", ".join(map(str, parameters))
        problem = f"its operands are ({given}), but the parameters of %{callee.name} are ({wanted})"
        raise ShapeError(computation, fusion.name, "fusion", problem)
    if without_spaces(fusion.shape) != without_spaces(callee.root_instruction.shape):
        problem = f"declared {fusion.shape}, but the root of %{callee.name} is {callee.root_instruction.shape}"
        raise ShapeError(computation, fusion.name, "fusion", problem)


def _check_spaces(computation: str, instruction: Instruction, operands: list[AnyShape]) -> None:
    """A second name of a buffer has the memory space of the first."""
    expected: list[Shape] = []
    found = list(leaves(instruction.shape))
    match instruction.opcode:
        case "tuple":
            expected = [leaf for operand in operands for leaf in leaves(operand)]
        case "get-tuple-element":
            assert isinstance(operands[0], TupleShape)
            expected = list(leaves(operands[0].elements[instruction.attribute("index")]))
        case "copy-done":
            expected = [leaves(operands[0])[0]]
        case "copy-start":
            expected, found = [leaves(operands[0])[0]], [leaves(instruction.shape)[1]]
    for leaf, right in zip(found, expected, strict=False):
        if leaf.memory_space != right.memory_space:
            problem = f"{leaf} names a buffer that is {right}; the memory space must be the same"
            raise ShapeError(computation, instruction.name, "shape", problem)


def _check_alias(module: Module) -> None:
    entry = module.entry_computation
    outputs, parameters = entry.outputs, entry.parameters
    named: set[tuple[str, int]] = set()
    for output, number in module.input_output_alias:
        if not (0 <= output < len(outputs) and 0 <= number < len(parameters)):
            problem = f"the pair ({output}, {number}) names no output or no parameter"
            raise StructureError(entry.name, "", "alias", problem)
        pair = {("output", output), ("parameter", number)}
        if pair & named:
            problem = f"output {output} or parameter {number} is named in an earlier pair too"
            raise StructureError(entry.name, "", "alias", problem)
        named |= pair
        types = [entry[outputs[output]].shape, parameters[number].shape]
        if without_spaces(types[0]) != without_spaces(types[1]):
            problem = f"output {output} is {types[0]}, but parameter {number} is {types[1]}"
            raise ShapeError(entry.name, outputs[output], "alias", problem)
