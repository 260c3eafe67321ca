"""Part 6, hidden: how much program the transformations make, and training with them."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.kit import check, hint, leaderboard, number, probe, weight

import cleanup
import generators
import judge

BUDGET = 40


@probe
def per_sample_jaxpr(nll, net) -> judge.Jaxpr:
    """make_jaxpr of the per-sample gradients of the network's loss in bits."""
    import minijax

    import describe

    def bits(w1, b1, w2, x, y):
        return nll(minijax, x, y, w1, b1, w2) / 0.6931472

    by_sample = minijax.vmap(minijax.grad(bits, argnums=(0, 1, 2)), in_axes=(None, None, None, 0, 0))
    return describe.jaxpr(minijax.make_jaxpr(by_sample)(net["w1"], net["b1"], net["w2"], net["x"], net["y"]))


@probe
def other_jaxprs(net, nll, x) -> list[judge.Jaxpr]:
    """Four more programs: a traced gradient, a vmapped one, a second derivative, a training step."""
    import minijax

    import describe

    f = lambda x: minijax.sum(minijax.tanh(x) * x)
    softmax = lambda x: minijax.sum(minijax.softmax(x) * x)
    slope = lambda x: minijax.sum(minijax.grad(f)(x) * x)

    def step(w1, b1, w2):
        loss, grads = minijax.value_and_grad(
            lambda *params: nll(minijax, net["x"], net["y"], *params), argnums=(0, 1, 2)
        )(w1, b1, w2)
        return [w - 0.1 * g for w, g in zip((w1, b1, w2), grads, strict=True)], loss

    made = [
        minijax.make_jaxpr(minijax.grad(f))(x[0]),
        minijax.make_jaxpr(minijax.vmap(minijax.grad(softmax)))(x),
        minijax.make_jaxpr(minijax.grad(slope))(x[0]),
        minijax.make_jaxpr(step)(net["w1"], net["b1"], net["w2"]),
    ]
    return [describe.jaxpr(jaxpr) for jaxpr in made]


@number("6.4")
@weight(2)
@hint("Rules may leave waste for the compiler, but not work: how many equations are left after clean-up?")
@leaderboard("equations after clean-up", "asc")
def test_the_per_sample_program_is_small(student, rng, set_leaderboard_value=None):
    """the per-sample program stays within its budget, whatever the size of the batch"""
    counts = []
    for size in (4, 16):
        net = generators.network(rng, size)
        inputs = [net["w1"], net["b1"], net["w2"], net["x"], net["y"]]
        raw = student(per_sample_jaxpr, generators.nll, net)
        tidy = cleanup.clean(raw)
        for before, after in zip(judge.run(raw, inputs), judge.run(tidy, inputs), strict=True):
            check.close(after, before, ulps=4, what="the program after clean-up")
        h = np.tanh(net["x"] @ net["w1"] + net["b1"])
        z = h @ net["w2"]
        p = np.exp(z - z.max(axis=-1, keepdims=True))
        dz = (p / p.sum(axis=-1, keepdims=True) - net["y"]) / 0.6931472
        check.close(
            judge.run(tidy, inputs)[2], h[:, :, None] * dz[:, None, :], ulps=256, what="the gradients by w2"
        )
        counts.append(len(tidy.eqns))
    check.equal(counts[0], counts[1], "equations for batches of 4 and of 16")
    check.at_most(counts[0], BUDGET, "equations after clean-up")
    others = student(other_jaxprs, generators.network(rng, 32), generators.nll, rng.normal(size=(5, 3)))
    set_leaderboard_value(counts[0] + sum(len(cleanup.clean(jaxpr).eqns) for jaxpr in others))


@probe
def trained(nll, net, steps) -> list[Any]:
    """SGD with a jitted step; the step returns the trace's number beside the loss."""
    import minijax
    import numpy as np

    traces = []

    def step(params, x, y):
        traces.append(len(traces) + 1)
        loss, grads = minijax.value_and_grad(lambda p: nll(minijax, x, y, p["w1"], p["b1"], p["w2"]))(params)
        return {name: params[name] - 0.1 * grads[name] for name in params}, loss, float(traces[-1])

    jitted = minijax.jit(step)
    params = {name: net[name] for name in ("w1", "b1", "w2")}
    losses, stamps = [], []
    for _ in range(steps):
        params, loss, stamp = jitted(params, net["x"], net["y"])
        losses.append(float(np.asarray(loss)))
        stamps.append(float(np.asarray(stamp)))
    return [losses, stamps, [int(n) for n in jitted.cache_stats()]]


@number("6.5")
@weight(1)
@hint("The step's arguments have the same types every time, so one trace serves all steps.")
def test_a_jitted_training_step_traces_once(student, rng):
    """30 steps of SGD: one trace, 29 hits, and the losses of SGD"""
    net = generators.network(rng, 32)
    losses, stamps, stats = student(trained, generators.nll, net, 30)
    check.equal(stamps, [1.0] * 30, "which trace served each step")
    check.equal(stats, [29, 1, 1], "hits, misses, programs kept")
    params = {name: net[name].copy() for name in ("w1", "b1", "w2")}
    want = []
    for _ in range(30):
        h = np.tanh(net["x"] @ params["w1"] + params["b1"])
        z = h @ params["w2"]
        z = z - z.max(axis=-1, keepdims=True)
        p = np.exp(z) / np.exp(z).sum(axis=-1, keepdims=True)
        want.append(-np.mean(np.sum(net["y"] * np.log(p), axis=-1)))
        dz = (p - net["y"]) / len(p)
        dh = (dz @ params["w2"].T) * (1 - h * h)
        for name, gradient in (("w1", net["x"].T @ dh), ("b1", dh.sum(axis=0)), ("w2", h.T @ dz)):
            params[name] = params[name] - 0.1 * gradient
    check.close(np.array(losses), np.array(want), relative=1e-12, what="the losses")


@probe
def clipped(nll, net, norm) -> list[np.ndarray]:
    """DP-SGD's gradient without its noise: per-sample gradients, clipped to a norm, then averaged; jitted."""
    import minijax
    import numpy as np

    def loss(params, x, y):
        return nll(minijax, x, y, params["w1"], params["b1"], params["w2"])

    def private(params, x, y):
        grads = minijax.grad(loss)(params, x, y)
        square = sum(minijax.sum(g * g) for g in grads.values())
        factor = minijax.minimum(1.0, norm / minijax.sqrt(square))
        return {name: g * factor for name, g in grads.items()}

    def average(params, x, y):
        each = minijax.vmap(private, in_axes=(None, 0, 0))(params, x, y)
        return [minijax.mean(each[name], axis=0) for name in ("w1", "b1", "w2")]

    params = {name: net[name] for name in ("w1", "b1", "w2")}
    return [np.asarray(g) for g in minijax.jit(average)(params, net["x"], net["y"])]


@number("6.6")
@weight(1)
@hint("Everything together: jit of a mean over vmap of a clipped grad.")
def test_clipped_gradients_are_averaged(student, rng):
    """per-sample gradients clipped to a norm, then averaged"""
    net = generators.network(rng, 12)
    got = student(clipped, generators.nll, net, 0.5)
    h = np.tanh(net["x"] @ net["w1"] + net["b1"])
    z = h @ net["w2"]
    p = np.exp(z - z.max(axis=-1, keepdims=True))
    dz = p / p.sum(axis=-1, keepdims=True) - net["y"]
    dh = (dz @ net["w2"].T) * (1 - h * h)
    each = [net["x"][:, :, None] * dh[:, None, :], dh, h[:, :, None] * dz[:, None, :]]
    square = sum((g * g).reshape(12, -1).sum(axis=1) for g in each)
    factor = np.minimum(1.0, 0.5 / np.sqrt(square))
    for name, mine, theirs in zip(["w1", "b1", "w2"], got, each, strict=True):
        want = (theirs * factor.reshape(-1, *[1] * (theirs.ndim - 1))).mean(axis=0)
        check.close(mine, want, ulps=512, what=f"the clipped and averaged gradient by {name}")
