"""Part 3: programs of collectives around a matmul. The grader checks every step, and counts the bytes itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from given_minispmd import program as given

from autograder.kit import check, hint, number, probe, weight

import generators
import judge
import judge_programs

MIB = 2**20


@probe
def formulas(cases) -> list[int]:
    """sent_bytes for [kind, elements, n, itemsize]."""
    import minispmd
    from minispmd import program

    return [int(minispmd.sent_bytes(getattr(program, kind), *numbers)) for kind, *numbers in cases]


@number("3.1")
@weight(2)
@hint("From each device's block before the step, in bytes and not in elements. Handout, part 2, what it costs.")
def test_bytes_of_every_kind(student, rng):
    """sent_bytes: what each kind of step sends"""
    cases: list[list[Any]] = []
    want = []
    for _ in range(10):
        n, itemsize = int(rng.integers(2, 17)), int(rng.choice([1, 2, 4, 8]))
        elements, odd = n * int(rng.integers(1, 1000)), int(rng.integers(1, 10_000))
        cases += [["AllGather", odd, n, itemsize], ["ReduceScatter", elements, n, itemsize]]
        cases += [["AllReduce", odd, n, itemsize], ["AllToAll", elements, n, itemsize]]
        cases += [["Permute", odd, n, itemsize], ["Slice", odd, n, itemsize]]
        want += [(n - 1) * odd * itemsize, (n - 1) * elements // n * itemsize]
        want += [2 * (n - 1) * math.ceil(odd / n) * itemsize, (n - 1) * elements // n * itemsize]
        want += [odd * itemsize, 0]
    got = student(formulas, cases)
    check.equal(len(got), len(want), "the number of answers")
    for case, number_of_bytes, right in zip(cases, got, want, strict=True):
        check.equal(number_of_bytes, right, f"sent_bytes({', '.join(map(str, case))})")


@probe
def partitioned(mesh, specs, shape, itemsize) -> list[judge_programs.Step]:
    """partition_matmul of these specs."""
    import minispmd

    import describe

    a, b, out = (describe.spec(spec) for spec in specs)
    program = minispmd.partition_matmul(a, b, out, describe.mesh(mesh), tuple(shape), itemsize)
    return [describe.step(step) for step in program]


def layout(spec: list[Any], rank: int = 2) -> Any:
    """A spec as a layout."""
    return tuple(map(tuple, generators.axes_of(spec, rank)))


def matmul_bytes(
    student: Any, mesh: list[Any], specs: list[Any], shape: list[int], itemsize: int = 4
) -> tuple[int, list[judge_programs.Step]]:
    """Bytes of the student's program, which must be a right one."""
    steps = student(partitioned, mesh, specs, shape, itemsize)
    a, b, out = map(layout, specs)
    start = given.matmul_state(tuple(shape), a, b)
    return judge_programs.run_program(steps, start, mesh, out, itemsize), steps


def best(
    student: Any, mesh: list[Any], specs: list[Any], shape: list[int], nbytes: float, kinds: list[str]
) -> None:
    """Pass if the program sends no more, and its steps that send are of these kinds."""
    got, steps = matmul_bytes(student, mesh, specs, shape)
    judge_programs.no_more_than(got, int(nbytes), steps)
    check.equal(judge_programs.kinds(steps), kinds, f"the steps that send something, for the specs {specs}")


ROWS, COLUMNS, WHOLE = ["x"], [None, "x"], []


@number("3.2")
@weight(3)
@hint("A device needs all it multiplies; or all multiply a part, and parts are added. Handout, part 3, five cuts.")
def test_the_five_cuts(student, rng):
    """the five cuts of a product on a ring: 0, 0, 24, 48 and 24 MiB, and the same for other sizes"""
    drawn = [int(n) for n in rng.choice([2, 4, 8], size=2)]
    for n, (m, k, columns) in [(4, (8192, 8192, 1024)), *((n, (1024 * n, 512 * n, 64 * n)) for n in drawn)]:
        mesh, shape, c, b = [["x", n]], [m, k, columns], m * columns * 4, k * columns * 4
        best(student, mesh, [ROWS, WHOLE, ROWS], shape, 0, [])
        best(student, mesh, [WHOLE, COLUMNS, COLUMNS], shape, 0, [])
        best(student, mesh, [ROWS, ROWS, ROWS], shape, (n - 1) / n * b, ["AllGather"])
        best(student, mesh, [COLUMNS, ROWS, WHOLE], shape, 2 * (n - 1) / n * c, ["AllReduce"])
        best(student, mesh, [COLUMNS, ROWS, ROWS], shape, (n - 1) / n * c, ["ReduceScatter"])


@number("3.3")
@weight(2)
@hint("If the output is cut, a whole sum is too much; gather the smaller operand. Handout, part 3, five cuts.")
def test_exercise_ten_and_two_axes(student):
    """exercise 10 (96 and 48 MiB), the smaller operand is gathered, and what XLA does on a mesh of two axes"""
    ring = [["x", 4]]
    best(student, ring, [COLUMNS, ROWS, WHOLE], [4096] * 3, 96 * MIB, ["AllReduce"])
    best(student, ring, [COLUMNS, ROWS, ROWS], [4096] * 3, 48 * MIB, ["ReduceScatter"])
    best(student, ring, [ROWS, COLUMNS, ROWS], [8192, 1024, 1024], 3 * MIB, ["AllGather"])
    best(student, ring, [ROWS, COLUMNS, COLUMNS], [1024, 1024, 8192], 3 * MIB, ["AllGather"])
    best(student, ring, [COLUMNS, WHOLE, ROWS], [1024] * 3, 3 * MIB / 4, ["AllToAll"])
    mesh = [["X", 4], ["Y", 2]]
    best(student, mesh, [[None, "X"], ["X"], []], [1024] * 3, 6 * MIB, ["AllReduce"])
    best(student, mesh, [["X"], [None, "X"], ["X"]], [1024] * 3, 3 * MIB, ["AllGather"])
    best(student, mesh, [["X", "Y"], ["Y"], ["X"]], [1024] * 3, 1 * MIB, ["AllReduce"])
    got, steps = matmul_bytes(student, mesh, [["X", "Y"], ["Y"], [["X", "Y"]]], [1024] * 3)
    judge_programs.no_more_than(got, MIB // 2, steps)


@probe
def resharded(mesh, specs, shape, itemsize) -> list[judge_programs.Step]:
    """reshard from one spec to another."""
    import minispmd

    import describe

    src, dst = (describe.spec(spec) for spec in specs)
    program = minispmd.reshard(src, dst, describe.mesh(mesh), tuple(shape), itemsize)
    return [describe.step(step) for step in program]


def reshard_bytes(
    student: Any, mesh: list[Any], specs: list[Any], shape: list[int], itemsize: int = 4
) -> tuple[int, list[judge_programs.Step]]:
    """Bytes of the student's program, which must be a right one."""
    steps = student(resharded, mesh, specs, shape, itemsize)
    src, dst = (layout(spec, len(shape)) for spec in specs)
    start = given.State({"x": tuple(shape)}, {"x": src})
    return judge_programs.run_program(steps, start, mesh, dst, itemsize), steps


SQUARE, CUBE = [["x", 2], ["y", 2]], [["x", 2], ["y", 2], ["z", 2]]


@number("3.4")
@weight(4)
@hint("Axes go off and on at the minor end; moving is cheaper than gathering. Handout, part 3, resharding.")
@pytest.mark.parametrize(
    ("mesh", "specs", "rank", "share", "steps"),
    [
        (SQUARE, [["y", "x"], ["y", None]], 2, 1.0, [["AllGather", "x", ["x"], 1]]),
        (CUBE, [[["x", "y", "z"]], ["x"]], 1, 3.0, [["AllGather", "x", ["y", "z"], 0]]),
        (SQUARE, [[None, None], ["x", None]], 2, 0.0, [["Slice", "x", ["x"], 0]]),
        (SQUARE, [["x", "y", None], [None, "y", "x"]], 3, 0.5, [["AllToAll", "x", ["x"], 0, 2]]),
        (
            SQUARE,
            [["y", "x", None], [None, None, ["x", "y"]]],
            3,
            1.0,
            [["AllToAll", "x", ["x"], 1, 2], ["AllToAll", "x", ["y"], 0, 2]],
        ),
        ([["x", 2], ["y", 4]], [[["x", "y"]], [["y", "x"]]], 1, 1.0, [["Permute", "x", [["y", "x"]]]]),
        (SQUARE, [[["x", "y"]], [None, ["x", "y"]]], 2, 0.75, [["AllToAll", "x", ["x", "y"], 0, 1]]),
        (SQUARE, [["x", "y"], ["x", "y"]], 2, 0.0, []),
    ],
)
def test_resharding(student, rng, mesh, specs, rank, share, steps):
    """reshard finds the shortest way between two layouts, as Shardy does"""
    sizes = math.prod(size for _, size in mesh)
    shape = [sizes * int(size) for size in rng.integers(1, 5, size=rank)]
    itemsize = int(rng.choice([2, 4]))
    got, program = reshard_bytes(student, mesh, specs, shape, itemsize)
    before = layout(specs[0], rank)
    block = math.prod(shape) // math.prod(dict(mesh)[axis] for axes in before for axis in axes) * itemsize
    judge_programs.no_more_than(got, int(share * block), program)
    shown = [step if step[0] == "Slice" else step[:-1] for step in program]
    check.equal(shown, steps, f"the steps of reshard {specs}, without their bytes")


@number("3.5")
@weight(1)
@hint("Where bytes are equal, fewer multiply-adds, then fewer steps. See the docstrings.")
def test_ties(student, rng):
    """of programs with as many bytes, the one with less work and fewer steps is taken"""
    n, size = int(rng.choice([2, 4])), 256 * int(rng.integers(1, 5))
    _, steps = matmul_bytes(student, [["x", n]], [COLUMNS, ROWS, WHOLE], [size] * 3)
    check.equal(
        judge_programs.kinds(steps), ["AllReduce"], "steps: two gathers send as much and leave all the work to all"
    )
    _, steps = matmul_bytes(student, [["x", n]], [ROWS, WHOLE, WHOLE], [size] * 3)
    check.equal(
        [step[0] for step in steps],
        ["Dot", "AllGather"],
        "steps: gathering a first sends as much and is more work",
    )
    mesh = [["x", 2], ["y", n]]
    _, steps = matmul_bytes(student, mesh, [[], [], ["x", "y"]], [size] * 3)
    work = [index for index, step in enumerate(steps) if step[0] == "Dot"]
    cuts = [axis for step in steps[: work[0]] if step[0] == "Slice" for axis in step[2]]
    check.equal(sorted(cuts), ["x", "y"], "axes that the operands are sliced along before the dot")
    _, steps = reshard_bytes(student, mesh, [[["x", "y"]], []], [size])
    check.equal(len(steps), 1, "the number of steps of a gather along two axes")
    _, steps = reshard_bytes(student, mesh, [[], [["x", "y"]]], [size])
    check.equal(len(steps), 1, "the number of steps of a slice along two axes")


@probe
def executed(mesh, specs, shape, a, b) -> judge_programs.Executed:
    """partition_matmul, carried out on a fabric: the program, the blocks of the result, and the log."""
    import minispmd
    from minispmd.program import matmul_state

    import describe

    where = describe.mesh(mesh)
    a_spec, b_spec, out_spec = (describe.spec(spec) for spec in specs)
    program = minispmd.partition_matmul(a_spec, b_spec, out_spec, where, tuple(shape), a.itemsize)
    start = matmul_state(tuple(shape), minispmd.axes_of(a_spec, 2), minispmd.axes_of(b_spec, 2))
    blocks = minispmd.shard(a, a_spec, where), minispmd.shard(b, b_spec, where)
    run = describe.run(
        mesh, lambda device, a, b: minispmd.execute(device, program, start, {"a": a, "b": b}), *blocks
    )
    return {"steps": [describe.step(step) for step in program], "run": run}


def block_of(x: np.ndarray, mesh: list[Any], cuts: Any, device: int) -> np.ndarray:
    """A device's block."""
    for dim, axes in enumerate(cuts):
        parts = math.prod(dict(mesh)[axis] for axis in axes)
        x = np.split(x, parts, axis=dim)[generators.position(mesh, device, list(axes))]
    return x


@number("3.6")
@weight(2)
@hint("Each step is one collective among mesh.group(device.id, axes). Handout, part 3, execute.")
@pytest.mark.parametrize("specs", [[ROWS, ROWS, ROWS], [COLUMNS, ROWS, ROWS], [COLUMNS, ROWS, WHOLE]])
def test_a_program_computes_the_product(student, rng, specs):
    """a program on the fabric gives every device its block of A @ B, and sends what it says"""
    n = int(rng.choice([2, 4]))
    mesh, shape = [["x", n]], [n * 3, n * 4, n * 2]
    a, b = generators.distinct(rng, 2, [n * 4, n * 4], "float64")
    a, b = a[: shape[0]].copy(), b[:, : shape[2]].copy()
    answer = student(executed, mesh, specs, shape, a, b)
    steps, run = answer.steps, answer.run
    traffic = judge.traffic(run, mesh)
    start = given.matmul_state(tuple(shape), layout(specs[0]), layout(specs[1]))
    nbytes = judge_programs.run_program(steps, start, mesh, layout(specs[2]), 8)
    for device, got in enumerate(run.outputs):
        check.close(got, block_of(a @ b, mesh, layout(specs[2]), device), ulps=64, what=f"device {device}'s block")
    check.at_most(max(traffic.sent), nbytes, "bytes sent by a device")
    if specs == [ROWS, ROWS, ROWS]:
        judge.held(run, [np.array(block_of(b, mesh, layout(ROWS), device)) for device in range(n)], b)
    else:
        check.that(min(traffic.sent) > 0, "bytes sent by a device", expected="some", got="none")


@probe
def carried_out(mesh, program, shape, start, blocks) -> judge.Run:
    """execute of a program of this many steps, on a fabric."""
    import minispmd
    from minispmd.program import State

    import describe

    steps = tuple(describe.read_step(step) for step in program)
    state = State({"x": tuple(shape)}, {"x": describe.layout(start)})
    run = lambda device, x: minispmd.execute(device, steps, state, {"x": x})
    return describe.run(mesh, run, blocks)


@number("3.11")
@weight(1)
@hint("A slice is by position along its axes, an all-to-all splits the dimension it moves to. See program.py.")
@pytest.mark.parametrize("sizes", [[2, 4], [4, 2]])
def test_every_kind_of_step_is_carried_out(student, rng, sizes):
    """execute of a slice, an all-to-all, a permute and a gather, one after the other, on 2·4 devices"""
    mesh = [["x", sizes[0]], ["y", sizes[1]]]
    shape = [8 * int(size) for size in rng.permutation([1, 2, 3])[:2]]
    (x,) = generators.distinct(rng, 1, shape, "float64")
    half = shape[0] * shape[1] // 8 * 8
    steps: list[list[Any]] = [
        ["Slice", "x", ["x"], 0],
        ["AllToAll", "x", ["y"], 1, 0, half * (sizes[1] - 1) // sizes[1]],
        ["Permute", "x", [["y", "x"], []], half],
        ["AllGather", "x", ["x"], 0, half * (sizes[0] - 1)],
    ]
    layouts: list[Any] = [((), ("y",)), (("x",), ("y",)), (("x", "y"), ()), (("y", "x"), ()), (("y",), ())]
    for count in range(1, len(steps) + 1):
        blocks = [np.array(block_of(x, mesh, layouts[0], device)) for device in range(8)]
        run = student(carried_out, mesh, steps[:count], shape, layouts[0], blocks)
        judge.traffic(run, mesh)
        judge.moved(run, blocks)
        for device, got in enumerate(run.outputs):
            want = block_of(x, mesh, layouts[count], device)
            check.equal(got, np.array(want), f"device {device}'s block after {steps[count - 1]}")
