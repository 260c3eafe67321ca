"""Reads a text piece by piece and knows where it is. `parse.py` is written with it.

Blanks and comments (`/* … */`) between pieces are skipped. A *number* is digits, maybe with a minus in
front; a *name* is a letter followed by letters and digits.
"""

from __future__ import annotations

import re
from typing import NoReturn

from .errors import ParseError

_SKIPPED = re.compile(r"(\s|/\*.*?\*/)*", re.DOTALL)
_NUMBER = re.compile(r"-?[0-9]+")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_MAX_DIGITS = 18  # a size of more digits is no size of an array


class Scanner:
    """A text and a position in it. `position` is always at the start of a piece, or at the end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self._advance(0)

    def _advance(self, count: int) -> None:
        match = _SKIPPED.match(self.text, self.position + count)
        self.position = match.end() if match else len(self.text)

    @property
    def at_end(self) -> bool:
        """Whether nothing is left."""
        return self.position >= len(self.text)

    def peek(self) -> str:
        """The next character, `""` at the end."""
        return self.text[self.position : self.position + 1]

    def take(self, character: str) -> bool:
        """Step over this character if it is the next one; returns whether it was."""
        if self.at_end or self.peek() != character:
            return False
        self._advance(1)
        return True

    def expect(self, character: str) -> None:
        """Step over this character, which must be the next one. Raises `ParseError`, rule `"syntax"`."""
        if not self.take(character):
            self.fail("syntax", f"{character!r} must stand here")

    def name(self) -> str:
        """The next name. Raises `ParseError`, rule `"syntax"`, if there is none."""
        return self._piece(_NAME, "a name")

    def number(self) -> int:
        """The next number. Raises `ParseError`, rule `"syntax"`, if there is none."""
        start = self.position
        digits = self._piece(_NUMBER, "a number")
        if len(digits.lstrip("-")) > _MAX_DIGITS:
            self.fail("syntax", f"a number of more than {_MAX_DIGITS} digits", start)
        return int(digits)

    def _piece(self, pattern: re.Pattern[str], what: str) -> str:
        match = pattern.match(self.text, self.position)
        if match is None:
            self.fail("syntax", f"{what} must stand here")
        self._advance(len(match[0]))
        return match[0]

    def fail(self, rule: str, problem: str, position: int | None = None) -> NoReturn:
        """Raise `ParseError` at `position`, by default here."""
        raise ParseError(self.position if position is None else position, rule, problem, self.text)
