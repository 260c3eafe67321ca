"""Part 5, hidden: trees, nesting, what must not be copied, and broadcasting's trap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from autograder.kit import check, hint, number, probe, weight

import judge


@probe
def nested(x, y) -> list[np.ndarray]:
    """All pairs by two vmaps, of -2·sin(x) + y, and a matrix of products."""
    import minijax
    import numpy as np

    pair = lambda x, y: -2.0 * minijax.sin(x) + y
    table = minijax.vmap(minijax.vmap(pair, in_axes=(None, 0)), in_axes=(0, None))(x, y)
    same = minijax.vmap(lambda x: -2.0 * minijax.sin(x) + x)(np.arange(3.0))
    inner = minijax.vmap(minijax.vmap(lambda a, b: minijax.sum(a * b), (None, 0), 0), (0, None), 1)
    return [np.asarray(item) for item in (table, same, inner(np.outer(x, y), np.outer(y, y)))]


@number("5.8")
@weight(1)
@hint("vmap of vmap: the inner one sees tracers (or mapped values) of the outer one.")
def test_vmap_nests(student, rng):
    """vmap inside vmap, and -2·sin(x) + x over [0, 1, 2]"""
    x, y = rng.normal(size=4), rng.normal(size=5)
    table, same, inner = student(nested, x, y)
    check.close(table, -2.0 * np.sin(x)[:, None] + y[None, :], ulps=16, what="the table of all pairs")
    check.close(same, np.array([0.0, -0.6829419696157930, 0.1814051463486366]), ulps=8, what="over [0, 1, 2]")
    check.close(inner, (np.outer(x, y) @ np.outer(y, y).T).T, ulps=64, what="products with out_axes=1")


@probe
def trees(params, x) -> Any:
    """vmap with pytrees in in_axes and out_axes."""
    import minijax

    import describe

    def function(params, inputs):
        x, scale = inputs
        h = minijax.tanh(x @ params["w"] + params["b"])
        return {"h": h * scale, "shared": params["b"] * 2.0, "copies": params["b"], "last": (minijax.sum(h),)}

    in_axes = ({"w": None, "b": None}, (1, None))
    out_axes = {"h": 1, "shared": None, "copies": -1, "last": 0}
    return describe.leaves(minijax.vmap(function, in_axes=in_axes, out_axes=out_axes)(params, (x, 0.5)))


@number("5.9")
@weight(1)
@hint("in_axes and out_axes may be trees; a result that no member changes can stay unmapped (out_axes None).")
def test_trees_of_axes(student, rng):
    """in_axes and out_axes as pytrees"""
    params = {"w": rng.normal(size=(4, 3)), "b": rng.normal(size=3)}
    x = rng.normal(size=(4, 6))
    got = student(trees, params, x)
    h = np.tanh(x.T @ params["w"] + params["b"])
    check.close(got["h"], (h * 0.5).T, ulps=32, what="result['h'], mapped at axis 1")
    check.close(got["shared"], params["b"] * 2.0, ulps=2, what="result['shared'], not mapped")
    check.close(
        got["copies"], np.repeat(params["b"][:, None], 6, axis=1), ulps=1, what="result['copies'], repeated"
    )
    check.close(got["last"][0], h.sum(axis=1), ulps=64, what="result['last'][0]")


@probe
def sharing(x, w) -> judge.Jaxpr:
    """make_jaxpr of vmap where one argument is shared and some work concerns it alone."""
    import minijax

    import describe

    def function(x, w):
        square = minijax.tanh(w @ w)
        return x @ square + minijax.sum(w, axis=0)

    return describe.jaxpr(minijax.make_jaxpr(minijax.vmap(function, in_axes=(0, None)))(x, w))


@number("5.10")
@weight(1)
@hint("Work that concerns unmapped values only is done once, without a batch axis, and they are never copied.")
def test_unmapped_values_are_not_copied(student, rng):
    """what all members share is computed once and not repeated"""
    x, w = rng.normal(size=(7, 3)), rng.normal(size=(3, 3))
    jaxpr = student(sharing, x, w)
    check.close(judge.run(jaxpr, [x, w])[0], x @ np.tanh(w @ w) + w.sum(axis=0), ulps=64)
    for eqn in jaxpr.eqns:
        copied = len(eqn.out.aval.shape) > 2
        check.that(
            not copied, "an array larger than its members need", expected="no copies of w", got=judge.text(jaxpr)
        )
    tanh = [str(eqn.out.aval) for eqn in jaxpr.eqns if eqn.primitive == "tanh"]
    check.equal(tanh, ["f64[3,3]"], "the type of tanh(w @ w)")


@probe
def with_grad(order, x, w) -> np.ndarray:
    """vmap of grad, or grad of a sum over vmap."""
    import minijax
    import numpy as np

    def loss(w, x):
        return minijax.sum(minijax.tanh(x @ w) * minijax.max(x))

    if order == "vmap of grad":
        return np.asarray(minijax.vmap(minijax.grad(loss), in_axes=(None, 0))(w, x))
    total = lambda w: minijax.sum(minijax.vmap(loss, in_axes=(None, 0))(w, x))
    return np.asarray(minijax.grad(total)(w))


@number("5.12")
@weight(1)
@hint("A batching rule made of primitives can be differentiated, and a VJP rule can be batched.")
@pytest.mark.parametrize("order", ["vmap of grad", "grad of vmap"])
def test_vmap_and_grad_in_either_order(student, rng, order):
    """vmap over grad and grad over vmap"""
    x, w = rng.normal(size=(5, 3)), rng.normal(size=(3, 2))
    each = np.stack([np.outer(row, (1 - np.tanh(row @ w) ** 2) * row.max()) for row in x])
    want = each if order == "vmap of grad" else each.sum(axis=0)
    check.close(student(with_grad, order, x, w), want, ulps=128)
