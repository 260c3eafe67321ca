"""Draws a module: a row for each instruction that computes something, a box for each kernel.

    draw(module)        # as the last line of a notebook's cell it shows the picture
    draw(module).svg    # the text of an SVG file

Left of the rows every value has a line, from the row that makes it down to its last reader, with a
dot where it is read. Thick lines go through memory, thin ones stay inside a kernel. Constants are
written into their readers; what only names an array or says how it is addressed is looked through.
Bold rows are results of the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import groupby, pairwise
from typing import NamedTuple

from .hlo import ADDRESSING, Computation, Instruction, Module, leaves
from .literal_text import print_literal

ROW, GAP, LANE, LETTER = 20, 8, 9, 7.3  # pixels: a row, between kernels, between lines, a letter of the font
INK = "#1e293b"
COLORS = {  # of border and area
    "parameter": ("#7e22ce", "#ffffff"),
    "alone": (INK, "#ffffff"),  # an instruction outside of fusions: a kernel, too
    "kLoop": ("#1d4ed8", "#dbeafe"),
    "kInput": ("#15803d", "#dcfce7"),
    "kOutput": ("#c2410c", "#ffedd5"),
}
LOOKED_THROUGH = ADDRESSING | {"bitcast", "tuple", "get-tuple-element", "copy-done", "after-all"}

Value = list[int | str]  # the rows that a value consists of, and the texts of constants in it


class Picture(NamedTuple):
    """An SVG, which notebooks show."""

    svg: str

    def _repr_svg_(self) -> str:
        return self.svg


class Row(NamedTuple):
    """What a row says, the type of its result, its kernel and that kernel's kind, and the rows that it reads."""

    text: str
    shape: str
    kernel: str
    kind: str
    reads: list[int]


class Rows:
    """The rows of a module in the order of execution, and which of them are results."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.rows: list[Row] = []
        self.results = set(self.walk(module.entry_computation, None, []))

    def walk(self, body: Computation, fusion: Instruction | None, operands: Sequence[Value]) -> Value:
        """Add the rows of a computation; returns its result."""
        made: dict[str, Value] = {}
        for it in body.instructions:
            read = [made[name] for name in it.operands]
            if it.literal is not None:
                made[it.name] = [print_literal(it.literal) if it.literal.bytes <= 8 else "{…}"]
            elif it.opcode == "parameter" and fusion:
                made[it.name] = operands[it.attribute("index")]
            elif it.opcode == "get-tuple-element" and len(read[0]) > 1:
                made[it.name] = [read[0][it.attribute("index")]]
            elif it.opcode in LOOKED_THROUGH:
                made[it.name] = [each for value in read for each in value]
            elif it.opcode == "fusion" and not fusion:
                made[it.name] = self.walk(self.module.called(it), it, read)
            else:
                made[it.name] = self.add(it, fusion, [each for value in read for each in value])
        return made[body.root]

    def add(self, it: Instruction, fusion: Instruction | None, found: Value) -> Value:
        """Add one row; returns the value that it makes."""
        words = [it.opcode, it.attribute("direction", ""), *(each for each in found if isinstance(each, str))]
        if it.opcode == "reduce":
            words = [it.opcode, self.module.called(it).root_instruction.opcode]
        text, kernel, kind = " ".join(filter(None, words)), it.name, "alone"
        if it.opcode == "parameter":
            text, kernel, kind = f"%{it.name}", "", "parameter"
        elif fusion:
            kernel, kind = fusion.name, fusion.attribute("kind")
        first = leaves(it.shape)[0]
        shape = str(first.in_space(0)).split("{")[0] + (f" S({first.memory_space})" if first.memory_space else "")
        reads = dict.fromkeys(each for each in found if isinstance(each, int))
        self.rows.append(Row(text, shape, kernel, kind, list(reads)))
        return [len(self.rows) - 1]


def draw(module: Module) -> Picture:
    """The picture of a module that `verify` accepts."""
    found = Rows(module)
    near, far = dict[int, list[int]](), dict[int, list[int]]()  # readers in the same kernel, and in others
    for number, row in enumerate(found.rows):
        for source in row.reads:
            same = row.kernel == found.rows[source].kernel != ""
            (near if same else far).setdefault(source, []).append(number)
    near_lanes, far_lanes = _lanes(near), _lanes(far)
    left = 16 + LANE * (1 + max(far_lanes.values(), default=0))
    text = left + 23 + LANE * max(near_lanes.values(), default=-1)
    tops = [10.0]
    for one, other in pairwise(found.rows):
        tops.append(tops[-1] + ROW + GAP * (one.kernel != other.kernel))
    width, parts = _boxes(found, tops, left, text)
    for readers, lanes, start, thick in ((far, far_lanes, left - 10, 2.2), (near, near_lanes, text - 14, 1.2)):
        for number, lane in lanes.items():
            x, ends = start - LANE * lane, [tops[each] + 9 for each in readers[number]]
            color = COLORS[found.rows[number].kind][0]
            path = f"M{text - 3:g} {tops[number] + 14:g} H{x:g} V{ends[-1]:g}"
            path += "".join(f" M{x:g} {y:g} H{text - 4:g}" for y in ends)
            parts.append(f'<path d="{path}" fill="none" stroke="{color}" stroke-width="{thick}"/>')
            parts += [f'<circle cx="{x:g}" cy="{y:g}" r="2.6" fill="{color}"/>' for y in ends]
    size = f'width="{width:g}" height="{tops[-1] + ROW + 10:g}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size}><rect {size} fill="#ffffff"/>', *parts, "</svg>"]
    return Picture("\n".join(parts))


def _boxes(found: Rows, tops: list[float], left: float, text: float) -> tuple[float, list[str]]:
    """The width of the picture; the kernels' boxes and the rows' texts."""
    shapes = text + 24 + LETTER * max((len(row.text) for row in found.rows), default=0)
    width = shapes + 80 + LETTER * max((len(row.shape) for row in found.rows), default=0)
    parts = []
    for (kernel, kind), rows in groupby(zip(found.rows, tops, strict=True), lambda pair: pair[0][2:4]):
        own, (border, area) = [top for _, top in rows], COLORS[kind]
        place = f'x="{left:g}" y="{own[0]:g}" width="{width - left - 4:g}" height="{own[-1] - own[0] + ROW:g}"'
        if kernel:
            parts.append(f'<rect {place} rx="5" fill="{area}" stroke="{border}"/>')
            parts.append(_text(width - 12, own[0], kind.replace("alone", ""), border, 'text-anchor="end"'))
    for number, row in enumerate(found.rows):
        bold = 'font-weight="bold"' if number in found.results else ""
        parts.append(_text(text, tops[number], row.text, INK if row.kernel else COLORS[row.kind][0], bold))
        parts.append(_text(shapes, tops[number], row.shape, "#64748b"))
    return width, parts


def _lanes(readers: dict[int, list[int]]) -> dict[int, int]:
    """For each value a lane that no other value uses between its row and its last reader's."""
    ends: list[int] = []
    lanes: dict[int, int] = {}
    for row, found in sorted(readers.items()):
        lanes[row] = next((lane for lane, end in enumerate(ends) if end < row), len(ends))
        ends[lanes[row] : lanes[row] + 1] = [found[-1]]
    return lanes


def _text(x: float, y: float, text: str, color: str, style: str = "") -> str:
    font = 'font-family="\'DejaVu Sans Mono\', Menlo, Consolas, monospace" font-size="12"'
    return f'<text x="{x:g}" y="{y + 14:g}" {font} fill="{color}" {style}>{escape(text)}</text>'
