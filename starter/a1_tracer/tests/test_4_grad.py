"""Part 4: gradients, by walking the jaxpr backwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from autograder.kit import check, given, hint, number, probe, weight

import generators
import judge


@probe
def gradients(function, arguments, argnums) -> list[np.ndarray]:
    """grad of a function by these arguments."""
    import minijax
    import numpy as np

    found = minijax.grad(lambda *xs: function(minijax, *xs), argnums=tuple(argnums))(*arguments)
    return [np.asarray(gradient) for gradient in found]


def compare(student: Any, function: Any, arguments: list[np.ndarray], relative: float = 1e-6) -> None:
    """Compare the gradients by every argument with central differences."""
    got = student(gradients, function, arguments, list(range(len(arguments))))
    for place, x in enumerate(arguments):

        def alone(x: np.ndarray, place: int = place) -> Any:
            return function(np, *arguments[:place], x, *arguments[place + 1 :])

        want = generators.central_differences(alone, x)
        check.close(got[place], want, relative=relative, what=f"the gradient by argument {place}")


@probe
def derivatives(which, x, count) -> list[float]:
    """The derivatives of sin, or of -2·sin(x) + x, from the zeroth on."""
    import minijax
    import numpy as np

    functions = {"sin": minijax.sin, "line": lambda x: -2.0 * minijax.sin(x) + x}
    function, found = functions[which], []
    for _ in range(count):
        found.append(float(np.asarray(function(x))))
        function = minijax.grad(function)
    return found


@probe
def row_sums(x, direction) -> np.ndarray:
    """The gradient of <gradient, direction>, for the sum of tanh of the sums of x's rows."""
    import minijax
    import numpy as np

    def slope(x):
        f = lambda x: minijax.sum(minijax.tanh(minijax.sum(x, axis=1)))
        return minijax.sum(minijax.grad(f)(x) * direction)

    return np.asarray(minijax.grad(slope)(x))


@number("4.1")
@weight(2)
@hint("grad(f) is an ordinary function made of primitives, so grad(grad(f)) needs nothing new. Handout, part 4.")
def test_derivatives_of_derivatives(student, rng):
    """one to four derivatives of sin, and -2·sin(x) + x with its derivative, at 3"""
    sin = np.array(student(derivatives, "sin", np.float64(3), 5)[1:])
    check.close(sin, np.array([np.cos(3.0), -np.sin(3.0), -np.cos(3.0), np.sin(3.0)]), ulps=8, what="of sin at 3")
    line = np.array(student(derivatives, "line", np.float64(3), 2))
    check.close(line, np.array([2.7177599838802657, 2.979984993200891]), ulps=8, what="of -2·sin(x) + x at 3")
    x, direction = rng.normal(size=(3, 4)) * 0.3, rng.normal(size=(3, 4))
    t = np.tanh(x.sum(axis=1))
    want = np.repeat((-2 * t * (1 - t * t) * direction.sum(axis=1))[:, None], 4, axis=1)
    check.close(student(row_sums, x, direction), want, ulps=64, what="the second derivative of sums of rows")


@probe
def program_gradient(program, steps, x) -> np.ndarray:
    """grad of the sum of a random program, written out as steps."""
    import minijax
    import numpy as np

    return np.asarray(minijax.grad(lambda x: minijax.sum(program(minijax, steps, x)))(x))


@number("4.2")
@weight(4)
@hint("Run one program backwards by hand: does every use of a variable send its cotangent?")
@given(steps=generators.programs(), draw=st.integers(0, 2**31), examples=60)
def test_gradients_of_random_programs(student, steps, draw):
    """gradients of random programs agree with central differences"""
    x = generators.normal(np.random.default_rng(draw), 2, 3)
    program = generators.run_program
    want = generators.central_differences(lambda x: np.sum(program(np, steps, x)), x)
    assume(np.abs(want).max() > 1e-3)
    check.close(student(program_gradient, program, steps, x), want, relative=1e-6, what="the gradient")


def arithmetic(xp, x, y):
    """add, sub, mul, div with different operands."""
    return xp.sum((x + 2.0 * y) * (x - y) / (y * y + 1.0))


def functions(xp, x):
    """exp, log, sqrt, tanh, sin, cos, neg."""
    return xp.sum(xp.exp(-x) * xp.log(x + 3.0) + xp.sqrt(x + 2.5) * xp.tanh(x) - xp.sin(x) / xp.cos(x))


def products(xp, a, b, v, w):
    """dot of matrices and vectors, on either side."""
    return xp.sum(a @ b) + (v @ b) @ w + xp.sum(xp.tanh(a @ v)) + v @ v


def batched_products(xp, a, b, v):
    """dot of a batch of matrices with one matrix, and with a vector on either side."""
    return xp.sum(xp.tanh(a @ b)) + xp.sum(xp.tanh(v @ xp.transpose(a, (0, 2, 1))) * xp.tanh(a @ v))


def shapes(xp, x):
    """transpose and reshape."""
    scaled = xp.transpose(x) * 0.3
    cube = xp.reshape(x, (2, 3, 2))
    turned = xp.sum(xp.tanh(xp.transpose(cube, (2, 0, 1)) * xp.reshape(x, (2, 2, 3))))
    return xp.sum(xp.tanh(xp.reshape(scaled, (2, 6))) * xp.sin(xp.reshape(x, (2, 6)))) + turned


def sums(xp, x):
    """reduce_sum along axes, kept and dropped."""
    rows = xp.sum(x, axis=1, keepdims=True) * xp.sum(x * x, axis=0)
    return xp.sum(xp.tanh(0.1 * rows)) + xp.sum(xp.sum(x, axis=(0, -1)) * 2.0)


def maxima(xp, x):
    """reduce_max along axes."""
    dropped = xp.sum(xp.sin(xp.max(x, axis=0))) + xp.sum(xp.cos(xp.max(x, axis=1)))
    return dropped + xp.sum(xp.max(x, axis=-1, keepdims=True) * x)


def choices(xp, x, y):
    """where, both branches used."""
    return xp.sum(xp.where(x > y, x * y, xp.sin(x)) * y)


@number("4.3")
@weight(2)
@hint("Derive the rule on paper for one element, then check the shapes. Handout, part 4, the rules.")
@pytest.mark.parametrize(
    ("function", "sizes"),
    [
        (arithmetic, [[3, 4], [3, 4]]),
        (functions, [[3, 4]]),
        (products, [[4, 3], [3, 2], [3], [2]]),
        (batched_products, [[5, 2, 3], [3, 4], [3]]),
        (shapes, [[4, 3]]),
        (sums, [[4, 3]]),
        (maxima, [[4, 3]]),
        (choices, [[4, 3], [4, 3]]),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_each_rule(student, rng, function, sizes):
    """each primitive's rule against central differences"""
    compare(student, function, [rng.uniform(-1.0, 1.0, size=size) for size in sizes])


def fan_out(xp, x):
    """One variable used many times, directly and through others."""
    y = xp.tanh(x)
    return xp.sum(y * y * y + y + x * y - y)


@number("4.4")
@weight(1)
@hint("A variable that is used twice gets the sum of two cotangents. Handout, part 4, fan-out.")
def test_fan_out_adds_up(student, rng):
    """a variable used several times gets the sum of its cotangents"""
    compare(student, fan_out, [generators.normal(rng, 5)])


def broadcasting(xp, x, b, s):
    """Operands of different shapes meet."""
    return xp.sum(xp.tanh(x * b + s) * x) + xp.sum(b / (2.0 + s * s))


@number("4.5")
@weight(2)
@hint("What broadcasting repeated, the cotangent sums: over added axes, and over stretched ones. Handout, part 4.")
@pytest.mark.parametrize("sizes", [[[3, 4], [4], []], [[3, 4], [3, 1], [1, 4]], [[2, 3, 4], [4], [3, 1]]])
def test_broadcasting_is_undone(student, rng, sizes):
    """gradients have the shapes of their arguments, whatever broadcasting did"""
    compare(student, broadcasting, [rng.normal(size=size) for size in sizes])


@probe
def zero_gradients(x, unused) -> list[np.ndarray]:
    """grad by an argument that is not used, and by one whose use is cut off."""
    import minijax
    import numpy as np

    def function(x, unused):
        minijax.exp(unused)
        return minijax.sum(x * 2.0)

    return [np.asarray(gradient) for gradient in minijax.grad(function, argnums=(0, 1))(x, unused)]


@number("4.6")
@weight(1)
@hint("No cotangent means zeros, of the argument's own shape and dtype.")
def test_unused_arguments_get_zeros(student):
    """the gradient by an unused argument is zeros of its shape and dtype"""
    used, unused = student(zero_gradients, np.ones(3), np.ones((2, 5), "float32"))
    check.close(used, np.full(3, 2.0), ulps=1)
    check.close(unused, np.zeros((2, 5), "float32"), ulps=1, what="the gradient by the unused argument")


@probe
def refused(way) -> Any:
    """grad of something that has none: an integer argument, a vector output, an integer output."""
    import minijax
    import numpy as np

    x = np.ones(3)
    if way == "integer argument":
        return np.asarray(minijax.grad(lambda n: minijax.sum(n * 1.5))(np.arange(3)))
    if way == "vector output":
        return np.asarray(minijax.grad(lambda x: x * 2.0)(x))
    return np.asarray(minijax.grad(lambda x: minijax.sum(minijax.astype(x, "int32")))(x))


@number("4.7")
@weight(1)
@hint("Look at errors.GradientError and its fields: what, aval.")
@pytest.mark.parametrize(
    ("way", "what", "aval"),
    [
        ("integer argument", "argument 0", "i64[3]"),
        ("vector output", "output", "f64[3]"),
        ("integer output", "output", "i32[]"),
    ],
)
def test_what_has_no_gradient_is_refused(student, way, what, aval):
    """integer arguments and outputs that are no float scalar raise GradientError"""
    check.raised(student.error(refused, way), "GradientError", what=what, aval=aval)


@probe
def tree_gradients(params, x) -> list[Any]:
    """value_and_grad by a dict of parameters, and grad by the second argument alone."""
    import minijax

    import describe

    def loss(params, x):
        return minijax.sum(minijax.tanh(x @ params["w"] + params["b"]) * params["scale"][0])

    value, gradient = minijax.value_and_grad(loss)(params, x)
    return [
        describe.leaves(value),
        describe.leaves(gradient),
        describe.leaves(minijax.grad(loss, argnums=1)(params, x)),
    ]


@number("4.8")
@weight(1)
@hint("Flatten the chosen arguments, differentiate by every leaf, put the tree together again.")
def test_pytrees_argnums_and_values(student, rng):
    """value_and_grad of pytrees; argnums chooses the argument"""
    params = {"w": rng.normal(size=(3, 2)), "b": rng.normal(size=2), "scale": [rng.normal(size=2)]}
    x = rng.normal(size=(4, 3))
    value, gradient, by_x = student(tree_gradients, params, x)
    h = np.tanh(x @ params["w"] + params["b"])
    d = (1.0 - h * h) * params["scale"][0]
    check.close(value, np.asarray(np.sum(h * params["scale"][0])), ulps=64, what="the value")
    check.close(gradient["w"], x.T @ d, ulps=64, what="the gradient by params['w']")
    check.close(gradient["b"], d.sum(axis=0), ulps=64, what="the gradient by params['b']")
    check.close(gradient["scale"][0], h.sum(axis=0), ulps=64, what="the gradient by params['scale'][0]")
    check.close(by_x, d @ params["w"].T, ulps=64, what="the gradient by x")


@probe
def traced_gradient(x) -> judge.Jaxpr:
    """make_jaxpr of grad of sum(tanh(x) · x)."""
    import minijax

    import describe

    return describe.jaxpr(minijax.make_jaxpr(minijax.grad(lambda x: minijax.sum(minijax.tanh(x) * x)))(x))


@number("4.9")
@weight(1)
@hint("A gradient can be traced, and its rules reuse what the forward pass computed. Handout, part 4, budget.")
def test_the_traced_gradient_is_short(student, rng):
    """grad of sum(tanh(x)·x) has at most 8 equations that matter, tanh once"""
    x = rng.normal(size=3)
    jaxpr = student(traced_gradient, x)
    live = judge.live_equations(jaxpr)
    (gradient,) = judge.run(jaxpr, [x])
    check.close(gradient, np.tanh(x) + x * (1.0 - np.tanh(x) ** 2), ulps=32, what="the gradient")
    check.at_most(len(live), 8, "equations after dead-code elimination")
    check.equal([eqn.primitive for eqn in live].count("tanh"), 1, "how often tanh is computed")


@probe
def pulled_back(x, y, cotangents) -> list[Any]:
    """vjp of a function with two results; the pullback is called for several cotangents."""
    import minijax

    import describe

    def function(x, y):
        return {"product": x @ y, "sum": minijax.sum(x, axis=0)}

    results, pullback = minijax.vjp(function, x, y)
    return [describe.leaves(results), [describe.leaves(pullback(cotangent)) for cotangent in cotangents]]


@number("4.13")
@weight(1)
@hint("vjp returns the results and a function that may be called again and again.")
def test_vjp_pulls_back_any_cotangent(student, rng):
    """vjp of a function with two results, for several cotangents"""
    x, y = rng.normal(size=(3, 4)), rng.normal(size=(4, 2))
    cotangents = [{"product": rng.normal(size=(3, 2)), "sum": rng.normal(size=4)} for _ in range(2)]
    results, pulled = student(pulled_back, x, y, cotangents)
    check.close(results["product"], x @ y, ulps=64, what="results['product']")
    for given_ct, (by_x, by_y) in zip(cotangents, pulled, strict=True):
        check.close(by_x, given_ct["product"] @ y.T + given_ct["sum"], ulps=64, what="the cotangent of x")
        check.close(by_y, x.T @ given_ct["product"], ulps=64, what="the cotangent of y")
    check.raised(student.error(wrong_cotangent, np.ones(3)), "GradientError", what="cotangent")


@probe
def wrong_cotangent(x) -> Any:
    """Pull back a cotangent of another shape than the result's."""
    import minijax

    import describe

    _, pullback = minijax.vjp(lambda x: x * 2.0, x)
    return describe.leaves(pullback(x[:2]))


@probe
def single_precision(x, table) -> list[np.ndarray]:
    """Gradients of a float32 argument beside Python floats, ints, and a float64 constant that is converted."""
    import minijax
    import numpy as np

    def mixed(x):
        h = minijax.tanh(x * 0.5 + 1) / 3
        return minijax.sum(minijax.mean(h * minijax.astype(table, "float32"), axis=0) * 2.0)

    def promoted(x):
        return minijax.sum(x * table)

    return [np.asarray(minijax.grad(f)(x)) for f in (mixed, promoted)]


@number("4.14")
@weight(1)
@hint("A gradient has its argument's dtype: convert where an operand was promoted, and widen nothing.")
def test_float32_stays_float32(student, rng):
    """gradients of float32 arguments are float32, even beside float64 operands"""
    x, table = rng.normal(size=(4, 3)).astype("float32"), rng.normal(size=(4, 3))
    mixed, promoted = student(single_precision, x, table)
    h = np.tanh(x.astype("float64") * 0.5 + 1)
    want = (1 - h * h) * 0.5 / 3 * table / 4 * 2.0
    check.close(mixed, want.astype("float32"), ulps=32, what="the gradient beside Python numbers")
    check.close(promoted, table.astype("float32"), ulps=4, what="the gradient beside a float64 operand")
