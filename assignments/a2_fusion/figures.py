"""Draws the pictures of the handout: `python -m assignments.a2_fusion.figures` writes `figures/*.svg`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from assignments import drawing
from assignments.a2_fusion.kernel_figures import attention_kernels, gelu_graph, one_pass, traffic
from assignments.a2_fusion.measured import KIB, drawn, gelu
from assignments.a2_fusion.memory_figures import peak_memory, recompute, vmem
from assignments.drawing import BLUE, GREEN, GREY, INK, ORANGE, RULE, VIOLET, Drawing


def pipeline() -> Drawing:
    """From jaxpr to placed kernels, with the numbers of the GELU layer."""
    stages = gelu()
    d = Drawing(
        "A program's way through the passes; the GELU layer goes from 25 equations to one kernel", 900, 470
    )
    d.text(20, 34, "clean up: the same values from fewer equations", bold=True, color=BLUE)
    count = {name: f"{stage.equations}" for name, stage in stages.items()}
    shared = stages["fold"].equations - stages["cse"].equations
    dead = stages["cse"].equations - stages["dce"].equations
    row = [
        ("jaxpr", "", "equations,\nNumPy's rules", count["start"], VIOLET),
        ("lower", "part 1a", "HLO: shapes and\ndtypes all explicit", count["start"], VIOLET),
        ("simplify, fold", "1", "2 divisions become\nproducts, + 0 goes", count["fold"], BLUE),
        ("share", "part 2", f"{shared} equal equations\ncomputed once", count["cse"], BLUE),
        ("drop", "part 2", f"{dead} dead equations\ngone", count["dce"], BLUE),
    ]
    for number, (name, part, what, equations, color) in enumerate(row):
        x = 20 + 176 * number
        d.rect(x, 54, 156, 148, color)
        d.text(x + 12, 80, name, bold=True, color=color)
        d.text(x + 144, 80, part, size=12, color=GREY, anchor="end")
        d.lines(x + 12, 108, what, size=13)
        d.text(x + 12, 182, equations, size=26, bold=True)
        d.text(x + 54, 182, "equations", size=13, color=GREY)
        if number:
            d.path(f"M{x - 19} 128 H{x - 2}", INK)
    d.path("M802 204 V226 H120 V258", INK)
    d.text(20, 248, "arrange", bold=True, color=ORANGE)
    before, after = stages["dce"], stages["fusion"]
    d.rect(20, 260, 332, 120, ORANGE)
    d.text(32, 286, "fuse", bold=True, color=ORANGE)
    d.text(340, 286, "part 4", size=12, color=GREY, anchor="end")
    d.text(32, 324, f"{before.kernels} \N{RIGHTWARDS ARROW} {after.kernels}", size=26, bold=True)
    d.text(144, 324, "kernel", size=13, color=GREY)
    d.text(32, 362, f"{before.bytes / KIB:.0f} \N{RIGHTWARDS ARROW} {after.bytes / KIB:.0f}", size=26, bold=True)
    d.text(222, 362, "KiB of traffic", size=13, color=GREY)
    d.path("M353 320 H370", INK)
    d.rect(372, 260, 244, 120, ORANGE)
    d.text(384, 286, "recompute", bold=True, color=ORANGE)
    d.text(604, 286, "part 5", size=12, color=GREY, anchor="end")
    d.lines(384, 316, "what costs less to compute\nagain than to write, or what\nmemory has no room for", size=13)
    d.path("M617 320 H634", INK)
    d.rect(636, 260, 244, 120, GREEN)
    d.text(648, 286, "place", bold=True, color=GREEN)
    d.text(868, 286, "part 6", size=12, color=GREY, anchor="end")
    d.lines(
        648,
        316,
        "an offset for each buffer, some\nin the fast memory, copies that\nrun beside the kernels",
        size=13,
    )
    d.path("M20 400 H880", RULE, arrow=False, width=1)
    d.text(20, 428, "cost analysis", bold=True, color=GREY)
    d.text(20, 450, "part 3", size=12, color=GREY)
    d.lines(150, 428, "counts kernels, bytes, operations and time of a module, at any stage", size=13)
    d.text(640, 428, "pipeline", bold=True, color=GREY)
    d.text(640, 450, "part 7", size=12, color=GREY)
    d.text(730, 428, "runs it all in order", size=13)
    return d


FIGURES: dict[str, Callable[[], Drawing]] = {
    "pipeline": pipeline,
    "gelu_graph": gelu_graph,
    "attention": attention_kernels,
    "traffic": traffic,
    "one_pass": one_pass,
    "recompute": recompute,
    "peak_memory": peak_memory,
    "vmem": vmem,
}


def files() -> dict[str, bytes]:
    """Every figure by the name of its file."""
    return drawing.files(FIGURES) | {"drawn.svg": drawn()}


if __name__ == "__main__":
    drawing.write(files(), Path(__file__).with_name("figures"))
