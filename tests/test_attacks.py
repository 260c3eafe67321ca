"""Hostile submissions gain nothing, and each of them is shown to be an attack.

Every attack of `attacks.catalogue` is graded in the sandbox, and its control is run. An attack on any assignment
takes its turn on one of them; with `TPULAB_EVERYTHING=1`, which `make validate` sets, it is tried on all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from attacks import Attack, ByHeart, Job, Outcome, Without
from attacks.catalogue import ATTACKS
from attacks.schedule import BY_NAME, Schedule
from autograder import project
from autograder.sandbox import host

pytestmark = pytest.mark.skipif(not host.runs_contained(), reason="without root nothing can be contained")


@pytest.fixture(scope="session")
def schedule(request: pytest.FixtureRequest) -> Iterator[Schedule]:
    """All jobs of the tests that were selected, started in the background."""
    calls = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    jobs = [value for call in calls for value in call.values() if isinstance(value, Job)]
    running = Schedule(jobs)
    yield running
    running.close()


def _defended() -> list[Any]:
    cases = []
    names = project.names()
    for turn, attack in enumerate(ATTACKS):
        for name in names:
            its_turn = attack.assignments is not None or names[turn % len(names)] == name
            if attack.applies_to(name) and (its_turn or os.environ.get("TPULAB_EVERYTHING")):
                mark = [pytest.mark.xfail(strict=True, reason=attack.weakness)] if attack.weakness else []
                cases.append(
                    pytest.param(Job(name, attack.name, "defended"), id=f"{name}-{attack.name}", marks=mark)
                )
    return cases


def _controls() -> list[Any]:
    return [
        pytest.param(Job(name, attack.name, "control"), id=attack.name)
        for attack in ATTACKS
        for name in [next((name for name in project.names() if attack.applies_to(name)), None)]
        if name is not None
    ]


@pytest.mark.parametrize("job", _controls())
def test_without_its_defence_an_attack_succeeds(schedule: Schedule, job: Job) -> None:
    """Otherwise it would prove nothing."""
    outcome = schedule.outcome(job)
    assert BY_NAME[job.attack].control.success(outcome), outcome


@pytest.mark.parametrize("job", _defended())
def test_an_attack_gains_nothing(schedule: Schedule, job: Job) -> None:
    """A complete report, no point more than the starter's, no secret told, nothing left behind."""
    attack = BY_NAME[job.attack]
    starter = schedule.outcome(Job(job.assignment, _alike(attack).name, "starter"))
    outcome = schedule.outcome(job)

    assert starter.report is not None, starter.problem
    if missing := _missing_defences(attack, starter.report["extra_data"]["defences"]):
        pytest.skip(f"this kernel has no {missing}")
    assert outcome.report is not None, outcome.problem
    assert not re.search(r"\b(NameError|KeyError|SyntaxError)\b", outcome.said), "the payload itself is broken"
    assert _names(outcome) == _names(starter)
    for test, fair in zip(outcome.report["tests"], starter.report["tests"], strict=True):
        assert test["score"] <= fair["score"], f"points gained in {test['number']} {test['name']}"
    assert not attack.control.success(outcome), attack.tries
    assert not outcome.secrets
    assert not outcome.survivors
    assert not outcome.left
    assert not outcome.changed
    assert not outcome.bystander_died


def _missing_defences(attack: Attack, in_force: list[str]) -> str:
    """The defences against an attack, if all of them depend on the kernel and it offers none."""
    if not isinstance(attack.control, Without):
        return ""
    off = [name for name, on in msgspec.to_builtins(attack.control.defences).items() if not on]
    return "" if set(off) & {*in_force, "uid", "rlimits", "memory_watch", "sweep"} else ", ".join(off)


def _names(outcome: Outcome) -> list[tuple[str, float]]:
    assert outcome.report is not None
    return [(test["name"], test["max_score"]) for test in outcome.report["tests"]]


def _alike(attack: Attack) -> Attack:
    """The first attack that asks the same tests: one grading of the starter serves them all."""
    by_heart = isinstance(attack.control, ByHeart)
    return next(
        other
        for other in ATTACKS
        if (other.tests, other.slow, isinstance(other.control, ByHeart)) == (attack.tests, attack.slow, by_heart)
    )
