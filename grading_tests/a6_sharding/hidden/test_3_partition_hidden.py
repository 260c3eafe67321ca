"""Part 3, hidden: random problems against an exhaustive search, Shardy and XLA."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
from given_minispmd import program as given

from autograder.kit import check, hint, limits, number, probe, weight

import generators
import judge
import judge_programs
import oracle

XLA = json.loads((Path(__file__).parent / "golden_jax.json").read_text())["matmuls"]
SHARDY = json.loads((Path(__file__).parent / "golden_shardy.json").read_text())["reshards"]


@probe
def programs(problems, itemsize) -> list[list[judge_programs.Step]]:
    """partition_matmul (three specs) or reshard (two) of each problem."""
    import minispmd

    import describe

    found = []
    for problem in problems:
        mesh = describe.mesh(problem["mesh"])
        specs = [describe.spec(spec) for spec in problem["specs"]]
        search = minispmd.partition_matmul if len(specs) == 3 else minispmd.reshard
        found.append([describe.step(step) for step in search(*specs, mesh, tuple(problem["shape"]), itemsize)])
    return found


def layouts(problem: dict[str, Any]) -> list[Any]:
    """The specs of a problem as layouts."""
    rank = 2 if len(problem["specs"]) == 3 else len(problem["shape"])
    return [tuple(map(tuple, generators.axes_of(spec, rank))) for spec in problem["specs"]]


def compare(student: Any, problems: list[dict[str, Any]], bounds: list[int]) -> None:
    """All points if every program is right and sends no more than its bound; a part if some send more."""
    answers = student(programs, problems, 4)
    check.equal(len(answers), len(problems), "the number of programs")
    fractions, worst, said = [], 1.0, ""
    for problem, steps, bound in zip(problems, answers, bounds, strict=True):
        first, *rest, goal = layouts(problem)
        shape = tuple(problem["shape"])
        start = given.matmul_state(shape, first, *rest) if rest else given.State({"x": shape}, {"x": first})
        got = judge_programs.run_program(steps, start, problem["mesh"], goal)
        fractions.append(check.fraction_within(got, full=bound, none=2 * bound) if bound else float(got == 0))
        if fractions[-1] < worst:
            worst, program = fractions[-1], judge_programs.read_program(steps)
            said = f"{got:,} bytes where {bound:,} suffice, for {problem}"
            said += f"\n{judge_programs.text(program)}\n{judge_programs.diagnosis(program)}"
    right = f"the least bytes in all {len(problems)} problems"
    check.partly(float(np.mean(fractions)), "bytes that each device sends", expected=right, got=said)


@number("3.7")
@limits(seconds=30)
@weight(3)
@hint("Try other layouts of a and b before the dot as well as after it. Handout, part 3, the search.")
def test_random_matmuls_are_cheapest(student, rng):
    """random matmuls on meshes of one to three axes, against an exhaustive search"""
    problems = [generators.random_matmul(rng, axes) for axes in [1, 1, *[2] * 8, 3]]
    bounds = []
    for problem in problems:
        a, b, goal = layouts(problem)
        bounds.append(oracle.cheapest_matmul(problem["shape"], a, b, goal, judge.mesh(problem["mesh"]))[0])
    compare(student, problems, bounds)


@number("3.8")
@limits(seconds=30)
@weight(2)
@hint("A shortest path over layouts finds all of these. Handout, part 3, resharding.")
def test_random_reshards_are_cheapest(student, rng):
    """random reshards against an exhaustive search, and those of Shardy"""
    problems = [generators.random_reshard(rng, axes) for axes in [1, 1, *[2] * 8, 3]]
    bounds = []
    for problem in problems:
        src, dst = layouts(problem)
        bounds.append(oracle.cheapest_reshard(problem["shape"], src, dst, judge.mesh(problem["mesh"]))[0])
    golden = [SHARDY[int(place)] for place in rng.permutation(len(SHARDY))[:15]]
    compare(student, problems + golden, bounds + [case["bytes"] for case in golden])


@number("3.9")
@limits(seconds=30)
@weight(1)
@hint("A compiler's program is a bound: yours may be cheaper, not dearer. Handout, part 3.")
def test_no_more_bytes_than_xla(student, rng):
    """matmuls of 1024³ on a mesh X=4, Y=2: no more bytes than XLA's CPU compiler"""
    chosen = [XLA[int(place)] for place in rng.permutation(len(XLA))[:15]]
    problems = [{"mesh": [["X", 4], ["Y", 2]], "specs": case["specs"], "shape": [1024] * 3} for case in chosen]
    bounds = []
    for problem, case in zip(problems, chosen, strict=True):
        a, b, goal = layouts(problem)
        # XLA may cut an axis of 4 into two of 2, which is not asked for here.
        least = oracle.cheapest_matmul(problem["shape"], a, b, goal, judge.mesh(problem["mesh"]))[0]
        bounds.append(max(case["bytes"], least))
    compare(student, problems, bounds)


@probe
def executed(problem, blocks) -> judge.Run:
    """The student's own program for a problem, carried out on a fabric."""
    import minispmd
    from minispmd.program import State, matmul_state

    import describe

    mesh, shape = describe.mesh(problem["mesh"]), tuple(problem["shape"])
    specs = [describe.spec(spec) for spec in problem["specs"]]
    if len(specs) == 3:
        program = minispmd.partition_matmul(*specs, mesh, shape, 8)
        start = matmul_state(shape, *(minispmd.axes_of(spec, 2) for spec in specs[:2]))
        run = lambda device, a, b: minispmd.execute(device, program, start, {"a": a, "b": b})
    else:
        program = minispmd.reshard(*specs, mesh, shape, 8)
        start = State({"x": shape}, {"x": minispmd.axes_of(specs[0], len(shape))})
        run = lambda device, x: minispmd.execute(device, program, start, {"x": x})
    return describe.run(problem["mesh"], run, *blocks)


def cut(x: np.ndarray, mesh: list[Any], layout: Any) -> list[np.ndarray]:
    """Every device's block."""
    blocks = []
    for device in range(math.prod(size for _, size in mesh)):
        block = x
        for dim, axes in enumerate(layout):
            parts = np.split(block, math.prod(dict(mesh)[axis] for axis in axes), axis=dim)
            block = parts[generators.position(mesh, device, list(axes))]
        blocks.append(np.ascontiguousarray(block))
    return blocks


@number("3.10")
@limits(seconds=30)
@weight(1)
@hint("Slices take the block of this device's position; permutes use permute_pairs. Handout, part 3, execute.")
def test_random_programs_compute_the_product(student, rng):
    """programs for random matmuls and reshards, carried out on the fabric"""
    for axes in (1, 2, 2, 2, 2):
        problem = generators.random_matmul(rng, axes)
        n = math.prod(size for _, size in problem["mesh"])
        problem["shape"] = m, k, columns = [n * int(size) for size in rng.integers(1, 3, size=3)]
        a, b = rng.integers(-9, 9, size=(m, k)).astype("f8"), rng.integers(-9, 9, size=(k, columns)).astype("f8")
        left, right, out = layouts(problem)
        run = student(executed, problem, [cut(a, problem["mesh"], left), cut(b, problem["mesh"], right)])
        judge.traffic(run, problem["mesh"])
        for device, want in enumerate(cut(a @ b, problem["mesh"], out)):
            check.close(run.outputs[device], want, ulps=64, what=f"device {device}'s block of the product")
    for axes in (1, 2, 2, 2, 3):
        problem = generators.random_reshard(rng, axes)
        (x,) = generators.distinct(rng, 1, problem["shape"], "float64")
        src, dst = layouts(problem)
        blocks = cut(x, problem["mesh"], src)
        run = student(executed, problem, [blocks])
        judge.traffic(run, problem["mesh"])
        judge.moved(run, blocks)
        for device, want in enumerate(cut(x, problem["mesh"], dst)):
            check.equal(run.outputs[device], want, f"device {device}'s block after the reshard")
