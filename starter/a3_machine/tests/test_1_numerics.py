"""Part 1: bfloat16, sums of products, and powers of two."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from autograder.kit import check, hint, number, probe, weight

import generators


@probe
def rounded(x) -> np.ndarray:
    """round_to_bf16 of an array; the conversions of ml_dtypes are out of reach."""
    import sys

    import numpy as np

    kept = sys.modules.get("ml_dtypes")
    sys.modules["ml_dtypes"] = None
    try:
        from minitpu.numerics import round_to_bf16

        return np.asarray(round_to_bf16(x))
    finally:
        if kept is None:
            del sys.modules["ml_dtypes"]
        else:
            sys.modules["ml_dtypes"] = kept


def compare_bits(got: np.ndarray, x: np.ndarray) -> None:
    """Compare with the nearest bfloat16, bit by bit; x has no NaN."""
    check.array_type(got, x, "the rounded array")
    wanted = x.astype(ml_dtypes.bfloat16).astype(np.float32)
    given, right, mine = (np.ascontiguousarray(array).reshape(-1).view(np.uint32) for array in (x, wanted, got))
    wrong = np.flatnonzero(mine != right)
    if len(wrong):
        lines = [f"0x{given[n]:08x}: 0x{right[n]:08x}, got 0x{mine[n]:08x}" for n in wrong[:5]]
        check.fail(
            "bits of the rounded numbers",
            expected="those of the nearest bfloat16, ties to even",
            got=f"{len(wrong)} of {x.size} are others; the first (number: expected, got):\n" + "\n".join(lines),
        )


@number("1.1")
@weight(2)
@hint(
    "Add just under half of the last bit that is kept, and one more if that bit is 1; then cut. Part 1, rounding."
)
def test_rounding_goes_to_the_nearest(student, rng):
    """round_to_bf16 on random bit patterns, many of them near ties, in arrays of any shape"""
    x = generators.bit_patterns(rng, 20_000)
    x = x[~np.isnan(x)]
    for some in (x, x[:24].reshape(2, 3, 4), x[0].reshape(())):
        compare_bits(student(rounded, some), some)


@number("1.2")
@weight(1)
@hint("Zero keeps its sign, tiny numbers stay tiny, what is too large becomes inf. Handout, part 1, rounding.")
def test_rounding_at_the_ends_of_the_range(student, rng):
    """zeros, subnormal numbers, infinities, and numbers that become infinite"""
    ends = [0, 1, 0x7FFF, 0x8000, 0x8001, 0x18000, 0x7F7F7FFF, 0x7F7F8000, 0x7F7FFFFF, 0x7F800000]
    bits = np.array([bit | sign for bit in ends for sign in (0, 0x80000000)], np.uint32)
    subnormal = rng.integers(0, 0x800000, size=2000).astype(np.uint32)
    x = np.concatenate([bits, subnormal]).view(np.float32)
    compare_bits(student(rounded, x), x)


@number("1.3")
@weight(1)
@hint("A NaN whose set bits are all cut off would become inf, or carry over into the sign. Part 1, rounding.")
def test_nan_stays_nan(student, rng):
    """every NaN is rounded to a NaN whose lower bits are 0"""
    payload = rng.integers(1, 0x800000, size=2000).astype(np.uint32)
    payload[:4] = [1, 0x7FFFFF, 0xFFFF, 0x400000]
    x = (payload | np.uint32(0x7F800000) | (rng.integers(0, 2, size=2000).astype(np.uint32) << 31)).view(
        np.float32
    )
    got = student(rounded, x.reshape(40, 50))
    check.array_type(got, x.reshape(40, 50), "the rounded array")
    check.that(bool(np.isnan(got).all()), "what NaN becomes", expected="NaN", got=got[~np.isnan(got)][:5])
    check.that(not (got.view(np.uint32) & 0xFFFF).any(), "the lower 16 bits", expected="all 0", got="some are set")


@probe
def dots(x, w, accumulate) -> np.ndarray:
    """dot of two arrays with this accumulator."""
    from minitpu.numerics import dot

    return dot(x, w, accumulate)


def right_dots(x: np.ndarray, w: np.ndarray, accumulate: str) -> np.ndarray:
    """The same with ml_dtypes."""
    to_bf16 = lambda a: a.astype(ml_dtypes.bfloat16).astype(np.float32)
    total = np.zeros(len(x), np.float32)
    for k in range(x.shape[1]):
        total = total + to_bf16(x)[:, k] * to_bf16(w)[:, k]
        total = to_bf16(total) if accumulate == "bfloat16" else total
    return total


@number("1.4")
@weight(2)
@hint("Round both operands, multiply in float32, add from k = 0 up; no float64, no np.sum. Part 1, sums.")
def test_dot_in_float32(student, rng):
    """dot with a float32 accumulator, bit for bit"""
    for batch, length in ((1, 1), (5, 17), (64, 300)):
        x, w = (rng.normal(size=(batch, length)).astype(np.float32) for _ in range(2))
        check.close(student(dots, x, w, "float32"), right_dots(x, w, "float32"), ulps=0, what="the dot products")


@number("1.5")
@weight(1)
@hint("Round the sum after every addition, not only at the end. Handout, part 1, sums.")
def test_dot_in_bfloat16(student, rng):
    """dot with a bfloat16 accumulator, bit for bit"""
    for batch, length in ((1, 1), (5, 17), (64, 300)):
        x, w = (rng.normal(size=(batch, length)).astype(np.float32) for _ in range(2))
        check.close(student(dots, x, w, "bfloat16"), right_dots(x, w, "bfloat16"), ulps=0, what="the dot products")


@probe
def exponentials(x) -> np.ndarray:
    """exp_via_exp2 of an array."""
    import numpy as np
    from minitpu.numerics import exp_via_exp2

    return np.asarray(exp_via_exp2(x))


@number("1.6")
@weight(1)
@hint("Multiply by log₂e in float32, then take the power of two in float32. Handout, part 1, exp.")
def test_exp_by_powers_of_two(student, rng):
    """exp_via_exp2 is 2 to the power of the product in float32: off by more than 1e-6, and less than 2.5e-6"""
    x = np.concatenate([rng.uniform(-30, 5, size=3000), [-30.0, 0.0, 1.0]]).astype(np.float32)
    got, exact = student(exponentials, x), np.exp(x.astype(np.float64))
    check.array_type(got, x, "the exponentials")
    off = np.abs(got - exact) / exact
    check.that(
        bool((off < 2.5e-6).all()), "relative errors", expected="below 2.5e-6", got=f"up to {off.max():.1e}"
    )
    expected = "up to more than 1e-6, since the product is rounded to float32"
    check.that(bool(off.max() > 1e-6), "the largest relative error", expected=expected, got=f"{off.max():.1e}")
    masked = student(exponentials, np.array([[-np.inf, 0.0]], np.float32))
    check.equal(masked, np.array([[0.0, 1.0]], np.float32), "e to the powers −inf and 0")
    check.array_type(student(exponentials, x[0].reshape(())), x[0].reshape(()), "the exponential of one number")
