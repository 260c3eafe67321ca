"""Mutation testing: grade every small change that an engine makes inside the solution's regions.

A mutant that gets full marks is a survivor: either it is another right program, which
`grading_tests/<id>/survivors.toml` says with a reason, or a test is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import msgspec

from autograder import samples
from autograder.batch import Job, grade_all
from autograder.faults import GraderFault
from autograder.manifest import ManifestError
from autograder.project import Assignment
from autograder.validate import SEED


class Mutant(msgspec.Struct, frozen=True):
    """One change: the line before and after, and the whole file with it."""

    file: str
    line: int
    old: str
    new: str
    source: str


class Survivor(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A mutant that is another right program, and why."""

    file: str
    old: str
    new: str
    reason: str


class _SurvivorFile(msgspec.Struct, forbid_unknown_fields=True):
    survivor: list[Survivor]


def load(path: Path) -> list[Mutant]:
    """The mutants that `tools/list_mutants.py` wrote."""
    return msgspec.json.decode(path.read_bytes(), type=list[Mutant])


def known_survivors(assignment: Assignment) -> dict[tuple[str, str, str], str]:
    """Reasons by file, old line and new line. Raises `ManifestError` for a file that cannot be read."""
    path = assignment.tests / "survivors.toml"
    if not path.exists():
        return {}
    try:
        found = msgspec.toml.decode(path.read_bytes(), type=_SurvivorFile).survivor
    except (OSError, msgspec.MsgspecError, ValueError) as error:
        raise ManifestError(f"{path} cannot be read: {error}") from None
    return {(s.file, s.old, s.new): s.reason for s in found}


def _make(assignment: Assignment, mutant: Mutant, target: Path) -> None:
    samples.copy_solution(assignment, target)
    (target / mutant.file).write_text(mutant.source, "utf-8")


def survivors(assignment: Assignment, mutants: list[Mutant]) -> Iterator[tuple[Mutant, bool]]:
    """Each mutant with whether it got full marks, as the outcomes come. Raises `GraderFault`."""
    jobs = {
        mutant: Job(assignment.id, partial(_make, assignment, mutant), SEED, stop_at_first=True)
        for mutant in mutants
    }
    for mutant, outcome in grade_all(jobs):
        if isinstance(outcome, GraderFault):
            raise GraderFault(f"{mutant.file}:{mutant.line}: {mutant.new}: {outcome}")
        yield mutant, all(result.outcome == "passed" for result in outcome.results)


def report(assignment: Assignment, path: Path) -> int:
    """Grade all mutants and print the kill rate and the survivors; returns how many have no reason."""
    mutants, known = load(path), known_survivors(assignment)
    alive, unexplained = 0, 0
    for done, (mutant, lives) in enumerate(survivors(assignment, mutants), start=1):
        if not lives:
            continue
        alive += 1
        reason = known.get((mutant.file, mutant.old, mutant.new))
        unexplained += reason is None
        print(f"survivor after {done} of {len(mutants)}: {mutant.file}:{mutant.line}", flush=True)
        print(
            f"  - {mutant.old}\n  + {mutant.new}\n  {reason or 'NO REASON GIVEN: is a test missing?'}", flush=True
        )
    killed = len(mutants) - alive
    rate = f"{killed} of {len(mutants)} mutants killed ({killed / len(mutants):.1%})"
    print(f"{assignment.id}: {rate}, {alive} survive")
    return unexplained
