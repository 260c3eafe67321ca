"""Part 3, hidden: jit inside other things, weak keys, explanations, buckets."""

from __future__ import annotations

import numpy as np

from autograder.kit import check, hint, number, probe, weight


@probe
def explained(x) -> list[list[str]]:
    """explain_cache_miss after one call: same kind, other shape, other dtype, other static, other structure."""
    import minijax
    import numpy as np

    jitted = minijax.jit(lambda tree, n: tree[0] * n, static_argnums=(1,))
    jitted((x,), 2)
    calls = [((x + 1.0,), 2), ((np.ones(7),), 2), ((x.astype("float32"),), 2), ((x,), 3), ([x], 2)]
    explanations = [jitted.explain_cache_miss(*call) for call in calls]
    return [[str(d.part) for d in e.differences] if not e.hit else ["hit"] for e in explanations]


@number("3.11")
@weight(1)
@hint("Compare the call's key with the cached ones, part by part: structure, shape, dtype, static.")
def test_explain_cache_miss_names_the_part(student):
    """explain_cache_miss says which part of the key differed"""
    got = student(explained, np.ones(4))
    check.equal(got, [["hit"], ["shape"], ["dtype"], ["static"], ["structure"]], "the parts that differ")


@probe
def reentrant(x) -> list[float]:
    """A jitted function that calls itself through jit with a smaller static argument, then again."""
    import minijax
    import numpy as np

    traces = []

    def power(x, n):
        traces.append(n)
        return x if n == 1 else x * jitted(x, n - 1)

    jitted = minijax.jit(power, static_argnums=1)
    first, second = jitted(x, 4), jitted(x, 3)
    return [float(np.asarray(first)), float(np.asarray(second)), float(len(traces))]


@number("3.12")
@weight(1)
@hint("While a function is traced, it may call a jitted function, itself included.")
def test_jit_is_reentrant(student):
    """a jitted function that calls itself is traced once for each static value"""
    check.equal(student(reentrant, np.float64(2.0)), [16.0, 8.0, 4.0], "x⁴, x³ and the number of traces")


@probe
def captured(xs) -> list[float]:
    """Differentiate a function that jits a function of a tracer from outside, at several points."""
    import minijax
    import numpy as np

    cell = []

    def inner(y):
        return y * cell[0] * cell[0]

    def outer(x):
        cell[:] = [x]
        return minijax.jit(inner)(3.0)

    return [float(np.asarray(minijax.grad(outer)(x))) for x in xs]


@number("3.15")
@weight(1)
@hint("A program with a literal that is an outer tracer is right now and wrong later. Handout, part 3, tracers.")
def test_programs_that_captured_a_tracer_are_not_kept(student):
    """a jitted function that uses a tracer from outside, differentiated twice"""
    got = student(captured, [np.float64(1.0), np.float64(2.0)])
    check.equal(got, [6.0, 12.0], "the derivatives of 3x² at 1 and 2")
