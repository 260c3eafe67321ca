"""Part 4, hidden: gradients against JAX's, twice over, and where zeros and infinities meet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import strategies as st

from autograder.kit import check, given, hint, number, probe, weight

import generators

GOLDEN = json.loads((Path(__file__).parent / "golden_jax.json").read_text())


@probe
def network_gradients(nll, net) -> list[np.ndarray]:
    """value_and_grad of the two-layer cross-entropy by w1, b1 and w2."""
    import minijax
    import numpy as np

    def loss(w1, b1, w2):
        return nll(minijax, net["x"], net["y"], w1, b1, w2)

    value, gradients = minijax.value_and_grad(loss, argnums=(0, 1, 2))(net["w1"], net["b1"], net["w2"])
    return [np.asarray(item) for item in (value, *gradients)]


@number("4.10")
@weight(2)
@hint("Loss and gradients must be JAX's to the last digits. Handout, part 4, the lecture's network.")
@pytest.mark.parametrize("case", range(len(GOLDEN)))
def test_cross_entropy_agrees_with_jax(student, case):
    """loss and gradients of the two-layer cross-entropy, as JAX has them"""
    golden = GOLDEN[case]
    net = {name: np.array(value) for name, value in golden["inputs"].items()}
    got = student(network_gradients, generators.nll, net)
    for name, mine, theirs in zip(["loss", "w1", "b1", "w2"], got, golden["outputs"], strict=True):
        check.close(mine, np.array(theirs), relative=1e-14, what=f"the loss or its gradient: {name}")


@probe
def guarded(x) -> list[np.ndarray]:
    """grad of sums of where(x > 0, log(x), 0), safe only by the double where, and of sqrt likewise."""
    import minijax
    import numpy as np

    def logs(x):
        safe = minijax.where(x > 0.0, x, 1.0)
        return minijax.sum(minijax.where(x > 0.0, minijax.log(safe), 0.0))

    def roots(x):
        inner = minijax.where(x > 0.0, x, 4.0)
        return minijax.sum(minijax.where(x > 0.0, minijax.sqrt(inner) * x, -x))

    return [np.asarray(minijax.grad(f)(x)) for f in (logs, roots)] + [
        np.asarray(minijax.grad(lambda x: minijax.sum(minijax.where(x > -10.0, x, 1.0 / x)))(x)),
    ]


@number("4.11")
@weight(1)
@hint(
    "The branch that where does not take gets an exact zero, not 0 times something. Handout, part 4, double where."
)
def test_the_untaken_branch_does_not_poison(student):
    """gradients through where stay finite when the other branch is guarded"""
    x = np.array([-2.0, 0.0, 0.5, 3.0])
    logs, roots, taken = student(guarded, x)
    positive = x > 0
    check.close(logs, np.where(positive, 1.0 / np.where(positive, x, 1.0), 0.0), ulps=8, what="of the guarded log")
    root = 1.5 * np.sqrt(np.where(positive, x, 0.0))
    check.close(roots, np.where(positive, root, -1.0), ulps=16, what="of the guarded square root")
    check.close(taken[2:], np.ones(2), ulps=8, what="of where(True, x, 1/x) at positive x")


def scalar_program(xp, steps, x):
    """A random program of one array, summed up."""
    values = [x]
    for name, *operands in steps:
        a = [values[index] for index in operands]
        if name in ("tanh", "sin", "cos"):
            values.append(getattr(xp, name)(a[0]))
        elif name == "neg":
            values.append(xp.exp(-xp.tanh(a[0])))
        elif name == "scale":
            values.append(a[0] / (1.5 + a[0] * a[0]))
        elif name == "total":
            values.append(a[0] * xp.tanh(xp.sum(a[0], axis=0)))
        elif name == "add":
            values.append(a[0] + xp.sin(a[1]))
        elif name == "sub":
            values.append(a[0] - a[1] * 0.7)
        else:
            values.append(xp.tanh(a[0] * a[1]))
    return xp.sum(values[-1] * values[-1])


@probe
def second_derivative(program, steps, x, direction) -> np.ndarray:
    """Hessian times a vector: the gradient of <gradient, direction>."""
    import minijax
    import numpy as np

    def slope(x):
        return minijax.sum(minijax.grad(lambda x: program(minijax, steps, x))(x) * direction)

    return np.asarray(minijax.grad(slope)(x))


@probe
def first_derivative(program, steps, x) -> np.ndarray:
    """The gradient."""
    import minijax
    import numpy as np

    return np.asarray(minijax.grad(lambda x: program(minijax, steps, x))(x))


@number("4.12")
@weight(1)
@hint("Every rule must itself be differentiable: built from primitives, on tracers. Handout, part 4.")
@given(steps=generators.programs(5), draw=st.integers(0, 2**31), examples=40)
def test_second_derivatives_of_random_programs(student, steps, draw):
    """first and second derivatives of random programs"""
    rng = np.random.default_rng(draw)
    x, direction = rng.normal(size=4), rng.normal(size=4)

    def value(x: np.ndarray) -> Any:
        return scalar_program(np, steps, x)

    first = generators.central_differences(value, x)
    assume(np.abs(first).max() > 1e-3)
    check.close(student(first_derivative, scalar_program, steps, x), first, relative=1e-6, what="the gradient")
    step = 1e-4

    def slope(x: np.ndarray) -> Any:
        return (value(x + step * direction) - value(x - step * direction)) / (2 * step)

    second = generators.central_differences(slope, x, step)
    assume(np.abs(second).max() > 1e-1)
    got = student(second_derivative, scalar_program, steps, x, direction)
    check.close(got, second, relative=1e-3, what="the Hessian times a vector")


@probe
def long_gradient(count, x) -> np.ndarray:
    """grad of the sum of a chain of this many operations."""
    import minijax
    import numpy as np

    def function(x):
        for _ in range(count // 3):
            x = x + 0.001 * minijax.sin(x)
        return minijax.sum(x)

    return np.asarray(minijax.grad(function)(x))


@number("4.15")
@weight(1)
@hint("Walk the equations backwards in a loop: Python's recursion ends after a thousand calls.")
def test_long_gradients_need_no_recursion(student, rng):
    """the gradient of a chain of 6,000 equations"""
    x = rng.normal(size=3)
    slope, value = np.ones(3), x
    for _ in range(2_000):
        slope, value = slope * (1.0 + 0.001 * np.cos(value)), value + 0.001 * np.sin(value)
    check.close(student(long_gradient, 6_000, x), slope, relative=1e-9, what="the gradient")
