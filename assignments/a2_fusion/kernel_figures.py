"""The handout's figures of kernels: what is in them, what they read and write, and what one cannot hold."""

from __future__ import annotations

from assignments.a2_fusion.measured import KIB, MIB, attention, gelu, mebibytes
from assignments.drawing import BLUE, GREEN, GREY, INK, ORANGE, VIOLET, Drawing

_GELU = [  # text, column, row, rows read (by number); the first row is 0
    ("dot x w", 0, 0, ()),
    ("add b", 0, 1, (0,)),
    ("multiply 0.5", 1, 2, (1,)),
    ("multiply", 0, 2, (1,)),
    ("multiply", 0, 3, (3, 1)),
    ("multiply 0.045", 0, 4, (4,)),
    ("add", 0, 5, (5, 1)),
    ("multiply 0.798", 0, 6, (6,)),
    ("tanh", 0, 7, (7,)),
    ("add 1", 0, 8, (8,)),
    ("multiply", 0, 9, (9, 2)),
    ("add", 0, 10, (10,)),
    ("multiply 0.5", 0, 11, (11,)),
]


def _gelu_graph(d: Drawing, left: int, color: str, fused: bool) -> None:
    """The 13 equations below x, w and b."""
    step, height, wide = 44, 26, 122
    middle = {n: left + 104 + 148 * column for n, (_, column, _, _) in enumerate(_GELU)}
    top = {n: 132 + step * row for n, (_, _, row, _) in enumerate(_GELU)}
    if fused:
        d.rect(left + 6, 112, 326, 534, ORANGE)
    weight = 1.2 if fused else 2.4
    for name, x in (("x", left + 82), ("w", left + 126), ("b", left + 16)):
        d.text(x, 84, name, mono=True, bold=True, color=VIOLET, anchor="middle")
    for x in (left + 82, left + 126):
        d.path(f"M{x} 90 V{top[0] - 1}", VIOLET, width=2.4)
    d.path(f"M{left + 16} 90 V{top[1] + 13} H{middle[1] - wide / 2 - 1}", VIOLET, width=2.4)
    for number, (_, _, _, reads) in enumerate(_GELU):
        for source in reads:
            x, y = middle[number], top[number]
            if source == 1 and number not in (2, 3):  # h, from the side
                side = left + 26
                d.path(
                    f"M{middle[1] - wide / 2} {top[1] + 20} H{side} V{y + 13} H{x - wide / 2 - 1}",
                    color,
                    width=weight,
                )
            elif number == 2:
                d.path(f"M{middle[1] + wide / 2} {top[1] + 13} H{x} V{y - 1}", color, width=weight)
            elif source == 2:
                d.path(f"M{middle[2]} {top[2] + height} V{y + 13} H{x + wide / 2 + 1}", color, width=weight)
            else:
                d.path(f"M{x} {top[source] + height} V{y - 1}", color, width=weight)
    for number, (text, _, _, _) in enumerate(_GELU):
        d.rect(middle[number] - wide / 2, top[number], wide, height, GREY if fused else INK, "#ffffff", radius=4)
        d.text(middle[number], top[number] + 18, text, mono=True, size=13, anchor="middle")
    d.path(f"M{middle[12]} {top[12] + height} V{top[12] + 60}", color, width=2.4)


def gelu_graph() -> Drawing:
    """The GELU layer: 13 kernels, and one."""
    before, after = gelu()["dce"], gelu()["fusion"]
    d = Drawing("The GELU layer before fusion, 13 kernels, and after it, one kernel", 900, 690)
    d.text(30, 34, f"before fusion: {before.kernels} kernels, {before.bytes / KIB:,.0f} KiB", bold=True)
    d.text(30, 56, "every arrow goes through memory", size=13, color=GREY)
    d.text(490, 34, f"after: {after.kernels} kernel, {after.bytes / KIB:,.0f} KiB", bold=True, color=ORANGE)
    d.text(490, 56, "only the arrows that cross its border do", size=13, color=GREY)
    _gelu_graph(d, 20, INK, fused=False)
    _gelu_graph(d, 480, ORANGE, fused=True)
    d.lines(
        350,
        336,
        "each arrow is\nf32[64,256],\n64 KiB, written\nonce and read\nas often as it\nhas readers",
        size=13,
        color=GREY,
    )
    d.lines(826, 138, "x  32 KiB\nw 128 KiB\nb   1 KiB", size=13, color=VIOLET)
    d.text(826, 660, "64 KiB", size=13, color=ORANGE)
    return d


def attention_kernels() -> Drawing:
    """What each of attention's kernels reads and writes."""
    _, fused = attention()
    d = Drawing("Attention as three kernels: what each reads from memory and writes to it", 900, 452)
    d.rect(20, 44, 860, 92, GREY)
    d.text(20, 32, "HBM: arrays in memory", bold=True, color=GREY)
    arrays = [
        ("mask", "1 MiB", VIOLET, 34, 82),
        ("q", "2 MiB", VIOLET, 124, 66),
        ("k", "2 MiB", VIOLET, 198, 66),
        ("s", "4 MiB", ORANGE, 306, 110),
        ("m", "4 KiB", ORANGE, 426, 66),
        ("l", "4 KiB", GREEN, 548, 66),
        ("v", "2 MiB", VIOLET, 656, 66),
        ("out", "2 MiB", ORANGE, 786, 80),
    ]
    at = {}
    for name, size, color, x, wide in arrays:
        d.rect(x, 58, wide, 64, color)
        d.text(x + wide / 2, 84, name, mono=True, bold=True, color=color, anchor="middle")
        d.text(x + wide / 2, 108, size, size=13, anchor="middle")
        at[name] = x, wide
    kernels = [
        (
            ORANGE,
            "kOutput",
            "q · k\N{MODIFIER LETTER SMALL T}\nselect(mask, ·, -1e38)\nmax of each row",
            ("mask", "q", "k"),
            ("s", "m"),
            20,
        ),
        (GREEN, "kInput", "e = exp(s - m)\nsum of each row\n(e is never stored)", ("s", "m"), ("l",), 322),
        (ORANGE, "kOutput", "e = exp(s - m), again\ne / l\n· v", ("s", "m", "l", "v"), ("out",), 624),
    ]
    for number, ((color, kind, work, reads, writes, x), cost) in enumerate(
        zip(kernels, fused, strict=True), start=1
    ):
        d.rect(x, 262, 256, 146, color)
        d.text(x + 14, 288, f"kernel {number}", bold=True, color=color)
        d.text(x + 242, 288, kind, mono=True, size=13, color=color, anchor="end")
        d.lines(x + 14, 316, work, mono=True, size=13)
        d.text(x + 14, 396, mebibytes(cost.bytes), bold=True)
        d.text(x + 242, 396, f"{cost.microseconds:.2f} \N{MICRO SIGN}s", size=13, color=GREY, anchor="end")
        ends = len(reads) + len(writes)
        for place, name in enumerate((*reads, *writes)):
            left, wide = at[name]
            share = (number - 1) / 2 if name in ("s", "m") else (number - 2) if name == "l" else 0.5
            source = left + 14 + (wide - 28) * (share if name != "l" else min(max(share, 0), 1))
            target = x + 24 + 208 * place / (ends - 1)
            if name in writes:
                d.path(f"M{target:g} 260 C{target:g} 200 {source:g} 190 {source:g} 124", color, width=2.2)
            else:
                d.path(f"M{source:g} 122 C{source:g} 190 {target:g} 200 {target:g} 260", GREY, width=1.6)
    total = sum(kernel.bytes for kernel in fused)
    d.text(
        450,
        440,
        f"together {total / MIB:.2f} MiB; unfused {sum(k.bytes for k in attention()[0]) / MIB:.2f} MiB",
        anchor="middle",
    )
    return d


def traffic() -> Drawing:
    """Bars of the bytes of attention's kernels, unfused and fused."""
    unfused, fused = attention()
    d = Drawing("Bytes that each kernel of attention moves, unfused and fused", 900, 398)
    names = {
        "transpose": "transpose k",
        "select": "select",
        "subtract": "s - m",
        "exponential": "exp",
        "divide": "e / l",
    }
    dots, reduces = iter(("dot q k\N{MODIFIER LETTER SMALL T}", "dot · v")), iter(("max", "sum"))
    labels = [
        next(dots) if k.name == "dot" else next(reduces) if k.name == "reduce" else names[k.name] for k in unfused
    ]
    scale = 260 / max(kernel.bytes for kernel in (*unfused, *fused))
    for left, rows, texts, color, what in (
        (20, unfused, labels, INK, "unfused"),
        (490, fused, ["scores, max", "exp, sum", "exp, / l, · v"], ORANGE, "fused"),
    ):
        total = sum(kernel.bytes for kernel in rows) / MIB
        many = f"{len(rows)} kernels, {total:.2f} MiB"
        d.text(left, 34, f"{what}: {many}", bold=True, color=color)
        for number, (kernel, text) in enumerate(zip(rows, texts, strict=True)):
            y = 54 + 36 * number
            d.text(left + 100, y + 18, text, size=13, anchor="end")
            d.rect(left + 108, y, scale * kernel.bytes, 26, color if color != INK else GREY, radius=2)
            d.text(left + 116 + scale * kernel.bytes, y + 18, f"{kernel.bytes / MIB:.2f}", size=13, color=GREY)
    d.text(598, 190, "MiB read and written", size=13, color=GREY)
    d.lines(598, 220, "the exponentials are computed\ntwice and stored never", size=13, color=GREY)
    return d


def one_pass() -> Drawing:
    """Why a row's statistic cannot be broadcast back in the kernel that computes it."""
    d = Drawing(
        "A row's maximum is known when the row has been read, so using it on the row takes a second pass", 900, 400
    )
    cell, columns = 26, 7

    def row(x: float, y: float, done: int, color: str) -> None:
        for column in range(columns):
            d.rect(x + cell * column, y, cell, cell, color if column < done else GREY, radius=0)

    d.text(20, 34, "one kernel: not possible", bold=True, color=ORANGE)
    d.rect(20, 50, 400, 330, ORANGE, "#ffffff")
    d.text(36, 80, "m = max(s), by rows;   s - m", mono=True, size=13)
    d.text(36, 116, "the loop is here", size=13, color=GREY)
    d.path(f"M{62 + 3 * cell} 122 V136", INK)
    row(36, 138, 3, BLUE)
    d.text(36 + cell * columns + 14, 156, "one row of s", size=13, color=GREY)
    d.path(f"M{49 + 2 * cell} 166 V196 H118", BLUE)
    d.rect(120, 180, 140, 32, BLUE)
    d.text(190, 201, "max so far", size=13, anchor="middle")
    d.path("M49 166 V256 H118", ORANGE, dashed=True)
    d.path("M190 214 V238", ORANGE, dashed=True)
    d.rect(120, 240, 140, 32, ORANGE)
    d.text(190, 261, "s[0] - m", mono=True, size=13, anchor="middle")
    d.text(272, 261, "needs m now", size=13, color=ORANGE)
    d.lines(
        36,
        308,
        "m is known only after the last column;\nby then s[0] has left the registers.\n"
        "Reading it again is another pass.",
        size=13,
    )
    d.text(460, 34, "two kernels: one pass each", bold=True, color=GREEN)
    d.rect(460, 50, 420, 330, GREEN, "#ffffff")
    d.text(476, 80, "kernel 1", bold=True, color=BLUE)
    row(476, 94, columns, BLUE)
    d.path(f"M{480 + cell * columns} 107 H714", BLUE)
    d.rect(716, 91, 150, 32, BLUE)
    d.text(791, 112, "m: one number a row", size=12, anchor="middle")
    d.path("M791 125 V208", INK)
    d.text(801, 160, "through", size=12, color=GREY)
    d.text(801, 176, "memory", size=12, color=GREY)
    d.text(476, 196, "kernel 2", bold=True, color=GREEN)
    row(476, 210, columns, GREEN)
    d.text(476 + cell * columns + 8, 228, "-", bold=True)
    d.rect(716, 210, 150, 32, GREEN)
    d.text(791, 231, "m, broadcast", size=12, anchor="middle")
    d.path(f"M{480 + cell * columns + 20} 226 H714", GREY, arrow=False, dashed=True)
    d.lines(
        476,
        278,
        "What is as small as m may follow it in kernel 1:\nlog(m), m · 0.5. What has the elements of s again\n"
        "may not. A dot's result may be reduced in the\nkernel that makes it: that is the same pass.",
        size=13,
    )
    return d
