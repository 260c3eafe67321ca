"""Part 3: trace once for each kind of call.

How often a function was traced shows in its results: it multiplies by the number of times it has run, and
that number is baked into the program when it is traced.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autograder.kit import check, hint, number, probe, weight

import judge


@probe
def stamps(calls) -> list[float]:
    """Call one jitted function on these arrays; each result is the trace's number at its first element."""
    import minijax
    import numpy as np

    traces = []

    def function(x):
        traces.append(len(traces) + 1)
        return x * 0.0 + float(traces[-1])

    jitted = minijax.jit(function)
    return [float(np.asarray(jitted(x)).ravel()[0]) for x in calls]


@number("3.1")
@weight(2)
@hint("The key is the shapes and dtypes of the arguments, never their values. Handout, part 3.")
def test_the_lectures_five_calls_trace_three_times(student, rng):
    """the lecture's five calls: same shape, new shape, new dtype, the first again"""
    x = [
        rng.normal(size=shape).astype(dtype)
        for shape, dtype in [(4, "f4"), (4, "f4"), (7, "f4"), (4, "f8"), (4, "f4")]
    ]
    check.equal(student(stamps, x), [1.0, 1.0, 2.0, 3.0, 1.0], "which trace served each of the five calls")


@number("3.2")
@weight(1)
@hint("A shape is more than its rank, and f32[4] is not f64[4]. Handout, part 3.")
@pytest.mark.parametrize(
    ("kinds", "want"),
    [
        ([([8], "f4"), ([8], "f4"), ([16], "f4"), ([8], "f8"), ([16], "f4")], [1.0, 1.0, 2.0, 3.0, 2.0]),
        ([([2, 3], "f4"), ([3, 2], "f4"), ([6], "f4"), ([2, 3], "f4")], [1.0, 2.0, 3.0, 1.0]),
        ([([3], "i4"), ([3], "i8"), ([3], "f4"), ([3], "i4")], [1.0, 2.0, 3.0, 1.0]),
    ],
)
def test_shape_and_dtype_are_in_the_key(student, rng, kinds, want):
    """sequences of shapes and dtypes, exercise 2's among them"""
    calls = [rng.integers(1, 9, size=shape).astype(dtype) for shape, dtype in kinds]
    check.equal(student(stamps, calls), want, "which trace served each call")


@probe
def static_stamps(argnums, argnames, calls) -> list[list[float]]:
    """Jit f(x, n, flag) with static arguments; each call returns its trace's number and x * n."""
    import minijax
    import numpy as np

    traces = []

    def function(x, n, flag=False):
        traces.append(len(traces) + 1)
        return float(traces[-1]) + x * 0.0, (x * n if flag else x)

    jitted = minijax.jit(function, static_argnums=tuple(argnums), static_argnames=tuple(argnames))
    found = []
    for x, args, keywords in calls:
        stamp, value = jitted(x, *args, **keywords)
        found.append([float(np.asarray(stamp).ravel()[0]), float(np.asarray(value).ravel()[0])])
    return found


@number("3.3")
@weight(1)
@hint("A static value is in the key by equality and by type: 1, True and 1.0 are three. Handout, part 3, static.")
@pytest.mark.parametrize("way", ["argnums", "argnames"])
def test_static_values_are_in_the_key_with_their_type(student, way):
    """1, True and 1.0 as static values are three programs, by position and by name"""
    x = np.full(2, 3.0)
    calls = [[x, [value, True], {}] for value in (1, True, 1.0, 1, 2, True)]
    argnums, argnames = ([1, 2], []) if way == "argnums" else ([], ["n", "flag"])
    got = student(static_stamps, argnums, argnames, calls)
    check.equal([row[0] for row in got], [1.0, 2.0, 3.0, 1.0, 4.0, 2.0], "which trace served each call")
    check.equal([row[1] for row in got], [3.0, 3.0, 3.0, 3.0, 6.0, 3.0], "the values")


@probe
def tuple_stamps(values) -> list[float]:
    """Jit a function with a static tuple; each result is its trace's number."""
    import minijax
    import numpy as np

    traces = []

    def function(x, sizes):
        traces.append(len(traces) + 1)
        return x * 0.0 + float(traces[-1])

    jitted = minijax.jit(function, static_argnums=1)
    return [float(np.asarray(jitted(np.float64(1.0), tuple(value)))) for value in values]


@number("3.14")
@weight(1)
@hint("(1, 2) and (True, 2) are equal tuples of different things. Handout, part 3, static.")
def test_static_tuples_are_compared_by_their_elements(student):
    """the elements of a static tuple count with their types"""
    got = student(tuple_stamps, [[1, 2], [True, 2], [1.0, 2], [1, 2], [1, 3]])
    check.equal(got, [1.0, 2.0, 3.0, 1.0, 4.0], "which trace served each call")


@probe
def five_arguments(statics, calls) -> list[float]:
    """Jit a function of five arguments, some of them static; each result is its trace's number."""
    import minijax
    import numpy as np

    traces = []

    def function(a, b, c, d, e):
        traces.append(len(traces) + 1)
        return a * 0.0 + b * 0.0 + c * 0.0 + float(traces[-1])

    jitted = minijax.jit(function, static_argnums=tuple(statics))
    return [float(np.asarray(jitted(*call))) for call in calls]


@number("3.4")
@weight(1)
@hint("Only static arguments are compared by value; the others by type alone. Handout, part 3, static.")
def test_static_argnums_by_position(student):
    """static arguments 3 and 4 of five: only a change of theirs traces again"""
    calls = [[1, 2, 3, True, False], [1, 2, 3, True, False], [2, 1, 3, True, False], [2, 1, 3, True, True]]
    check.equal(student(five_arguments, [3, 4], calls), [1.0, 1.0, 1.0, 2.0], "which trace served each call")


@probe
def unhashable() -> Any:
    """Pass a list as a static argument."""
    import minijax
    import numpy as np

    return np.asarray(minijax.jit(lambda x, n: x * len(n), static_argnums=(1,))(np.ones(3), [1, 2]))


@number("3.5")
@weight(1)
@hint("Look at errors.StaticArgumentError; its field says which argument it was.")
def test_unhashable_static_values_are_refused(student):
    """an unhashable static value raises StaticArgumentError"""
    check.raised(student.error(unhashable), "StaticArgumentError", argument=1)


@probe
def structures(calls) -> list[float]:
    """Jit a function of a pytree; each result is its trace's number."""
    import minijax
    import numpy as np

    traces = []

    def function(tree):
        traces.append(len(traces) + 1)
        return float(traces[-1]) + 0.0 * (tree["a"] if isinstance(tree, dict) else tree[0])

    jitted = minijax.jit(function)
    return [float(np.asarray(jitted(tuple(tree) if kind == "tuple" else tree)).ravel()[0]) for kind, tree in calls]


@number("3.6")
@weight(1)
@hint("(x, y), [x, y] and {'a': x, 'b': y} have the same leaves and are three kinds of call.")
def test_structure_is_in_the_key(student):
    """the same leaves in another pytree are another program; the order of a dict's keys does not matter"""
    x, y = np.ones(2), np.zeros(2)
    calls = [
        ["tuple", [x, y]],
        ["list", [x, y]],
        ["dict", {"a": x, "b": y}],
        ["dict", {"b": y, "a": x}],
        ["tuple", [x, y]],
    ]
    check.equal(student(structures, calls), [1.0, 2.0, 3.0, 3.0, 1.0], "which trace served each call")


@probe
def values(pairs) -> list[float]:
    """jit of sin(x)·cos(y) on pairs of float64 scalars."""
    import minijax
    import numpy as np

    jitted = minijax.jit(lambda x, y: minijax.sin(x) * minijax.cos(y))
    return [float(np.asarray(jitted(*pair))) for pair in pairs]


@number("3.7")
@weight(1)
@hint("The second call must run the first call's program on the second call's data.")
def test_a_hit_computes_with_the_new_data(student):
    """a cached program computes with the data of the call"""
    got = student(values, [[np.float64(3), np.float64(4)], [np.float64(4), np.float64(5)]])
    want = np.array([-0.09224219304455371, -0.21467624978306993])
    check.close(np.array(got), want, ulps=8, what="sin(x)·cos(y) at (3, 4) and (4, 5)")


@probe
def statistics(x) -> list[list[int]]:
    """cache_stats of a jitted function after a miss, two hits and an error while tracing."""
    import minijax

    fail = [True]

    def function(x):
        if len(x.shape) == 2 and fail[0]:
            raise ValueError("not yet")
        return x + 1.0

    jitted = minijax.jit(function)
    found = []
    for argument in (x, x, x):
        jitted(argument)
    found.append([int(n) for n in jitted.cache_stats()])
    try:
        jitted(x.reshape(1, -1))
    except ValueError:
        pass
    found.append([int(jitted.cache_stats()[2])])
    fail[0] = False
    out = jitted(x.reshape(1, -1))
    found.append([int(jitted.cache_stats()[2]), int(out.shape[0])])
    return found


@number("3.8")
@weight(1)
@hint("Store a program only when it is complete. cache_stats is (hits, misses, size). Handout, part 3.")
def test_an_error_leaves_the_cache_clean(student):
    """cache_stats counts, and an error while tracing leaves no entry behind"""
    got = student(statistics, np.ones(3))
    check.equal(got, [[2, 1, 1], [1], [2, 1]], "hits, misses, size; size after an error; size and rows after it")


@probe
def traced_jit(x) -> judge.Jaxpr:
    """make_jaxpr of a function that calls a jitted function with a dead equation."""
    import minijax

    import describe

    def wasteful(x):
        minijax.exp(x)
        return minijax.tanh(x)

    jitted = minijax.jit(wasteful)
    return describe.jaxpr(minijax.make_jaxpr(lambda x: jitted(x) + 1.0)(x))


@probe
def eliminated(x) -> judge.Jaxpr:
    """The jaxpr of a function with dead equations, after dead_code_elimination."""
    import minijax
    from minijax.dce import dead_code_elimination

    import describe

    def function(x, y):
        unused = minijax.exp(x)
        also_unused = minijax.sum(unused * y)
        del also_unused
        return minijax.tanh(x) * 2.0

    return describe.jaxpr(dead_code_elimination(minijax.make_jaxpr(function)(x, x)))


@number("3.9")
@weight(1)
@hint("Walk from the last equation to the first: an equation lives if its result is used. Arguments stay.")
def test_dead_equations_are_eliminated(student, rng):
    """equations that no result depends on are dropped, unused arguments stay"""
    x = rng.normal(size=3)
    jaxpr = student(eliminated, x)
    check.equal(jaxpr.primitives, ["tanh", "mul"], "the primitives that are left")
    (y,) = judge.run(jaxpr, [x, x])
    check.close(y, np.tanh(x) * 2.0, ulps=8)
    check.equal(student(traced_jit, x).primitives, ["tanh", "add"], "what a jitted function leaves to be recorded")


@probe
def lifetimes(x) -> list[list[int]]:
    """cache_stats of all functions after ten fresh lambdas, after one reused function, and after its death."""
    import gc

    import minijax

    minijax.cache_clear()
    found = []
    for _ in range(10):
        minijax.jit(lambda x: x * 2.0)(x)
    gc.collect()
    found.append([int(n) for n in minijax.cache_stats()])

    def reused(x):
        return x * 3.0

    for _ in range(10):
        minijax.jit(reused)(x)
    found.append([int(n) for n in minijax.cache_stats()])
    return found


@number("3.10")
@weight(1)
@hint("The cache belongs to the function object and must not keep it alive. Handout, part 3, lifetimes.")
def test_the_cache_dies_with_its_function(student):
    """ten fresh lambdas miss ten times and leave nothing behind; a reused function misses once"""
    fresh, reused = student(lifetimes, np.ones(3))
    check.equal(fresh, [0, 10, 0], "hits, misses, programs kept after ten fresh lambdas")
    check.equal(reused, [9, 11, 1], "hits, misses, programs kept after ten jits of one function more")


@probe
def bucketed(batches, lengths) -> list[list[Any]]:
    """Pad ragged batches to buckets and take masked means in a jitted function; also the trace's number."""
    import minijax
    import numpy as np

    traces = []

    def mean(data, mask):
        traces.append(len(traces) + 1)
        return minijax.masked_mean(data, mask, axis=1), float(traces[-1])

    jitted = minijax.jit(mean)
    found = []
    for batch in batches:
        data, mask = minijax.pad_to_bucket(batch, lengths, fill=float("nan"))
        means, stamp = jitted(data, mask)
        found.append([np.asarray(means), float(np.asarray(stamp)), int(data.shape[1])])
    return found


@number("3.13")
@weight(1)
@hint("Pad to the smallest bucket that holds the longest row; a mean counts data only. Handout, part 3, buckets.")
def test_buckets_bound_the_traces(student, rng):
    """ragged batches in two buckets trace twice, and their means ignore the padding"""
    sizes = [[3, 5], [8, 2], [4, 4], [9, 1], [16, 12], [8, 8], [1, 6]]
    batches = [[rng.normal(size=(n, 2)) for n in pair] for pair in sizes]
    got = student(bucketed, batches, [16, 8])
    buckets = [8 if max(pair) <= 8 else 16 for pair in sizes]
    check.equal([row[2] for row in got], buckets, "the padded lengths")
    check.equal([row[1] for row in got], [1.0 if bucket == 8 else 2.0 for bucket in buckets], "the traces")
    for batch, (means, _, _) in zip(batches, got, strict=True):
        want = np.stack([row.mean(axis=0) for row in batch])
        check.that(isinstance(means, np.ndarray), "the means", expected="an array", got=means)
        check.close(means, want, ulps=64, what="the means of the rows")
