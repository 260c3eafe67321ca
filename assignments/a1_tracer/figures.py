"""Draws the pictures of the handout: `python -m assignments.a1_tracer.figures` writes `figures/*.svg`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from assignments import drawing
from assignments.drawing import BLUE, GREEN, GREY, INK, LINE, ORANGE, RULE, VIOLET, Drawing


def chain() -> Drawing:
    """Python function → tracers → jaxpr → interpreters."""
    d = Drawing("A Python function is traced into a jaxpr, which eval, jit, grad and vmap interpret", 900, 452)
    d.rect(20, 50, 244, 130, INK)
    d.text(32, 40, "a Python function", bold=True)
    d.lines(36, 84, "def f(x, w):\n    h = tanh(x @ w)\n    return sum(\n        h * h, axis=-1)", mono=True)
    d.path("M266 115 H328", INK)
    d.text(297, 104, "call once", size=12, color=GREY, anchor="middle")
    d.rect(330, 50, 172, 130, VIOLET)
    d.text(342, 40, "tracers", bold=True, color=VIOLET)
    d.lines(344, 84, "Traced<f32[4,3]>\nTraced<f32[3,2]>", mono=True)
    d.lines(344, 138, "types only,\nno data", size=13, color=GREY)
    d.path("M504 115 H582", INK)
    d.text(543, 104, "record", size=12, color=GREY, anchor="middle")
    d.rect(584, 50, 296, 130, BLUE)
    d.text(596, 40, "a jaxpr: the program as data", bold=True, color=BLUE)
    rows = ["c  f32[4,2]  dot         a b", "d  f32[4,2]  tanh        c", "e  f32[4,2]  mul         d d"]
    d.lines(596, 84, "\n".join([*rows, "f  f32[4]    reduce_sum  e"]), mono=True)
    d.text(450, 238, "four ways to read the same list of equations", anchor="middle", color=BLUE, bold=True)
    d.path("M732 182 V214", BLUE, arrow=False)
    d.path("M123 254 H777", BLUE, arrow=False)
    d.path("M732 214 V254", BLUE, arrow=False)
    boxes = [
        ("eval_jaxpr", "compute each equation,\ntop to bottom", INK),
        ("jit", "keep it under the types\nof the call; run it again", GREEN),
        ("grad", "compute down, then walk\nup with cotangents", ORANGE),
        ("vmap", "read each equation for a\nwhole batch at once", VIOLET),
    ]
    for number, (name, what, color) in enumerate(boxes):
        x = 20 + 218 * number
        d.path(f"M{x + 103} 254 V282", BLUE)
        d.rect(x, 284, 206, 92, color)
        d.text(x + 103, 309, name, mono=True, bold=True, anchor="middle", color=color)
        d.lines(x + 103, 336, what, size=13, anchor="middle")
        d.path(f"M{x + 103} 378 V408", GREY, arrow=False)
    d.path("M777 408 H8 V115 H18", GREY)
    d.text(
        450,
        432,
        "each gives a Python function again, so all of them can be traced and combined",
        anchor="middle",
        size=13,
    )
    return d


def _elbow(x: float, y: float, to_x: float, to_y: float) -> str:
    """A path to the right, round a corner, and down."""
    return f"M{x} {y} H{to_x - 12} Q{to_x} {y} {to_x} {y + 12} V{to_y}"


def trace() -> Drawing:
    """The lecture's f as a table of equations, with arrows from definition to use."""
    d = Drawing("The jaxpr of the lecture's f as a table: every variable is defined once and used below", 900, 430)
    left, name, primitive, params, operands = 20, 290, 440, 570, 760
    for x, label in ((left, "Python does"), (name, "outvar: type"), (primitive, "primitive"), (params, "params")):
        d.text(x, 34, label, size=13, color=GREY, bold=True)
    d.text(operands - 4, 34, "invars", size=13, color=GREY, bold=True)
    d.path("M20 44 H880", RULE, arrow=False, width=1)
    rows = [
        ("f is called with x, w", "a:f32[4,3]", "", "", ""),
        ("", "b:f32[3,2]", "", "", ""),
        ("x @ w", "c:f32[4,2]", "dot", "", "a b"),
        ("tanh(…)", "d:f32[4,2]", "tanh", "", "c"),
        ("h * h", "e:f32[4,2]", "mul", "", "d d"),
        ("sum(…, axis=-1)", "f:f32[4]", "reduce_sum", "axis=-1 keepdims=False", "e"),
    ]
    y, at = 54, []
    for python, variable, op, how, used in rows:
        at.append(y)
        d.text(left, y + 20, python, mono=bool(op), color=GREY if not op else INK, size=14 if op else 13)
        color = BLUE if op else VIOLET
        d.rect(name - 8, y, 112, 30, color)
        d.text(name + 2, y + 20, variable, mono=True, bold=True, color=color)
        d.text(primitive, y + 20, op, mono=True)
        for line, text in enumerate(how.split()):
            d.text(params, y + 20 + LINE * line, text, mono=True)
        for place, letter in enumerate(used.split()):
            d.rect(operands - 6 + 46 * place, y, 34, 30, GREY)
            d.text(operands + 11 + 46 * place, y + 20, letter, mono=True, bold=True, anchor="middle")
        y += 36 if not op and variable.startswith("a") else 62
    for source, place in ((0, 0), (1, 1)):
        d.path(_elbow(name + 106, at[source] + 15, operands + 11 + 46 * place, at[2] - 1), VIOLET)
    for source, places in ((2, 1), (3, 2), (4, 1)):
        gap = at[source] + 46
        d.path(f"M{name + 48} {at[source] + 30} V{gap}", BLUE, arrow=False)
        for place in range(places):
            d.path(_elbow(name + 48, gap, operands + 11 + 46 * place, gap + 15), BLUE)
    last = at[-1] + 30
    d.path(f"M{name + 48} {last} V{last + 22}", GREEN)
    d.text(name - 8, last + 42, "in (f,)", mono=True, color=GREEN, bold=True)
    d.text(name + 72, last + 42, "the result, outvars", size=13, color=GREY)
    return d


def reverse() -> Drawing:
    """Forward equations down, cotangents up, addition at the fan-out."""
    d = Drawing(
        "The reverse walk over sum(tanh(x)·x): cotangents go up, and the two uses of a are added", 900, 452
    )
    d.text(245, 34, "forward: values, downwards", bold=True, color=BLUE, anchor="middle")
    d.text(680, 34, "backward: cotangents, upwards", bold=True, color=ORANGE, anchor="middle")
    y = [62, 172, 282, 392]
    forward = ["a:f32[3]   input", "b = tanh a", "c = mul b a", "d = reduce_sum c"]
    for top, text in zip(y, forward, strict=True):
        d.rect(140, top, 210, 40, BLUE)
        d.text(156, top + 25, text, mono=True)
    for top in y[:-1]:
        d.path(f"M245 {top + 42} V{top + 108}", BLUE)
    d.path("M138 82 H30 V302 H138", BLUE)
    d.lines(40, 186, "a is used\ntwice", size=13, color=GREY)
    backward = ["ct_a = ct_c·b + ct_b·(1 − b·b)", "ct_b = ct_c·a", "ct_c = broadcast ct_d", "ct_d = 1"]
    for top, text in zip(y, backward, strict=True):
        d.rect(540, top, 280, 40, ORANGE)
        d.text(556, top + 25, text, mono=True)
    for top, label in zip(y, ("rule of tanh", "rule of mul, for b", "rule of reduce_sum"), strict=False):
        d.path(f"M680 {top + 109} V{top + (70 if top == y[0] else 43)}", ORANGE)
        d.text(668, top + 81, label, size=13, color=ORANGE, anchor="end")
    d.path("M822 302 H880 V118 H694", ORANGE)
    d.parts.append(f'<circle cx="680" cy="118" r="12" fill="#ffffff" stroke="{ORANGE}" stroke-width="1.8"/>')
    d.text(680, 123, "+", bold=True, color=ORANGE, anchor="middle")
    d.lines(870, 240, "rule of mul,\nfor a", size=13, color=ORANGE, anchor="end")
    for top, label, end in ((y[1], "b", 566), (y[2], "a and b", 530)):
        d.path(f"M352 {top + 20} H450 V{top - 34} H{end}", GREY, dashed=True)
        d.text(362, top + 12, f"value of {label}" if label == "b" else "values", size=13, color=GREY)
    d.text(362, y[2] + 38, "of a and b", size=13, color=GREY)
    d.path("M352 412 H538", GREY, dashed=True)
    d.text(445, 404, "start with 1", size=13, color=GREY, anchor="middle")
    return d


def cache() -> Drawing:
    """The lecture's five calls against the jit cache."""
    d = Drawing("Five calls of a jitted function: three misses trace, two hits run a kept program", 900, 352)
    columns = (20, 60, 280, 420)
    for x, label in zip(columns, ("", "call", "key", "in the cache?"), strict=True):
        d.text(x, 34, label, size=13, color=GREY, bold=True)
    d.text(660, 34, "programs kept", size=13, color=GREY, bold=True)
    d.path("M20 44 H880", RULE, arrow=False, width=1)
    calls = [
        ("g(ones(8))", "f32[8]", 1, False),
        ("g(zeros(8))", "f32[8]", 1, True),
        ("g(ones(16))", "f32[16]", 2, False),
        ("g(ones(8, float64))", "f64[8]", 3, False),
        ("g(ones(8))", "f32[8]", 1, True),
    ]
    homes = {1: 74, 2: 164, 3: 254}
    for number, (call, key, program, hit) in enumerate(calls):
        y = 60 + 52 * number
        color = GREEN if hit else ORANGE
        d.text(columns[0], y + 24, f"{number + 1}", bold=True, color=GREY)
        d.text(columns[1], y + 24, call, mono=True)
        d.text(columns[2], y + 24, key, mono=True, bold=True)
        d.rect(columns[3] - 8, y + 3, 128, 32, color)
        d.text(columns[3] + 4, y + 24, "hit: run it" if hit else "miss: trace", color=color, bold=True)
        start, end = (columns[3] + 122, y + 19), (650, homes[program] + 18)
        aside = {0: -6, 1: 4, 4: 14}.get(number, 0)
        bend = f"C{start[0] + 55} {start[1]} {end[0] - 55} {end[1] + aside}"
        d.path(f"M{start[0]} {start[1]} {bend} {end[0]} {end[1] + aside}", color, dashed=hit)
    for program, key in ((1, "f32[8]"), (2, "f32[16]"), (3, "f64[8]")):
        y = homes[program]
        d.rect(652, y - 8, 228, 52, BLUE)
        d.text(666, y + 24, f"program {program}", bold=True, color=BLUE)
        d.text(866, y + 24, key, mono=True, anchor="end")
    d.text(60, 338, "5 calls, 3 traces; cache_stats() is (hits=2, misses=3, size=3)", size=13, color=GREY)
    return d


def batching() -> Drawing:
    """What vmap does to dot, to reductions and to elementwise operations."""
    d = Drawing("vmap puts the batch axis in front of every mapped value", 900, 570)
    d.text(20, 34, "one member", bold=True, color=GREY)
    d.text(440, 34, "a batch of 6: the batch axis is in front", bold=True, color=VIOLET)
    d.path("M400 20 V552", RULE, arrow=False, width=1)

    def shape(x: float, y: float, text: str, color: str = INK) -> None:
        d.text(x, y, text, mono=True, size=13, color=color, anchor="middle")

    d.text(20, 76, "dot x W", mono=True, bold=True)
    d.grid(20, 118, 1, 4, BLUE)
    d.text(101, 131, "·")
    d.grid(124, 94, 4, 3, GREY)
    d.text(186, 131, "=")
    d.grid(212, 118, 1, 3, GREEN)
    for x, text in ((52, "f32[4]"), (148, "f32[4,3]"), (238, "f32[3]")):
        shape(x, 184, text)
    d.grid(440, 78, 6, 4, VIOLET)
    d.text(522, 131, "·")
    d.grid(548, 94, 4, 3, GREY)
    d.text(612, 131, "=")
    d.grid(640, 78, 6, 3, VIOLET)
    for x, text, color in ((472, "f32[6,4]", VIOLET), (572, "f32[4,3]", INK), (664, "f32[6,3]", VIOLET)):
        shape(x, 196, text, color)
    d.lines(716, 120, "W is shared:\nit stays as it is,\nit is not copied", size=13, color=GREY)

    d.path("M20 216 H880", RULE, arrow=False, width=1)
    d.text(20, 246, "reduce_sum z", mono=True, bold=True)
    d.grid(60, 272, 4, 3, BLUE)
    d.path("M44 272 V334", ORANGE)
    d.text(20, 356, "axis 0", size=13, color=ORANGE)
    shape(112, 356, "f32[4,3]")
    d.path("M124 304 H202", GREY)
    d.text(162, 294, "axis=0", mono=True, size=13, anchor="middle")
    d.grid(212, 296, 1, 3, GREEN)
    shape(238, 356, "f32[3]")
    for sheet in range(5, 0, -1):
        d.rect(476 + 9 * sheet, 282 - 5 * sheet, 48, 64, VIOLET, radius=0)
    d.grid(476, 282, 4, 3, VIOLET)
    d.path("M460 282 V344", ORANGE)
    d.text(424, 370, "axis 1", size=13, color=ORANGE)
    d.path("M530 352 L574 328", ORANGE)
    d.text(564, 354, "axis 0: batch", size=13, color=ORANGE)
    shape(508, 390, "f32[6,4,3]", VIOLET)
    d.path("M584 296 H654", GREY)
    d.text(617, 286, "axis=1", mono=True, size=13, anchor="middle")
    d.grid(664, 248, 6, 3, VIOLET)
    shape(690, 370, "f32[6,3]", VIOLET)
    d.lines(736, 272, "axis=0 becomes 1,", size=13)
    d.lines(736, 300, "axis=-1 stays -1:\nit is counted from\nthe right", size=13)

    d.path("M20 410 H880", RULE, arrow=False, width=1)
    d.text(20, 440, "sub z s", mono=True, bold=True)
    d.grid(60, 470, 1, 3, BLUE)
    d.text(124, 483, "−")
    d.grid(150, 470, 1, 1, BLUE)
    shape(84, 516, "f32[3]")
    shape(160, 516, "f32[]")
    d.grid(440, 430, 6, 3, VIOLET)
    d.text(508, 483, "−")
    d.grid(548, 430, 6, 1, VIOLET)
    shape(464, 550, "f32[6,3]", VIOLET)
    shape(558, 550, "f32[6,1]", VIOLET)
    d.lines(
        620,
        456,
        "not f32[6]: broadcasting aligns at\nthe right and would put the 6\nmembers beside the 3 columns",
        size=13,
        color=GREY,
    )
    return d


def levels() -> Drawing:
    """Nested traces: the innermost one among the operands records."""
    d = Drawing("Nested traces: x belongs to trace 0 and is a literal to trace 1", 900, 420)
    d.text(20, 34, "grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0)", mono=True, bold=True)
    d.rect(20, 54, 500, 346, BLUE)
    d.text(36, 80, "trace 0, opened by the outer grad", bold=True, color=BLUE)
    d.text(36, 108, "x is its variable", size=13)
    d.rect(56, 126, 440, 160, ORANGE)
    d.text(72, 152, "trace 1, opened by the inner grad", bold=True, color=ORANGE)
    d.text(72, 180, "y is its variable; x is a literal here", size=13)
    d.text(72, 214, "z = add x y", mono=True, bold=True)
    d.text(186, 214, "recorded here: y is the innermost", size=13, color=GREY)
    d.text(72, 242, "dz/dy = 1", mono=True, bold=True, color=GREEN)
    d.text(72, 268, "x gets nothing: it is not a variable of trace 1", size=13, color=GREY)
    d.path("M276 288 V316", GREEN)
    d.text(288, 308, "1.0", mono=True, color=GREEN)
    d.text(36, 340, "r = mul x 1.0", mono=True, bold=True)
    d.text(170, 340, "recorded here: x is the innermost", size=13, color=GREY)
    d.text(36, 374, "dr/dx = 1", mono=True, bold=True, color=GREEN)
    d.text(550, 80, "If there were only one level", bold=True, color=GREY)
    d.rect(550, 98, 330, 150, GREY)
    d.text(566, 126, "x and y would both be variables", size=13)
    d.text(566, 147, "of the same walk, and the inner", size=13)
    d.text(566, 168, "grad would count x as well as y:", size=13)
    d.text(566, 200, "inner = 2, outer = 2", mono=True, bold=True)
    d.text(566, 230, "perturbation confusion", size=13, color=GREY)
    d.text(550, 286, "The rule", bold=True, color=GREEN)
    d.rect(550, 304, 330, 96, GREEN)
    d.lines(
        566,
        330,
        "An operation is recorded by the\ninnermost trace among its operands;\nall else is a literal to it.",
        size=13,
    )
    return d


FIGURES: dict[str, Callable[[], Drawing]] = {
    "chain": chain,
    "trace": trace,
    "reverse": reverse,
    "cache": cache,
    "batching": batching,
    "levels": levels,
}


def files() -> dict[str, bytes]:
    """Every figure by the name of its file."""
    return drawing.files(FIGURES)


if __name__ == "__main__":
    drawing.write(files(), Path(__file__).with_name("figures"))
