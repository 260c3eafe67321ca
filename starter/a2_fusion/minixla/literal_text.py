"""Constants as text: `0.5`, `-inf`, `{ {1, 2}, {3, 4} }`, without loss of a bit.

A float is written with the fewest digits from which the same bits come back; a NaN that is not
the usual one shows its mantissa, `nan(0x400001)`, as in XLA.
"""

from __future__ import annotations

import math
import re

import numpy as np

from .errors import ParseError
from .shapes import FLOATS, Literal, Shape

_SEPARATORS = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_ELEMENT = re.compile(r"true\b|false\b|-?nan(?:\(0x([0-9a-fA-F]+)\))?|-?inf\b|-?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")
_MANTISSA_BITS = {"bf16": 7, "f16": 10, "f32": 23, "f64": 52}
_BITS = {2: np.uint16, 4: np.uint32, 8: np.uint64}


def print_literal(literal: Literal) -> str:
    """A literal as it stands between the parentheses of a constant."""
    array = literal.array
    if not literal.dims:
        return _print_element(array, literal.dtype)
    elements = iter([_print_element(element, literal.dtype) for element in array.reshape(-1, 1)])

    def nested(axis: int) -> str:
        if axis == len(literal.dims):
            return next(elements)
        inner = [nested(axis + 1) for _ in range(literal.dims[axis])]
        innermost = axis == len(literal.dims) - 1 or not inner
        return "{" + ", ".join(inner) + "}" if innermost else "{ " + ", ".join(inner) + " }"

    return nested(0)


def _print_element(element: np.ndarray, dtype: str) -> str:
    """One number; `element` is an array that holds it alone."""
    value = element.reshape(())[()]
    if dtype == "pred":
        return "true" if value else "false"
    if dtype not in FLOATS:
        return str(value)
    if value != value:
        return _print_nan(element, dtype)
    wide = float(value)
    if math.isinf(wide):
        return "inf" if wide > 0 else "-inf"
    short = f"{wide:.3g}" if dtype == "bf16" else str(value)
    for text in (short, f"{wide:.5g}"):
        if Literal.of(float(text), dtype).data == element.tobytes():
            return text.removesuffix(".0")
    return repr(wide)


def _print_nan(element: np.ndarray, dtype: str) -> str:
    bits = int(element.view(_BITS[element.itemsize]).reshape(())[()])
    mantissa = bits & ((1 << _MANTISSA_BITS[dtype]) - 1)
    sign = "-" if bits >> (8 * element.itemsize - 1) else ""
    usual = mantissa == 1 << (_MANTISSA_BITS[dtype] - 1)
    return f"{sign}nan" if usual else f"{sign}nan({mantissa:#x})"


def _nan(mantissa: int, negative: bool, dtype: np.dtype, width: int) -> np.ndarray:
    bits = 8 * dtype.itemsize
    exponent = ((1 << (bits - 1 - width)) - 1) << width
    return np.array([(negative << (bits - 1)) | exponent | mantissa], _BITS[dtype.itemsize]).view(dtype)


def parse_literal(text: str, position: int, shape: Shape) -> tuple[Literal, int]:
    """The literal of a known shape at a place in a text, and the place after it. Raises ParseError."""
    found: list[np.ndarray] = []

    def skip(place: int) -> int:
        separators = _SEPARATORS.match(text, place)
        return separators.end() if separators else place

    def nested(place: int, axis: int) -> int:
        place = skip(place)
        if axis == len(shape.dims):
            element, place = _parse_element(text, place, shape)
            found.append(element)
            return place
        for number in range(shape.dims[axis]):
            opening = "," if number else "{"
            if not text.startswith(opening, place):
                raise ParseError(text, place, f"a {opening!r} was expected here in a constant of type {shape}")
            place = skip(nested(place + 1, axis + 1))
        if shape.dims[axis] == 0 and text.startswith("{", place):
            place = skip(place + 1)
        if not text.startswith("}", place):
            raise ParseError(text, place, f"a '}}' was expected here in a constant of type {shape}")
        return place + 1

    end = nested(position, 0)
    values = np.concatenate(found) if found else np.zeros(0, shape.numpy_dtype)
    return Literal(shape.dtype, shape.dims, values.tobytes()), end


def _parse_element(text: str, place: int, shape: Shape) -> tuple[np.ndarray, int]:
    """One number as an array of one element, and the place after it."""
    match = _ELEMENT.match(text, place)
    if match is None:
        raise ParseError(text, place, f"a {shape.dtype} was expected here")
    word, dtype = match[0], shape.numpy_dtype
    if shape.dtype == "pred":
        if word not in ("true", "false", "0", "1"):
            raise ParseError(text, place, f"{word} is no pred; write true or false")
        return np.array([word in ("true", "1")]), match.end()
    if "nan" in word and shape.dtype in FLOATS:
        width = _MANTISSA_BITS[shape.dtype]
        mantissa = int(match[1], 16) if match[1] else 1 << (width - 1)
        if not 0 < mantissa < 1 << width:
            raise ParseError(text, place, f"the mantissa of a {shape.dtype} has {width} bits, not all of them 0")
        return _nan(mantissa, word.startswith("-"), dtype, width), match.end()
    try:
        with np.errstate(over="ignore"):
            value = np.array([float(word) if shape.dtype in FLOATS else int(word)]).astype(dtype)
    except (ValueError, OverflowError):
        raise ParseError(text, place, f"{word} is no {shape.dtype}") from None
    if shape.dtype in FLOATS and np.isinf(value)[0] and "inf" not in word:
        raise ParseError(text, place, f"{word} is too large for a {shape.dtype}; write inf if that is meant")
    if shape.dtype not in FLOATS and int(value[0]) != int(word):
        raise ParseError(text, place, f"{word} does not fit a {shape.dtype}")
    return value, match.end()
