"""Hard inputs for `minijax`: shapes that broadcast, types of every kind, random programs.

Everything is drawn with hypothesis from the run's seed and comes out as plain data, so that it can travel.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

DTYPES = ["bool", "int32", "int64", "float32", "float64"]

dtypes = st.sampled_from(DTYPES)
shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)


@st.composite
def broadcastable(draw: Any, count: int) -> list[list[int]]:
    """`count` shapes that broadcast together, with rank 0, size 1 and size 0 among them."""
    drawn = draw(hnp.mutually_broadcastable_shapes(num_shapes=count, max_dims=3, min_side=0, max_side=4))
    return [list(shape) for shape in drawn.input_shapes]


@st.composite
def typed(draw: Any, count: int) -> list[list[Any]]:
    """`count` types `[shape, dtype]` whose shapes broadcast together."""
    return [[shape, draw(dtypes)] for shape in draw(broadcastable(count))]


@st.composite
def dot_operands(draw: Any) -> list[list[int]]:
    """Two shapes that `np.matmul` takes, from 1-D to batched."""
    m, k, n = (draw(st.integers(0, 4)) for _ in range(3))
    left, right = draw(st.sampled_from([(1, 1), (1, 2), (2, 1), (2, 2), (3, 2), (2, 3), (3, 3), (4, 3)]))
    batch = draw(broadcastable(2))
    x = [k] if left == 1 else [*batch[0][: left - 2], m, k]
    y = [k] if right == 1 else [*batch[1][: right - 2], k, n]
    if left > 2 and right > 2:
        x, y = [*batch[0], m, k], [*batch[1], k, n]
    return [x, y]


@st.composite
def structural(draw: Any) -> tuple[str, list[int], dict[str, Any]]:
    """A transpose, reshape, broadcast, reduction or convert that is valid: name, shape, params."""
    shape = list(draw(hnp.array_shapes(min_dims=0, max_dims=4, min_side=1, max_side=4)))
    rank = len(shape)
    kind = draw(st.sampled_from(["transpose", "reshape", "broadcast", "reduce_sum", "reduce_max"]))
    if kind == "transpose":
        return kind, shape, {"permutation": draw(st.permutations(range(rank)))}
    if kind == "reshape":
        spread = draw(st.permutations([*shape, *[1] * draw(st.integers(0, 2))]))
        return kind, shape, {"shape": spread}
    if kind == "broadcast":
        extra = draw(st.integers(0, 2))
        places = sorted(draw(st.permutations(range(rank + extra)))[:rank])
        out = [draw(st.integers(1, 4)) for _ in range(rank + extra)]
        for place, size in zip(places, shape, strict=True):
            out[place] = size if size != 1 else out[place]
        return kind, shape, {"shape": out, "broadcast_dimensions": places}
    axis: Any = None
    if rank and draw(st.booleans()):
        chosen = draw(st.permutations(range(rank)))[: draw(st.integers(1, rank))]
        axis = [place - rank if draw(st.booleans()) else place for place in chosen]
        axis = axis[0] if len(axis) == 1 and draw(st.booleans()) else axis
    return kind, shape, {"axis": axis, "keepdims": draw(st.booleans())}


UNARY = ["tanh", "sin", "cos", "neg"]
BINARY = ["add", "sub", "mul"]


@st.composite
def programs(draw: Any, most: int = 8) -> list[list[Any]]:
    """A random straight-line program over one array: each step names an operation and earlier values."""
    steps: list[list[Any]] = []
    for _ in range(draw(st.integers(1, most))):
        name = draw(st.sampled_from([*UNARY, *BINARY, "scale", "total"]))
        count = 2 if name in BINARY else 1
        operands = [draw(st.integers(0, len(steps))) for _ in range(count)]
        steps.append([name, *operands])
    return steps


def run_program(xp, steps, x):
    """Run a random program with `xp`, NumPy here or minijax there. Travels."""
    values = [x]
    for name, *operands in steps:
        a = [values[index] for index in operands]
        if name in ("tanh", "sin", "cos"):
            values.append(getattr(xp, name)(a[0]))
        elif name == "neg":
            values.append(-a[0])
        elif name == "scale":
            values.append(a[0] * 0.5 + 1.0)
        elif name == "total":
            values.append(a[0] * xp.tanh(xp.sum(a[0], axis=-1, keepdims=True)))
        elif name == "add":
            values.append(a[0] + a[1])
        elif name == "sub":
            values.append(a[0] - a[1])
        else:
            values.append(xp.tanh(a[0] * a[1]))
    return values[-1]


def normal(rng: np.random.Generator, *shape: int, dtype: str = "float64") -> np.ndarray:
    """A normally distributed array."""
    return rng.normal(size=shape).astype(dtype)


def nll(xp, x, y, w1, b1, w2):
    """Cross-entropy of a two-layer network, for one sample `x[D], y[C]` or a batch. Travels."""
    h = xp.tanh(x @ w1 + b1)
    z = h @ w2
    z = z - xp.max(z, axis=-1, keepdims=True)
    logp = z - xp.log(xp.sum(xp.exp(z), axis=-1, keepdims=True))
    return -xp.mean(xp.sum(y * logp, axis=-1))


def network(rng: np.random.Generator, batch: int, d: int = 4, h: int = 8, c: int = 3) -> dict[str, np.ndarray]:
    """Parameters and a batch for `nll`: x[batch, d], one-hot y[batch, c], w1[d, h], b1[h], w2[h, c]."""
    return {
        "x": rng.normal(size=(batch, d)),
        "y": np.eye(c)[rng.integers(0, c, size=batch)],
        "w1": rng.normal(size=(d, h)) / np.sqrt(d),
        "b1": rng.normal(size=h) * 0.1,
        "w2": rng.normal(size=(h, c)) / np.sqrt(h),
    }


def central_differences(function: Any, x: np.ndarray, step: float = 1e-5) -> np.ndarray:
    """The gradient of a scalar function of one float64 array, by symmetric differences (error ~ step²)."""
    gradient = np.zeros_like(x)
    for place in np.ndindex(x.shape):
        shift = np.zeros_like(x)
        shift[place] = step
        gradient[place] = (function(x + shift) - function(x - shift)) / (2 * step)
    return gradient
