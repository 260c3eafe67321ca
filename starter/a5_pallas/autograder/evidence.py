"""What a worker answers: a value, or an exception of the student's, as plain data."""

from __future__ import annotations

import linecache
import traceback
from pathlib import Path
from typing import Any

import msgspec

from autograder import wire

MAX_MESSAGE = 4000
MAX_FRAMES = 6
_KIT = Path(__file__).parent


class Frame(msgspec.Struct, frozen=True):
    """One frame of the student's own code."""

    file: str
    line: int
    function: str
    source: str


class ErrorEvidence(msgspec.Struct, frozen=True):
    """An exception as data: class names from the most derived up, plain fields, message, own frames."""

    classes: list[str]
    message: str
    fields: dict[str, Any]
    frames: list[Frame]

    @property
    def name(self) -> str:
        return self.classes[0] if self.classes else "Exception"


class Answer(msgspec.Struct, frozen=True):
    """The answer to request number `sequence`: a value, or an error."""

    sequence: int
    value: Any = None
    error: ErrorEvidence | None = None


def of_exception(error: BaseException, root: Path | None) -> ErrorEvidence:
    """Turn an exception into data. Never raises for an ordinary hostile exception object.

    Only frames of files below `root` (the student's folder) are kept, innermost last, and none of the kit's,
    which lies in that folder on a laptop.
    """
    return ErrorEvidence(
        classes=[cls.__name__ for cls in type(error).__mro__ if cls is not object][:20],
        message=_text(_message(error)),
        fields=_plain_fields(error),
        frames=_own_frames(error, root),
    )


def _text(value: str, limit: int = MAX_MESSAGE) -> str:
    clean = value.encode("utf-8", "replace").decode("utf-8")
    return clean if len(clean) <= limit else clean[:limit] + f"… ({len(clean) - limit:,} more characters)"


def _message(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.text:
        column = max((error.offset or 1) - 1, 0)
        line = error.text.rstrip("\n").replace("\t", " ")
        file = Path(error.filename or "?").name
        return f"{error.msg} ({file}, line {error.lineno})\n    {line}\n    {' ' * column}^"
    try:
        return str(error)
    except BaseException as inner:
        return f"(its message could not be read: {type(inner).__name__})"


def _plain_fields(error: BaseException) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    try:
        items = list(vars(error).items())[:20]
    except BaseException:
        return fields
    for key, value in items:
        try:
            fields[_text(str(key), 80)] = wire.decode_answer(wire.encode_answer(value, 64 * 1024))
        except BaseException:
            continue
    return fields


def _own_frames(error: BaseException, root: Path | None) -> list[Frame]:
    frames: list[Frame] = []
    try:
        entries = traceback.extract_tb(error.__traceback__, limit=-200)
    except BaseException:
        return frames
    for entry in entries:
        path = Path(entry.filename)
        if root is None or not path.is_relative_to(root) or path.is_relative_to(_KIT):
            continue
        source = (entry.line or linecache.getline(entry.filename, entry.lineno or 0)).strip()
        frames.append(
            Frame(str(path.relative_to(root)), entry.lineno or 0, _text(entry.name, 80), _text(source, 200))
        )
    return frames[-MAX_FRAMES:]
