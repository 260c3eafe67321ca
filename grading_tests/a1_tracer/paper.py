"""The paper exercises of a1_tracer. Numbers are drawn from the class seed."""

from __future__ import annotations

import random
from typing import Any

from autograder.paper import Exercise

UNARY = ["exp", "tanh", "sin"]


def drawn(seed: int) -> dict[str, Any]:
    """What the exercises of one class are about."""
    rng = random.Random(seed)
    kinds = ["f32[8]", "f32[16]", "f64[8]", "f32[8,2]"]
    return {
        "unary": rng.choice(UNARY),
        "size": rng.choice([3, 5, 6]),
        "constant": rng.choice([1.0, 2.0, 3.0]),
        "calls": [rng.choice(kinds) for _ in range(7)],
        "limit": rng.choice([2, 3, 4]),
        "configs": [rng.randint(1, 6) for _ in range(6)],
    }


def exercises(seed: int) -> list[Exercise]:
    """The exercises of one class."""
    d = drawn(seed)
    kind = f"f32[{d['size']}]"
    program = f"{d['unary']}(x) * x + {d['constant']}"
    return [
        Exercise(
            name="forward",
            title="A jaxpr by hand",
            prompt=(
                f"Write the jaxpr of `f(x) = {program}` for `x: {kind}`, in the notation that `minijax` prints. "
                "Names do not matter; an order of equations that works is fine."
            ),
            form="one string that holds the jaxpr",
            answer=_forward(d, kind),
        ),
        Exercise(
            name="backward",
            title="Its gradient by hand",
            prompt=(
                "Write a jaxpr with one input and one result that computes the gradient of `sum(f(x))` for the "
                "same `f`. Any correct one of at most 12 equations counts: it is run."
            ),
            form="one string that holds the jaxpr",
            answer=_backward(d, kind),
        ),
        Exercise(
            name="traces",
            title="How often is it traced?",
            prompt=(
                "A jitted function of one array is called with arguments of these types, in this order: "
                + ", ".join(f"`{call}`" for call in d["calls"])
                + '. The function contains `print("hi")`. How often is the function traced, and how often does it '
                "print?"
            ),
            form="a list of two integers: [traces, prints]",
            answer=[len(set(d["calls"]))] * 2,
        ),
        Exercise(
            name="rewrites",
            title="Branches that can be jitted",
            prompt=(
                f"`def g(x, n): return x * 2 if n > {d['limit']} else x` fails under `jit(g)`. Which of these "
                "work for every integer `n`, with the same results?\n\n"
                "- `a`: `jit(g, static_argnums=(1,))`\n"
                "- `b`: `jit(g, static_argnums=(0,))`\n"
                f"- `c`: `jit(lambda x, n: where(n > {d['limit']}, x * 2, x))`\n"
                f"- `d`: `jit(lambda x, n: x * 2 if bool(n > {d['limit']}) else x)`\n"
                '- `e`: `jit(g, static_argnames="n")`, called with `n` by name'
            ),
            form='a list of letters, such as ["a", "b"]',
            answer=["a", "c", "e"],
        ),
        Exercise(
            name="configs",
            title="The price of a static argument",
            prompt=(
                f"`jit(g, static_argnums=(1,))` of exercise *Branches* is called on one `x` with `n` = "
                f"{', '.join(map(str, d['configs']))}. How many programs are in its cache afterwards? And how "
                "many for the version with `where`?"
            ),
            form="a list of two integers: [static, where]",
            answer=[len(set(d["configs"])), 1],
        ),
    ]


def _forward(d: dict[str, Any], kind: str) -> str:
    return (
        f"{{ lambda ; a:{kind}. let\n    b:{kind} = {d['unary']} a\n    c:{kind} = mul b a\n"
        f"    d:{kind} = add c {d['constant']}\n  in (d,) }}"
    )


def _backward(d: dict[str, Any], kind: str) -> str:
    slope = {
        "exp": [f"c:{kind} = mul b a"],
        "tanh": [f"e:{kind} = mul b b", f"g:{kind} = sub 1.0 e", f"c:{kind} = mul g a"],
        "sin": [f"e:{kind} = cos a", f"c:{kind} = mul e a"],
    }[d["unary"]]
    lines = [f"b:{kind} = {d['unary']} a", *slope, f"d:{kind} = add b c"]
    return f"{{ lambda ; a:{kind}. let\n    " + "\n    ".join(lines) + "\n  in (d,) }"
