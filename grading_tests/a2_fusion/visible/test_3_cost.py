"""Part 3: what a module costs: kernels, bytes, floating-point operations, transcendentals, time."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from given_minixla import text
from given_minixla.programs import program

from autograder.kit import check, hint, number, probe, weight

import generators
import judge
from generators import Builder


class Kernel(msgspec.Struct):
    """What one kernel costs."""

    name: str
    bytes_read: int
    bytes_written: int
    flops: int
    transcendentals: int


class Analysis(msgspec.Struct):
    """What `cost` says of a module."""

    kernels: list[Kernel]
    bytes: int
    flops: int
    transcendentals: int


@probe
def analysed(module, accounting) -> Analysis:
    """the cost of a module"""
    from minixla import cost_analysis, text

    found = cost_analysis.cost(text.parse(module), accounting)
    fields = ("name", "bytes_read", "bytes_written", "flops", "transcendentals")
    return {
        "kernels": [{field: getattr(kernel, field) for field in fields} for kernel in found.kernels],
        "bytes": found.bytes,
        "flops": found.flops,
        "transcendentals": found.transcendentals,
    }


@probe
def seconds(module, accounting, machine) -> float:
    """the time of a module on a machine, under the roofline"""
    from minixla import cost_analysis, roofline, text

    return float(cost_analysis.cost(text.parse(module), accounting).seconds(roofline.Machine(**machine)))


def agrees(student, module, accounting, **expected):
    """Judge totals of a module's cost."""
    got = student(analysed, text.print_module(module), accounting)
    for field, value in expected.items():
        have = len(got.kernels) if field == "kernels" else getattr(got, field)
        if have != value:
            judge.fail(module, None, f"{field} in the {accounting!r} accounting: expected {value:,}, got {have:,}")
    return got


def measured(student, module, rng):
    """Kernels and bytes must be what running the module kernel by kernel moves."""
    kernels, moved = judge.traffic(module, generators.arguments(module, rng))
    agrees(student, module, "lecture", kernels=kernels, bytes=moved)


@number("3.1")
@weight(2)
@hint("Run the module with `interpret.run_kernels`: it lists what each kernel read and wrote.")
@pytest.mark.parametrize("name", ["gelu_layer_cleaned", "mini_attention", "mlp_block", "attention_storing_exp"])
def test_bytes_are_what_running_it_moves(student, rng, name):
    """kernels and bytes of named programs, fused and not, are what running them kernel by kernel moves"""
    sizes = {1024: 128 + 8 * int(rng.integers(1, 9)), 16: 24, 512: 96}
    measured(student, generators.resized(program(name), sizes), rng)


@number("3.2")
@weight(1.5)
@hint("A set of distinct arrays; a literal is part of the program; a pred is one byte; a row is read once.")
def test_what_counts_as_read(student, rng):
    """an operand read twice counts once, a literal not at all, an element of a pred one byte"""
    rows, columns = (int(size) for size in rng.integers(3, 40, size=2))
    build = Builder()
    x, row = build.parameter("f32", rows, columns), build.parameter("f32", columns)
    mask, half = build.parameter("pred", rows, columns), build.parameter("bf16", rows, columns)
    square = build.op("multiply", x, x)
    shifted = build.op("add", square, build.along(row, (rows, columns), 1))
    scaled = build.op("multiply", shifted, build.spread(0.5, x))
    masked = build.op("select", mask, scaled, build.spread(0.0, x))
    narrow = build.op("multiply", build.op("convert", masked, dtype="bf16"), half)
    module = build.module(narrow, build.op("compare", x, masked, direction="LT"))
    whole = rows * columns
    parts = [8 * whole, 8 * whole + 4 * columns, 8 * whole, 9 * whole, 6 * whole, 6 * whole, 9 * whole]
    agrees(student, module, "lecture", kernels=7, bytes=sum(parts))
    measured(student, module, rng)


@number("3.3")
@weight(2)
@hint("2·M·N·K for a dot, one an element for arithmetic, n - 1 for each sum of n.")
def test_flops_and_transcendentals(student, rng):
    """operations of dots (batched ones, too), arithmetic and reductions; transcendentals apart"""
    m, k, n, b = (int(size) for size in rng.integers(2, 20, size=4))
    build = Builder()
    x, w = build.parameter("f32", m, k), build.parameter("f32", k, n)
    h = build.dot(x, w)
    e = build.op(
        "exponential", build.op("subtract", h, build.along(build.reduce(h, 1, opcode="maximum"), (m, n), 0))
    )
    root = build.op("sqrt", build.op("tanh", build.op("log", build.reduce(e, 0))))
    module = build.module(root, build.op("transpose", e, dims=(n, m), dimensions=(1, 0)))
    flops = 2 * m * k * n + m * (n - 1) + m * n + n * (m - 1)
    agrees(student, module, "lecture", flops=flops, transcendentals=m * n + 3 * n)
    build = Builder()
    x, y = build.parameter("f32", b, m, k), build.parameter("f32", b, n, k)
    dims = {
        "lhs_batch_dims": (0,),
        "rhs_batch_dims": (0,),
        "lhs_contracting_dims": (2,),
        "rhs_contracting_dims": (2,),
    }
    module = build.module(build.op("dot", x, y, dims=(b, m, n), **dims))
    agrees(student, module, "lecture", flops=2 * b * m * n * k, bytes=4 * b * (m * k + n * k + m * n))
    build = Builder()
    x = build.parameter("f32", b, m, n)
    module = build.module(
        build.reduce(x, 0, 2, opcode="maximum"), build.reduce(x, 1), build.op("convert", x, dtype="bf16")
    )
    agrees(student, module, "xla", flops=m * (b * n - 1) + b * n * (m - 1) + b * m * n)


@number("3.4")
@weight(1.5)
@hint("Recomputing does an operation twice, so it counts twice. A reduction of n does n - 1.")
def test_attention_by_the_numbers(student):
    """attention as three kernels: 2,153,773,056 operations, 2,097,152 transcendentals, 21.02 MiB"""
    fused = program("attention_fused")
    agrees(student, fused, "lecture", kernels=3, flops=2_153_773_056, transcendentals=2_097_152, bytes=22_040_576)
    agrees(student, program("attention"), "lecture", transcendentals=1_048_576, bytes=63_979_520)


@number("3.5")
@weight(1.5)
@hint("What XLA's cost analysis counts differs in a few places from the lecture's rule; the handout lists them.")
def test_xla_vectors(student, rng):
    """the figures of XLA's own cost analysis, and the same rules at drawn sizes"""
    for m, k, n in ((10, 5, 30), tuple(int(size) for size in rng.integers(2, 40, size=3))):
        build = Builder()
        module = build.module(build.dot(build.parameter("f32", m, k), build.parameter("f32", k, n)))
        agrees(student, module, "xla", flops=2 * m * k * n, bytes=4 * (m * k + k * n + m * n))
    for rows, columns in ((10, 20), tuple(int(size) for size in rng.integers(2, 40, size=2))):
        build = Builder()
        module = build.module(build.reduce(build.parameter("f32", rows, columns), 1))
        agrees(student, module, "xla", flops=rows * (columns - 1), bytes=4 * (rows * columns + rows + 1))
    size = int(rng.integers(3, 90))
    for extent in (2, size):
        agrees(student, sliced("slice", extent), "xla", bytes=8)
        agrees(student, sliced("dynamic-slice", extent), "xla", bytes=12)
        agrees(student, sliced("dynamic-update-slice", extent), "xla", bytes=12)


def sliced(opcode, extent):
    """One element of f32[extent], cut out or written."""
    build = Builder()
    x = build.parameter("f32", extent)
    if opcode == "slice":
        return build.module(build.op("slice", x, dims=(1,), starts=(1,), limits=(2,), strides=(1,)))
    start = build.parameter("s32")
    if opcode == "dynamic-slice":
        return build.module(build.op("dynamic-slice", x, start, dims=(1,), dtype="f32", dynamic_slice_sizes=(1,)))
    update = build.parameter("f32", 1)
    return build.module(build.op("dynamic-update-slice", x, update, start, dims=(extent,), dtype="f32"))


@number("3.6")
@weight(1.5)
@hint("The body's parameters are the operands: what does it do to each of them, and what only inside?")
def test_xla_vectors_of_fusions_and_logistic(student, rng):
    """a fused chain: 16 operations, 4 transcendentals, 64 bytes; logistic: 2,800 operations, or 2,200 as one"""
    side = int(rng.integers(2, 20))
    for n in (2, side):
        body = Builder("body")
        a, b, c = (body.parameter("f32", n, n) for _ in range(3))
        total = body.op("add", a, b)
        clamped = body.op("clamp", b, total, c)
        e = body.op("exponential", total)
        body.outputs = (body.op("subtract", body.op("multiply", e, clamped), b),)
        build = Builder()
        inputs = [build.parameter("f32", n, n) for _ in range(3)]
        module = build.module(*build.fusion(body, "kLoop", *inputs))
        agrees(student, module, "xla", kernels=1, flops=4 * n * n, transcendentals=n * n, bytes=16 * n * n)
    for m, k, n in ((10, 5, 20), (side, side + 1, side + 2)):
        for whole in (False, True):
            build = Builder()
            x, w, b = build.parameter("f32", m, k), build.parameter("f32", k, n), build.parameter("f32", m, n)
            h = build.op("add", build.dot(x, w), b)
            if whole:
                out = build.op("logistic", h)
            else:
                one = build.spread(1.0, h)
                out = build.op("divide", one, build.op("add", one, build.op("exponential", build.op("negate", h))))
            flops = 2 * m * k * n + (1 if whole else 4) * m * n
            agrees(student, build.module(out), "xla", flops=flops, transcendentals=m * n)


@number("3.7")
@weight(1)
@hint("Each kernel takes as long as its slowest unit; kernels run one after the other.")
def test_roofline_time(student, rng):
    """the time of a module: for each kernel the longest of memory, matrix unit and vector unit, summed"""
    m, k, n = (int(size) for size in rng.integers(30, 90, size=3))
    build = Builder()
    h = build.dot(build.parameter("f32", m, k), build.parameter("f32", k, n))
    e = build.op("exponential", h)
    module = build.module(build.op("add", e, build.parameter("f32", m, n)))
    moved = [4 * (m * k + k * n + m * n), 8 * m * n, 12 * m * n]
    for hbm, mxu, vpu, each in (
        (1e9, 1e12, 1e12, 3),
        (1e15, 1e9, 1e12, 3),
        (1e15, 1e15, 1e8, 5),
        (4e9, 2e11, 9e8, 2),
    ):
        machine = {
            "name": "drawn",
            "hbm_bytes": hbm,
            "mxu_flops": mxu,
            "vpu_operations": vpu,
            "operations_per_transcendental": each,
        }
        want = max(moved[0] / hbm, 2 * m * k * n / mxu)
        want += max(moved[1] / hbm, each * m * n / vpu) + max(moved[2] / hbm, m * n / vpu)
        got = student(seconds, text.print_module(module), "lecture", machine)
        check.close(np.float64(got), np.float64(want), relative=1e-9, what=f"seconds on {machine}")
