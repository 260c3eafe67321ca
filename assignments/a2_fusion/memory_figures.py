"""The handout's figures of memory: what is computed again, and what lies where, and when."""

from __future__ import annotations

from assignments.a2_fusion.measured import KIB, VMEM_BYTES, bargain, mebibytes, placed, waiting
from assignments.drawing import BLUE, GREEN, GREY, INK, ORANGE, RULE, VIOLET, Drawing


def recompute() -> Drawing:
    """Storing the exponentials against computing them again."""
    found = bargain()
    d = Drawing("Storing the exponentials costs more time than computing them again", 900, 430)
    e = "e = exp(s - m)"
    for left, title, color, first, second, arrays in (
        (20, "store e", GREY, f"{e}\nl = sum(e)", "e / l\n· v", ("e  4 MiB", "l  4 KiB")),
        (
            470,
            "compute e again",
            GREEN,
            f"{e}\nl = sum(e)",
            f"{e}\ne / l\n· v",
            ("s  4 MiB", "m  4 KiB", "l  4 KiB"),
        ),
    ):
        d.text(left, 34, title, bold=True, color=color if color == GREEN else INK)
        d.rect(left, 50, 160, 104, color)
        d.text(left + 12, 74, "kernel 2", bold=True, color=GREY)
        d.lines(left + 12, 102, first, mono=True, size=13)
        d.rect(left + 250, 50, 160, 104, color)
        d.text(left + 262, 74, "kernel 3", bold=True, color=GREY)
        d.lines(left + 262, 98, second, mono=True, size=13)
        d.text(left + 80, 178, "writes " + ("e, l" if color == GREY else "l"), size=13, anchor="middle")
        d.text(
            left + 330, 178, "reads " + ", ".join(array[0] for array in arrays) + ", v", size=13, anchor="middle"
        )
        for place, array in enumerate(arrays):
            y = 84 + 24 * place if len(arrays) == 2 else 72 + 24 * place
            written = array[0] in ("e", "l")
            shade = ORANGE if array[0] == "e" else GREY
            d.path(f"M{left + (162 if written else 178)} {y + 8} H{left + 248}", shade, dashed=not written)
            d.text(left + 205, y + 3, array, mono=True, size=12, color=shade, anchor="middle")
    d.lines(
        20,
        212,
        "Reading s instead of e costs nothing, for both have 4 MiB. One more read of m costs 4 KiB, and\n"
        f"a write of 4 MiB is saved: {mebibytes(found.bytes)}. In time on one TPU7x core:",
        size=13,
    )
    d.path("M20 258 H880", RULE, arrow=False, width=1)
    scale = 560 / max(found.memory, found.exponentials + found.rest)
    d.text(190, 294, "saved: memory", size=13, anchor="end")
    d.rect(200, 274, scale * found.memory, 30, GREEN, radius=2)
    d.text(212 + scale * found.memory, 294, f"{found.memory:.2f} \N{MICRO SIGN}s", bold=True, color=GREEN)
    d.text(190, 344, "added: vector unit", size=13, anchor="end")
    d.rect(200, 324, scale * found.exponentials, 30, ORANGE, radius=2)
    d.rect(200 + scale * found.exponentials, 324, scale * found.rest, 30, ORANGE, "#ffffff", radius=2)
    d.text(206 + scale * found.exponentials / 2, 344, f"exp {found.exponentials:.2f}", size=13, anchor="middle")
    d.text(200 + scale * (found.exponentials + found.rest / 2), 344, f"{found.rest:.2f}", size=13, anchor="middle")
    both = found.exponentials + found.rest
    d.text(212 + scale * both, 344, f"{both:.2f} \N{MICRO SIGN}s", bold=True, color=ORANGE)
    d.lines(
        20,
        392,
        "The white piece is the subtraction, which has to be done again, too. The gain is larger still than\n"
        "it looks: the vector unit works while memory does, and memory is what these kernels wait for.",
        size=13,
        color=GREY,
    )
    return d


def peak_memory() -> Drawing:
    """Memory over the schedule, before and after a value is made a second time."""
    d = Drawing("Memory in use over a schedule: made again instead of kept, a value lowers the peak", 900, 420)
    colors = {
        "broadcast": ORANGE,
        "broadcast.remat": ORANGE,
        "negate": BLUE,
        "concatenate": GREEN,
        "concatenate.1": VIOLET,
    }
    scale, bottom, wide = 15, 322, 46
    for left, title, (order, lives) in zip((64, 508), ("kept", "made again"), waiting(), strict=True):
        usage = [sum(it.bytes for it in lives if it.first <= n <= it.last) for n in range(len(order))]
        d.text(
            left,
            34,
            f"{title}: peak {max(usage) / KIB:.1f} KiB",
            bold=True,
            color=INK if title == "kept" else GREEN,
        )
        for mark in (0, 4, 8, 12, 16):
            d.path(f"M{left - 4} {bottom - scale * mark} H{left + wide * len(order)}", RULE, arrow=False, width=1)
            d.text(left - 10, bottom - scale * mark + 5, f"{mark}", size=12, color=GREY, anchor="end")
        for number, name in enumerate(order):
            height = 0.0
            for it in lives:
                if it.first <= number <= it.last and it.bytes >= KIB:
                    tall = scale * it.bytes / KIB
                    height += tall
                    d.rect(left + wide * number + 2, bottom - height, wide - 4, tall, colors[it.name], radius=2)
                    letter = it.name[0] + ("2" if it.name == "concatenate.1" else "")
                    d.text(
                        left + wide * (number + 0.5),
                        bottom - height + tall / 2 + 5,
                        letter,
                        size=13,
                        anchor="middle",
                        mono=True,
                    )
            shown = (
                name.replace("broadcast.remat", "b again").replace("broadcast", "b").replace("concatenate.1", "c2")
            )
            shown = shown.replace("concatenate", "c").replace("negate", "n").replace("slice.1", "slice")
            lines = shown.split(" ")
            for line, word in enumerate(lines):
                d.text(
                    left + wide * (number + 0.5),
                    bottom + 20 + 15 * line,
                    word,
                    size=12,
                    anchor="middle",
                    color=GREY,
                )
        limit = bottom - scale * 14
        d.path(f"M{left - 4} {limit} H{left + wide * len(order)}", INK, arrow=False, dashed=True)
        d.text(left + wide * len(order), limit - 6, "limit 14", size=12, anchor="end")
    d.text(20, 54, "KiB", size=12, color=GREY)
    d.lines(64, 376, "b waits, while c is made, for its\nsecond reader", size=13)
    d.lines(508, 376, "its instruction stands once more,\ndirectly before that reader", size=13)
    return d


def vmem() -> Drawing:
    """Arrays in VMEM over the kernels of mini-attention, and the copies that run beside them."""
    d = Drawing("VMEM over the five kernels of mini-attention: the copy of w2 runs beside three of them", 900, 560)
    lives, copies = placed()
    texts = ("w1", "h", "sum h\N{MULTIPLICATION SIGN}h", "w2", "rms", "m", "l")
    names = dict(zip([it.name for it in lives], texts, strict=True))
    kernels = (
        "h = x\N{MIDDLE DOT}w1\nsum of h\N{MULTIPLICATION SIGN}h",
        "rms: root\nof the mean",
        "max of\nh / rms",
        "exp\nand sum",
        "softmax,\n\N{MIDDLE DOT} w2",
    )
    left, wide = 250, 126
    d.text(20, 34, "kernel by kernel", bold=True)
    for number, text in enumerate(kernels):
        d.rect(left + wide * number + 4, 20, wide - 8, 58, GREY)
        d.lines(left + wide * (number + 0.5), 44, text, size=13, anchor="middle")
    y = 96
    for it in lives:
        small = it.bytes < KIB
        size = f"{it.bytes} B" if small else f"{it.bytes // KIB} KiB"
        color = VIOLET if it.name in copies else ORANGE
        d.text(150, y + 18, names[it.name], mono=True, bold=True, color=color, anchor="end")
        d.text(212, y + 18, size, size=12, color=GREY, anchor="end")
        x, end = left + wide * it.first, left + wide * (it.last + 1)
        if it.name in copies:
            start, done = copies[it.name]
            x = left + wide * start - (28 if start == done else 0)
            ready = left + wide * done
            d.rect(x + 4, y, ready - x - 6, 26, VIOLET, "#ffffff", radius=3)
            label = "the copy runs beside these kernels" if done - start > 1 else ""
            d.text((x + ready) / 2, y + 18, label, size=12, color=VIOLET, anchor="middle")
            x = ready
        d.rect(x + 4, y, end - x - 8, 26, color, radius=3)
        y += 34
    d.text(left - 34, 86, "wait", size=12, color=VIOLET)
    bottom, scale = 530, 5.2
    d.text(20, 372, "bytes in VMEM", bold=True)
    d.lines(20, 398, "white: under way\nfilled: there", size=13, color=GREY)
    for mark in (0, 8, 16, 24):
        d.path(f"M{left - 4} {bottom - scale * mark} H880", RULE, arrow=False, width=1)
        d.text(left - 10, bottom - scale * mark + 5, f"{mark} KiB", size=12, color=GREY, anchor="end")
    for number in range(len(kernels)):
        height = 0.0
        for it in sorted(lives, key=lambda it: (-it.bytes, it.name)):
            if it.first <= number <= it.last and it.bytes >= KIB:
                tall = scale * it.bytes / KIB
                height += tall
                color = VIOLET if it.name in copies else ORANGE
                under_way = it.name in copies and number < copies[it.name][1]
                d.rect(
                    left + wide * number + 4,
                    bottom - height,
                    wide - 8,
                    tall,
                    color,
                    "#ffffff" if under_way else "",
                    radius=2,
                )
                d.text(
                    left + wide * (number + 0.5),
                    bottom - height + tall / 2 + 5,
                    names[it.name],
                    size=13,
                    mono=True,
                    anchor="middle",
                )
    limit = bottom - scale * VMEM_BYTES / KIB
    d.path(f"M{left - 4} {limit} H880", INK, arrow=False, dashed=True)
    d.text(
        880, limit - 7, f"budget {VMEM_BYTES // KIB} KiB: w2 does not fit beside w1 and h", size=13, anchor="end"
    )
    return d
