"""Text from student code, made fit for a terminal and for JSON."""

from __future__ import annotations

_PICTURES = {code: 0x2400 + code for code in range(32) if chr(code) not in "\n\t"} | {0x7F: 0x2421}
_PICTURES |= dict.fromkeys(range(0x80, 0xA0), 0xFFFD)


def printable(text: str) -> str:
    """The text with control characters shown as pictures and lone surrogates replaced.

    Nothing in it can move a cursor, set a window's title or end a JSON document.
    """
    return text.encode("utf-8", "replace").decode("utf-8").translate(_PICTURES)
