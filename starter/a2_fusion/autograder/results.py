"""The outcome of each test, as plain records: what the checks' process hands to the report."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fnmatch import fnmatch
from typing import Literal

import msgspec

Outcome = Literal["passed", "failed", "not started", "not run"]


class Case(msgspec.Struct):
    """One run of one test function; a parametrised test has several."""

    function: str
    number: str
    name: str
    hidden: bool
    visibility: str
    weight: float
    outcome: Outcome
    score: float
    message: str = ""
    hint: str = ""
    printed: str = ""
    seconds: float = 0.0
    tags: list[str] = []
    leaderboard: tuple[str, str, float] | None = None
    asked_again: bool = False


class Result(msgspec.Struct):
    """One test as students know it: passed only if every case of it passed."""

    function: str
    number: str
    name: str
    hidden: bool
    visibility: str
    weight: float
    outcome: Outcome
    score: float
    cases: list[Case]

    @property
    def worst(self) -> Case:
        """The case to report: the first that did not pass, or the first."""
        return next((case for case in self.cases if case.outcome != "passed"), self.cases[0])

    @property
    def asked_again(self) -> bool:
        """Whether a worker hung and another was asked in its place."""
        return any(case.asked_again for case in self.cases)

    @property
    def seconds(self) -> float:
        """Wall-clock seconds of all cases."""
        return sum(case.seconds for case in self.cases)


_ORDER: list[Outcome] = ["failed", "not run", "not started", "passed"]


def number_key(number: str) -> tuple[tuple[int, str], ...]:
    """Sort key of a test number: `2.10` comes after `2.9`, and `1a.3` between `1.9` and `2.1`."""
    pieces = [re.fullmatch(r"(\d*)(.*)", piece, re.DOTALL) for piece in number.split(".")]
    return tuple((int(found[1] or 0), found[2]) for found in pieces if found)


def is_among(number: str, patterns: Iterable[str]) -> bool:
    """Whether a test number matches one of some patterns, such as `4.*`."""
    return any(fnmatch(number, pattern) for pattern in patterns)


def combine(cases: list[Case]) -> list[Result]:
    """Cases to tests, in the order of their numbers. The worst case decides; so does the lowest score."""
    by_function: dict[str, list[Case]] = {}
    for case in cases:
        by_function.setdefault(case.function, []).append(case)
    results = []
    for function, group in by_function.items():
        first = group[0]
        outcome = min((case.outcome for case in group), key=_ORDER.index)
        results.append(
            Result(
                function=function,
                number=first.number,
                name=first.name,
                hidden=first.hidden,
                visibility=first.visibility,
                weight=first.weight,
                outcome=outcome,
                score=min(case.score for case in group),
                cases=group,
            )
        )
    return sorted(results, key=lambda result: (result.hidden, number_key(result.number)))
