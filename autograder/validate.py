"""Proof that an assignment's tests are right, one line per proof.

The solution scores everything and the starter nothing; other right answers (wheat) score everything too;
each plausible bug (chaff) fails the tests that were named for it and no others; nothing of the solution is
in what students get; what is generated is generated the same again.

A bug in a file can only be noticed by tests that need that file, and those are the ones that fail while it is
still a stub. So each file is left out once, and its chaff is then graded by these tests alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from autograder import project, samples
from autograder.batch import Job, grade_all
from autograder.faults import GraderFault
from autograder.grading import Graded
from autograder.kit.table import points
from autograder.project import Assignment
from autograder.record import Proof, Record
from autograder.results import Result
from autograder.static_proofs import static_proofs

SEED = 20260223
OTHER_SEEDS = (1, 20260224, 4_000_000_000)
RECORDS = project.ROOT / "results" / "proved"


class Planned(msgspec.Struct, frozen=True):
    """A proof to come: how to make the submission, how to judge its outcome, and what else decides the outcome."""

    proof: Proof
    make: Callable[[Path], None]
    judge: Callable[[Graded], str]
    seed: int = SEED
    only: tuple[str, ...] = ()
    expected: object = None


def proofs(assignment: Assignment, only: str = "", record: Record | None = None) -> Iterator[Proof]:
    """All proofs of one assignment whose kind and claim contain `only`, as they are found."""
    record = record or Record(RECORDS / f"{assignment.id}.jsonl", assignment)
    yield from static_proofs(assignment, only)
    wanted = [chaff for chaff in samples.chaff_of(assignment) if only in f"chaff {_claim(chaff)}"]
    first = [planned for planned in _whole(assignment) if only in f"{planned.proof.kind} {planned.proof.claim}"]
    needed = _left_out(assignment, {chaff.file for chaff in wanted})
    concerned: dict[str, tuple[str, ...]] = {}
    for proof in _prove(assignment, [*first, *needed], record):
        if proof.kind == "file":
            concerned[proof.claim.split()[0]] = proof.concerned
        yield proof
    yield from _prove(assignment, [_with_bug(assignment, c, concerned.get(c.file, ())) for c in wanted], record)


def _whole(assignment: Assignment) -> Iterator[Planned]:
    """Submissions that are graded by all tests: the solution, the starter, and wheat."""
    total = points(assignment.facts.points)
    solution = partial(samples.copy_solution, assignment)
    yield Planned(Proof("solution", f"scores {total}"), solution, _full_marks)
    nothing = Proof("starter", "scores 0, every test reads 'not started'")
    yield Planned(nothing, partial(samples.copy_starter, assignment), _nothing)
    for wheat in samples.wheat_of(assignment):
        proof = Proof("wheat", f"{wheat.name} scores {total}")
        yield Planned(proof, partial(samples.make_wheat, assignment, wheat), _full_marks)
    for seed in OTHER_SEEDS:
        yield Planned(Proof("seeds", f"the solution scores {total} on seed {seed}"), solution, _full_marks, seed)


def _left_out(assignment: Assignment, files: set[str]) -> list[Planned]:
    """The solution with one file still a stub, for each of some files."""
    return [
        Planned(Proof("file", f"{file} is needed"), partial(samples.make_without, assignment, file), _some_fail)
        for file in assignment.facts.student_files
        if file in files
    ]


def _with_bug(assignment: Assignment, chaff: samples.Chaff, concerned: tuple[str, ...]) -> Planned:
    return Planned(
        Proof("chaff", _claim(chaff)),
        partial(samples.make_chaff, assignment, chaff),
        partial(_fails_as_named, chaff),
        only=concerned,
        expected=(chaff.fails, chaff.may_also_fail),
    )


def _claim(chaff: samples.Chaff) -> str:
    return f"{chaff.name} fails {', '.join(chaff.fails)}"


def _prove(assignment: Assignment, planned: Sequence[Planned], record: Record) -> Iterator[Proof]:
    """Proofs that stand from an earlier run, then the others as their gradings end."""
    fingerprints = {number: _fingerprint(one, record) for number, one in enumerate(planned)}
    jobs = {}
    for number, one in enumerate(planned):
        if kept := record.held(fingerprints[number]):
            yield kept
        else:
            jobs[number] = Job(assignment.id, one.make, one.seed, one.only)
    for number, outcome in grade_all(jobs):
        proof = _proved(planned[number], outcome)
        if proof.holds:
            record.keep(fingerprints[number], proof)
        yield proof


def _fingerprint(planned: Planned, record: Record) -> str:
    with TemporaryDirectory(prefix="tpulab-sample-") as folder:
        planned.make(Path(folder))
        proof = planned.proof
        return record.fingerprint(
            Path(folder), proof.kind, proof.claim, planned.seed, planned.only, planned.expected
        )


def _proved(planned: Planned, outcome: Graded | GraderFault) -> Proof:
    if isinstance(outcome, GraderFault):
        return msgspec.structs.replace(planned.proof, problem=str(outcome))
    if planned.proof.kind != "file":
        return msgspec.structs.replace(planned.proof, problem=planned.judge(outcome))
    numbers = tuple(result.number for result in _not_passed(outcome))
    claim = f"{planned.proof.claim} by {len(numbers)} of {len(outcome.results)} tests"
    return Proof("file", claim, planned.judge(outcome), concerned=numbers)


def _not_passed(graded: Graded) -> list[Result]:
    return [result for result in graded.results if result.outcome != "passed"]


def _full_marks(graded: Graded) -> str:
    lost = [f"{_name(result)}: {result.worst.message}" for result in _not_passed(graded)]
    partial_marks = [_name(r) for r in graded.results if r.outcome == "passed" and r.score < r.weight]
    return "; ".join(lost + [f"{name} gave only part of its points" for name in partial_marks])


def _nothing(graded: Graded) -> str:
    wrong = [f"{_name(r)} is {r.outcome!r}" for r in graded.results if r.outcome != "not started" or r.score]
    return "; ".join(wrong)


def _some_fail(graded: Graded) -> str:
    return "" if _not_passed(graded) else "no test notices that it is still a stub"


def _name(result: Result) -> str:
    return result.function.split("::")[-1]


def _fails_as_named(chaff: samples.Chaff, graded: Graded) -> str:
    failed = {_name(result): result.number for result in _not_passed(graded)}
    missed = sorted(set(chaff.fails) - set(failed))
    surprising = sorted(
        name
        for name, number in failed.items()
        if name not in chaff.fails and not any(fnmatch(name, p) or fnmatch(number, p) for p in chaff.may_also_fail)
    )
    problems = [f"not noticed by {', '.join(missed)}"] if missed else []
    problems += [f"also fails {', '.join(surprising)}, which it does not name"] if surprising else []
    return "; ".join(problems)
