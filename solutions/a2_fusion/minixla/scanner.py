"""Walks through a text: names, numbers, lists, with comments skipped and errors that show the place."""

from __future__ import annotations

import re
from collections.abc import Callable

from .errors import ParseError
from .hlo import Attribute

_SKIP = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_NAME = re.compile(r"%?([A-Za-z_][\w.\-]*)")
_INTEGER = re.compile(r"-?\d{1,18}(?!\d)")
_STRING = re.compile(r'"([^"\\\n]*)"')


class Scanner:
    """A text and a place in it. Methods either move the place behind what they found, or raise."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.place = 0

    def fail(self, problem: str, place: int | None = None) -> ParseError:
        """The error that something is wrong, here or at another place."""
        return ParseError(self.text, self.place if place is None else place, problem)

    def skip(self) -> None:
        """Move behind white space and comments."""
        found = _SKIP.match(self.text, self.place)
        if found is not None:
            self.place = found.end()

    def at_end(self) -> bool:
        """Whether only white space and comments are left."""
        self.skip()
        return self.place == len(self.text)

    def match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        """What a pattern finds here, or None."""
        self.skip()
        found = pattern.match(self.text, self.place)
        if found is not None:
            self.place = found.end()
        return found

    def accept(self, word: str) -> bool:
        """Whether the text goes on with a word; if so, move behind it."""
        self.skip()
        if not self.text.startswith(word, self.place):
            return False
        self.place += len(word)
        return True

    def expect(self, word: str, why: str) -> None:
        """Move behind a word that must come."""
        if not self.accept(word):
            raise self.fail(f"{word!r} was expected {why}")

    def name(self, what: str) -> str:
        """A name, without the %."""
        found = self.match(_NAME)
        if found is None:
            raise self.fail(f"{what} was expected here")
        return found[1]

    def integer(self, what: str) -> int:
        """A whole number."""
        found = self.match(_INTEGER)
        if found is None:
            raise self.fail(f"{what} was expected here")
        return int(found[0])

    def listed(self, closing: str, item: Callable[[], None]) -> None:
        """Items with commas between them, up to and with the closing bracket."""
        if self.accept(closing):
            return
        item()
        while self.accept(","):
            item()
        self.expect(closing, "to close the list, or ',' and another item")

    def value(self) -> Attribute:
        """The value of an attribute: numbers in braces, a number, a string or a word."""
        if self.accept("{"):
            numbers: list[int] = []
            self.listed("}", lambda: numbers.append(self.integer("a number")))
            return tuple(numbers)
        if (number := self.match(_INTEGER)) is not None:
            return int(number[0])
        if (string := self.match(_STRING)) is not None:
            return string[1]
        word = self.name('a value (a number, a name, a "string", or numbers in braces)')
        return word == "true" if word in ("true", "false") else word

    def truth(self) -> bool:
        """true or false."""
        value = self.value()
        if not isinstance(value, bool):
            raise self.fail("true or false was expected here")
        return value
