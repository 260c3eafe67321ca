"""Part 2, hidden: traces inside traces, and what happens when things go wrong."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from autograder.kit import check, given, hint, number, probe, weight

import generators
import judge


@probe
def traced_inside(run_program, outer, inner, x, y) -> judge.Jaxpr:
    """Inside a traced function: trace another one that uses the outer tracer, and evaluate its jaxpr."""
    import minijax

    import describe

    def function(x, y):
        a = run_program(minijax, outer, x)
        twice = []

        def inside(z):
            twice.append(x * 2.0)  # of outer tracers only: it belongs to the outer trace and outlives this one
            return run_program(minijax, inner, z) * a + x

        (b,) = minijax.eval_jaxpr(minijax.make_jaxpr(inside)(y), y)
        return b - y + twice[0]

    return describe.jaxpr(minijax.make_jaxpr(function)(x, y))


@number("2.9")
@weight(2)
@hint("The innermost trace among the operands records; tracers of outer traces are literals to it.")
@given(outer=generators.programs(4), inner=generators.programs(4), draw=st.integers(0, 2**31), examples=40)
def test_traces_nest(student, outer, inner, draw):
    """a trace inside a trace, evaluated on the outer trace's tracers"""
    rng = np.random.default_rng(draw)
    x, y = generators.normal(rng, 2, 3), generators.normal(rng, 2, 3)
    jaxpr = student(traced_inside, generators.run_program, outer, inner, x, y)
    (got,) = judge.run(jaxpr, [x, y])
    a = generators.run_program(np, outer, x)
    check.close(got, generators.run_program(np, inner, y) * a + x - y + 2.0 * x, ulps=512)


def mixed(xp, x, n, flags):
    """Floats, ints and bools together, with attributes of the tracer used while tracing."""
    rows, columns = x.shape
    scaled = x / float(rows * columns) + n * 2
    centred = scaled - xp.mean(scaled, axis=0, keepdims=True)
    return [xp.where(flags, centred, -1.0), xp.where(True, xp.max(xp.transpose(centred), axis=-1), 0.0), 3.0]


@probe
def traced(function, arguments) -> judge.Jaxpr:
    """make_jaxpr of a function on these arguments."""
    import minijax

    import describe

    return describe.jaxpr(minijax.make_jaxpr(lambda *xs: function(minijax, *xs))(*arguments))


@number("2.11")
@weight(2)
@hint("Types of the recorded results must be those of the values: Python scalars do not widen, ints stay ints.")
def test_mixed_dtypes_and_constant_results(student, rng):
    """ints, floats and bools in one program, and a result that is a constant"""
    x = generators.normal(rng, 3, 4, dtype="float32")
    n = rng.integers(-5, 5, size=(3, 4)).astype("int32")
    flags = rng.integers(0, 2, size=(3, 4)).astype(bool)
    first, second, third = judge.run(student(traced, mixed, [x, n, flags]), [x, n, flags])
    scaled = x / np.float32(12.0) + (n * 2).astype("float32")
    centred = scaled - np.mean(scaled, axis=0, keepdims=True, dtype="float32")
    check.close(first, np.where(flags, centred, np.float32(-1.0)), ulps=32)
    check.close(second, centred.T.max(axis=-1), ulps=32)
    check.close(third, np.asarray(3.0, "float32"), ulps=1)


@probe
def aliases(x) -> list[judge.Jaxpr]:
    """Trace functions that return their argument, return it twice, and return a constant."""
    import minijax

    import describe

    functions = [lambda x: x, lambda x: (x, x + 0.0, x), lambda x: 7.0]
    return [describe.jaxpr(minijax.make_jaxpr(function)(x)) for function in functions]


@number("2.12")
@weight(1)
@hint("A result may be an input, the same variable twice, or no tracer at all.")
def test_results_that_are_inputs_or_constants(student, rng):
    """results that are inputs, repeated, or constants"""
    x = generators.normal(rng, 4)
    same, twice, constant = student(aliases, x)
    check.close(judge.run(same, [x])[0], x, ulps=1)
    outs = judge.run(twice, [x])
    check.equal(len(outs), 3, "the number of results")
    for out in outs:
        check.close(out, x, ulps=1)
    check.close(judge.run(constant, [x])[0], np.asarray(7.0, "float32"), ulps=1)
