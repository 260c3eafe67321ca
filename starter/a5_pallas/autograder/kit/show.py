"""How values are written in messages: arrays by dtype and shape, with their numbers when they are few."""

from __future__ import annotations

from types import FunctionType
from typing import Any

import numpy as np

_SHORT = {"float": "f", "int": "i", "uint": "u", "complex": "c"}
_FEW = 12


def dtype(value: Any) -> str:
    """`f32` for float32, `i64` for int64, `bool`, `bf16`."""
    name = np.dtype(value).name
    if name == "bfloat16":
        return "bf16"
    letters = name.rstrip("0123456789")
    return _SHORT.get(letters, letters) + name[len(letters) :]


def array_type(array: np.ndarray) -> str:
    """`f32[4,3]`."""
    return f"{dtype(array.dtype)}[{','.join(str(n) for n in array.shape)}]"


def value(thing: Any, limit: int = 400) -> str:
    """A short text for plain data, arrays and functions."""
    text = _value(thing)
    return text if len(text) <= limit else text[: limit - 20] + f" … ({len(text):,} characters)"


def _value(thing: Any) -> str:
    if isinstance(thing, np.ndarray):
        if thing.size > _FEW:
            return array_type(thing)
        numbers = " ".join(np.array2string(thing, separator=", ", threshold=_FEW).split())
        return f"{array_type(thing)} {numbers}"
    if isinstance(thing, FunctionType):
        return thing.__name__
    if isinstance(thing, list | tuple):
        left, right = ("[", "]") if isinstance(thing, list) else ("(", ")")
        return left + ", ".join(_value(item) for item in thing) + right
    if isinstance(thing, dict):
        return "{" + ", ".join(f"{key}: {_value(item)}" for key, item in thing.items()) + "}"
    return str(thing) if isinstance(thing, str) and "\n" in thing else repr(thing)
