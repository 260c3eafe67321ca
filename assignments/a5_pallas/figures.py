"""Draws the pictures of the handout: `python -m assignments.a5_pallas.figures` writes `figures/*.svg`."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from assignments import drawing
from assignments.drawing import BLUE, GREEN, GREY, INK, ORANGE, RULE, VIOLET, Drawing


def pipeline() -> Drawing:
    """HBM, VMEM and a kernel: what a grid step does."""
    d = Drawing(
        "A grid step: blocks are copied from HBM to VMEM, the kernel works there, and blocks go back", 900, 350
    )
    d.text(20, 34, "HBM: whole arrays", bold=True, color=GREY)
    d.rect(20, 50, 240, 270, GREY)
    for top, name, color, chosen in ((70, "a", BLUE, (1, 2)), (152, "b", BLUE, (2, 0)), (234, "y", GREEN, (1, 0))):
        d.text(40, top + 38, name, mono=True, bold=True)
        for row in range(3):
            for column in range(4):
                shade = color if (row, column) == chosen else INK
                d.rect(70 + 40 * column, top + 22 * row, 40, 22, shade, radius=0)
    d.text(360, 34, "VMEM: two buffers for each block", bold=True, color=VIOLET)
    d.rect(360, 50, 250, 270, VIOLET)
    for top, name, color in ((74, "a_ref", BLUE), (156, "b_ref", BLUE), (238, "y_ref", GREEN)):
        d.rect(380, top, 96, 46, color)
        d.text(428, top + 28, name, mono=True, bold=True, anchor="middle")
        d.rect(488, top + 6, 96, 34, GREY)
        d.text(536, top + 28, "next" if color == BLUE else "last", size=13, color=GREY, anchor="middle")
    d.path("M152 103 C230 103 300 97 378 97", BLUE)
    d.path("M112 207 C220 207 300 179 378 179", BLUE)
    d.path("M378 267 C300 267 200 267 114 267", GREEN)
    d.text(310, 84, "index map", size=13, color=BLUE, anchor="middle")
    d.text(310, 292, "when its", size=13, color=GREEN, anchor="middle")
    d.text(310, 309, "index changes", size=12, color=GREEN, anchor="middle")
    d.text(670, 34, "the kernel, at each step", bold=True)
    d.rect(670, 90, 210, 150, INK)
    d.lines(
        684,
        118,
        "for i in range(gi):\n  for j in range(gj):\n    kernel(a_ref,\n           b_ref,\n           y_ref)",
        mono=True,
    )
    d.path("M612 130 H668", INK)
    d.path("M668 210 H612", INK)
    d.text(670, 270, "The last axis of the grid", size=13, color=GREY)
    d.text(670, 288, "moves fastest.", size=13, color=GREY)
    return d


STEPS = (2, 2, 3)
"""The grid of the product in `walk`: (i, j, k)."""


def walk() -> Drawing:
    """The grid walk of a product, with fetches marked."""
    d = Drawing("The twelve steps of a product's grid, and which blocks each of them fetches and writes", 900, 420)
    d.text(20, 34, "grid (i, j, k) = (2, 2, 3): k moves fastest", bold=True)
    left, width = 130, 62
    points = [(i, j, k) for i in range(STEPS[0]) for j in range(STEPS[1]) for k in range(STEPS[2])]
    rows = [
        ("step", lambda p: "".join(map(str, p)), GREY, 60),
        ("a (i, k)", lambda p: f"{p[0]},{p[2]}", BLUE, 120),
        ("b (k, j)", lambda p: f"{p[2]},{p[1]}", BLUE, 186),
        ("y (i, j)", lambda p: f"{p[0]},{p[1]}", GREEN, 252),
    ]
    for label, index, color, top in rows:
        d.text(20, top + 24, label, mono=True, bold=True)
        before = None
        for number, point in enumerate(points):
            now, x = index(point), left + width * number
            fetched = now != before and color == BLUE
            last = number + 1 == len(points) or index(points[number + 1]) != now
            shade = color if fetched or (color == GREEN and last) else INK
            if color == GREY:
                d.text(x + 26, top + 24, now, mono=True, anchor="middle", color=GREY)
            else:
                d.rect(x, top, 54, 38, shade)
                d.text(x + 27, top + 24, now, mono=True, bold=shade != INK, anchor="middle")
            before = now
    d.rect(130, 322, 30, 22, BLUE)
    d.text(170, 338, "fetched: the index differs from the step before", size=13)
    d.rect(130, 352, 30, 22, GREEN)
    d.text(170, 368, "written back: the index differs from the step behind", size=13)
    d.text(
        130,
        400,
        "12 blocks of a and 12 of b are fetched, 4 of y written: all of a twice, all of b twice.",
        size=13,
    )
    return d


def online() -> Drawing:
    """The state of an online softmax over three blocks of keys."""
    scores = ((1.0, 3.0), (2.0, 0.0), (5.0, 4.0))
    d = Drawing("The state of an online softmax for one query, over three blocks of two keys", 900, 400)
    d.text(
        20,
        34,
        "one query, three blocks of two keys; every value v is 1, so that the sum and l are the same",
        size=13,
    )
    columns = (20, 200, 290, 480, 700)
    heads = ("scores s", "m", "exp(m_old − m_new)", "l", "sum of exp(s − m)·v")
    for x, head in zip(columns, heads, strict=True):
        d.text(x, 76, head, bold=True, color=GREY, size=13)
    d.path("M20 88 H880", RULE, arrow=False, width=1)
    m, total = -math.inf, 0.0
    d.text(columns[1], 118, "−inf", mono=True)
    d.text(columns[3], 118, "0", mono=True)
    d.text(columns[4], 118, "0", mono=True)
    d.text(columns[0], 118, "at first", size=13, color=GREY)
    for number, block in enumerate(scores):
        y = 138 + 74 * number
        new = max(m, *block)
        rescale = math.exp(m - new)
        parts = sum(math.exp(s - new) for s in block)
        d.rect(20, y, 150, 44, BLUE)
        d.text(95, y + 28, f"{block[0]:g}   {block[1]:g}", mono=True, anchor="middle")
        grows = new > m
        d.rect(columns[1] - 8, y, 66, 44, ORANGE if grows else GREY)
        d.text(columns[1] + 25, y + 28, f"{new:g}", mono=True, bold=grows, anchor="middle")
        d.text(columns[2], y + 28, f"{rescale:.3f}", mono=True, color=ORANGE if grows else INK)
        d.text(columns[3], y + 28, f"{total:.3f}·{rescale:.3f} + {parts:.3f}", mono=True, size=13)
        m, total = new, total * rescale + parts
        d.text(columns[3], y + 50, f"= {total:.3f}", mono=True, bold=True, size=13)
        d.rect(columns[4] - 8, y, 120, 44, VIOLET)
        d.text(columns[4] + 52, y + 28, f"{total:.3f}", mono=True, anchor="middle")
    d.text(
        20,
        382,
        "When m grows, both sums shrink. At the end: output = sum / l, log-sum-exp = m + log l",
        bold=True,
        size=13,
    )
    d.text(700, 382, f"= {m + math.log(total):.3f}", mono=True, size=13)
    return d


def splash() -> Drawing:
    """The block map of a causal mask, and what the walk fetches."""
    d = Drawing(
        "The blocks of a causal mask of 64 in blocks of 16: skip, partial, full, and what is fetched", 900, 400
    )
    d.text(20, 34, "kinds: 0 skip, 1 partial, 2 full", bold=True)
    cell = 76
    colors = {0: INK, 1: ORANGE, 2: GREEN}
    for i in range(4):
        for j in range(4):
            kind = 2 if j < i else 1 if j == i else 0
            x, y = 60 + cell * j, 66 + cell * i
            d.rect(x, y, cell - 6, cell - 6, colors[kind], radius=0)
            if kind == 1:
                d.path(f"M{x} {y} L{x + cell - 6} {y + cell - 6}", ORANGE, arrow=False)
                d.text(x + 16, y + 58, "1", mono=True, bold=True)
            else:
                d.text(
                    x + 35,
                    y + 40,
                    str(kind),
                    mono=True,
                    bold=kind == 2,
                    anchor="middle",
                    color=GREY if not kind else INK,
                )
    for n in range(4):
        d.text(95 + cell * n, 58, f"kv {n}", size=13, color=GREY, anchor="middle")
        d.text(20, 106 + cell * n, f"q {n}", size=13, color=GREY)
    d.text(430, 34, "next_kv: what VMEM holds at each step", bold=True, color=BLUE)
    order = [[0, 0, 0, 0], [0, 1, 0, 0], [0, 1, 2, 0], [0, 1, 2, 3]]
    before, fetched = None, 0
    for i in range(4):
        for j in range(4):
            x, y = 430 + 62 * j, 66 + cell * i
            now = order[i][j]
            d.rect(x, y + 14, 54, 40, BLUE if now != before else INK)
            d.text(
                x + 27,
                y + 40,
                str(now),
                mono=True,
                anchor="middle",
                bold=now != before,
                color=INK if j <= i else GREY,
            )
            fetched += now != before
            before = now
    d.rect(708, 80, 30, 22, BLUE)
    d.text(748, 96, "fetched", size=13)
    d.lines(
        708,
        140,
        f"10 blocks are computed,\n{fetched} are fetched. A step\nthat is skipped names\n"
        "the next block that is\nneeded: no block comes\nfor nothing.",
        size=13,
    )
    d.lines(708, 286, "All partial blocks look\nalike: one pattern.", size=13)
    return d


TILES = (
    ("128³", 128, 128, 128),
    ("256³", 256, 256, 256),
    ("512³", 512, 512, 512),
    ("1024·512·1024", 1024, 512, 1024),
)


def roofline() -> Drawing:
    """The roofline of a v5e with tiles of a bfloat16 product."""
    d = Drawing("The roofline of a v5e: tiles of a product left of the ridge wait for memory", 900, 440)
    peak, bandwidth = 197e12, 820e9
    ridge = peak / bandwidth

    def x(intensity: float) -> float:
        return 100 + 150 * (math.log2(intensity) - 4)

    def y(flops: float) -> float:
        return 70 + 62 * (math.log2(peak) - math.log2(flops))

    d.path("M100 380 V40", INK)
    d.path("M100 380 H870", INK)
    d.text(112, 38, "TFLOP/s", size=13, color=GREY)
    d.text(870, 418, "FLOPs for each byte fetched", size=13, color=GREY, anchor="end")
    for power in range(4, 10):
        d.path(f"M{x(2**power):g} 380 V386", INK, arrow=False)
        d.text(x(2**power), 402, str(2**power), size=13, anchor="middle", color=GREY)
    for value in (25, 50, 100, 197):
        d.path(f"M94 {y(value * 1e12):g} H100", INK, arrow=False)
        d.text(88, y(value * 1e12) + 5, str(value), size=13, anchor="end", color=GREY)
    low = 16
    d.path(f"M{x(low):g} {y(low * bandwidth):g} L{x(ridge):g} {y(peak):g} H860", VIOLET, arrow=False, width=3)
    d.path(f"M{x(ridge):g} {y(peak):g} V380", VIOLET, arrow=False, dashed=True)
    d.text(x(ridge) + 8, 366, f"ridge: {ridge:.0f}", size=13, color=VIOLET)
    d.text(190, 170, "bound by memory:", size=13, color=ORANGE, bold=True)
    d.text(190, 190, "bytes × 820 GB/s", size=13, color=ORANGE)
    d.text(700, 50, "bound by computing", size=13, color=GREEN, bold=True)
    for name, bm, bk, bn in TILES:
        intensity = bm * bn / (bm + bn)
        mib = (4 * (bm * bk + bk * bn) + 8 * bm * bn) / (1 << 20)
        reached = min(peak, intensity * bandwidth)
        color = GREEN if intensity >= ridge else ORANGE
        d.parts.append(
            f'<circle cx="{x(intensity):g}" cy="{y(reached):g}" r="7" fill="#ffffff" '
            f'stroke="{color}" stroke-width="3"/>'
        )
        end = intensity > 500
        place, anchor = (x(intensity) + 10, "end") if end else (x(intensity) + 12, "start")
        d.text(place, y(reached) + 28, name, mono=True, bold=True, size=13, anchor=anchor)
        d.text(place, y(reached) + 47, f"{mib:g} MiB", size=13, color=GREY, anchor=anchor)
    return d


def copies() -> Drawing:
    """Double buffering by hand: copies in, adding, copies out."""
    d = Drawing(
        "Double buffering by hand: while a chunk is added, the next arrives and the last sum leaves", 900, 372
    )
    d.text(20, 34, "time", size=13, color=GREY)
    d.path("M60 30 H880", GREY)
    rows = (("copies in", 70, BLUE), ("add", 150, INK), ("copies out", 256, GREEN))
    for label, top, _ in rows:
        d.text(20, top + 30, label, bold=True, size=13)
    span = 150
    for chunk in range(4):
        x = 120 + span * chunk
        d.rect(x, 70, span - 12, 48, BLUE)
        d.text(x + 69, 92, f"x, y chunk {chunk}", size=13, anchor="middle")
        d.text(x + 69, 110, f"into slot {chunk % 2}", size=12, anchor="middle", color=GREY)
        d.rect(x + span, 150, span - 12, 48, INK)
        d.text(x + span + 69, 179, f"z = x + y, slot {chunk % 2}", size=13, anchor="middle")
        d.path(f"M{x + span - 30} 118 V134 H{x + span + 12} V148", BLUE)
        if chunk < 3:
            d.rect(x + 2 * span, 256, span - 12, 48, GREEN)
            d.text(x + 2 * span + 69, 278, f"z chunk {chunk}", size=13, anchor="middle")
            d.text(x + 2 * span + 69, 296, f"from slot {chunk % 2}", size=12, anchor="middle", color=GREY)
            d.path(f"M{x + 2 * span - 30} 198 V214 H{x + 2 * span + 12} V254", GREEN)
        if chunk < 2:
            d.path(f"M{x + 3 * span - 40} 256 V236 H{x + 3 * span + 40} V200", ORANGE)
    d.lines(
        20,
        336,
        "Blue and orange arrows are waits: for a chunk before it is added, for the sum two chunks ago before its\n"
        "slot is written over. A green arrow starts a copy out, and the loop goes on.",
        size=13,
        color=GREY,
    )
    return d


FIGURES: dict[str, Callable[[], Drawing]] = {
    "pipeline": pipeline,
    "walk": walk,
    "online": online,
    "splash": splash,
    "roofline": roofline,
    "copies": copies,
}


def files() -> dict[str, bytes]:
    """Every figure by the name of its file."""
    return drawing.files(FIGURES)


if __name__ == "__main__":
    drawing.write(files(), Path(__file__).with_name("figures"))
