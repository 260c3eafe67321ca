"""The decorators that Gradescope's vocabulary lacks: `probe`, `limits`, `hint`."""

from __future__ import annotations

import functools
import typing
from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

from autograder import travel

Test = TypeVar("Test", bound=Callable[..., Any])


def probe(function: Test) -> Test:
    """Mark a top-level function that runs beside the student's code and returns plain data.

    Checked here, at collection, so that a slip of the test's author never reads as the student's: the body
    imports all it uses, and the return annotation says what form the answer must have (a plain type, a
    `msgspec.Struct`, `np.ndarray`, or `Any`). Raises `travel.TravelError`.
    """
    assert isinstance(function, FunctionType)
    travel.pack(function)
    if "return" not in function.__annotations__:
        raise travel.TravelError(
            f"{function.__name__}: a probe says what form its answer has, for example `-> list[str]`"
        )
    function.__probe__ = True  # type: ignore[attr-defined]
    return function


@functools.cache
def answer_type(function: Callable[..., Any]) -> Any:
    """The declared form of a probe's answer; `Any` for a function that declares none."""
    return typing.get_type_hints(function).get("return", Any)


def limits(**values: float) -> Callable[[Test], Test]:
    """Set limits of one test, by the names of `autograder.sandbox.limits.Limits`: `@limits(seconds=30)`."""

    def mark(test: Test) -> Test:
        test.__limits__ = values  # type: ignore[attr-defined]
        return test

    return mark


def hint(text: str) -> Callable[[Test], Test]:
    """Say what to look at when the test fails: a sentence and the handout's section, no values.

    It is all that students see of a failing hidden test besides its name.
    """

    def mark(test: Test) -> Test:
        test.__hint__ = text  # type: ignore[attr-defined]
        return test

    return mark
