"""The figures of the compiler's back end: lowering, landing, bundles, buffers, the top-level program."""

from __future__ import annotations

from collections.abc import Callable

from assignments.a3_machine.drawn import Drawing
from assignments.drawing import BLUE, GREEN, GREY, INK, ORANGE, RED, RULE, VIOLET


def landing() -> Drawing:
    """Exposed latency: what each kind of dependence asks for."""
    d = Drawing("Exposed latency: when results land, and what RAW, WAR and WAW ask for", 900, 470)
    left, cell = 250, 62

    def row(y: float, name: str, issue: int, latency: int, color: str) -> None:
        d.text(left - 14, y + 18, name, mono=True, anchor="end", size=12)
        d.rect(left + issue * cell, y, cell, 26, color)
        d.text(left + issue * cell + cell / 2, y + 18, "issue", anchor="middle", size=12, color=color)
        if latency > 1:
            d.rect(left + (issue + 1) * cell, y + 6, (latency - 1) * cell, 14, color, radius=2)
        end = left + (issue + latency) * cell
        d.path(f"M{end} {y - 6} V{y + 32}", color, arrow=False, width=3)

    def frame(y: float, title: str, color: str) -> None:
        d.text(20, y, title, bold=True, color=color)
        for cycle in range(5):
            d.path(f"M{left + cycle * cell} {y + 14} V{y + 108}", RULE, arrow=False, width=1)
        for cycle in range(4):
            d.text(left + cycle * cell + cell / 2, y + 8, str(cycle), anchor="middle", size=12, color=GREY)

    frame(28, "RAW: read after write", BLUE)
    row(48, "v1 = vmul …   (3)", 0, 3, BLUE)
    row(100, "v2 = vadd v1, …", 3, 1, GREY)
    d.text(left + 4 * cell + 12, 118, "reads v1: at least 3 later, the writer's latency", size=12)
    frame(176, "WAR: write after read", ORANGE)
    row(196, "v2 = vadd v1, …", 2, 1, GREY)
    row(248, "v1 = vmul …   (3)", 0, 3, ORANGE)
    d.text(left + 4 * cell + 12, 266, "may be issued up to 2 earlier: 1 − 3 = −2", size=12)
    frame(324, "WAW: write after write", VIOLET)
    row(344, "v1 = vmul …   (3)", 0, 3, VIOLET)
    row(396, "v1 = vadd …   (1)", 3, 1, VIOLET)
    d.text(left + 4 * cell + 12, 414, "lands later: 3 − 1 + 1 = 3 after the first", size=12)
    d.text(
        20,
        456,
        "A thick line is where a result lands: whoever is issued right of it reads the new value.",
        size=12,
        color=GREY,
    )
    return d


def reduction() -> Drawing:
    """A row reduction: transpose, combine, rotate, broadcast."""
    d = Drawing("A reduction over lanes on registers of 4 × 8: transpose, combine, rotate, broadcast", 900, 300)
    size = 17
    colors = (BLUE, GREEN, ORANGE, VIOLET)

    def tile(x: float, y: float, label: str, color_of: Callable[[int, int], str]) -> None:
        for s in range(4):
            for lane in range(8):
                color = color_of(s, lane)
                fill = "" if color != RULE else "#ffffff"
                d.rect(x + lane * size, y + s * size, size, size, color, fill=fill, radius=0)
        d.text(x + 4 * size, y + 4 * size + 18, label, anchor="middle", size=12, mono=True)

    tile(20, 100, "v0", lambda s, lane: colors[s])
    d.text(20, 56, "one color is one row:\nits sum is wanted", size=12, color=GREY)
    for number in range(2):
        tile(236, 52 + 112 * number, f"v{number + 1}", lambda s, lane: colors[lane] if lane < 4 else RULE)
    d.path("M160 134 H230", INK)
    d.text(195, 124, "vxpose", anchor="middle", size=12, mono=True)
    d.text(195, 154, "two pops", anchor="middle", size=12, color=GREY)
    tile(452, 100, "v3", lambda s, lane: colors[lane] if lane < 4 else RULE)
    d.path("M376 86 C410 86 410 124 446 128", INK)
    d.path("M376 198 C410 198 410 148 446 142", INK)
    d.text(394, 147, "vadd", anchor="middle", size=12, mono=True)
    d.text(520, 84, "every lane: 4 numbers of a row", anchor="middle", size=12, color=GREY)
    tile(592 + 60, 100, "v7", lambda s, lane: colors[lane] if lane < 4 else RULE)
    d.path("M592 134 H646", INK)
    d.text(619, 124, "vrot", anchor="middle", size=12, mono=True)
    d.text(619, 154, "2, 1", anchor="middle", size=12, color=GREY)
    d.text(720, 200 + 18, "lane l of every sublane:\nthe sum of row l", anchor="middle", size=12, color=GREY)
    d.path("M720 96 C720 40 800 40 806 62", INK)
    d.text(716, 40, "vbcast", anchor="end", size=12, mono=True)
    for s in range(4):
        d.rect(812, 62 + s * size, 60, size, colors[s], radius=0)
    d.text(842, 62 + 4 * size + 18, "v8", anchor="middle", size=12, mono=True)
    d.text(
        20,
        286,
        "8 lanes / 4 sublanes = 2 pieces, so 1 addition; log₂ 4 = 2 rotations, with an addition each.",
        size=12,
        color=GREY,
    )
    return d


SLOT_COLORS = {
    "scalar": GREY, "vld": GREEN, "vst": RED, "valu": BLUE, "eup": VIOLET, "mxu": ORANGE, "xlu": INK,
}  # fmt: skip


def bundles() -> Drawing:
    """The attention tile's schedule on the teaching machine: cycles down, slots across, in two columns."""
    from minitpu.isa import TEACHING
    from minitpu.programs import program
    from minitpu.scheduler import schedule

    made = schedule(program("attention", 1), TEACHING)
    slots = [f"{slot}{n if count > 1 else ''}" for slot, count in TEACHING.slots.items() for n in range(count)]
    half = -(-len(made) // 2)
    width, row, top = 48, 17, 56
    d = Drawing(
        "The bundles of one attention tile on the teaching machine: cycles down, slots across",
        900,
        top + half * row + 44,
    )
    for column in range(2):
        left = 52 + column * 446
        for number, name in enumerate(slots):
            color = SLOT_COLORS[name.rstrip("01")]
            d.text(left + number * width + width / 2, 44, name, anchor="middle", size=12, bold=True, color=color)
        for place, bundle in enumerate(made[column * half : (column + 1) * half]):
            cycle, y = column * half + place, top + place * row
            if cycle % 5 == 0:
                d.text(left - 8, y + 13, str(cycle), anchor="end", size=12, color=GREY)
                d.path(f"M{left} {y} H{left + width * len(slots)}", RULE, arrow=False, width=1)
            taken: dict[str, int] = {}
            for operation in bundle:
                slot = TEACHING.slot(operation)
                number = taken[slot] = taken.get(slot, -1) + 1
                name = slot if TEACHING.slots[slot] == 1 else f"{slot}{number}"
                x, color = left + slots.index(name) * width, SLOT_COLORS[slot]
                d.rect(x + 1, y + 0.5, width - 2, row - 1, color, radius=2)
                short = operation.opcode.removeprefix("v").split(".")[0].replace("matpush", "push")
                d.text(
                    x + width / 2, y + 13, short.replace("matmul", "mul"), anchor="middle", size=12, color=color
                )
    d.text(
        52,
        22,
        "attention, one tile: 73 operations, 52 bundles that are not empty, 75 cycles until all has landed",
        bold=True,
    )
    d.text(
        52,
        top + half * row + 26,
        "Rows without a box are empty bundles: nothing is ready, so the machine idles.",
        size=12,
        color=GREY,
    )
    return d


def buffers() -> Drawing:
    """The pipeline of four tiles with one, two and three buffers."""
    from minitpu.pipeline import timeline

    d = Drawing("Four tiles through load, compute and store with one, two and three buffers", 900, 420)
    colors = {"load": GREEN, "compute": BLUE, "store": ORANGE}
    scale, left = 14, 150
    for number in range(1, 4):
        y = 40 + (number - 1) * 124
        events = timeline(4, 4, 5, 3, number)
        makespan = max(event.end for event in events)
        plural = "s" if number > 1 else ""
        d.text(20, y - 10, f"{number} buffer{plural}", bold=True)
        d.text(left, y - 10, f"{makespan} cycles", size=12, color=GREY)
        for place, engine in enumerate(colors):
            d.text(left - 12, y + 20 + 30 * place, engine, anchor="end", color=colors[engine])
            d.path(f"M{left} {y + 29 + 30 * place} H{left + 48 * scale}", RULE, arrow=False, width=1)
        for event in events:
            place = list(colors).index(event.engine)
            x, w = left + event.start * scale, (event.end - event.start) * scale
            d.rect(x, y + 3 + 30 * place, w - 1, 24, colors[event.engine], radius=3)
            d.text(
                x + w / 2,
                y + 20 + 30 * place,
                f"{event.tile}",
                anchor="middle",
                size=12,
                color=colors[event.engine],
            )
    d.text(
        20,
        408,
        "Loads of 4 cycles, computing 5, stores 3; a tile keeps its buffer from load to store.",
        size=12,
        color=GREY,
    )
    return d


def top_level() -> Drawing:
    """The mini-attention's kernels and copies on a time axis."""
    from minitpu.pipeline import Copy, Kernel, top_level_program

    kernels = [
        Kernel("multiply_reduce", 71, ("x", "w1"), (("h", 8192), ("squares", 4096))),
        Kernel("add_sqrt", 10, ("squares",), (("rms", 4096),)),
        Kernel("max", 56, ("h", "rms"), (("max", 4096),)),
        Kernel("exp_sum", 65, ("h", "rms", "max"), (("sums", 4096),)),
        Kernel("matmul_2", 48, ("h", "rms", "max", "sums", "w2"), (("out", 8192),)),
    ]
    copies = [Copy("w1", 32768, 64), Copy("w2", 32768, 120)]
    vmem = 62000
    d = Drawing("The mini-attention: the second weight's copy flies while three kernels run", 900, 250)
    left, scale = 110, 2.2
    d.text(left - 14, 66, "DMA in", anchor="end", color=GREEN, bold=True)
    d.text(left - 14, 126, "core", anchor="end", color=BLUE, bold=True)
    d.text(left - 14, 188, "VMEM", anchor="end", color=VIOLET, bold=True)
    now, queue_free, done_at, held = 0, 0, {}, {}
    spans = []
    for what, name in top_level_program(kernels, copies, vmem):
        if what == "copy-start":
            copy = next(copy for copy in copies if copy.name == name)
            begin = max(now, queue_free)
            queue_free = done_at[name] = begin + copy.cycles
            x = left + begin * scale
            d.rect(x, 46, copy.cycles * scale, 32, GREEN)
            d.text(x + copy.cycles * scale / 2, 67, f"copy {name}", anchor="middle", color=GREEN)
            d.path(f"M{left + now * scale} 34 V84", GREEN, arrow=False, dashed=True)
            held[name] = now
        elif what == "copy-done":
            now = max(now, done_at[name])
            d.path(f"M{left + now * scale} 34 V146", GREEN, arrow=False, dashed=True)
            d.text(left + now * scale + 5, 28, f"copy-done {name}", size=12, color=GREEN)
        else:
            kernel = next(kernel for kernel in kernels if kernel.name == name)
            x, w = left + now * scale, kernel.cycles * scale
            d.rect(x, 106, w, 32, BLUE)
            label = name if w > 40 else ""
            d.text(x + w / 2, 127, label, anchor="middle", size=12, color=BLUE)
            spans.append((name, now, now + kernel.cycles))
            now += kernel.cycles
    d.text(left + 64 * scale + 71 * scale + 11, 156, "add_sqrt", anchor="middle", size=12, color=BLUE)
    w1_end = next(end for name, _, end in spans if name == "multiply_reduce")
    for name, begin, end in (("w1", held["w1"], w1_end), ("w2", held["w2"], now)):
        d.rect(left + begin * scale, 170, (end - begin) * scale - 2, 26, VIOLET)
        d.text(
            left + (begin + end) / 2 * scale, 188, f"{name} takes 32 KiB", anchor="middle", size=12, color=VIOLET
        )
    say = "There is no room for both weights beside the values of the first kernel, so w2 starts right after it."
    d.text(20, 234, say, size=12, color=GREY)
    return d
