"""What the figures share: a drawing with texts of several lines, and the reference solution to draw from."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from assignments import drawing

SOLUTION = Path(__file__).resolve().parents[2] / "solutions" / "a3_machine"
if str(SOLUTION) not in sys.path:
    sys.path.insert(0, str(SOLUTION))


class Drawing(drawing.Drawing):
    """A drawing whose texts may have several lines."""

    def text(self, x: float, y: float, text: str, *, size: int = 13, **style: Any) -> None:
        """Text, one line below the other; (x, y) is on the first baseline, at its start, middle or end."""
        for number, line in enumerate(text.split("\n")):
            super().text(x, y + 20 * number, line, size=size, **style)
