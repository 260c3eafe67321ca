"""The figures of the systolic array: where things move, which PEs work when, how busy they are."""

from __future__ import annotations

from assignments.a3_machine.drawn import Drawing
from assignments.drawing import BLUE, GREEN, GREY, ORANGE, RULE


def array() -> Drawing:
    """Where things enter, move and leave in a 3 × 3 array."""
    d = Drawing("A 3 × 3 array: inputs enter at the top, skewed, and move down; sums move right", 900, 430)
    left, top, cell, gap = 330, 150, 66, 30
    for i in range(3):
        for j in range(3):
            x, y = left + j * (cell + gap), top + i * (cell + gap)
            d.rect(x, y, cell, cell, BLUE)
            d.text(x + cell / 2, y + 38, f"W[{i},{j}]", mono=True, anchor="middle", bold=True, color=BLUE)
            if i < 2:
                d.path(f"M{x + 33} {y + cell} V{y + cell + gap - 1}", ORANGE)
            d.path(f"M{x + cell} {y + 33} H{x + cell + gap - 1}", GREEN)
    for i in range(3):
        y = top + i * (cell + gap) + 33
        d.path(f"M{left - gap} {y} H{left - 1}", GREEN)
        d.text(left - gap - 8, y + 5, "0", anchor="end", color=GREEN, bold=True)
        d.text(left + 3 * (cell + gap) + 6, y + 5, f"y[{i}]", mono=True, color=GREEN, bold=True)
        leaves = ", ".join(str(b + i + 3) for b in range(3))
        d.text(left + 3 * (cell + gap) + 56, y + 5, f"read in cycles {leaves}", size=12, color=GREY)
    for j in range(3):
        x = left + j * (cell + gap) + 33
        d.path(f"M{x} {top - 24} V{top - 1}", ORANGE)
        for b in range(3):
            y = top - 34 - (b + j) * 24
            d.text(x, y, f"x{b}[{j}]", mono=True, anchor="middle", color=ORANGE, bold=True, size=12)
    for cycle in range(5):
        d.text(left - 46, top - 34 - cycle * 24, f"cycle {cycle}", size=12, color=GREY, anchor="end")
    d.text(20, 190, "Component j enters\ncolumn j, j cycles late.", color=ORANGE)
    d.text(20, 262, "A sum starts at 0 on\nthe left and gains\nW[i,j]·x[j] in PE (i,j).", color=GREEN)
    d.text(20, 356, "Vector b meets\nPE (i,j) in cycle\nb + i + j.", color=BLUE)
    return d


def wavefront() -> Drawing:
    """PE activity, cycle by cycle, of three vectors in a 3 × 3 array."""
    import numpy as np
    from minitpu.systolic import SystolicArray

    seen: list[np.ndarray] = []
    _, cycles = SystolicArray(np.ones((3, 3))).stream(np.ones((3, 3)), lambda a: seen.append(a.active.copy()))
    d = Drawing("Which PEs of a 3 × 3 array work in each of the 8 cycles of three vectors", 900, 176)
    colors = (BLUE, GREEN, ORANGE)
    for cycle in range(cycles):
        x = 22 + cycle * 110
        d.text(x + 42, 24, f"cycle {cycle}", anchor="middle", bold=True)
        for i in range(3):
            for j in range(3):
                vector = cycle - i - j
                busy = bool(seen[cycle][i, j])
                color = colors[vector] if busy else RULE
                d.rect(x + j * 29, 36 + i * 29, 27, 27, color, fill="" if busy else "#ffffff", radius=3)
                if busy:
                    d.text(x + j * 29 + 13.5, 54 + i * 29, f"x{vector}", anchor="middle", color=color, size=12)
        count = int(seen[cycle].sum())
        d.text(x + 42, 146, f"{count} of 9" if count else "read y only", anchor="middle", size=12, color=GREY)
    d.text(22, 168, "27 multiplications in 8 cycles of 9 PEs: 3 / (3 + 2·3 − 1) = 37.5 %", size=12, color=GREY)
    return d


def utilisation() -> Drawing:
    """Utilisation over the size of the batch, for three arrays."""
    import math

    from minitpu.systolic import utilisation as used

    d = Drawing("Utilisation of arrays of 16, 128 and 256 over the number of vectors, 1 to 16,384", 900, 360)
    left, top, width, height = 80, 30, 640, 270
    powers = 14
    for percent in range(0, 101, 25):
        y = top + height * (1 - percent / 100)
        d.path(f"M{left} {y} H{left + width}", RULE, arrow=False, width=1)
        d.text(left - 10, y + 5, f"{percent} %", anchor="end", size=12, color=GREY)
    for power in range(0, powers + 1, 2):
        x = left + width * power / powers
        d.path(f"M{x:g} {top + height} V{top + height + 6}", GREY, arrow=False, width=1)
        d.text(x, top + height + 24, f"{2**power:,}", anchor="middle", size=12, color=GREY)
    d.text(
        left + width / 2, top + height + 48, "vectors B (each step: four times as many)", anchor="middle", size=12
    )
    for n, color, label in ((16, GREEN, "N = 16"), (128, BLUE, "N = 128"), (256, ORANGE, "N = 256")):
        points = []
        for step in range(powers * 8 + 1):
            batch = 2 ** (step / 8)
            x, y = left + width * step / (powers * 8), top + height * (1 - used(batch, n))
            points.append(f"{x:.1f} {y:.1f}")
        d.path("M" + " L".join(points), color, arrow=False, width=2.2)
        d.path(
            f"M{left + width + 14} {top + 20 + 40 * (0, 1, 2)[(16, 128, 256).index(n)]} h26",
            color,
            arrow=False,
            width=3,
        )
        d.text(left + width + 48, top + 25 + 40 * (16, 128, 256).index(n), label, color=color, bold=True)
    for n, batch, color in ((16, 16, GREEN), (128, 128, BLUE), (256, 1024, ORANGE)):
        x, y = left + width * math.log2(batch) / powers, top + height * (1 - used(batch, n))
        d.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{color}"/>')
        aside = (x - 10, y - 8, "end") if n == 128 else (x + 10, y + 17, "start")
        label = f"B = {batch:,}: {100 * used(batch, n):.1f} %"
        d.text(aside[0], aside[1], label, size=12, color=color, anchor=aside[2])
    return d
