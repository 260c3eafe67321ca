"""Reads the text of a module.

The parser stands at one place in the text and matches what may come there; nothing is read
twice, so the time is linear. Beside what `text.print_module` writes it takes what people write
and what XLA's dumps hold: names without %, shapes without a layout (or with a tiling, which is
dropped), comments (`// to the end`, `/* between */`), operands with their shapes before them, a
signature after a computation's name, and no ROOT, when the last instruction is the result.
"""

from __future__ import annotations

import difflib
import re

from .hlo import DTYPES, OPCODES, AnyShape, Attribute, Computation, Instruction, Literal, Module, Shape, TupleShape
from .literal_text import parse_literal
from .scanner import Scanner

_HEADER = re.compile(r"HloModule\b")
_ENTRY = re.compile(r"ENTRY\b")
_DEFINED = re.compile(r"(ROOT\s+)?%?([A-Za-z_][\w.\-]*)\s*=\s*")
_OPCODE = re.compile(r"\s*([a-z][a-z\-]*)\s*\(")
_PLAIN_OPERANDS = re.compile(r"%[\w.\-]+(?:, %[\w.\-]+)*\)")
_ARRAY = re.compile(r"([a-z]\w*)\[([\d,\s]*)\](?:\{([\d,\s]*)(:?[^{}]*)\})?")
_SPACE = re.compile(r":?(?:T\([\d,]*\)(?:\([\d,]*\))*)?(?:S\((\d{1,9})\))?")
_RANGE = re.compile(r"\[\s*(\d{1,18}):(\d{1,18})(?::(\d{1,18}))?\s*\]")
_BRACES = re.compile(r"\{(?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*\}")
_MOST_AXES = 32
_MOST_NESTED = 8


def parse(text: str) -> Module:
    """The module that a text describes. Raises ParseError with line, column and what was expected.

    Only the form is checked here; `verifier.verify` says whether it makes sense.
    """
    return _Parser(text).module()


class _Parser(Scanner):
    """The grammar, from the module down."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.shapes: dict[str, Shape] = {}  # programs have few types and name them often

    def module(self) -> Module:
        if self.match(_HEADER) is None:
            raise self.fail("a module begins with `HloModule name`")
        name = self.name("the module's name")
        scheduled, alias = self.header()
        computations: dict[str, Computation] = {}
        entry = ""
        while not self.at_end():
            start = self.place
            is_entry = self.match(_ENTRY) is not None
            if is_entry and entry:
                raise self.fail(f"there is an ENTRY already, %{entry}; a module has one", start)
            computation = self.computation()
            if computation.name in computations:
                raise self.fail(f"there is a computation %{computation.name} already", start)
            computations[computation.name] = computation
            entry = computation.name if is_entry else entry
        if not entry:
            raise self.fail("the text ends and no computation is marked ENTRY, so there is no program")
        computations[entry] = computations.pop(entry)  # last
        return Module(name, tuple(computations.values()), entry, scheduled, alias)

    def header(self) -> tuple[bool, tuple[tuple[int, int], ...]]:
        """What may follow the module's name; returns is_scheduled and input_output_alias."""
        scheduled, alias = False, list[tuple[int, int]]()
        while self.accept(","):
            start = self.place
            key = self.name("an attribute of the module")
            self.expect("=", f"after {key}")
            match key:
                case "is_scheduled":
                    scheduled = self.truth()
                case "input_output_alias":
                    self.expect("{", "to open the list of aliases")
                    self.listed("}", lambda: alias.append(self.alias()))
                case "entry_computation_layout":
                    if self.match(_BRACES) is None:
                        raise self.fail("a layout in braces was expected here")
                case _:
                    known = "is_scheduled, input_output_alias"
                    raise self.fail(f"a module has no attribute {key!r}; it may have {known}", start)
        return scheduled, tuple(alias)

    def alias(self) -> tuple[int, int]:
        """`{1}: (0, {}, may-alias)`, or `{1}: 0`; `{}` is the only output."""
        self.expect("{", "to open the number of an output")
        output = 0 if self.accept("}") else self.integer("the number of an output")
        if self.text[self.place - 1] != "}":
            self.expect("}", "after the number of an output")
        self.expect(":", "between output and parameter")
        if not self.accept("("):
            return output, self.integer("a parameter's number")
        number = self.integer("a parameter's number")
        if self.accept(","):
            self.expect("{", "to open an index")
            self.expect("}", "because parameters are arrays, and arrays have no parts")
            if self.accept(","):
                self.name("may-alias or must-alias")
        self.expect(")", "to close the alias")
        return output, number

    def computation(self) -> Computation:
        name = self.name("a computation's name")
        if self.accept("("):
            self.listed(")", self.parameter_type)
            self.expect("->", "between the types of the parameters and of the result")
            self.shape()
        self.expect("{", f"to open the computation %{name}")
        instructions: list[Instruction] = []
        root = ""
        while not self.accept("}"):
            start = self.place
            is_root, instruction = self.instruction()
            if is_root and root:
                raise self.fail(f"%{name} has a ROOT already, %{root}", start)
            instructions.append(instruction)
            root = instruction.name if is_root else root
        if not instructions:
            raise self.fail(f"the computation %{name} is empty; it needs at least one instruction")
        return Computation(name, tuple(instructions), root or instructions[-1].name)

    def parameter_type(self) -> None:
        self.name("a parameter's name")
        self.expect(":", "between a parameter's name and type")
        self.shape()

    def instruction(self) -> tuple[bool, Instruction]:
        defined = self.match(_DEFINED)
        if defined is None:
            raise self.fail("an instruction, `%name = shape opcode(operands)`, or '}' was expected here")
        shape = self.shape()
        found = self.match(_OPCODE)
        if found is None:
            raise self.fail("an opcode and '(' were expected here")
        opcode = found[1]
        if opcode not in OPCODES:
            close = difflib.get_close_matches(opcode, OPCODES, 1)
            advice = f"; did you mean {close[0]!r}?" if close else ""
            raise self.fail(f"there is no opcode {opcode!r}{advice}", found.start(1))
        operands: tuple[str, ...] = ()
        attributes: dict[str, Attribute] = {}
        literal = None
        match opcode:
            case "constant":
                literal = self.literal(shape)
            case "parameter":
                attributes["index"] = self.integer("the parameter's number")
                self.expect(")", "after the parameter's number")
            case _:
                operands = self.operands()
        while self.accept(","):
            self.attribute(attributes)
        ordered = tuple(sorted(attributes.items()))
        return defined[1] is not None, Instruction(defined[2], opcode, shape, operands, ordered, literal)

    def literal(self, shape: AnyShape) -> Literal:
        if not isinstance(shape, Shape) or shape.dtype == "token":
            raise self.fail(f"a constant is an array of numbers; this one is declared {shape}")
        literal, self.place = parse_literal(self.text, self.place, shape)
        self.expect(")", "after the constant's value")
        return literal

    def operands(self) -> tuple[str, ...]:
        plain = _PLAIN_OPERANDS.match(self.text, self.place)
        if plain is not None:
            self.place = plain.end()
            return tuple(plain[0][1:-1].split(", %"))
        names: list[str] = []
        self.listed(")", lambda: names.append(self.operand()))
        return tuple(names)

    def operand(self) -> str:
        self.skip()
        if self.text.startswith("(", self.place) or _ARRAY.match(self.text, self.place):
            self.shape()
        return self.name("an operand's name")

    def shape(self, nested: int = 0) -> AnyShape:
        start = self.place
        if self.accept("("):
            if nested == _MOST_NESTED:
                raise self.fail(f"tuples may be nested {_MOST_NESTED} deep", start)
            elements: list[AnyShape] = []
            self.listed(")", lambda: elements.append(self.shape(nested + 1)))
            return TupleShape(tuple(elements))
        found = self.match(_ARRAY)
        if found is None:
            raise self.fail("a shape such as f32[16,64] was expected here")
        if found[0] not in self.shapes:
            self.shapes[found[0]] = self.array_shape(found)
        return self.shapes[found[0]]

    def array_shape(self, found: re.Match[str]) -> Shape:
        dtype, sizes, layout, rest = found.groups()
        if dtype not in DTYPES and dtype != "token":
            raise self.fail(f"there is no dtype {dtype!r}; there are {', '.join(DTYPES)}", found.start())
        words = [word.strip() for word in sizes.split(",")] if sizes.strip() else []
        if len(words) > _MOST_AXES or any(not word.isdigit() or len(word) > 18 for word in words):
            raise self.fail(f"[{sizes}] are no sizes; write at most {_MOST_AXES} numbers", found.start(2))
        row_major = list(map(str, reversed(range(len(words)))))
        if layout is not None and layout.strip() and [word.strip() for word in layout.split(",")] != row_major:
            expected = ",".join(row_major)
            raise self.fail(f"only the row-major layout {{{expected}}} is known here", found.start(3))
        space = _SPACE.fullmatch((rest or "").strip())
        if space is None:
            raise self.fail(f"{rest!r} is neither a tiling nor a memory space such as :S(1)", found.start(4))
        return Shape(dtype, tuple(map(int, words)), int(space[1] or 0))

    def attribute(self, attributes: dict[str, Attribute]) -> None:
        """One `key=value` after the operands, put into `attributes`."""
        start = self.place
        key = self.name("an attribute's name")
        self.expect("=", f"after {key}")
        if key in attributes:
            raise self.fail(f"the attribute {key} is given twice", start)
        if key == "slice":
            self.slice(attributes)
        elif key == "metadata":
            self.metadata(attributes)
        else:
            attributes[key] = self.value()

    def slice(self, attributes: dict[str, Attribute]) -> None:
        """`{[0:4], [1:9:2]}`: start, limit and stride of each axis."""
        ranges: list[tuple[int, ...]] = []

        def item() -> None:
            found = self.match(_RANGE)
            if found is None:
                raise self.fail("a range such as [0:4] or [1:9:2] was expected here")
            ranges.append((int(found[1]), int(found[2]), int(found[3] or 1)))

        self.expect("{", "to open the ranges")
        self.listed("}", item)
        for place, key in enumerate(("starts", "limits", "strides")):
            attributes[key] = tuple(each[place] for each in ranges)

    def metadata(self, attributes: dict[str, Attribute]) -> None:
        """`{op_name="mul" source_file="f.py"}`; only op_name is kept."""
        self.expect("{", "to open the metadata")
        while not self.accept("}"):
            key = self.name("a key of the metadata, or '}',")
            self.expect("=", f"after {key}")
            value = self.value()
            if key == "op_name":
                attributes[key] = str(value)
