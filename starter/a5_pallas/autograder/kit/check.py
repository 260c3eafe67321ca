"""Judging. Each function returns nothing if all is well, and raises `CheckFailed` with a message that says
what was expected, what came, and how far off it is; what was asked is added from the student's last call.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from autograder.evidence import ErrorEvidence
from autograder.faults import GraderFault
from autograder.kit import show
from autograder.kit.verdicts import CheckFailed, PartlyPassed

_PLACES = 5


def fail(what: str, *, expected: str, got: str, off: str = "") -> NoReturn:
    """Fail with a message in the usual form. `what` is what was looked at: "the gradient's dtype"."""
    lines = [what, f"  expected: {_indent(expected)}", f"  got:      {_indent(got)}"]
    if off:
        lines.append(f"  off by:   {_indent(off)}")
    raise CheckFailed("\n".join(lines))


def _indent(text: str) -> str:
    return text.replace("\n", "\n            ")


def that(condition: bool, what: str, *, expected: str, got: Any) -> None:
    """Pass if `condition` holds."""
    if not condition:
        fail(what, expected=expected, got=got if isinstance(got, str) else show.value(got))


def equal(got: Any, expected: Any, what: str = "the result") -> None:
    """Pass if two pieces of plain data are equal; tuples count as lists."""
    if _plain(got) != _plain(expected):
        fail(what, expected=show.value(expected), got=show.value(got))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return ("array", value.dtype.name, value.shape, value.tobytes())
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return (type(value).__name__, value) if isinstance(value, bool | int | float) else value


def at_most(got: float, budget: float, what: str) -> None:
    """Pass if a count is within its budget."""
    if not got <= budget:
        fail(what, expected=f"at most {budget:,}", got=f"{got:,}", off=f"{got - budget:,}")


def within(got: float, *, full: float, none: float, what: str) -> None:
    """Pass if a count is at most `full`; up to `none` it earns a part of the points, falling linearly.

    `none` itself earns nothing. Raises `PartlyPassed`, so let it be the last judgement of its test, or collect
    the fractions yourself and call `partly`.
    """
    partly(fraction_within(got, full=full, none=none), what, expected=f"at most {full:,}", got=f"{got:,}")


def fraction_within(got: float, *, full: float, none: float) -> float:
    """1 up to `full`, 0 from `none` on, a straight line between."""
    return 1.0 if got <= full else max(0.0, (none - got) / (none - full)) if got == got else 0.0


def partly(fraction: float, what: str, *, expected: str, got: str) -> None:
    """Pass if `fraction` is 1; otherwise the test earns that fraction of its points and says why."""
    if fraction < 1.0:
        lines = [what, f"  expected: {_indent(expected)}", f"  got:      {_indent(got)}"]
        lines.append(f"  earned:   {max(0.0, fraction):.0%} of the points")
        raise PartlyPassed("\n".join(lines), max(0.0, fraction))


def array_type(got: np.ndarray, expected: np.ndarray, what: str = "the result") -> None:
    """Pass if shape and dtype are as expected."""
    if got.shape != expected.shape or got.dtype != expected.dtype:
        fail(f"{what}: shape and dtype", expected=show.array_type(expected), got=show.array_type(got))


def close(
    got: np.ndarray,
    expected: np.ndarray,
    *,
    ulps: float | None = None,
    relative: float | None = None,
    what: str = "the result",
) -> None:
    """Pass if shape and dtype agree and no value is further off than the tolerance.

    Give either `ulps`, units in the last place of the dtype at the largest expected magnitude (so it is the
    number of roundings one allows: the length of the longest sum, times a small factor), or `relative`, a
    fraction of that magnitude (for oracles that are not exact themselves, such as central differences).
    Infinities and NaN must stand in the same places. For integers and booleans the values must be equal. A
    tolerance that zeros would pass is the test's fault and raises `GraderFault`.
    """
    array_type(got, expected, what)
    if expected.dtype.kind not in "fc":
        _places(got, expected, got != expected, what)
        return
    if (ulps is None) == (relative is None):
        raise GraderFault("check.close takes either `ulps` or `relative`")
    fraction = ulps * float(np.finfo(expected.dtype).eps) if ulps is not None else relative
    finite = np.isfinite(expected)
    scale = float(np.abs(expected[finite]).max()) if finite.any() else 0.0
    tolerance = float(fraction or 0.0) * scale
    if scale and tolerance >= scale:
        raise GraderFault(f"a tolerance of {fraction:.3g} of the magnitude lets zeros pass")
    with np.errstate(invalid="ignore", over="ignore"):
        near = np.abs(got - expected) <= tolerance
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    _places(got, expected, ~np.where(finite, near, same), what, tolerance)


def _places(got: np.ndarray, expected: np.ndarray, wrong: np.ndarray, what: str, allowed: float = 0.0) -> None:
    if not wrong.any():
        return
    places = [tuple(int(i) for i in place) for place in np.argwhere(wrong)[:_PLACES]]
    rows = "\n".join(f"at {list(place)}: expected {expected[place]}, got {got[place]}" for place in places)
    tolerance = f" (tolerance {allowed:.3g})" if allowed else ""
    count = f"{int(wrong.sum()):,} of {wrong.size:,} values are wrong{tolerance}; the first:\n{rows}"
    fail(what, expected=show.value(expected), got=show.value(got), off=count)


def raised(error: ErrorEvidence, expected: str, what: str = "the exception", **fields: Any) -> None:
    """Pass if the exception is of class `expected` (or derived from it) and has these fields."""
    if expected not in error.classes:
        fail(what, expected=expected, got=f"{error.name}: {error.message}")
    for name, value in fields.items():
        got = error.fields.get(name, "(no such field)")
        if _plain(got) != _plain(value):
            fail(f"{what}: field {name!r} of {expected}", expected=show.value(value), got=show.value(got))
