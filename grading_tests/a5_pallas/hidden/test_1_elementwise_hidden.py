"""Part 1, hidden: float64, odd shapes, legal blocks."""

from __future__ import annotations

import numpy as np
from given_pallas_kernels import reference

from autograder.kit import hint, number, weight

import generators
import judge
import tied


@number("1.8")
@weight(1)
@hint("exp(−x) overflows for large −x; jax.nn.sigmoid does not. And float64 stays float64.")
def test_silu_of_large_values(student, rng):
    """silu: large values of a single column in float64"""
    x = generators.normal(rng, 300, 1, dtype=np.float64) * 500
    got = student(judge.results, "elementwise.silu", [x], {}, judge.MATHEMATICS)
    judge.close(got.value, reference.silu(x), "silu in float64", ulps=64, dtype="float64")


def relu_in_part(part, x):
    """max(x, 0) and the mask, of some rows."""
    return [np.maximum(x[part], 0), (x[part] > 0).astype(np.int8)]


def silu_in_part(part, x):
    """silu of some rows."""
    return reference.silu(x[part])


def update_in_part(part, params, gradients, rate):
    """Some rows of the new parameters."""
    return params[part] - reference.wide(rate) * gradients[part]


@number("1.9")
@weight(1)
@hint("The last two sizes of a block are multiples of 8 and 128, or the whole dimension. Handout, what is legal.")
def test_elementwise_kernels_lower(student, rng):
    """elementwise kernels can be lowered for a TPU, whatever the shape"""
    for rows, columns in ((3, 70), (100, 1000), (2000, 2048)):
        kind = [[rows, columns], "float32"]
        for name, arguments, rule in (
            ("relu_with_mask", [kind], relu_in_part),
            ("silu", [kind], silu_in_part),
            ("sgd_update", [kind, kind, [[], "float32"]], update_in_part),
        ):
            plan = student(judge.program_of, f"elementwise.{name}", arguments, {})
            report = judge.measured(plan, name)
            message = student(judge.lowering_of, f"elementwise.{name}", arguments, {})
            judge.lowers(message, f"{name} of f32[{rows},{columns}]")
            judge.legal(report, name)
            judge.fits(report, 8 * judge.MIB, name)
            tied.computes_in_part(rng, plan, arguments, rule, name, ulps=16)
