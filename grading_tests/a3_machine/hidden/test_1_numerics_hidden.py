"""Part 1, hidden: all upper halves, the lecture's experiment, and the product's rounding."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from autograder.kit import check, hint, number, probe, weight


@probe
def all_rounded(lower) -> np.ndarray:
    """The upper halves of round_to_bf16 of every upper half with this lower half."""
    import numpy as np
    from minitpu.numerics import round_to_bf16

    bits = (np.arange(1 << 16, dtype=np.uint32) << 16) | np.uint32(lower)
    return (round_to_bf16(bits.view(np.float32)).view(np.uint32) >> 16).astype(np.uint16)


@number("1.7")
@weight(1)
@hint("Round once: no rounding to something between float32 and bfloat16 first. Handout, part 1, rounding.")
def test_every_upper_half_rounds_once(student, rng):
    """every bfloat16 with a lower half near a tie"""
    for lower in (0, 0x7FFF, 0x8000, 0x8001, int(rng.integers(0x7F00, 0x7FFF)), int(rng.integers(0x8001, 0x8100))):
        bits = (np.arange(1 << 16, dtype=np.uint32) << 16) | np.uint32(lower)
        x = bits.view(np.float32)
        numbers = ~np.isnan(x)
        got = student(all_rounded, lower)
        wanted = x[numbers].astype(ml_dtypes.bfloat16).view(np.uint16)
        check.that(got.shape == x.shape, "the number of results", expected=f"{len(x)}", got=f"{got.shape}")
        check.that(
            np.array_equal(got[numbers], wanted),
            "the upper halves",
            expected="the nearest bfloat16 of each",
            got="others",
        )


@probe
def two_sums(x, w) -> tuple[np.ndarray, np.ndarray]:
    """dot with both accumulators."""
    from minitpu.numerics import dot

    return [dot(x, w, "float32"), dot(x, w, "bfloat16")]


@number("1.8")
@weight(2)
@hint("With a float32 accumulator the error does not depend on the length; with bfloat16 it grows. Part 1, sums.")
def test_why_accumulators_are_float32(student, rng):
    """64 dot products of length 16 and 4096: errors of the two accumulators"""
    errors = {}
    for length in (16, 256, 4096):
        x, w = (rng.normal(size=(64, length)).astype(np.float32) for _ in range(2))
        exact = (x.astype(np.float64) * w).sum(axis=1)
        errors[length] = []
        for got in student(two_sums, x, w):
            check.array_type(got, exact.astype(np.float32), "the dot products")
            errors[length].append(float(np.abs(got - exact).max() / np.abs(exact).max()))
        check.that(errors[length][0] < 8e-3, "the error in float32", expected="below 8e-3", got="more")
    check.that(errors[4096][1] > 10 * errors[4096][0], "bfloat16 at 4096", expected="10 times worse", got="less")
    check.that(
        errors[4096][1] > 3 * errors[16][1], "bfloat16 from 16 to 4096", expected="3 times worse", got="less"
    )


@probe
def powers(x) -> np.ndarray:
    """exp_via_exp2 of an array."""
    from minitpu.numerics import exp_via_exp2

    return exp_via_exp2(x)


@number("1.9")
@weight(1)
@hint("The product is rounded to float32 before the power is taken, as the machine does it. Part 1, exp.")
def test_the_product_is_rounded(student, rng):
    """exp_via_exp2 agrees with 2 to the power of the float32 product"""
    x = np.concatenate([rng.uniform(-87, 80, size=4000), [-np.inf, 0.0]]).astype(np.float32)
    got = student(powers, x)
    wanted = np.exp2((x * np.float32(1.4426950408889634)).astype(np.float64)).astype(np.float32)
    check.array_type(got, wanted, "the exponentials")
    near = np.abs(got.astype(np.float64) - wanted) <= 4 * np.spacing(wanted)
    check.that(
        bool(near.all()), "the exponentials", expected="2 to the power of the rounded product", got="others"
    )
