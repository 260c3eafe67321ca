"""Makes the named programs of `minixla`: jaxprs traced with minijax, and the HLO they are lowered to.

    python grading_tests/a2_fusion/generate_programs.py

writes `programs.json` beside this file (the jaxprs, raw, as data) and
`solutions/a2_fusion/minixla/programs/*.hlo`. Nothing is cleaned up: that is what the passes are for. Only
programs called `…_cleaned` have been through the solution's passes before fusion, and those called `…_fused`
through fusion as well, so that tests of later parts do not depend on a student's earlier ones.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
SOLUTIONS = HERE.parent.parent / "solutions"
sys.path[:0] = [str(SOLUTIONS / "a1_tracer"), str(SOLUTIONS / "a2_fusion")]

import minijax as mj  # noqa: E402
from minijax.core import Jaxpr, Literal, Var, variable_names  # noqa: E402
from minixla import algebraic_simplifier, constant_folding, cse, dce, fusion  # noqa: E402
from minixla.hlo import Module  # noqa: E402
from minixla.lower_jaxpr import lower  # noqa: E402
from minixla.text import print_module  # noqa: E402

# The programs. Which spelling of GELU is used where decides the counts of the lecture.


def gelu_layer(x, w, b):
    """A layer with redundancy in it: 25 equations, 13 of them needed."""

    def gelu(h):
        return 0.5 * h * (1.0 + mj.tanh(0.79788456 * (h + 0.044715 * (h * h * h))))

    h = x @ w + b + 0.0
    first = gelu(h)
    second = gelu(h)
    mj.tanh(h / 3.0)
    return (first + second) / 2.0


def attention(mask, q, k, v):
    """One head, not scaled."""
    scores = mj.where(mask, q @ k.T, -1e38)
    exponentials = mj.exp(scores - mj.max(scores, -1, keepdims=True))
    return (exponentials / mj.sum(exponentials, -1, keepdims=True)) @ v


def mlp_block(x, gamma, beta, w1, b1, w2, b2):
    """Layer normalisation, two layers with a GELU between, and the residual."""
    centred = x - mj.sum(x, -1, keepdims=True) / 256.0
    variance = mj.sum(centred * centred, -1, keepdims=True) / 256.0
    h = (centred / mj.sqrt(variance + 1e-5) * gamma + beta) @ w1 + b1
    activated = 0.5 * h * (1.0 + mj.tanh(0.79788456 * (h + 0.044715 * h * h * h)))
    return x + (activated @ w2 + b2)


def nll(w1, b1, w2, x, y):
    """Cross-entropy of a network with one hidden layer; x is a sample or a batch."""
    z = mj.tanh(x @ w1 + b1) @ w2
    z = z - mj.max(z, -1, keepdims=True)
    logp = z - mj.log(mj.sum(mj.exp(z), -1, keepdims=True))
    return -mj.mean(mj.sum(y * logp, axis=-1))


def training_step(w1, b1, w2, x, y):
    """Loss, gradients and one step of gradient descent."""
    loss, (dw1, db1, dw2) = mj.value_and_grad(nll, (0, 1, 2))(w1, b1, w2, x, y)
    return w1 - 0.1 * dw1, b1 - 0.1 * db1, w2 - 0.1 * dw2, loss


def per_sample_gradients(w1, b1, w2, x, y):
    """The gradients of each sample alone, of the loss in bits."""

    def bits(*arguments):
        return nll(*arguments) / 0.6931472

    return mj.vmap(mj.grad(bits, (0, 1, 2)), in_axes=(None, None, None, 0, 0))(w1, b1, w2, x, y)


def mini_attention(x, w1, w2):
    """Two matrix products with a normalisation and a softmax between them."""
    h = x @ w1
    h = h / mj.sqrt(mj.mean(h * h, -1, keepdims=True) + 1e-6)
    exponentials = mj.exp(h - mj.max(h, -1, keepdims=True))
    return (exponentials / mj.sum(exponentials, -1, keepdims=True)) @ w2


PROGRAMS: list[tuple[Callable[..., Any], list[tuple[int, ...]]]] = [
    (gelu_layer, [(64, 128), (128, 256), (256,)]),
    (attention, [(1024, 1024), (1024, 512), (1024, 512), (1024, 512)]),
    (mlp_block, [(512, 256), (256,), (256,), (256, 1024), (1024,), (1024, 256), (256,)]),
    (training_step, [(4, 8), (8,), (8, 3), (32, 4), (32, 3)]),
    (per_sample_gradients, [(4, 8), (8,), (8, 3), (16, 4), (16, 3)]),
    (mini_attention, [(16, 64), (64, 64), (64, 32)]),
]


# From a jaxpr to data.


def as_data(name: str, jaxpr: Jaxpr, parameters: list[str]) -> dict[str, Any]:
    """The jaxpr in the form that `lower_jaxpr.lower` takes; the invars have the given names."""
    fresh: Iterator[str] = (letters for letters in variable_names() if letters not in parameters)
    names = dict(zip(jaxpr.invars, parameters, strict=True))
    values = dict(zip(jaxpr.constvars, jaxpr.consts, strict=True))

    def typed(var: Var) -> dict[str, Any]:
        if var not in names:
            names[var] = next(fresh)
        return {"name": names[var], "shape": list(var.aval.shape), "dtype": var.aval.dtype.name}

    def atom(item: Var | Literal) -> dict[str, Any]:
        if isinstance(item, Var) and item not in values:
            return {"var": names[item]}
        array = np.asarray(values[item] if isinstance(item, Var) else item.value)
        return {"literal": array.tolist(), "shape": list(array.shape), "dtype": array.dtype.name}

    return {
        "name": name,
        "invars": [typed(var) for var in jaxpr.invars],
        "eqns": [
            {
                "primitive": eqn.primitive,
                "inputs": [atom(item) for item in eqn.invars],
                "params": {key: plain(value) for key, value in eqn.params.items()},
                "output": typed(eqn.outvar),
            }
            for eqn in jaxpr.eqns
        ],
        "outvars": [atom(item) for item in jaxpr.outvars],
    }


def plain(value: Any) -> Any:
    """A param as JSON has it: tuples as lists, dtypes by name."""
    if isinstance(value, tuple):
        return [int(number) for number in value]
    return value.name if isinstance(value, np.dtype) else value


def trace(function: Callable[..., Any], shapes: list[tuple[int, ...]]) -> dict[str, Any]:
    """The jaxpr of a program, as data. Arguments are f32, a mask is bool."""
    parameters = list(inspect.signature(function).parameters)
    arguments = [
        np.zeros(shape, np.bool_ if name == "mask" else np.float32)
        for name, shape in zip(parameters, shapes, strict=True)
    ]
    return as_data(function.__name__, mj.make_jaxpr(function)(*arguments), parameters)


def cleaned(module: Module) -> Module:
    """The module as it is before fusion."""
    for each in (algebraic_simplifier, constant_folding, cse, dce):
        module, _ = each.run(module)
    return module


def main() -> None:
    """Write the jaxprs and the programs."""
    jaxprs = [trace(function, shapes) for function, shapes in PROGRAMS]
    lines = ",\n".join(json.dumps(jaxpr) for jaxpr in jaxprs)
    (HERE / "programs.json").write_text(f"[\n{lines}\n]\n")
    folder = SOLUTIONS / "a2_fusion" / "minixla" / "programs"
    folder.mkdir(exist_ok=True)
    for jaxpr in jaxprs:
        module = lower(jaxpr)
        (folder / f"{jaxpr['name']}.hlo").write_text(print_module(module))
        if jaxpr["name"] in ("gelu_layer", "training_step", "per_sample_gradients"):
            (folder / f"{jaxpr['name']}_cleaned.hlo").write_text(print_module(cleaned(module)))
        if jaxpr["name"] in ("attention", "mini_attention"):
            fused, _ = fusion.run(cleaned(module))
            (folder / f"{jaxpr['name']}_fused.hlo").write_text(print_module(fused.replace(is_scheduled=True)))


if __name__ == "__main__":
    main()
