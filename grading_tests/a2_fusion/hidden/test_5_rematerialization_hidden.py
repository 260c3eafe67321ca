"""Part 5, hidden: machines near the point where recomputing pays, and schedules with many waiting values."""

from __future__ import annotations

import pytest
from given_minixla import text
from given_minixla.liveness import peak_memory

from autograder.kit import check, hint, number, probe, weight

import generators
import judge
from generators import Builder


@probe
def recompute(module, machine) -> judge.Rewritten:
    """recompute_for_bandwidth over a fused module"""
    from minixla import rematerialization, roofline, text

    parsed = text.parse(module)
    after, changed = rematerialization.recompute_for_bandwidth(parsed, roofline.Machine(**machine))
    return {"after": text.print_module(after), "changed": changed, "given": text.print_module(parsed)}


def kept_value(opcodes, rows, columns, read_input):
    """Two kernels: one stores a chain of `opcodes` on x and its sums, one reads both, and perhaps x."""
    first, second = Builder("first"), Builder("second")
    value = first.parameter("f32", rows, columns)
    for opcode in opcodes:
        value = first.op(opcode, value)
    first.outputs = (value, first.reduce(value, 1))
    a, total = second.parameter("f32", rows, columns), second.parameter("f32", rows)
    scaled = second.op("divide", a, second.along(total, (rows, columns), 0))
    if read_input:
        scaled = second.op("subtract", scaled, second.parameter("f32", rows, columns))
    second.outputs = (scaled,)
    build = Builder("kept")
    x = build.parameter("f32", rows, columns)
    parts = build.fusion(first, "kInput", x)
    return build.module(*build.fusion(second, "kLoop", *parts, *([x] if read_input else [])))


@number("5.5")
@weight(1.5)
@hint("Count the bytes of reader and writer before and after; count elements, and transcendentals by their price.")
@pytest.mark.parametrize("worthwhile", [False, True])
@pytest.mark.parametrize("read_input", [False, True])
def test_the_machine_decides(student, rng, worthwhile, read_input):
    """drawn machines a little on either side of the point where recomputing pays"""
    rows, columns = (int(size) for size in rng.integers(8, 40, size=2))
    opcodes = [str(each) for each in rng.choice(["exponential", "tanh", "negate", "abs"], size=4)]
    module = kept_value(opcodes, rows, columns, read_input)
    elements, price = rows * columns, int(rng.integers(2, 9))
    saved = 4 * elements * (2 if read_input else 1)
    operations = elements * sum(price if opcode in ("exponential", "tanh") else 1 for opcode in opcodes)
    vector, factor = float(rng.uniform(1e9, 1e12)), float(rng.uniform(1.05, 1.5))
    even = saved * vector / operations  # bytes a second at which both take equally long
    machine = {
        "name": "drawn",
        "hbm_bytes": even / factor if worthwhile else even * factor,
        "mxu_flops": 1e15,
        "vpu_operations": vector,
        "operations_per_transcendental": float(price),
    }
    after = judge.accepted(module, student(recompute, text.print_module(module), machine))
    judge.kernels(module, after)
    inputs = generators.arguments(module, rng)
    judge.same_values(module, after, inputs, rule="recomputing changes no bit")
    moved = judge.traffic(module, inputs)[1] - judge.traffic(after, inputs, module)[1]
    check.equal(moved, saved if worthwhile else 0, "bytes saved")


@number("5.6")
@weight(1)
@hint("After the first clone the peak is elsewhere. Look again.")
def test_many_waiting_values(student, rng):
    """schedules in which several values wait across one peak or several, and draws of rng that cannot be cloned"""
    count, size = int(rng.integers(2, 5)), int(rng.choice([256, 512]))
    build = Builder("waiting")
    x = build.parameter("f32")
    waiting = [build.along(build.op("multiply", x, build.constant(float(k))), (size,)) for k in range(count)]
    sums = [build.reduce(build.op("exponential", each), 0) for each in waiting]
    noise = build.op("rng", build.constant(0.0), build.constant(1.0), dims=(size,), distribution="rng_uniform")
    early = build.reduce(build.op("exponential", noise), 0)
    large = build.along(sums[0], (4 * size,))
    total = build.reduce(build.op("negate", large), 0)
    for each in waiting:
        total = build.op("add", total, build.reduce(build.op("tanh", each), 0))
    module = build.module(
        build.op("add", build.op("add", total, early), build.reduce(noise, 0)), is_scheduled=True
    )
    whole = peak_memory(module)
    for limit in (whole, whole - 4 * size, whole - 4 * size * count):
        function = {"function": "recompute_for_memory", "limit_bytes": limit + 64}
        after = judge.passed(student, "rematerialization", module, **function)
        judge.same_values(module, after, generators.arguments(module, rng))
        judge.at_most(module, after, 1, "rng", rule="random numbers are drawn once")
        if peak_memory(after) > limit + 64:
            judge.fail(module, after, f"the limit is {limit + 64:,} bytes; the peak is {peak_memory(after):,}")
