"""Part 6: bytes for every array, copies where something would be overwritten, and what is in VMEM when."""

from __future__ import annotations

import numpy as np
from given_minixla import text
from given_minixla.liveness import peak_memory
from given_minixla.programs import program

from autograder.kit import check, hint, number, probe, weight

import generators
import judge
import memory
from generators import Builder


@probe
def assigned(module) -> memory.Assigned:
    """offsets for the buffers of a scheduled module"""
    from minixla import buffer_assignment, text

    got = buffer_assignment.assign_buffers(text.parse(module))
    offsets = {name: [int(offset), int(size)] for name, (offset, size) in got.offsets.items()}
    return {"offsets": offsets, "total": int(got.total_bytes)}


def assign(student, module):
    """An assignment, judged to be one."""
    got = student(assigned, text.print_module(module))
    memory.check_assignment(module, got)
    return got


@number("6.1")
@weight(1.5)
@hint("What is dead gives its bytes back. In place: the result takes the operand's bytes if that dies there.")
def test_buffers_are_reused(student, rng):
    """bytes of dead arrays are used again, and elementwise results lie over operands that die"""
    size, length = int(rng.integers(100, 300)), int(rng.integers(4, 12))
    build = Builder("chain")
    x = build.parameter("f32", size)
    value = build.op("negate", x)
    for step in range(length):
        value = build.op(("exponential", "tanh", "abs")[step % 3], value)
    module = build.module(value, is_scheduled=True)
    got = assign(student, module)
    check.at_most(got.total, 8 * size, f"bytes for an input and a chain of {length + 1} elementwise instructions")
    build = Builder("transposes")
    x = build.parameter("f32", size, 2)
    value = build.op("transpose", x, dims=(2, size), dimensions=(1, 0))
    for step in range(length):
        dims = (size, 2) if step % 2 == 0 else (2, size)
        value = build.op("transpose", value, dims=dims, dimensions=(1, 0))
    module = build.module(value, is_scheduled=True)
    got = assign(student, module)
    check.at_most(got.total, 24 * size, f"bytes for an input and {length + 1} transposes, which need both arrays")
    build = Builder("pieces")
    x, wide = build.parameter("f32", size), build.op("exponential", build.parameter("f32", 4 * size))
    total = build.along(build.reduce(wide, 0), (size,))
    pieces = [build.op(opcode, x) for opcode in ("negate", "abs", "tanh")]
    module = build.module(total, *pieces, is_scheduled=True)
    got = assign(student, module)
    check.at_most(got.total, 38 * size, "bytes for inputs and a large array, into whose place four small ones go")


@number("6.2")
@weight(0.5)
@hint("Is the result or a later instruction still to read the operand? Is the operand the caller's?")
def test_nothing_alive_is_overwritten(student, rng):
    """arrays read later, returned, or owned by the caller keep their bytes; a donated parameter may lose them"""
    size = int(rng.integers(50, 200))
    build = Builder("kept")
    x, y = build.parameter("f32", size), build.parameter("f32", size)
    a = build.op("exponential", x)
    b = build.op("add", a, y)
    c = build.op("multiply", a, b)
    d = build.reduce(c, 0)
    e = build.op("tanh", b)
    wide = build.along(d, (size,))
    narrow = build.op("convert", build.op("subtract", e, wide), dtype="bf16")
    module = build.module(narrow, a, build.op("negate", c), is_scheduled=True)
    got = assign(student, module)
    check.at_most(got.total, peak_memory(module) * 5 // 4, "bytes in all")
    donated = module.replace(input_output_alias=((2, 0),))
    assign(student, donated)


@number("6.3")
@weight(1)
@hint("A dynamic-update-slice writes into its operand. Who else needs that operand afterwards?")
def test_copies_where_the_old_value_is_needed(student, rng):
    """an update in place gets a copy if the old value is read later, returned, or the caller's; else none"""
    size = int(rng.integers(5, 40))
    for case, expected in (("dead", 0), ("read later", 1), ("returned", 1), ("caller's", 1), ("twice", 1)):
        build = Builder("update")
        x, part, at = build.parameter("f32", size), build.parameter("f32", 1), build.parameter("s32")
        old = x if case == "caller's" else build.op("exponential", x)
        new = build.op("dynamic-update-slice", old, part, at, dims=(size,), dtype="f32")
        if case == "twice":
            new = build.op("dynamic-update-slice", new, build.op("negate", part), at, dims=(size,), dtype="f32")
        outputs = [build.op("tanh", new)]
        if case == "read later":
            outputs.append(build.reduce(old, 0))
        if case == "twice":
            outputs.append(build.op("abs", old))
        if case == "returned":
            outputs.append(old)
        module = build.module(*outputs, is_scheduled=True)
        after = judge.passed(student, "copy_insertion", module, function="insert_copies")
        inputs = [*generators.arguments(module, rng)[:2], np.array(int(rng.integers(0, size)), "int32")]
        judge.same_values(module, after, inputs)
        judge.at_most(module, after, expected, "copy", rule=f"the old value is {case!r}")
        for each in memory.in_place_hazards(after):
            judge.fail(module, after, f"%{each.name} overwrites a value that is needed afterwards")


@number("6.4")
@weight(0.5)
@hint("The output's bytes are the parameter's. Who reads the parameter after the output has been written?")
def test_copies_for_aliased_outputs(student, rng):
    """an output aliased to a donated parameter is copied there at the end if the parameter is read for longer"""
    size = int(rng.integers(5, 40))
    for case, expected in (("dead by then", 0), ("read later", 1), ("returned as well", 2)):
        build = Builder("donated")
        x, y = build.parameter("f32", size), build.parameter("f32", size)
        new = build.op("add", x, y)
        outputs = [new, build.op("tanh", y)]
        if case == "read later":
            outputs.append(build.reduce(build.op("multiply", x, outputs[1]), 0))
        if case == "returned as well":
            outputs.append(x)
        module = build.module(*outputs, is_scheduled=True, input_output_alias=((0, 0),))
        after = judge.passed(student, "copy_insertion", module, function="insert_copies")
        judge.same_values(module, after, generators.arguments(module, rng))
        judge.at_most(module, after, expected, "copy", rule=f"the donated parameter is {case}")
        for output, parameter in memory.alias_hazards(after):
            rule = f"output {output} is written into %{parameter} while that is needed"
            judge.fail(module, after, rule)


@number("6.5")
@weight(1.5)
@hint("Done directly before the first reader; start as early as there is room. Count bytes at every kernel.")
def test_mini_attention_hides_the_second_copy(student, rng):
    """mini-attention: two copies, the second under way during at least the three middle kernels"""
    module = program("mini_attention_fused")
    names = [each.name for each in module.entry_computation.parameters]
    weights = names[1:]
    budget = 64 * 1024
    after = judge.passed(
        student, "memory_space", module, function="assign_memory_space", vmem_bytes=budget, prefetch=weights
    )
    judge.same_values(module, after, generators.arguments(module, rng))
    memory.check_vmem(module, after, budget)
    found = memory.copies(module, after, weights)
    check.equal(sorted(copy.source for copy in found), sorted(weights), "parameters that are copied")
    memory.check_nothing_left_out(module, after, budget)
    second = max(found, key=lambda copy: copy.done)
    hidden = [place for place in memory.kernel_positions(after) if second.start < place < second.done]
    check.that(len(hidden) >= 3, "kernels that run during the second copy", expected="3 or more", got=len(hidden))
    tight = sum(each.bytes for each in found)
    small = judge.passed(
        student, "memory_space", module, function="assign_memory_space", vmem_bytes=tight - 1, prefetch=weights
    )
    memory.check_vmem(module, small, tight - 1)
    judge.same_values(module, small, generators.arguments(module, rng))
