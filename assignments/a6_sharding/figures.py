"""Draws the pictures of the handout: `python -m assignments.a6_sharding.figures` writes `figures/*.svg`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from assignments import drawing
from assignments.a6_sharding.cost_figures import overlap, timeline, tradeoff
from assignments.drawing import BLUE, GREEN, GREY, INK, ORANGE, RULE, VIOLET, Drawing

DEVICES = ["#bfdbfe", "#bbf7d0", "#fed7aa", "#e9d5ff", "#fecaca", "#fde68a", "#a5f3fc", "#e2e8f0"]


def chain() -> Drawing:
    """From specs to messages: what is built."""
    d = Drawing(
        "Specs and a matmul become a program of collectives, and these become messages on a ring", 900, 430
    )
    d.text(20, 34, "the user says how arrays are cut", bold=True)
    d.rect(20, 46, 250, 112, INK)
    d.lines(34, 74, "a: P('x', None)\nb: P('x', None)\nc = a @ b\nc: P('x', None)", mono=True)
    d.path("M272 102 H324", INK)
    d.text(298, 92, "part 3", size=12, color=GREY, anchor="middle")
    d.text(330, 34, "the partitioner finds the program", bold=True, color=VIOLET)
    d.rect(330, 46, 270, 112, VIOLET)
    d.lines(344, 78, "all_gather b along x\ndot of the local blocks", mono=True)
    d.text(344, 136, "least bytes: 24 MiB a device", size=13, color=GREY)
    d.path("M602 102 H654", VIOLET)
    d.text(628, 92, "part 2", size=12, color=GREY, anchor="middle")
    d.text(660, 34, "collectives are messages", bold=True, color=BLUE)
    d.rect(660, 46, 220, 112, BLUE)
    places = [(700, 72), (840, 72), (840, 132), (700, 132)]
    for number, (x, y) in enumerate(places):
        d.rect(x - 16, y - 14, 32, 28, INK, DEVICES[number])
        d.text(x, y + 5, str(number), anchor="middle", bold=True)
    for line in ("M718 72 H822", "M840 88 V116", "M822 132 H718", "M700 116 V88"):
        d.path(line, BLUE)
    d.text(770, 107, "n − 1 steps", size=13, color=BLUE, anchor="middle")
    d.path("M20 190 H880", RULE, arrow=False, width=1)
    boxes = [
        ("spec.py", "part 1: which block\nis on which device", BLUE, "shard, unshard"),
        ("propagate.py", "part 4: few annotations\ncut everything else", ORANGE, "P for all values"),
        ("shard_map.py", "part 5: write the local\nprogram yourself", GREEN, "psum, all_gather"),
        ("cost.py", "part 6: seconds, bytes,\nand which mesh", VIOLET, "(8,1) or (4,2)?"),
    ]
    for number, (name, what, color, example) in enumerate(boxes):
        x = 20 + 218 * number
        d.rect(x, 212, 206, 108, color)
        d.text(x + 103, 237, name, mono=True, bold=True, anchor="middle", color=color)
        d.lines(x + 103, 264, what, size=13, anchor="middle")
        d.text(x + 103, 308, example, size=13, mono=True, anchor="middle", color=GREY)
    d.rect(20, 346, 860, 62, GREY)
    d.text(
        450, 372, "given: the mesh, and the fabric, on which devices can only send and receive", anchor="middle"
    )
    d.text(450, 394, "every byte, step and link is counted", anchor="middle", size=13, color=GREY)
    return d


def _blocks(
    d: Drawing, x: float, y: float, w: float, h: float, rows: int, columns: int, owners: list[str]
) -> None:
    """A matrix in blocks, each with its devices; the first device gives the colour."""
    for place, devices in enumerate(owners):
        row, column = divmod(place, columns)
        left, top = x + column * w / columns, y + row * h / rows
        d.rect(left, top, w / columns, h / rows, INK, DEVICES[int(devices.split()[0])], radius=0)
        middle = top + h / rows / 2 + 5
        d.text(left + w / columns / 2, middle, devices, size=13, anchor="middle", bold=True)


def meshes() -> Drawing:
    """Who holds which block, for the lecture's specs and for two orders of axes."""
    d = Drawing(
        "Blocks of a matrix and the devices that hold them, for five specs on a mesh of 4 by 2 devices", 900, 470
    )
    d.text(20, 34, "f32[8,6] on Mesh(batch=4, model=2): the numbers are devices", bold=True)
    d.rect(20, 52, 150, 150, GREY)
    for device in range(8):
        row, column = divmod(device, 2)
        d.rect(64 + 48 * column, 62 + 34 * row, 44, 30, INK, DEVICES[device])
        d.text(86 + 48 * column, 82 + 34 * row, str(device), anchor="middle", bold=True)
    d.path("M40 66 V190", ORANGE)
    d.text(34, 222, "batch", size=13, color=ORANGE)
    d.text(108, 222, "model →", size=13, color=ORANGE)
    cases = [
        ("P('batch', None)", 4, 1, ["0 1", "2 3", "4 5", "6 7"], "(2, 6), 2 copies"),
        ("P(None, 'model')", 1, 2, ["0 2 4 6", "1 3 5 7"], "(8, 3), 4 copies"),
        ("P('batch', 'model')", 4, 2, list("01234567"), "(2, 3), 1 copy"),
    ]
    for number, (spec, rows, columns, owners, shape) in enumerate(cases):
        x = 210 + 230 * number
        d.text(x, 62, spec, mono=True, bold=True)
        _blocks(d, x, 74, 180, 128, rows, columns, owners)
        d.text(x, 222, f"each: {shape}", size=13, color=GREY)
    d.path("M20 246 H880", RULE, arrow=False, width=1)
    d.text(20, 276, "two axes on one dimension: the first one is slowest", bold=True)
    cases = [
        ("P(('batch', 'model'))", [0, 1, 2, 3, 4, 5, 6, 7], "block = 2 · batch + model"),
        ("P(('model', 'batch'))", [0, 2, 4, 6, 1, 3, 5, 7], "block = 4 · model + batch"),
    ]
    for number, (spec, order, rule) in enumerate(cases):
        x = 20 + 450 * number
        d.text(x, 308, spec, mono=True, bold=True)
        for block, device in enumerate(order):
            d.rect(x + 50 * block, 322, 50, 60, INK, DEVICES[device], radius=0)
            d.text(x + 50 * block + 25, 357, str(device), anchor="middle", bold=True)
            d.text(x + 50 * block + 25, 400, f"block {block}", size=11, color=GREY, anchor="middle")
        d.text(x, 432, rule, size=13, color=GREY)
    return d


def ring() -> Drawing:
    """A gather and a reduction, step by step."""
    d = Drawing("A ring all-gather and a ring reduce-scatter on four devices, step by step", 900, 560)
    d.text(20, 34, "all_gather: hand on what came in the step before", bold=True, color=BLUE)
    for step in range(4):
        x = 92 + 206 * step
        d.text(x + 80, 62, "start" if step == 0 else f"after step {step}", size=13, color=GREY, anchor="middle")
        for device in range(4):
            y = 74 + 46 * device
            if step == 0:
                d.text(20, y + 24, f"device {device}", size=13)
            held = [(device - back) % 4 for back in range(step + 1)]
            for block in range(4):
                fill = DEVICES[block] if block in held else "#ffffff"
                d.rect(x + 40 * block, y, 40, 34, RULE if block not in held else INK, fill, radius=0)
                if block in held:
                    newest = step > 0 and block == held[-1]
                    d.text(x + 40 * block + 20, y + 22, "ABCD"[block], anchor="middle", bold=newest)
            if step < 3:
                d.path(f"M{x + 164} {y + 17} L{x + 200} {y + 17 + (46 if device < 3 else -138)}", BLUE, width=1.2)
    d.text(20, 280, "each device sends 3 blocks in 3 steps: (n − 1)/n of the whole", size=13, color=GREY)
    d.path("M20 300 H880", RULE, arrow=False, width=1)
    d.text(
        20,
        330,
        "reduce_scatter: a sum starts at its owner's neighbour and ends at its owner",
        bold=True,
        color=ORANGE,
    )
    d.text(20, 356, "the sum of block A, whose owner is device 0:", size=13)
    stops = [
        ("device 1", "A1"),
        ("device 2", "A1 + A2"),
        ("device 3", "A1 + A2 + A3"),
        ("device 0", "A1 + A2 + A3 + A0"),
    ]
    widths, x = [110, 140, 180, 220], 20
    for number, ((who, what), width) in enumerate(zip(stops, widths, strict=True)):
        d.rect(x, 374, width, 58, ORANGE, DEVICES[0] if number == 3 else "")
        d.text(x + width / 2, 396, who, size=13, color=GREY, anchor="middle")
        d.text(x + width / 2, 420, what, mono=True, anchor="middle", bold=number == 3)
        if number < 3:
            d.path(f"M{x + width + 2} 403 H{x + width + 66}", ORANGE)
            d.text(x + width + 34, 392, f"step {number + 1}", size=12, color=GREY, anchor="middle")
        x += width + 68
    d.text(
        20, 462, "at the same time the sums of B, C and D go round, each one place further on", size=13, color=GREY
    )
    d.path("M20 482 H880", RULE, arrow=False, width=1)
    d.text(20, 512, "all_reduce = reduce_scatter, then all_gather:", bold=True)
    d.text(404, 512, "2(n − 1) pieces of 1/n of the array, in 2(n − 1) steps", size=14)
    d.text(20, 538, "one device makes each sum, so all devices get the same bits", size=13, color=GREY)
    return d


def links() -> Drawing:
    """Bytes over each link of a ring of eight."""
    d = Drawing("Bytes over each link of a ring of eight devices, for four collectives", 900, 420)
    d.text(20, 34, "bytes over each link of a ring of 8, in blocks of one device", bold=True)
    d.text(20, 58, "16 links: 0→1, 1→2, … 7→0 (right), 1→0, 2→1, … 0→7 (left)", size=13, color=GREY)
    bars = [
        ("all_gather", 7.0, 0.0, "7 blocks one way"),
        ("all_gather, both_ways", 3.5, 3.5, "half of each block either way"),
        ("all_reduce", 1.75, 0.0, "2 · 7 pieces of 1/8"),
        ("all_to_all", 1.25, 0.75, "pieces of 1/8, the shorter way"),
    ]
    for number, (name, right, left, words) in enumerate(bars):
        x = 60 + 210 * number
        for side, (value, color) in enumerate(((right, BLUE), (left, ORANGE))):
            for link in range(8):
                height = max(30 * value, 2)
                d.rect(x + 90 * side + 10 * link, 330 - height, 8, height, color, radius=0)
        d.text(x + 40, 318 - 30 * right, f"{right:g}", size=13, color=BLUE, anchor="middle", bold=True)
        d.text(x + 130, 318 - 30 * left, f"{left:g}", size=13, color=ORANGE, anchor="middle", bold=True)
        d.path(f"M{x - 4} 330 H{x + 176}", RULE, arrow=False, width=1)
        d.text(x + 86, 356, name, mono=True, size=13, anchor="middle", bold=True)
        d.text(x + 86, 378, words, size=12, color=GREY, anchor="middle")
    d.rect(640, 78, 14, 14, BLUE, radius=0)
    d.text(662, 90, "right-going links", size=13)
    d.rect(640, 102, 14, 14, ORANGE, radius=0)
    d.text(662, 114, "left-going links", size=13)
    d.text(
        20, 408, "opposite devices are as far either way; the fabric then sends to the right", size=13, color=GREY
    )
    return d


def cuts() -> Drawing:
    """The five cuts of a product on four devices."""
    d = Drawing("Five ways to cut a matrix product on four devices, and what each device sends", 900, 500)
    d.text(20, 34, "c = a @ b on 4 devices; device 1's share in colour", bold=True)
    d.text(20, 58, "a: f32[8192,8192], b: f32[8192,1024], c: f32[8192,1024]", mono=True, size=13, color=GREY)
    for x, label in ((170, "a"), (330, "b"), (470, "c")):
        d.text(x, 88, label, mono=True, bold=True, anchor="middle")
    d.text(560, 88, "what must happen", size=13, color=GREY, bold=True)
    d.text(880, 88, "sent by each device", size=13, color=GREY, bold=True, anchor="end")
    rows = [
        ("rows × whole", "rows", "whole", "rows", "nothing", "0"),
        ("whole × columns", "whole", "columns", "columns", "nothing", "0"),
        ("rows × rows", "rows", "rows", "rows", "all_gather b", "24 MiB"),
        ("K × K, to all", "columns", "rows", "whole", "all_reduce c", "48 MiB"),
        ("K × K, scattered", "columns", "rows", "rows", "reduce_scatter c", "24 MiB"),
    ]
    for number, (name, a, b, c, what, cost) in enumerate(rows):
        y = 104 + 78 * number
        d.text(20, y + 36, name, size=13)
        for x, w, cut in ((140, 64, a), (312, 36, b), (452, 36, c)):
            d.rect(x, y, w, 60, GREY, radius=0)
            inner = {"rows": (x, y + 15, w, 15), "columns": (x + w / 4, y, w / 4, 60), "whole": (x, y, w, 60)}[cut]
            d.rect(*inner, BLUE, DEVICES[0], radius=0)
        d.text(258, y + 36, "@", anchor="middle")
        d.text(400, y + 36, "=", anchor="middle")
        d.text(560, y + 36, what, mono=True, color=GREY if what == "nothing" else ORANGE, bold=what != "nothing")
        d.text(880, y + 36, cost, anchor="end", bold=True, color=GREY if cost == "0" else ORANGE)
    return d


def propagation() -> Drawing:
    """Axes travel along factors."""
    d = Drawing("Axes a and b of one annotation travel through an add and a dot; a conflict stops them", 900, 436)
    d.text(20, 34, "x is cut along a and b; everything else follows", bold=True)
    boxes = {
        "x": (20, 60, "x: [a, b]", BLUE, "annotated"),
        "y": (20, 150, "y: [a, b]", GREEN, ""),
        "s": (300, 105, "s: [a, b]", GREEN, ""),
        "z": (300, 195, "z: [b, ?]", GREEN, ""),
        "r": (600, 150, "r: [a, ?]", GREEN, ""),
    }
    for x, y, text, color, note in boxes.values():
        d.rect(x, y, 150, 44, color)
        d.text(x + 75, y + 27, text, mono=True, bold=True, anchor="middle", color=color)
        d.text(x + 75, y - 6, note, size=12, color=GREY, anchor="middle")
    d.path("M172 82 C220 82 240 118 298 122", BLUE)
    d.path("M298 136 C240 140 220 172 172 172", ORANGE)
    d.text(200, 66, "1", color=BLUE, bold=True)
    d.text(200, 192, "2", color=ORANGE, bold=True)
    d.text(236, 132, "add", mono=True, anchor="middle")
    d.path("M452 127 C520 127 540 160 598 166", BLUE)
    d.path("M400 151 V193", ORANGE)
    d.text(520, 122, "3", color=BLUE, bold=True)
    d.text(412, 178, "4", color=ORANGE, bold=True)
    d.path("M452 217 C520 217 540 184 598 178", RULE, arrow=False)
    d.text(528, 176, "dot", mono=True, anchor="middle")
    d.lines(
        600,
        226,
        "1, 3: an operand cuts the result\n2: the result cuts the other operand\n"
        "4: k is not in the result, so\n    s cuts z directly",
        size=13,
    )
    d.path("M20 318 H880", RULE, arrow=False, width=1)
    d.text(20, 346, "[a, ?] + [b, a]:", mono=True, bold=True)
    d.text(190, 346, "dimension 0: a against b. They disagree, so nothing moves.", size=13)
    d.text(190, 370, "dimension 1: only the second operand has a. The result gets it; the first operand", size=13)
    d.text(190, 391, "cannot, since a cuts its dimension 0 already.", size=13)
    d.text(190, 415, "[?, a]", mono=True, bold=True, color=GREEN)
    d.text(256, 415, "is the result, and operation 0 is reported as a conflict", size=13)
    return d


FIGURES: dict[str, Callable[[], Drawing]] = {
    "chain": chain,
    "meshes": meshes,
    "ring": ring,
    "links": links,
    "cuts": cuts,
    "propagation": propagation,
    "tradeoff": tradeoff,
    "timeline": timeline,
    "overlap": overlap,
}


def files() -> dict[str, bytes]:
    """Every figure by the name of its file."""
    return drawing.files(FIGURES)


if __name__ == "__main__":
    drawing.write(files(), Path(__file__).with_name("figures"))
