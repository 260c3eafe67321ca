"""What a worker prints: kept at both ends, and made fit to read."""

from __future__ import annotations

from autograder.printable import printable


class Output:
    """What a worker printed: the first and the last half of the limit, with a count of what was cut."""

    def __init__(self, limit: int) -> None:
        self.half = limit // 2
        self.head, self.tail, self.total = bytearray(), bytearray(), 0

    def add(self, data: bytes) -> None:
        """Keep what fits."""
        self.total += len(data)
        room = max(self.half - len(self.head), 0)
        self.head += data[:room]
        self.tail += data[room:]
        del self.tail[: -self.half]

    def text(self) -> str:
        """The output as text: undecodable bytes replaced, control characters shown."""
        cut = self.total - len(self.head) - len(self.tail)
        gap = f"\n… {cut:,} bytes left out …\n".encode() if cut else b""
        return printable(bytes(self.head + gap + self.tail).decode("utf-8", "replace"))
