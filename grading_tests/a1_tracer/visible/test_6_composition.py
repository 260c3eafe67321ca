"""Part 6: the transformations together."""

from __future__ import annotations

import numpy as np

from autograder.kit import check, hint, number, probe, weight

import generators
import judge


@probe
def per_sample(nll, net) -> list[np.ndarray]:
    """Per-sample gradients of the network's loss by jit(vmap(grad)), and one by one."""
    import minijax
    import numpy as np

    def loss(w1, b1, w2, x, y):
        return nll(minijax, x, y, w1, b1, w2)

    by_sample = minijax.grad(loss, argnums=(0, 1, 2))
    together = minijax.jit(minijax.vmap(by_sample, in_axes=(None, None, None, 0, 0)))
    params = net["w1"], net["b1"], net["w2"]
    return [np.asarray(gradient) for gradient in together(*params, net["x"], net["y"])]


@probe
def per_sample_jaxpr(nll, net) -> judge.Jaxpr:
    """make_jaxpr of vmap of grad of the network's loss."""
    import minijax

    import describe

    def loss(w1, b1, w2, x, y):
        return nll(minijax, x, y, w1, b1, w2)

    by_sample = minijax.vmap(minijax.grad(loss, argnums=(0, 1, 2)), in_axes=(None, None, None, 0, 0))
    return describe.jaxpr(minijax.make_jaxpr(by_sample)(net["w1"], net["b1"], net["w2"], net["x"], net["y"]))


def gradient_by_hand(net: dict[str, np.ndarray], x: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """The gradients of one sample's loss, derived on paper."""
    h = np.tanh(x @ net["w1"] + net["b1"])
    z = h @ net["w2"]
    p = np.exp(z - z.max())
    dz = p / p.sum() - y
    dh = (net["w2"] @ dz) * (1 - h * h)
    return [np.outer(x, dh), dh, np.outer(h, dz)]


@number("6.1")
@weight(2)
@hint("grad by one sample, vmap over samples, jit on top: check each alone before all together.")
def test_per_sample_gradients(student, rng):
    """jit(vmap(grad(loss))) gives every sample's own gradient"""
    net = generators.network(rng, 16)
    got = student(per_sample, generators.nll, net)
    each = [gradient_by_hand(net, x, y) for x, y in zip(net["x"], net["y"], strict=True)]
    for name, mine, theirs in zip(["w1", "b1", "w2"], got, zip(*each, strict=True), strict=True):
        check.close(mine, np.stack(theirs), ulps=256, what=f"every sample's gradient by {name}")
    live = [
        len(judge.live_equations(student(per_sample_jaxpr, generators.nll, generators.network(rng, size))))
        for size in (4, 16)
    ]
    check.that(live[0] == live[1], "equations for batches of 4 and 16", expected="one number", got=live)
    check.at_most(live[0], 44, "equations that some result depends on")


@probe
def perturbed(x) -> list[float]:
    """grad of x · grad(y: x + y), and a deeper nest of the kind."""
    import minijax
    import numpy as np

    once = minijax.grad(lambda x: x * minijax.grad(lambda y: x + y)(np.float64(1.0)))
    deeper = minijax.grad(
        lambda x: minijax.grad(lambda y: x * y * minijax.grad(lambda z: x * y * z * z)(x))(x * x)
    )
    return [float(np.asarray(once(x))), float(np.asarray(deeper(x)))]


@number("6.2")
@weight(1)
@hint("The inner gradient must treat the outer variable as a constant. Handout, levels.")
def test_perturbations_are_not_confused(student):
    """nested gradients keep their variables apart"""
    # The inner derivative is 1, so the outer function is x. The deeper one is d/dy (2 x³ y²) at y = x²: 4 x⁵.
    got = np.array(student(perturbed, np.float64(1.5)))
    check.close(got, np.array([1.0, 20.0 * 1.5**4]), ulps=16, what="the two nested derivatives at 1.5")


@probe
def wrapped(x) -> list[np.ndarray]:
    """vmap(jit(f)), jit(jit(f)), grad(jit(f)), jit(grad(jit(f))) and jit inside a traced function."""
    import minijax
    import numpy as np

    f = minijax.jit(lambda x: minijax.sum(minijax.tanh(x) * x))
    outs = [minijax.vmap(f)(x), minijax.jit(f)(x), minijax.grad(f)(x), minijax.jit(minijax.grad(f))(x)]
    jaxpr = minijax.make_jaxpr(lambda x: f(x) + f(2.0 * x))(x)
    return [np.asarray(out) for out in (*outs, *minijax.eval_jaxpr(jaxpr, x))]


@number("6.3")
@weight(1)
@hint("A jitted function called with tracers replays its program on them, so it is recorded by whoever traces.")
def test_jit_under_other_transformations(student, rng):
    """vmap(jit), jit(jit), grad(jit), jit(grad(jit)), and jit while tracing"""
    x = rng.normal(size=(3, 4))

    def f(x: np.ndarray) -> np.ndarray:
        return np.sum(np.tanh(x) * x, axis=-1)

    slope = np.tanh(x) + x * (1 - np.tanh(x) ** 2)
    want = [f(x), np.asarray(f(x).sum()), slope, slope, np.asarray(f(x).sum() + f(2 * x).sum())]
    names = ["vmap(jit(f))", "jit(jit(f))", "grad(jit(f))", "jit(grad(jit(f)))", "f(x) + f(2x), traced"]
    for name, mine, theirs in zip(names, student(wrapped, x), want, strict=True):
        check.close(mine, theirs, ulps=128, what=name)
