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
    # about 5 lines
    raise NotImplementedError("a4.1: read one shape, then nothing may be left")


def to_string(layout: ArrayLayout | TupleLayout) -> str:
    """The text of a layout, exactly as XLA prints it: no blanks but after the commas of a tuple.

    Minor-to-major is always printed, except that a scalar without suffixes is `f32[]`. What has its
    default (no tiles, L(1), E(0), S(0)) is left out. In a tuple, every fifth element is announced
    by a comment: `(f32[], …, f32[], /*index=5*/f32[])`.
    """
    # about 11 lines
    raise NotImplementedError("a4.1: dimensions, minor-to-major, suffixes; a tuple's elements one by one")


# a4.1: a function for each line of the grammar (about 102 lines)
