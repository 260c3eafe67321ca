"""Draws the pictures of the handout: `python -m assignments.a4_layout.figures` writes `figures/*.svg`."""

from __future__ import annotations

from pathlib import Path

from assignments import drawing
from assignments.drawing import BLUE, FAINT, GREEN, GREY, INK, ORANGE, RULE, Drawing

FOLDER = Path(__file__).with_name("figures")


class TileMap(Drawing):
    """A drawing with square corners, and cells coloured by address."""

    def rect(
        self,
        x: float,
        y: float,
        w: float,
        h: float,
        color: str = GREY,
        fill: str = "",
        radius: int = 0,
        line: float = 1.5,
    ) -> None:
        """A box with sharp corners."""
        super().rect(x, y, w, h, color, fill, radius, line)

    def cell(self, x: float, y: float, size: float, slot: int | None, slots: int, height: float = 0) -> None:
        """A square with a slot's number, coloured by how far into memory it is; `None` is padding."""
        high = height or size
        if slot is None:
            self.rect(x, y, size, high, RULE, "#ffffff", line=1)
            self.path(f"M{x:g} {y + high:g} L{x + size:g} {y:g}", RULE, arrow=False, width=1)
            return
        self.rect(x, y, size, high, "#ffffff", shade(slot / max(1, slots - 1)), line=1)
        dark = slot / max(1, slots - 1) > 0.55
        style = {"size": 13, "anchor": "middle", "mono": True, "color": "#ffffff" if dark else INK}
        self.text(x + size / 2, y + high / 2 + 5, str(slot), **style)


def shade(share: float) -> str:
    """From pale yellow at the start of memory to dark blue at its end."""
    low, middle, high = (254, 249, 195), (56, 178, 172), (30, 58, 138)
    first, second, part = (low, middle, 2 * share) if share < 0.5 else (middle, high, 2 * share - 1)
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(first, second, strict=True))


def tiles() -> TileMap:
    """f32[3,5]{1,0:T(2,2)}: the array with its slots, and memory."""
    d = TileMap("f32[3,5] in tiles of 2 by 2: the slot of each element, and the memory with its padding", 860, 352)
    d.text(24, 34, "f32[3,5]{1,0:T(2,2)}", mono=True, bold=True, size=16)
    size, left, top = 46, 60, 66
    place = {}
    for row in range(4):
        for column in range(6):
            slot = 4 * (3 * (row // 2) + column // 2) + 2 * (row % 2) + column % 2
            inside = row < 3 and column < 5
            place[slot] = inside
            d.cell(left + size * column, top + size * row, size, slot if inside else None, 24)
    for row in range(2):
        for column in range(3):
            d.parts.append(
                f'<rect x="{left + 2 * size * column}" y="{top + 2 * size * row}" width="{2 * size}" '
                f'height="{2 * size}" fill="none" stroke="{INK}" stroke-width="2.5"/>'
            )
    for column in range(5):
        d.text(left + size * (column + 0.5), top - 8, str(column), anchor="middle", size=12, color=GREY)
    for row in range(3):
        d.text(left - 12, top + size * (row + 0.5) + 5, str(row), anchor="end", size=12, color=GREY)
    notes = (
        "A tile of 2 × 2 covers the array,\nrow by row. Tiles come whole, so\n3 × 5 becomes 4 × 6: 24 slots,\n"
        "of which 9 are padding (struck out).\n\nInside a tile, the elements are\nstored row by row, too.\n\n"
        "Element (2, 3): tile (1, 1) is the\nfifth, so 4 · 4; place (0, 1) in it\nis the second: slot 17."
    )
    d.lines(390, 84, notes, size=14)
    d.text(24, 296, "memory", color=GREY, size=13)
    for slot in range(24):
        x = 24 + 33.6 * slot
        d.cell(x, 306, 33.6, slot if place[slot] else None, 24, height=30)
        if slot % 4 == 0:
            d.path(f"M{x:g} 302 V340", INK, arrow=False, width=2.5)
    d.path(f"M{24 + 33.6 * 24:g} 302 V340", INK, arrow=False, width=2.5)
    return d


def pairs() -> TileMap:
    """bf16 T(8,128)(2,1): two rows share the words of a register's row."""
    d = TileMap("bf16[8,128] with and without the sub-tile (2,1): which elements share a 32-bit word", 900, 404)
    for number, (name, note) in enumerate(
        [
            ("bf16[8,128]{1,0:T(8,128)}", "without a sub-tile, neighbours of a row\nshare a word"),
            ("bf16[8,128]{1,0:T(8,128)(2,1)}", "with (2,1), an element shares its word\nwith the one below it"),
        ]
    ):
        left = 24 + 450 * number
        d.text(left, 32, name, mono=True, bold=True, size=15)
        d.lines(left, 56, note, size=13, color=GREY)
        for row in range(4):
            d.text(left + 6, 122 + 40 * row, str(row), size=12, color=GREY)
            for column in range(6):
                slot = row * 128 + column if number == 0 else row // 2 * 256 + 2 * column + row % 2
                d.cell(left + 24 + 58 * column, 97 + 40 * row, 58, slot, 520, height=40)
            d.text(left + 380, 122 + 40 * row, "…", size=14, color=GREY)
        words = (
            [(r, c) for r in range(4) for c in (0, 2, 4)]
            if number == 0
            else [(r, c) for r in (0, 2) for c in range(6)]
        )
        for row, column in words:
            wide, high = (116, 40) if number == 0 else (58, 80)
            d.parts.append(
                f'<rect x="{left + 24 + 58 * column}" y="{97 + 40 * row}" width="{wide}" height="{high}" '
                f'fill="none" stroke="{ORANGE}" stroke-width="2.5"/>'
            )
        d.text(left + 6, 284, "⋮", size=16, color=GREY)
    d.rect(24, 306, 14, 14, ORANGE, "#ffffff", line=2.5)
    d.text(46, 318, "a 32-bit word of the register: it lies in one lane", size=13)
    d.lines(
        24,
        348,
        "A register has 8 sublanes of 128 lanes, and a lane holds one word. In the right picture, lane c holds\n"
        "elements of column c alone, as it does for f32: adding a row to a row needs no data to change lanes.",
        size=13,
    )
    return d


def levels() -> TileMap:
    """bf16[2048]{0:T(1024)(128)(2,1)}: the chain of shapes and the way of one index."""
    d = TileMap(
        "The chain of shapes of bf16[2048] with tiles (1024)(128)(2,1), and the way of index 1153", 900, 388
    )
    d.text(24, 34, "bf16[2048]{0:T(1024)(128)(2,1)}", mono=True, bold=True, size=16)
    d.text(470, 34, "the shape", bold=True, color=BLUE, anchor="middle")
    d.text(748, 34, "element 1153", bold=True, color=ORANGE, anchor="middle")
    rows = [
        ("", "the array", ["2048"], ["1153"]),
        ("T(1024)", "takes the last dimension", ["2", "1024"], ["1", "129"]),
        ("(128)", "takes the last dimension again", ["2", "8", "128"], ["1", "1", "1"]),
        ("(2,1)", "takes the last two: 8 and 128", ["2", "4", "128", "2", "1"], ["1", "0", "1", "1", "0"]),
    ]
    for number, (tile, note, shape, index) in enumerate(rows):
        y = 58 + 70 * number
        if tile:
            d.text(24, y + 16, tile, mono=True, bold=True, size=15)
        d.text(24, y + (36 if tile else 26), note, size=13, color=GREY)
        for values, middle, color in ((shape, 470, BLUE), (index, 748, ORANGE)):
            width = 46
            left = middle - width * len(values) / 2
            for i, value in enumerate(values):
                d.rect(left + width * i, y, width, 36, color)
                d.text(left + width * (i + 0.5), y + 23, value, mono=True, anchor="middle", size=13)
            if number < 3:
                d.path(f"M{middle} {y + 38} V{y + 67}", color)
    d.lines(
        24,
        340,
        "The last shape is stored row by row: (((1 · 4 + 0) · 128 + 1) · 2 + 1) · 1 + 0 = slot 1027.\n"
        "The counts of all tiled dimensions come first, then the tile's dimensions. The last tile pairs\n"
        "rows that only the second tile has made.",
        size=13,
    )
    return d


def waste() -> TileMap:
    """How much of some arrays is data."""
    d = TileMap("How much of an array is data in its default tile", 860, 342)
    d.text(24, 32, "what is data, in the default tile: T(8,128) for f32, T(16,128) for bf16", bold=True)
    bars = [
        ("f32[1024,128]", "heads of 128", 100.0),
        ("bf16[24,100]", "32 × 128 slots", 58.6),
        ("f32[1024,64]", "heads of 64: half of the lanes", 50.0),
        ("bf16[4,1024]", "a batch of 4 in 16 rows", 25.0),
        ("f32[1,4096]", "one row of 8 sublanes", 12.5),
        ("f32[n,1,1]", "one element for each register", 100 / 1024),
    ]
    for number, (name, note, share) in enumerate(bars):
        y = 52 + 46 * number
        d.text(24, y + 21, name, mono=True, size=14)
        d.rect(180, y, 380, 32, GREY, FAINT, line=1)
        d.rect(180, y, max(2, 3.8 * share), 32, BLUE, "#3b82f6", line=1)
        d.text(572, y + 21, f"{share:.1f} %", mono=True, size=14, bold=True)
        d.text(648, y + 21, note, size=12, color=GREY)
    d.text(
        180, 334, "blue: elements; grey: padding, which is stored, moved and computed with, all the same", size=13
    )
    return d


def chain() -> TileMap:
    """A plan of three steps."""
    d = TileMap("A plan: from f32[3,1,128]{2,1,0:T(8,128)} to {2,0,1:T(4,128)(2,1)} in three steps", 900, 300)
    boxes = [
        ("{2,1,0:T(8,128)}", "3 planes of one row each,\n8 rows with padding", "12,288 bytes"),
        ("{2,1,0}", "3 rows, no padding", "1,536 bytes"),
        ("{2,0,1}", "the same 3 rows: the unit\ndimension moved for nothing", "1,536 bytes"),
        ("{2,0,1:T(4,128)(2,1)}", "one plane of 3 rows,\n4 with padding, in pairs", "2,048 bytes"),
    ]
    steps = [("retile", "17,920", ORANGE), ("bitcast", "0", GREEN), ("retile", "7,680", ORANGE)]
    d.text(24, 32, "f32[3,1,128]", mono=True, bold=True, size=16)
    for number, (layout, note, size) in enumerate(boxes):
        x, y = 24 + 220 * number, 60
        d.rect(x, y, 192, 118, BLUE)
        d.text(x + 96, y + 26, layout, mono=True, size=12, anchor="middle", bold=True)
        d.lines(x + 96, y + 54, note, size=12, anchor="middle")
        d.text(x + 96, y + 106, size, size=13, anchor="middle", color=GREY)
        if number < 3:
            kind, cost, color = steps[number]
            d.path(f"M{x + 193} {y + 59} H{x + 218}", color, width=2.5)
            d.text(x + 206, 204, kind, size=13, bold=True, color=color, anchor="middle")
            d.text(x + 206, 224, cost, size=13, mono=True, color=color, anchor="middle")
    d.lines(
        24,
        262,
        "A copy costs the bytes read and written, and 4,096 for each register of the result that is shuffled\n"
        "(one in each of the two copies here). Together 25,600.",
        size=13,
    )
    return d


def graph() -> TileMap:
    """Choices of layouts in a small graph."""
    d = TileMap("Three nodes with choices of layouts: the best choice of one is dear for another", 860, 320)
    rows = [
        ("x", 40, "a parameter", ["makes rows"], 0),
        ("norm", 300, "reduces along rows", ["wants columns, makes columns"], 0),
        ("up", 580, "a product", ["wants rows, makes rows", "wants columns, makes columns"], 1),
    ]
    for name, x, note, choices, chosen in rows:
        wide = 150 if name == "x" else 240
        d.rect(x, 84, wide, 46 + 38 * len(choices), GREY, "#ffffff")
        d.text(x + 12, 108, name, mono=True, bold=True, size=15)
        d.text(x + wide - 12, 108, note, size=12, color=GREY, anchor="end")
        for number, choice in enumerate(choices):
            color = GREEN if number == chosen else GREY
            d.rect(x + 8, 120 + 38 * number, wide - 16, 32, color)
            d.text(x + wide / 2, 141 + 38 * number, f"{number}: {choice}", size=12, anchor="middle")
    d.path("M191 136 H298", ORANGE, width=2.5)
    d.text(245, 126, "copy", size=13, color=ORANGE, anchor="middle", bold=True)
    d.path("M541 136 C560 136 560 174 578 174", GREEN, width=2.5)
    d.text(554, 204, "free", size=13, color=GREEN, anchor="middle", bold=True)
    d.text(40, 54, "rows: {1,0:T(8,128)(2,1)}    columns: {0,1:T(8,128)(2,1)}", mono=True, size=13)
    d.lines(
        40,
        252,
        "The copy before norm cannot be avoided. Whether up should take columns, too, depends on all that comes\n"
        "after it: the greedy way looks at the edges behind a node only, and pays later.",
        size=13,
    )
    return d


def files() -> dict[str, bytes]:
    """All pictures by file name."""
    figures = {"tiles": tiles, "pairs": pairs, "levels": levels, "waste": waste, "chain": chain, "graph": graph}
    return drawing.files(figures)


if __name__ == "__main__":
    drawing.write(files(), FOLDER)
