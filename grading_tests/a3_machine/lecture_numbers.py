"""Prints the lecture's figures for this assignment and what the reference solution obtains; checks its trace.

    python grading_tests/a3_machine/lecture_numbers.py

Prints, too, how far each named program's schedule is from its bound. Exits with an error if a figure is not
obtained, if a schedule is further off than the target, if the trace of the attention tile is not in the
trace-event format, or if `answers.json` is not what `generate_answers.py` writes.
"""

from __future__ import annotations

import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

SOLUTION = Path(__file__).resolve().parents[2] / "solutions" / "a3_machine"
NOTHING = np.zeros((1, 32), np.float32)  # a memory for runs that are only counted
KINDS = {"process_name", "thread_name", "process_labels", "process_sort_index", "thread_sort_index"}


def trace_problems(trace: dict[str, Any]) -> list[str]:
    """What is wrong with a trace, by the rules of the trace-event format for the events that it may hold."""
    problems = []
    spans: dict[tuple[int, int], list[tuple[float, float]]] = {}
    named: set[tuple[object, ...]] = set()
    open_at: dict[tuple[str, Any], float] = {}
    for number, event in enumerate(json.loads(json.dumps(trace))["traceEvents"]):
        where = f"event {number} ({event.get('name')})"
        if not isinstance(event.get("name"), str) or not all(
            isinstance(event.get(k), int) for k in ("pid", "tid")
        ):
            problems.append(f"{where}: name, pid or tid is missing")
        if not isinstance(event.get("ts"), int | float) or event["ts"] < 0:
            problems.append(f"{where}: ts is not a time")
        match event.get("ph"):
            case "M":
                if event["name"] not in KINDS or not isinstance(event.get("args", {}).get("name"), str):
                    problems.append(f"{where}: not metadata that viewers know")
                named.add((event["name"], event["pid"], event["tid"] if event["name"] == "thread_name" else 0))
            case "X":
                if not isinstance(event.get("dur"), int | float):
                    problems.append(f"{where}: dur is not a time")
                spans.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event.get("dur", -1)))
            case "b":
                open_at[event["cat"], event["id"]] = event["ts"]
            case "e":
                if open_at.pop((event["cat"], event["id"]), float("inf")) > event["ts"]:
                    problems.append(f"{where}: ends before it begins")
            case "C":
                if not all(isinstance(value, int | float) for value in event["args"].values()):
                    problems.append(f"{where}: a counter that is no number")
            case other:
                problems.append(f"{where}: phase {other!r} is none of M, X, b, e, C")
    problems += [f"{key} never ends" for key in open_at]
    for row, times in spans.items():
        times.sort()
        if ("process_name", row[0], 0) not in named or ("thread_name", *row) not in named:
            problems.append(f"row {row}: no metadata names its process and its thread")
        if any(duration <= 0 for _, duration in times):
            problems.append(f"row {row}: a span without a duration")
        if any(start + duration > later for (start, duration), (later, _) in pairwise(times)):
            problems.append(f"row {row}: spans overlap")
    return problems


def main() -> None:
    """Print a row for each figure."""
    sys.path.insert(0, str(SOLUTION))
    from minitpu import numerics, roofline, trace
    from minitpu.chips import IRONWOOD as chip
    from minitpu.isa import TEACHING, V6E
    from minitpu.lowering import lower
    from minitpu.machine import run
    from minitpu.mxu import tile_utilisation
    from minitpu.programs import NAMES, TILES, program
    from minitpu.scheduler import lower_bounds, schedule
    from minitpu.systolic import SystolicArray
    from minitpu.tiles import Step

    wrong = []

    def row(item: str, lecture: object, obtained: object, holds: bool) -> None:
        print(f"{item}: lecture {lecture} -> obtained {obtained}{'' if holds else '   NOT OBTAINED'}")
        if not holds:
            wrong.append(item)

    counts = {
        (n, b): SystolicArray(np.ones((n, n))).stream(np.ones((b, n)))[1] for n, b in ((3, 3), (3, 1), (16, 64))
    }
    row("K cycles of (N, B)", "8, 6, 95", counts, list(counts.values()) == [8, 6, 95])
    used = 100 * tile_utilisation(1024, 256)
    row("K MXU, 1,024 rows", "57.2 %", f"{used:.2f} %", abs(used - 57.2) < 0.05)
    errors: dict[tuple[str, int], float] = {}
    for length in (16, 4096):
        for kind in ("float32", "bfloat16"):
            each = []
            for seed in range(12):
                rng = np.random.default_rng(seed)
                x, w = (rng.normal(size=(64, length)).astype(np.float32) for _ in range(2))
                exact = (x.astype(np.float64) * w).sum(axis=1)
                each.append(np.abs(numerics.dot(x, w, kind) - exact).max() / np.abs(exact).max())
            errors[kind, length] = float(np.mean(each))
    flat, grown = errors["float32", 16], errors["bfloat16", 4096]
    said = ", ".join(f"{kind} K={length} {error:.1e}" for (kind, length), error in errors.items())
    row(
        "K errors",
        "float32 2.5e-3 to 2.9e-3, bfloat16 6.2e-3 to 8.8e-2",
        said,
        flat < 3.5e-3 and 0.05 < grown < 0.15,
    )
    x = np.linspace(-30, 0, 100_001).astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    error = float((np.abs(numerics.exp_via_exp2(x) - exact) / exact).max())
    row("L exp by powers of two", "1.8e-6", f"{error:.2e}", 1.7e-6 < error < 1.85e-6)
    fills = [
        roofline.tile_fill(*a, chip) for a in (((1024, 128), 4), ((1024, 64), 4), ((4, 1024), 2), ((1, 4096), 4))
    ]
    row("L tile fill", "100, 50, 25, 12.5 %", [100 * fill for fill in fills], fills == [1, 0.5, 0.25, 0.125])
    figures = [
        ("M balance HBM", 279, roofline.balance(chip, "hbm")),
        ("M balance VMEM", 35, roofline.balance(chip, "vmem")),
        ("M VPU TFLOP/s", 18.0, roofline.vpu_flops(chip) / 1e12),
        ("M MXU over VPU", 57, chip.matmul_flops / roofline.vpu_flops(chip)),
        ("M store 4 MiB, us", 1.14, roofline.store_seconds(4 << 20, chip) * 1e6),
        ("M recompute, us", 0.35, roofline.recompute_seconds(1 << 20, 3, chip) * 1e6),
        ("compute-bound M", 1674, roofline.compute_bound_size(4, chip)),
        ("one MXU, TFLOP/s", 288.4, roofline.mxu_flops(chip) / 1e12),
        ("MXUs in a core", 3.57, chip.matmul_flops / roofline.mxu_flops(chip)),
        ("Q·Kᵀ on two MXUs, %", 40.0, 100 * tile_utilisation(512, 256)),
        ("flop use in 0.637 us, %", 0.32, 100 * roofline.flop_use(2 << 20, 0.637e-6, chip)),
    ]
    for item, lecture, value in figures:
        row(item, lecture, f"{value:.4g}", abs(value - lecture) <= 0.01 * lecture)

    root = [Step("load", "x"), Step("scale", "m", ("x",), 1 / 64), Step("shift", "a", ("m",), 1e-6)]
    root += [Step("rsqrt", "r", ("a",)), Step("mul", "y", ("a", "r")), Step("store", "", ("y",), 512)]
    kernel = lower(root, V6E)
    done = run(schedule(kernel, V6E), V6E, np.ones((8, 128), np.float32))
    path = lower_bounds(kernel, V6E).critical_path - V6E.timings["vst"].latency + 1
    print(
        f"square root of a mean on v6e: {done.bundles} bundles, the last is number {path} (dump: 10 bundles of 24)"
    )

    for name in NAMES:
        for tiles in TILES:
            llo = program(name, tiles)
            cycles, bound = (
                run(schedule(llo, TEACHING), TEACHING, NOTHING).cycles,
                lower_bounds(llo, TEACHING).cycles,
            )
            far = f"{cycles} cycles, W = {bound}, {cycles / bound:.3f}"
            row(f"{name}, {tiles} tiles", "at most 1.10 W", far, cycles <= 1.10 * bound)

    llo = program("attention", 1)
    bundles = schedule(llo, TEACHING)
    made = trace.chrome_trace(bundles, TEACHING, run(bundles, TEACHING, NOTHING))
    problems = trace_problems(made)
    issued = sum(event["ph"] == "X" for event in made["traceEvents"])
    row(
        "trace of the attention tile",
        f"{len(llo.operations)} operations",
        f"{issued} spans, {problems or 'valid'}",
        not problems and issued == len(llo.operations),
    )
    import generate_answers

    generate_answers.prepare()
    stored = (generate_answers.HERE / "answers.json").read_text("utf-8")
    same = generate_answers.pool() == stored
    row("answers.json", "as generate_answers.py writes it", "the same" if same else "another", same)
    if wrong:
        sys.exit(f"not obtained: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
