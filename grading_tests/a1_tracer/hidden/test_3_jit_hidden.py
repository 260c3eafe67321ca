"""Part 3, hidden: jit inside other things, weak keys, explanations, buckets."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.kit import check, hint, number, probe, weight


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
@weight(2)
@hint("The cache belongs to the function object and must not keep it alive. Handout, part 3, lifetimes.")
def test_the_cache_dies_with_its_function(student):
    """ten fresh lambdas miss ten times and leave nothing behind; a reused function misses once"""
    fresh, reused = student(lifetimes, np.ones(3))
    check.equal(fresh, [0, 10, 0], "hits, misses, programs kept after ten fresh lambdas")
    check.equal(reused, [9, 11, 1], "hits, misses, programs kept after ten jits of one function more")


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
    batches = [[rng.normal(size=n) for n in pair] for pair in sizes]
    got = student(bucketed, batches, [16, 8])
    buckets = [8 if max(pair) <= 8 else 16 for pair in sizes]
    check.equal([row[2] for row in got], buckets, "the padded lengths")
    check.equal([row[1] for row in got], [1.0 if bucket == 8 else 2.0 for bucket in buckets], "the traces")
    for batch, (means, _, _) in zip(batches, got, strict=True):
        want = np.array([row.mean() for row in batch])
        check.that(isinstance(means, np.ndarray), "the means", expected="an array", got=means)
        check.close(means, want, ulps=64, what="the means of the rows")
