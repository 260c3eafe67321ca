"""Texts by regular expressions: a list of tokens with their positions first, then what they mean."""

from __future__ import annotations

import re

from .dtypes import ELEMENT_TYPES
from .errors import ParseError
from .layout import ArrayLayout, TupleLayout

MAX_NESTING = 100
_TOKEN = re.compile(r"(?:\s|/\*.*?\*/)*(?:(?P<number>-?\d+)|(?P<name>[A-Za-z]\w*?(?=\W|$)|[TLES](?=\())|(?P<mark>\S))", re.S)


class _Reader:
    def __init__(self, text):
        self.text = text
        self.tokens = []
        position = 0
        while match := _TOKEN.match(text, position):
            kind = match.lastgroup
            if kind == "number" and len(match[kind].removeprefix("-")) > 18:
                kind = "long number"
            self.tokens.append((kind, match[match.lastgroup], match.start(match.lastgroup)))
            position = match.end()
        self.tokens.append(("end", "", len(text)))
        self.at = 0

    @property
    def next(self):
        return self.tokens[self.at]

    def fail(self, rule, position, problem="it cannot stand here"):
        raise ParseError(position, rule, problem, self.text)

    def accept(self, *values):
        if self.next[1] in values and self.next[0] != "end":
            self.at += 1
            return self.tokens[self.at - 1]
        return None

    def need(self, value):
        return self.accept(value) or self.fail("syntax", self.next[2], f"{value} is missing")

    def list_of(self, closing, check, kinds=("number",), marks=()):
        """What stands between commas up to the closing bracket; `check` sees each with its position."""
        items = []
        if self.accept(closing):
            return items
        while True:
            kind, value, position = self.next
            if kind not in kinds and value not in marks:
                self.fail("syntax", position)
            self.at += 1
            item = int(value) if kind == "number" else value
            check(item, position)
            items.append(item)
            if self.accept(closing):
                return items
            self.need(",")

    def shape(self, depth=0):
        if self.next[1] == "(" and depth == MAX_NESTING:
            self.fail("syntax", self.next[2], "too deep")
        if not self.accept("("):
            return self.array()
        elements = []
        if self.accept(")"):
            return TupleLayout(())
        while True:
            elements.append(self.shape(depth + 1))
            if self.accept(")"):
                return TupleLayout(tuple(elements))
            self.need(",")

    def at_least(self, least, rule):
        def check(item, position):
            if item != "*" and item < least:
                self.fail(rule, position, f"{item} is below {least}")

        return check

    def array(self):
        kind, dtype, position = self.next
        if kind != "name":
            self.fail("syntax", position)
        if dtype not in ELEMENT_TYPES:
            self.fail("element type", position, f"{dtype} is unknown")
        self.at += 1
        self.need("[")
        dims = self.list_of("]", self.at_least(0, "dimension"))
        brace = self.accept("{")
        if not brace:
            return ArrayLayout.row_major(dtype, dims)
        seen = []

        def check(item, position):
            if item in seen or not 0 <= item < len(dims):
                self.fail("permutation", position, f"{item} is out of range or there already")
            seen.append(item)

        if self.next[1] not in (":", "}"):
            while True:
                if self.next[0] != "number":
                    self.fail("syntax", self.next[2])
                check(int(self.next[1]), self.next[2])
                self.at += 1
                if not self.accept(","):
                    break
        if self.next[1] not in (":", "}"):
            self.fail("syntax", self.next[2])
        if len(seen) != len(dims):
            self.fail("rank", brace[2], f"{len(seen)} entries for {len(dims)} dimensions")
        found = {"T": (), "L": 1, "E": 0, "S": 0}
        if self.accept(":"):
            last = -1
            while self.next[1] != "}" or last < 0:
                kind, letter, position = self.next
                letter = letter[:1]
                if not (letter.isascii() and letter.isalpha()):
                    self.fail("syntax", position)
                if letter not in "TLES" or "TLES".index(letter) <= last:
                    self.fail("suffix", position, f"{letter} cannot stand here")
                last = "TLES".index(letter)
                self.at += 1
                if letter == "T":
                    found["T"] = self.tiles()
                else:
                    self.need("(")
                    least = 1 if letter == "L" else 0
                    if self.next[0] != "number":
                        self.fail("syntax", self.next[2])
                    self.at_least(least, "value")(int(self.next[1]), self.next[2])
                    found[letter] = int(self.next[1])
                    self.at += 1
                    self.need(")")
        self.need("}")
        return ArrayLayout(dtype, tuple(dims), tuple(seen), found["T"], found["L"], found["E"], found["S"])

    def tiles(self):
        tiles = []
        while not tiles or self.next[1] == "(":
            self.need("(")
            if self.next[1] == ")":
                self.fail("tile", self.next[2], "a tile needs a dimension")
            tile = []
            while True:
                kind, value, position = self.next
                if kind != "number" and value != "*":
                    self.fail("syntax", position)
                self.at += 1
                tile.append(value if value == "*" else int(value))
                self.at_least(1, "tile")(tile[-1], position)
                if not self.accept(","):
                    break
            if tile[-1] == "*" and self.next[1] == ")":
                self.fail("tile", position, "a star at the end")
            self.need(")")
            tiles.append(tuple(tile))
        return tuple(tiles)


def parse(text):
    """The layout of a text."""
    reader = _Reader(text)
    shape = reader.shape()
    if reader.next[0] != "end":
        reader.fail("syntax", reader.next[2])
    return shape


def to_string(layout):
    """The text of a layout."""
    if isinstance(layout, TupleLayout):
        pieces = ""
        for number, element in enumerate(layout.elements):
            comma = ", " if number else ""
            pieces += comma + ("" if number % 5 or not number else f"/*index={number}*/") + to_string(element)
        return f"({pieces})"
    text = "{dtype}[{dims}]".format(dtype=layout.dtype, dims=str(list(layout.dims))[1:-1].replace(" ", ""))
    rest = ""
    for tile in layout.tiles:
        rest += ("" if rest else "T") + "(" + ",".join(map(str, tile)) + ")"
    for value, default, letter in zip(
        (layout.tail_alignment, layout.element_bits, layout.memory_space), (1, 0, 0), "LES", strict=True
    ):
        if value != default:
            rest += f"{letter}({value})"
    if layout.rank or rest:
        text += "{" + ",".join(map(str, layout.minor_to_major)) + (":" + rest) * bool(rest) + "}"
    return text
