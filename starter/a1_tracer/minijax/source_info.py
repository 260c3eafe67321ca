"""Where in the user's program are we? Kept with every tracer, for its error messages.

Looking up a line number is slow and almost never needed, so `caller` only remembers a code
object and an instruction; `location` turns that into `file:line` when an error asks.
"""

from __future__ import annotations

import os
import sys
from types import CodeType

_HERE = os.path.dirname(__file__)
_OWN_FILES = frozenset(os.path.join(_HERE, name) for name in os.listdir(_HERE or ".") if name.endswith(".py"))

Source = tuple[CodeType, int] | None


def caller() -> Source:
    """The innermost point of execution outside this package."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename in _OWN_FILES:
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return frame.f_code, frame.f_lasti


def definition(function: object) -> Source:
    """The first line of a user's function; None for callables not written in Python."""
    code = getattr(_innermost(function), "__code__", None)
    return (code, 0) if isinstance(code, CodeType) else None


def location(source: Source) -> str:
    """`file:line`, or `an unknown place`."""
    if source is None:
        return "an unknown place"
    code, instruction = source
    line = code.co_firstlineno
    for start, end, number in code.co_lines():
        if start <= instruction < end and number is not None:
            line = number
    return f"{os.path.basename(code.co_filename)}:{line}"


def function_name(function: object) -> str:
    """The name to call a function by in messages."""
    innermost = _innermost(function)
    return str(getattr(innermost, "__name__", type(innermost).__name__))


def _innermost(function: object) -> object:
    """The user's function inside the wrappers that transformations put around it."""
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    return function
