"""What the figures of handouts are drawn with: boxes, text and arrows, written directly as SVG.

So the files come out the same byte for byte on every machine. Text stays text; room is left for the
widest of the usual sans-serif fonts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

INK, GREY, FAINT, RULE = "#1e293b", "#64748b", "#f1f5f9", "#cbd5e1"
BLUE, GREEN, ORANGE, VIOLET = "#1d4ed8", "#15803d", "#c2410c", "#7e22ce"
RED = "#b91c1c"
PALE = {BLUE: "#dbeafe", GREEN: "#dcfce7", ORANGE: "#ffedd5", VIOLET: "#f3e8ff", GREY: FAINT, INK: "#ffffff"}
PALE[RED] = "#fee2e2"
SANS = "'DejaVu Sans', Verdana, Helvetica, Arial, sans-serif"
MONO = "'DejaVu Sans Mono', Menlo, Consolas, monospace"
LINE = 21  # from one line of text to the next


@dataclass
class Drawing:
    """An SVG of `width` × `height` pixels on white; `title` is read out by screen readers."""

    title: str
    width: int
    height: int
    parts: list[str] = field(default_factory=list)

    def rect(
        self,
        x: float,
        y: float,
        w: float,
        h: float,
        color: str = GREY,
        fill: str = "",
        radius: int = 6,
        line: float = 1.5,
    ) -> None:
        """A box with a border in `color`, filled with a pale tint of it unless `fill` says otherwise."""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{radius}" '
            f'fill="{fill or PALE[color]}" stroke="{color}" stroke-width="{line:g}"/>'
        )

    def text(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: int = 14,
        color: str = INK,
        anchor: str = "start",
        mono: bool = False,
        bold: bool = False,
    ) -> None:
        """One line of text; (x, y) is on its baseline, at its start, middle or end."""
        words = escape(text.lstrip(), quote=False).replace(" ", "\N{NO-BREAK SPACE}")
        x += 0.602 * size * (len(text) - len(text.lstrip()))  # viewers drop spaces in front
        weight = ' font-weight="bold"' if bold else ""
        self.parts.append(
            f'<text x="{x:g}" y="{y:g}" font-family="{MONO if mono else SANS}" font-size="{size}"{weight} '
            f'fill="{color}" text-anchor="{anchor}">{words}</text>'
        )

    def lines(self, x: float, y: float, text: str, **style: object) -> None:
        """Several lines of text, one below the other."""
        for number, line in enumerate(text.split("\n")):
            self.text(x, y + LINE * number, line, **style)  # type: ignore[arg-type]

    def path(
        self, d: str, color: str = GREY, *, arrow: bool = True, dashed: bool = False, width: float = 1.8
    ) -> None:
        """A line or curve, by default with an arrow head at its end."""
        head = f' marker-end="url(#head-{color[1:]})"' if arrow else ""
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<path d="{d}" fill="none" stroke="{color}" stroke-width="{width:g}"{dash}{head}/>')

    def grid(self, x: float, y: float, rows: int, columns: int, color: str, cell: int = 16) -> None:
        """A matrix as little squares."""
        for row in range(rows):
            for column in range(columns):
                self.rect(x + column * cell, y + row * cell, cell, cell, color, radius=0)

    def svg(self) -> bytes:
        """The file."""
        heads = "".join(
            f'<marker id="head-{color[1:]}" viewBox="0 0 10 10" refX="9" refY="5" markerUnits="userSpaceOnUse" '
            f'markerWidth="11" markerHeight="11" orient="auto">'
            f'<path d="M0 0 L10 5 L0 10 z" fill="{color}"/></marker>'
            for color in (INK, GREY, BLUE, GREEN, ORANGE, VIOLET, *([RED] if RED in "".join(self.parts) else []))
        )
        opening = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" height="{self.height}" '
            f'viewBox="0 0 {self.width} {self.height}" role="img" aria-label="{escape(self.title)}">'
        )
        body = [opening, f"<title>{escape(self.title)}</title>", f"<defs>{heads}</defs>"]
        body += ['<rect width="100%" height="100%" fill="#ffffff"/>', *self.parts, "</svg>"]
        return ("\n".join(body) + "\n").encode()


def files(figures: Mapping[str, Callable[[], Drawing]]) -> dict[str, bytes]:
    """Every figure by the name of its file."""
    return {f"{name}.svg": draw().svg() for name, draw in figures.items()}


def write(files: Mapping[str, bytes], folder: Path) -> None:
    """Write files into a folder."""
    folder.mkdir(exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
