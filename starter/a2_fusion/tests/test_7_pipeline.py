"""Part 7: all passes in order, to a fixed point, with statistics and dumps."""

from __future__ import annotations

import msgspec
from given_minixla import text
from given_minixla.programs import program

from autograder.kit import check, hint, number, probe, weight

import generators
import judge


class Step(msgspec.Struct):
    """What one pass did."""

    name: str
    instructions_before: int
    instructions_after: int
    equations_before: int
    equations_after: int
    opcodes: dict[str, int]


class Optimized(msgspec.Struct):
    """What the pipeline gave back."""

    after: str
    statistics: list[Step]
    dumps: list[tuple[str, str]]


@probe
def optimized(module) -> Optimized:
    """the whole pipeline over a module"""
    from minixla import pipeline, text

    dumps = []
    done = pipeline.optimize(text.parse(module), dump=lambda name, written: dumps.append((name, written)))
    fields = ("name", "instructions_before", "instructions_after", "equations_before", "equations_after")
    steps = [
        {**{field: getattr(step, field) for field in fields}, "opcodes": dict(step.opcodes)}
        for step in done.statistics
    ]
    return {"after": text.print_module(done.module), "statistics": steps, "dumps": dumps}


@number("7.1")
@weight(1)
@hint("Count equations and opcodes before and after each pass. Which pass is entitled to which change?")
def test_the_lectures_statistics(student, rng):
    """the redundant GELU layer: 2 divisions, 1 addition, 9 shared, 2 dead, 13 left, 1 kernel"""
    module = program("gelu_layer")
    got = student(optimized, text.print_module(module))
    after = judge.parsed(got.after, module)
    judge.kernels(module, after)
    judge.same_values(
        module, after, generators.arguments(module, rng), ulps=64, rule="the program computes the same"
    )
    kernels, _ = judge.traffic(after, generators.arguments(module, rng), module)
    check.equal(kernels, 1, "kernels")
    shared = sum(step.equations_before - step.equations_after for step in got.statistics if step.name == "cse")
    dead = sum(step.equations_before - step.equations_after for step in got.statistics if step.name == "dce")
    simple = [step for step in got.statistics if step.name == "algebraic_simplifier"]
    gone = {opcode: -sum(step.opcodes.get(opcode, 0) for step in simple) for opcode in ("divide", "add")}
    check.equal([gone["divide"], gone["add"]], [2, 1], "divisions and additions that the simplifier removes")
    check.equal([shared, dead], [9, 2], "equations that CSE shares, and that DCE drops")
    check.equal(got.statistics[0].equations_before, 25, "equations at the start")
    before_fusion = next(step for step in got.statistics if step.name == "fusion")
    check.equal(before_fusion.equations_before, 13, "equations before fusion")


@number("7.2")
@weight(0.5)
@hint("`text.dump_name` makes the names; the first dump is before any pass, the last after all of them.")
def test_dumps_tell_the_story(student):
    """a dump before the first pass and after each one, numbered as XLA's are, each a module"""
    module = program("mini_attention")
    got = student(optimized, text.print_module(module))
    names = [name for name, _ in got.dumps]
    check.that(
        len(names) == len(set(names)) >= 6, "names of dumps", expected="6 or more different ones", got=names
    )
    check.equal(names, sorted(names), "the dumps' names, in order")
    first, last = names[0], names[-1]
    start = f"module_0001.{module.name}."
    wrong = [name for name in names if not (name.startswith(start) and name.endswith(".txt"))]
    check.equal(wrong, [], f"names that do not begin with {start} or end with .txt")
    check.that("before_optimizations" in first, "the first dump", expected="before_optimizations", got=first)
    check.that("after_optimizations" in last, "the last dump", expected="after_optimizations", got=last)
    check.equal(got.dumps[0][1], text.print_module(module), "the text of the first dump")
    check.equal(got.dumps[-1][1], got.after, "the text of the last dump")
    for name, written in got.dumps:
        check.that(bool(judge.parsed(written, module)), f"the dump {name}", expected="a module", got=written)
