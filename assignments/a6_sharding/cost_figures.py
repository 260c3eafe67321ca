"""Pictures of part 6: what each device of a mesh holds and sends, and what overlaps with what."""

from __future__ import annotations

from assignments.drawing import BLUE, GREEN, GREY, ORANGE, RULE, VIOLET, Drawing

GIB = 2**30


def tradeoff() -> Drawing:
    """What each device holds and sends, for four meshes."""
    d = Drawing("GPT-2 on four meshes of eight devices: training state, gradients and activations", 900, 430)
    d.text(20, 34, "GPT-2 (355 M parameters) on 8 devices, per device and step", bold=True)
    parameters, matrices = 354_823_168, 301_989_888
    meshes_ = [(8, 1), (4, 2), (2, 4), (1, 8)]
    rows = []
    for batch, model in meshes_:
        held = matrices // model + parameters - matrices
        state = 16 * held / GIB
        gradients = 2 * (batch - 1) / batch * 4 * held / GIB
        activations = 24 * 4 * 2 * (model - 1) / model * 4 * 32 / batch * 1024 * 1024 / GIB
        rows.append((state, gradients, activations))
    titles = ["training state, GiB", "gradients sent, GiB", "activations sent, GiB"]
    notes = ["must fit into memory", "can hide behind the backward pass", "on the critical path"]
    for column, (title, note, color) in enumerate(zip(titles, notes, (VIOLET, BLUE, ORANGE), strict=True)):
        x = 130 + 255 * column
        d.text(x, 74, title, bold=True, color=color, size=13)
        top = max(row[column] for row in rows)
        for number, row in enumerate(rows):
            y = 92 + 66 * number
            if column == 0:
                d.text(20, y + 28, f"({meshes_[number][0]}, {meshes_[number][1]})", mono=True, bold=True)
            d.rect(x, y, max(150 * row[column] / top, 2), 44, color, radius=3)
            d.text(x + 150 * row[column] / top + 10, y + 28, f"{row[column]:.2f}", size=13)
        d.text(x, 376, note, size=13, color=GREY)
    d.text(
        20, 412, "(batch, model): more model parallelism holds less and sends more where everybody waits", size=13
    )
    return d


def timeline() -> Drawing:
    """Exercise 12: which communication hides."""
    d = Drawing("A training step as a timeline: gradients overlap the backward pass, activations do not", 900, 350)
    d.text(20, 34, "one training step of a model of 3 layers (time runs to the right)", bold=True)
    lanes = {"compute": 70, "model links": 130, "batch links": 190}
    for name, y in lanes.items():
        d.text(20, y + 26, name, size=13)
        d.path(f"M126 {y + 42} H880", RULE, arrow=False, width=1)
    x = 130.0
    done: list[tuple[int, float]] = []
    for layer in range(3):
        d.rect(x, lanes["compute"], 44, 38, BLUE)
        d.text(x + 22, lanes["compute"] + 25, f"F{layer}", size=13, anchor="middle")
        x += 44
        d.rect(x, lanes["model links"], 22, 38, ORANGE)
        x += 22
    d.rect(x, lanes["compute"], 60, 38, GREY)
    d.text(x + 30, lanes["compute"] + 25, "head", size=13, anchor="middle")
    x += 60
    for layer in (2, 1, 0):
        d.rect(x, lanes["compute"], 84, 38, BLUE)
        d.text(x + 42, lanes["compute"] + 25, f"B{layer}", size=13, anchor="middle")
        x += 84
        done.append((layer, x))
        d.rect(x, lanes["model links"], 22, 38, ORANGE)
        x += 22
    free = 0.0
    for layer, ready in done:
        start = max(free, ready)
        d.rect(start, lanes["batch links"], 66, 38, GREEN)
        d.text(start + 33, lanes["batch links"] + 25, f"G{layer}", size=13, anchor="middle")
        d.path(f"M{ready} {lanes['compute'] + 40} V{lanes['batch links'] - 2}", GREEN, dashed=True, width=1.2)
        free = start + 66
    d.rect(free, lanes["batch links"], 46, 38, GREEN)
    d.text(free + 23, lanes["batch links"] + 25, "G e", size=13, anchor="middle")
    d.lines(
        20,
        268,
        "orange: activations along model. The next layer needs them, so everybody waits.\n"
        "green: gradients along batch. G2 travels while B1 computes; only the last of them stick out.\n"
        "F forward, B backward, G gradients of a layer, G e of the embeddings",
        size=13,
    )
    return d


def overlap() -> Drawing:
    """Gather then multiply, and both at once."""
    d = Drawing("Gathering before multiplying, and a collective matmul that does both at once", 900, 330)
    d.text(20, 34, "one device of eight: multiply by all blocks of b, which come from both sides", bold=True)
    for number, (name, y) in enumerate((("gather, then multiply", 60), ("multiply while they come", 180))):
        d.text(20, y + 14, name, bold=True, size=13)
        for lane, label in ((0, "links"), (1, "multiplier")):
            d.text(20, y + 44 + 36 * lane, label, size=13, color=GREY)
        for hop in range(4):
            d.rect(120 + 90 * hop, y + 26, 88, 26, ORANGE)
            words = f"blocks ±{hop + 1}" if hop < 3 else "block 4"
            d.text(164 + 90 * hop, y + 44, words, size=12, anchor="middle")
        starts = [480 + 46 * block for block in range(8)] if number == 0 else [120]
        if number == 1:
            for hop in range(4):
                at = 210 + 90 * hop
                starts += [at, at + 46] if hop < 3 else [at]
        for block, start in enumerate(starts):
            d.rect(start, y + 62, 42, 26, BLUE)
            d.text(start + 21, y + 80, str(block), size=12, anchor="middle")
    d.path("M850 56 V160", GREY, arrow=False, dashed=True)
    d.path("M524 176 V280", GREEN, arrow=False, dashed=True)
    d.text(536, 222, "done: as long as the longer of the two,", size=13, color=GREEN)
    d.text(536, 243, "and the last block", size=13, color=GREEN)
    d.text(
        20, 312, "block 0 is the device's own; a block is passed on before it is multiplied", size=13, color=GREY
    )
    return d
