"""Part 2, hidden: long programs and random ones."""

from __future__ import annotations

import numpy as np
from given_minixla import text
from hypothesis import strategies as st

from autograder.kit import check, given, hint, number, weight

import generators
import judge
from generators import Builder


@number("2.7")
@weight(0.5)
@hint("One dictionary, one look-up an instruction. How often do you walk over the whole program?")
def test_long_programs_are_no_problem(student, rng):
    """20,000 instructions, half of them repeated, are shared and the dead ones dropped"""
    build = Builder()
    x = build.parameter("f32", 1)
    once, again = x, x
    for number_ in range(5000):
        opcode = ("negate", "abs")[int(rng.integers(0, 2))] if number_ % 3 else "tanh"
        once, again = build.op(opcode, once), build.op(opcode, again)
        build.op("exponential", again)
        build.op("sqrt", once)
    module = build.module(build.op("add", once, again))
    shared = judge.passed(student, "cse", module, again=False)
    swept = judge.passed(student, "dce", shared, again=False)
    check.at_most(judge.count(swept), 5002, "instructions after CSE and DCE")
    judge.same_values(module, swept, generators.arguments(module, rng))


@number("2.8")
@weight(0.5)
@hint("Replace the later of two equal instructions by the earlier, in its users, before you look at the users.")
@given(module=generators.programs(25), seed=st.integers(0, 2**31), examples=25)
def test_cse_of_random_programs(student, module, seed):
    """random programs, written twice in one module, give the same bits in half of the instructions"""
    doubled = twice(module)
    after = judge.passed(student, "cse", doubled)
    rng = np.random.default_rng(seed)
    judge.same_values(doubled, after, generators.arguments(doubled, rng, generators.nasty))
    swept, alone = judge.live(after), judge.live(module)
    budget = judge.count(alone) + 1
    judge.at_most(doubled, swept, budget, rule="the second copy is the first")


def twice(module):
    """A module that computes everything of another one a second time, from the same parameters."""
    entry = module.entry_computation
    names = {each.name: f"{each.name}.copy" for each in entry.instructions if each.opcode != "parameter"}
    copies = [
        each.renamed(names).replace(name=names[each.name]) for each in entry.instructions if each.name in names
    ]
    one, other = entry.root_instruction, next(each for each in copies if each.name == names[entry.root])
    if one.opcode != "tuple":
        pair = generators.TupleShape((one.shape, other.shape))
        root = generators.instruction("both", "tuple", pair, (one.name, other.name))
    else:
        pair = generators.TupleShape((*one.shape.elements, *other.shape.elements))
        root = generators.instruction("both", "tuple", pair, (*one.operands, *other.operands))
    return module.with_entry((*entry.instructions, *copies, root), "both")


@number("2.13")
@weight(1)
@hint("A fusion that reads a dead fusion's output; a dead tuple; a region that nobody calls any more.")
@given(module=generators.programs(25, outputs=1), seed=st.integers(0, 2**31), examples=25)
def test_dce_of_random_programs(student, module, seed):
    """random programs of which one output is wanted keep exactly what it needs"""
    after = judge.passed(student, "dce", module)
    judge.same_values(module, after, generators.arguments(module, np.random.default_rng(seed)))
    alone = judge.live(module)
    judge.at_most(module, after, judge.count(alone), rule="what nothing needs is gone, with the regions it called")


@number("2.14")
@weight(0.5)
@hint("Nothing of a dead chain stays, however many fusions it goes through.")
def test_dead_chains_through_fusions_go(student, rng):
    """fusions whose only reader was another fusion's dead output are gone, with what fed them"""
    depth = int(rng.integers(3, 6))
    build = Builder()
    x = build.parameter("f32", 8)
    value, spare = x, build.op("exponential", x)
    for _ in range(depth):
        body = Builder("body")
        a, b = body.parameter("f32", 8), body.parameter("f32", 8)
        body.outputs = (body.op("negate", a), body.op("tanh", b))
        value, spare = build.fusion(body, "kLoop", value, spare)
    module = build.module(value)
    after = judge.passed(student, "dce", module)
    judge.same_values(module, after, generators.arguments(module, rng))
    judge.at_most(module, after, 0, "exponential", "tanh", rule="the second output of every fusion is dead")
    judge.at_most(module, after, depth, "negate", rule="the first output of every fusion is live")


NESTED = """
HloModule nested

inner {
  a = f32[3] parameter(0)
  b = f32[3] tanh(a)
  c = f32[3] exponential(a)
  ROOT both = (f32[3], f32[3]) tuple(b, c)
}

outer {
  a = f32[3] parameter(0)
  call = (f32[3], f32[3]) fusion(a), kind=kLoop, calls=inner
  x = f32[3] get-tuple-element(call), index=0
  y = f32[3] get-tuple-element(call), index=1
  ROOT both = (f32[3], f32[3]) tuple(x, y)
}

ENTRY main {
  p = f32[3] parameter(0)
  f = (f32[3], f32[3]) fusion(p), kind=kLoop, calls=outer
  g = (f32[3], f32[3]) fusion(p), kind=kLoop, calls=outer
  u = f32[3] get-tuple-element(f), index=0
  v = f32[3] get-tuple-element(g), index=1
  ROOT r = f32[3] subtract(u, v)
}
"""


@number("2.15")
@weight(0.5)
@hint("A body that is called once by a body that is called twice is needed twice.")
def test_bodies_in_bodies_stay_apart(student, rng):
    """two fusions of one body, of which different results are dead, with a fusion inside that body"""
    module = text.parse(NESTED)
    after = judge.passed(student, "dce", module)
    judge.same_values(module, after, generators.arguments(module, rng))
