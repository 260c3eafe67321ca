"""Part 2: a function becomes a jaxpr."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from autograder.kit import check, given, hint, number, probe, weight

import generators
import judge


@probe
def traced(function, arguments) -> judge.Jaxpr:
    """make_jaxpr of a function on these arguments."""
    import minijax

    import describe

    return describe.jaxpr(minijax.make_jaxpr(lambda *xs: function(minijax, *xs))(*arguments))


@probe
def traced_steps(run_program, steps, x) -> judge.Jaxpr:
    """make_jaxpr of a random program, written out as steps."""
    import minijax

    import describe

    return describe.jaxpr(minijax.make_jaxpr(lambda x: run_program(minijax, steps, x))(x))


@probe
def evaluated(run_program, steps, x) -> np.ndarray:
    """make_jaxpr of a random program, then eval_jaxpr on the same argument."""
    import minijax
    import numpy as np

    (out,) = minijax.eval_jaxpr(minijax.make_jaxpr(lambda x: run_program(minijax, steps, x))(x), x)
    return np.asarray(out)


def lecture_example(xp, x, w):
    """Lecture 12, section 2.1."""
    h = xp.tanh(x @ w)
    return xp.sum(h * h, axis=-1)


@number("2.1")
@weight(1)
@hint("One equation for each operation on a tracer, in the order of execution. Handout, part 2.")
def test_lecture_example(student, rng):
    """the lecture's example has four equations"""
    rows, inner, columns = map(int, rng.integers(2, 9, size=3))
    x = generators.normal(rng, rows, inner, dtype="float32")
    w = generators.normal(rng, inner, columns, dtype="float32")
    jaxpr = student(traced, lecture_example, [x, w])
    check.equal(jaxpr.primitives, ["dot", "tanh", "mul", "reduce_sum"], "the primitives, in order")
    check.equal(
        [str(v.aval) for v in jaxpr.invars], [f"f32[{rows},{inner}]", f"f32[{inner},{columns}]"], "the inputs"
    )
    (y,) = judge.run(jaxpr, [x, w])
    check.close(y, lecture_example(np, x, w), ulps=64)


@number("2.2")
@weight(2)
@hint("Run the printed jaxpr by hand on the input: which equation is not what the program does?")
@given(
    steps=generators.programs(),
    shape=st.sampled_from([[], [3], [2, 3], [0, 2], [1]]),
    dtype=st.sampled_from(["float32", "float64"]),
    draw=st.integers(0, 2**31),
    examples=60,
)
def test_jaxprs_compute_what_the_function_does(student, steps, shape, dtype, draw):
    """the jaxpr of a random program, executed by the grader, gives the program's result"""
    if not shape:
        steps = [step for step in steps if step[0] != "total"] or [["neg", 0]]
        steps = [
            [name, *(min(operand, index) for operand in operands)] for index, (name, *operands) in enumerate(steps)
        ]
    x = generators.normal(np.random.default_rng(draw), *shape, dtype=dtype)
    jaxpr = student(traced_steps, generators.run_program, steps, x)
    (y,) = judge.run(jaxpr, [x])
    with np.errstate(all="ignore"):
        check.close(y, np.asarray(generators.run_program(np, steps, x)), ulps=256)


@probe
def counted(x) -> list[judge.Jaxpr]:
    """Trace the same function twice; it adds how often it has run so far."""
    import minijax

    import describe

    runs = []

    def function(x):
        runs.append(type(x).__name__)
        return x * float(len(runs))

    return [describe.jaxpr(minijax.make_jaxpr(function)(x)) for _ in range(2)]


@number("2.3")
@weight(1)
@hint("make_jaxpr calls the function exactly once each time. Handout, part 2, side effects.")
def test_the_function_runs_once(student, rng):
    """the function runs once per make_jaxpr, so its side effects happen once"""
    x = generators.normal(rng, 3)
    for run, jaxpr in enumerate(student(counted, x), start=1):
        (y,) = judge.run(jaxpr, [x])
        check.close(y, x * run, ulps=4, what=f"x times the number of runs so far, at make_jaxpr number {run}")


def tree_function(xp, params, inputs):
    """Arguments and results are nested."""
    first, rest = inputs
    hidden = xp.tanh(first @ params["w"] + params["b"])
    return {"out": [hidden, rest["scale"] * hidden], "b": params["b"]}, first


@probe
def traced_tree(function, params, inputs) -> judge.Jaxpr:
    """make_jaxpr of a function of a dict and a tuple."""
    import minijax

    import describe

    call = lambda params, inputs: function(minijax, params, inputs)
    return describe.jaxpr(minijax.make_jaxpr(call)(params, (inputs[0], inputs[1])))


@number("2.4")
@weight(2)
@hint(
    "Flatten arguments and results; dict entries go in the order of their sorted keys. Handout, part 2, pytrees."
)
@pytest.mark.parametrize("keys", [["w", "b"], ["b", "w"]])
def test_pytrees_of_arguments_and_results(student, rng, keys):
    """dicts, lists and tuples of arrays go in and come out, whatever the order of the keys"""
    values = {"w": generators.normal(rng, 3, 4), "b": generators.normal(rng, 4)}
    params = {key: values[key] for key in keys}
    first, scale = generators.normal(rng, 2, 3), generators.normal(rng, 2, 1)
    jaxpr = student(traced_tree, tree_function, params, [first, {"scale": scale}])
    results = judge.run(jaxpr, [values["b"], values["w"], first, scale])
    (want, _) = tree_function(np, values, (first, {"scale": scale}))
    expected = [values["b"], *want["out"], first]
    check.equal(len(results), len(expected), "the number of results")
    for place, (got, value) in enumerate(zip(results, expected, strict=True)):
        check.close(got, value, ulps=64, what=f"result {place} in flat order")


def with_constants(xp, x, w):
    """Uses an array from outside and Python numbers."""
    import numpy as np

    table = np.arange(6.0).reshape(2, 3)
    return xp.where(x > 0.5, x @ w, 2.0) + table


@number("2.5")
@weight(1)
@hint("Whatever is not a tracer of this trace is a literal (or a constvar) with its value. Handout, part 2.")
def test_constants_are_recorded_with_their_values(student, rng):
    """arrays and numbers from outside become literals or constvars, not arguments"""
    x, w = generators.normal(rng, 2, 3), generators.normal(rng, 3, 3)
    jaxpr = student(traced, with_constants, [x, w])
    check.equal(len(jaxpr.invars), 2, "the number of inputs")
    (y,) = judge.run(jaxpr, [x, w])
    check.close(y, with_constants(np, x, w), ulps=64)


@probe
def concretized(way, x) -> list[Any]:
    """Trace a function that asks its argument for data: if, float, int, np.asarray, indexing."""
    import minijax
    import numpy as np

    def ask(x):
        if way == "if":
            return x if minijax.sum(x) > 0 else -x
        if way == "float":
            return float(x) * 2.0
        if way == "int":
            return x * int(x)
        if way == "asarray":
            return np.asarray(x) + 1.0
        return x[0]

    jaxpr = minijax.make_jaxpr(ask)(x)
    return [str(eqn.primitive) for eqn in jaxpr.eqns]


@number("2.6")
@weight(2)
@hint("A tracer has no data: raise ConcretizationError with the traced function's name and the tracer as printed.")
@pytest.mark.parametrize(
    ("way", "shape", "value"),
    [
        ("if", [4, 3], "Traced<bool[]>"),
        ("float", [], "Traced<f32[]>"),
        ("int", [], "Traced<f32[]>"),
        ("asarray", [4, 3], "Traced<f32[4,3]>"),
        ("index", [4, 3], "Traced<f32[4,3]>"),
    ],
)
def test_asking_a_tracer_for_data_is_refused(student, way, shape, value):
    """if, float(), int(), np.asarray and indexing of a tracer raise ConcretizationError"""
    error = student.error(concretized, way, np.zeros(shape, "float32"))
    check.raised(error, "ConcretizationError", function="ask", value=value)


@number("2.7")
@weight(2)
@hint("Read each operand from the environment or from the literal, apply, store the result. Handout, part 2.")
@given(steps=generators.programs(), draw=st.integers(0, 2**31), examples=60)
def test_eval_jaxpr_equals_the_function(student, steps, draw):
    """eval_jaxpr of the jaxpr equals the function"""
    x = generators.normal(np.random.default_rng(draw), 2, 3)
    got = student(evaluated, generators.run_program, steps, x)
    check.close(got, np.asarray(generators.run_program(np, steps, x)), ulps=256)


@probe
def leaked(way) -> Any:
    """Keep a tracer in a list outside the traced function, then use it."""
    import minijax
    import numpy as np

    kept = []

    def keeper(x):
        kept.append(x * 2.0)
        return x

    minijax.make_jaxpr(keeper)(np.ones(3, "float32"))
    if way == "compute":
        return str(kept[0] + 1.0)
    if way == "return":
        return str(minijax.make_jaxpr(lambda x: kept[0])(np.ones(3, "float32")))
    return str(minijax.make_jaxpr(lambda x: x + kept[0])(np.ones(3, "float32")))


@number("2.8")
@weight(1)
@hint("A trace is open only while its function runs; a tracer of a closed one raises LeakedTracerError.")
@pytest.mark.parametrize("way", ["compute", "trace", "return"])
def test_leaked_tracers_are_refused(student, way):
    """a tracer used after its trace has ended raises LeakedTracerError naming the function"""
    error = student.error(leaked, way)
    check.raised(error, "LeakedTracerError")
    origin = str(error.fields.get("origin", ""))
    check.that(
        "keeper" in origin, "the field origin", expected="the function's name, keeper, and a line", got=origin
    )


@probe
def long_chain(count, x) -> list[np.ndarray]:
    """Trace a chain of this many operations, evaluate its jaxpr, and return what comes out with its length."""
    import minijax
    import numpy as np

    def function(x):
        for _ in range(count // 2):
            x = minijax.tanh(x) + 0.01
        return x

    jaxpr = minijax.make_jaxpr(function)(x)
    (out,) = minijax.eval_jaxpr(jaxpr, x)
    return [np.asarray(out), np.asarray(len(jaxpr.eqns))]


@number("2.13")
@weight(1)
@hint("Walk the equations in a loop: Python's recursion ends after a thousand calls. Handout, part 2.")
def test_long_programs_need_no_recursion(student, rng):
    """a chain of 6,000 equations traces and evaluates"""
    x = generators.normal(rng, 3)
    out, length = student(long_chain, 6_000, x)
    want = x
    for _ in range(3_000):
        want = np.tanh(want) + 0.01
    check.equal(int(length), 6_000, "the number of equations")
    check.close(out, want, ulps=64)


@probe
def shapes_of(function, shapes) -> Any:
    """eval_shape of a function on float32 arguments of these shapes."""
    import minijax

    import describe

    calls = [describe.shaped([shape, "float32"]) for shape in shapes]
    return describe.types(minijax.eval_shape(lambda *xs: function(minijax, *xs), *calls))


def layer(xp, x, w):
    """A layer with two results."""
    h = xp.tanh(x @ w)
    return {"hidden": h, "total": xp.sum(h * 2.0, axis=0)}


@number("2.14")
@weight(1)
@hint("eval_shape traces the function and keeps the types of its results. Nothing of that size is computed.")
def test_eval_shape_computes_nothing(student):
    """eval_shape gives the types of results that would not fit in memory"""
    got = student(shapes_of, layer, [[200_000, 300_000], [300_000, 100_000]])
    want = {
        "hidden": {"shape": [200_000, 100_000], "dtype": "float32"},
        "total": {"shape": [100_000], "dtype": "float32"},
    }
    check.equal(got, want, "the types of layer(x, w)")


@probe
def after_an_error(x) -> judge.Jaxpr:
    """Trace a function that raises, catch it, then trace another one."""
    import minijax

    import describe

    def stops(x):
        x * 2.0
        raise KeyError("stop")

    for _ in range(3):
        try:
            minijax.make_jaxpr(stops)(x)
        except KeyError:
            pass
    return describe.jaxpr(minijax.make_jaxpr(lambda x: minijax.tanh(x) + 1.0)(x))


@probe
def kept_from_an_error(x) -> Any:
    """Keep a tracer of a function that raises, catch the exception, then compute with the tracer."""
    import minijax

    kept = []

    def stops(x):
        kept.append(x)
        raise KeyError("stop")

    try:
        minijax.make_jaxpr(stops)(x)
    except KeyError:
        pass
    return str(kept[0] + 1.0)


@number("2.10")
@weight(1)
@hint("Close the trace however the function ends: an exception must not leave it open.")
def test_an_exception_closes_the_trace(student, rng):
    """an exception inside a traced function leaves no trace open"""
    x = generators.normal(rng, 5)
    jaxpr = student(after_an_error, x)
    check.equal(jaxpr.primitives, ["tanh", "add"], "the primitives of the next jaxpr")
    (y,) = judge.run(jaxpr, [x])
    check.close(y, np.tanh(x) + 1.0, ulps=8)
    check.raised(student.error(kept_from_an_error, x), "LeakedTracerError")
