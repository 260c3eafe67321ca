"""From text to layout and back, in the notation that XLA prints.

    shape  = array | "(" [shape {"," shape}] ")"
    array  = type "[" [number {"," number}] "]" [layout]
    layout = "{" [number {"," number}] [":" suffix {suffix}] "}"
    suffix = "T" tile {tile} | "L(" number ")" | "E(" number ")" | "S(" number ")"
    tile   = "(" entry {"," entry} ")"        entry = number | "*"

The suffixes come in the order T, L, E, S, each at most once. A text that is accepted means one
layout, and a layout has one text: `to_string(parse(t))` may differ from `t` (in blanks, in
defaults that are spelt out), but `parse(to_string(x)) == x` always holds.
"""

from __future__ import annotations

from .dtypes import ELEMENT_TYPES
from .layout import STAR, ArrayLayout, Tile, TupleLayout
from .scanner import Scanner

MAX_NESTING = 100  # tuples in tuples, the outermost one counted; deeper ones are refused
_ANNOTATED = 5  # XLA writes /*index=5*/ before the sixth element of a tuple, and so on


def parse(text: str) -> ArrayLayout | TupleLayout:
    """The layout that the text says. An array without `{…}` is row-major and untiled.

    Raises `ParseError`, whose `rule` and `position` are:

    | rule           | broken by                                       | position                       |
    |----------------|-------------------------------------------------|--------------------------------|
    | `element type` | a name that is not in `ELEMENT_TYPES`           | where the name starts          |
    | `dimension`    | a negative size                                 | where the number starts        |
    | `rank`         | a minor-to-major of another length than `dims`  | the `{`                        |
    | `permutation`  | an entry that is out of range, or there twice   | where the (second) one starts  |
    | `tile`         | an entry below 1; `*` as last entry; `T()`      | the entry; the `)` of `T()`    |
    | `suffix`       | A–Z or a–z: unknown, repeated or out of order   | the letter                     |
    | `value`        | L below 1; E or S below 0                       | where the number starts        |
    | `syntax`       | anything else, text after the end included      | the first character that does not fit |
    | `syntax`       | a number of more than 18 digits                 | where the number starts        |
    | `syntax`       | more than `MAX_NESTING` tuples in each other    | the `(` of the first too many  |

    Of several faults the one that reading from left to right meets first is reported. The length of
    minor-to-major is compared when the `:` or `}` after it is read, and a `*` is known to be the last
    entry when the `)` after it is read; where anything else stands, or nothing, that is the fault.
    """
    ### BEGIN SOLUTION a4.1: read one shape, then nothing may be left
    scanner = Scanner(text)
    shape = _shape(scanner, MAX_NESTING)
    if not scanner.at_end:
        scanner.fail("syntax", "the text goes on after the end of the shape")
    return shape
    ### END SOLUTION


def to_string(layout: ArrayLayout | TupleLayout) -> str:
    """The text of a layout, exactly as XLA prints it: no blanks but after the commas of a tuple.

    Minor-to-major is always printed, except that a scalar without suffixes is `f32[]`. What has its
    default (no tiles, L(1), E(0), S(0)) is left out. In a tuple, every fifth element is announced
    by a comment: `(f32[], …, f32[], /*index=5*/f32[])`.
    """
    ### BEGIN SOLUTION a4.1: dimensions, minor-to-major, suffixes; a tuple's elements one by one
    if isinstance(layout, TupleLayout):
        texts = [to_string(element) for element in layout.elements]
        for number in range(_ANNOTATED, len(texts), _ANNOTATED):
            texts[number] = f"/*index={number}*/{texts[number]}"
        return f"({', '.join(texts)})"
    suffixes = "T" + "".join(f"({_list(tile)})" for tile in layout.tiles) if layout.tiles else ""
    suffixes += f"L({layout.tail_alignment})" if layout.tail_alignment != 1 else ""
    suffixes += f"E({layout.element_bits})" if layout.element_bits else ""
    suffixes += f"S({layout.memory_space})" if layout.memory_space else ""
    braces = _list(layout.minor_to_major) + (f":{suffixes}" if suffixes else "")
    return f"{layout.dtype}[{_list(layout.dims)}]" + (f"{{{braces}}}" if braces else "")
    ### END SOLUTION


### BEGIN SOLUTION a4.1: a function for each line of the grammar
def _list(items: tuple[int | str, ...]) -> str:
    return ",".join(str(item) for item in items)


def _shape(scanner: Scanner, nesting: int) -> ArrayLayout | TupleLayout:
    """An array, or a tuple in which there may be so many tuples, itself included."""
    start = scanner.position
    if not scanner.take("("):
        return _array(scanner)
    if nesting == 0:
        scanner.fail("syntax", f"tuples may be nested {MAX_NESTING} deep", start)
    elements: list[ArrayLayout | TupleLayout] = []
    if scanner.peek() != ")":
        elements.append(_shape(scanner, nesting - 1))
        while scanner.take(","):
            elements.append(_shape(scanner, nesting - 1))
    scanner.expect(")")
    return TupleLayout(tuple(elements))


def _array(scanner: Scanner) -> ArrayLayout:
    start = scanner.position
    dtype = scanner.name()
    if dtype not in ELEMENT_TYPES:
        scanner.fail("element type", f"{dtype!r} is none of {', '.join(ELEMENT_TYPES)}", start)
    scanner.expect("[")
    dims = tuple(_numbers(scanner, "]", "dimension", least=0))
    scanner.expect("]")
    brace = scanner.position
    if not scanner.take("{"):
        return ArrayLayout.row_major(dtype, dims)
    minor_to_major = _permutation(scanner, len(dims))
    if scanner.peek() not in (":", "}"):
        scanner.fail("syntax", "',', ':' or '}' must stand here")
    if len(minor_to_major) != len(dims):
        counts = f"{len(minor_to_major)} entries in minor-to-major for {len(dims)} dimensions"
        scanner.fail("rank", counts, brace)
    tiles, values = _suffixes(scanner) if scanner.take(":") else ((), {})
    scanner.expect("}")
    return ArrayLayout(
        dtype, dims, minor_to_major, tiles, values.get("L", 1), values.get("E", 0), values.get("S", 0)
    )


def _numbers(scanner: Scanner, closing: str, rule: str, least: int) -> list[int]:
    """Numbers with commas between them, up to the closing bracket, which stays."""
    numbers: list[int] = []
    if scanner.peek() == closing:
        return numbers
    while True:
        numbers.append(_number(scanner, rule, least))
        if not scanner.take(","):
            return numbers


def _number(scanner: Scanner, rule: str, least: int) -> int:
    start = scanner.position
    number = scanner.number()
    if number < least:
        scanner.fail(rule, f"{number} is given, but {least} is the least that is allowed", start)
    return number


def _permutation(scanner: Scanner, rank: int) -> tuple[int, ...]:
    """Minor-to-major, up to `:` or `}`; its length is the caller's to check."""
    entries: list[int] = []
    while scanner.peek() not in ("}", ":") or entries:
        start = scanner.position
        entry = scanner.number()
        if not 0 <= entry < rank or entry in entries:
            scanner.fail("permutation", f"{entry}: each of 0 to {rank - 1} must occur once", start)
        entries.append(entry)
        if not scanner.take(","):
            break
    return tuple(entries)


def _suffixes(scanner: Scanner) -> tuple[tuple[Tile, ...], dict[str, int]]:
    """The tiles, and the numbers by their letter."""
    tiles: list[Tile] = []
    values: dict[str, int] = {}
    allowed = "TLES"
    while scanner.peek() != "}" or allowed == "TLES":
        letter = scanner.peek()
        if not (letter.isascii() and letter.isalpha()):
            scanner.fail("syntax", "a suffix must stand here, or '}' after one")
        if letter not in allowed:
            what = f"one of {', '.join(allowed)}" if allowed else "}"
            scanner.fail("suffix", f"{letter!r} is given, but here may stand {what}")
        allowed = allowed[allowed.index(letter) + 1 :]
        scanner.take(letter)
        if letter == "T":
            tiles.append(_tile(scanner))
            while scanner.peek() == "(":
                tiles.append(_tile(scanner))
        else:
            scanner.expect("(")
            values[letter] = _number(scanner, "value", least=1 if letter == "L" else 0)
            scanner.expect(")")
    return tuple(tiles), values


def _tile(scanner: Scanner) -> Tile:
    scanner.expect("(")
    if scanner.peek() == ")":
        scanner.fail("tile", "a tile has at least one dimension")
    entries: list[int | str] = []
    while True:
        start = scanner.position
        entries.append(STAR if scanner.take(STAR) else _number(scanner, "tile", least=1))
        if not scanner.take(","):
            break
    if entries[-1] == STAR and scanner.peek() == ")":
        scanner.fail("tile", f"the last dimension has no more minor one that {STAR!r} could merge it into", start)
    scanner.expect(")")
    return tuple(entries)


### END SOLUTION
