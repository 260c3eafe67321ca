"""Hypothesis for tests that ask a student: one profile, the run's seed, and no shrinking after a hang."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import hypothesis
from hypothesis import HealthCheck, Phase

from autograder.kit.verdicts import Ended, NotStarted


def given(*, examples: int = 60, **strategies: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Like `hypothesis.given`, for a test that takes the `student` fixture.

    `examples` inputs are drawn from the run's seed. When the worker stops, or its time runs out while a
    failure is being made smaller, the smallest failure found so far is what is reported.
    """
    profile = hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        print_blob=False,
        phases=[Phase.explicit, Phase.generate, Phase.shrink],
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )

    def decorate(test: Callable[..., Any]) -> Callable[..., Any]:
        failures: list[BaseException] = []

        @functools.wraps(test)
        def once(*arguments: Any, **keywords: Any) -> None:
            try:
                test(*arguments, **keywords)
            except NotStarted as failure:
                failures.append(failure)
                raise _Smallest from None
            except Ended:
                if failures:
                    raise _Smallest from None
                raise
            except Exception as failure:
                failures.append(failure)
                raise

        drawn = profile(hypothesis.given(**strategies)(once))

        @functools.wraps(drawn)
        def run(*arguments: Any, **keywords: Any) -> None:
            failures.clear()
            try:
                drawn(*arguments, **keywords)
            except _Smallest:
                raise failures[-1] from None
            except BaseExceptionGroup as group:
                raise group.exceptions[0] from None

        run.__drawn__ = drawn  # type: ignore[attr-defined]
        return run

    return decorate


class _Smallest(BaseException):
    """Leaves hypothesis with the smallest failure so far."""


def seed(test: Callable[..., Any], value: int) -> None:
    """Make a test made by `given` draw from this seed."""
    drawn = getattr(test, "__drawn__", None)
    if drawn is not None:
        hypothesis.seed(value)(drawn)
