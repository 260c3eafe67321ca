"""Draws the pictures of the handout: `python -m assignments.a3_machine.figures` writes `figures/*.svg`.

What the reference solution computes (a schedule, a timeline) is drawn from what it returns.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from assignments import drawing
from assignments.a3_machine.array_figures import array, utilisation, wavefront
from assignments.a3_machine.drawn import Drawing
from assignments.a3_machine.schedule_figures import buffers, bundles, landing, reduction, top_level
from assignments.drawing import BLUE, GREEN, GREY, INK, ORANGE, RULE, VIOLET


def overview() -> Drawing:
    """What is built: from a tile program to a chip's timeline."""
    d = Drawing("From what a kernel does to a tile, through LLO and bundles, to the machine", 900, 320)
    boxes = [
        (20, "a tile program", "row_max   m  s\nsub       d  s m\nexp       e  d\nrow_sum   z  e", GREY, "given"),
        (
            238,
            "LLO",
            "q0 = vxpose v3, 4\nv4 = vpop.trf q0\nv5 = vpop.trf q0\nv8 = vmax v4, v5",
            BLUE,
            "part 4: lowering",
        ),
        (
            456,
            "bundles",
            "7  vpop  vpop\n8  vpop  vpop  vmax\n9              vmax\n10             vmax",
            GREEN,
            "",
        ),
        (
            674,
            "the machine",
            "issue a bundle a cycle;\nresults land later;\nnobody waits",
            INK,
            "given: the judge",
        ),
    ]
    for x, name, body, color, label in boxes:
        d.rect(x, 48, 200, 112, color)
        d.text(x + 10, 38, name, bold=True, color=color if color != GREY else INK, size=14)
        d.text(x + 12, 74, body, mono=color != INK, size=12 if color != INK else 13)
        d.text(x + 100, 182, label, size=12, color=GREY, anchor="middle")
    d.text(556, 182, "part 5: scheduling", size=12, color=GREY, anchor="middle")
    for x in (220, 438, 656):
        d.path(f"M{x} 104 H{x + 16}", INK)
    d.path("M20 204 H880", RULE, arrow=False, width=1)
    below = [
        (20, "part 1", "what a bfloat16 is, and\nwhy sums are float32", ORANGE),
        (238, "part 2", "the array inside an MXU,\nregister by register", ORANGE),
        (456, "part 3", "big products on MXUs;\nhow fast it can be at all", ORANGE),
        (674, "part 6", "kernels one after another,\ncopies beside them", VIOLET),
    ]
    for x, name, body, color in below:
        d.rect(x, 222, 200, 80, color)
        d.text(x + 12, 246, name, bold=True, color=color)
        d.text(x + 12, 268, body)
    return d


FIGURES: dict[str, Callable[[], Drawing]] = {
    "overview": overview,
    "array": array,
    "wavefront": wavefront,
    "utilisation": utilisation,
    "reduction": reduction,
    "landing": landing,
    "bundles": bundles,
    "buffers": buffers,
    "top_level": top_level,
}


def files() -> dict[str, bytes]:
    """Every figure by the name of its file."""
    return drawing.files(FIGURES)


if __name__ == "__main__":
    drawing.write(files(), Path(__file__).with_name("figures"))
