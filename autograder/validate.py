"""Proof that an assignment's tests are right, one line per proof.

The solution scores everything and the starter nothing; other right answers (wheat) score everything too;
each plausible bug (chaff) fails the tests that were named for it and no others; nothing of the solution is
in what students get; what is generated is generated the same again.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

import msgspec

from autograder import bundle, handout, samples, stubs
from autograder.batch import grade_all
from autograder.faults import GraderFault
from autograder.grading import Graded
from autograder.kit.given_code import GivenCode
from autograder.kit.table import points
from autograder.project import Assignment
from autograder.results import Result, is_among

SEED = 20260223
OTHER_SEEDS = (1, 20260224, 4_000_000_000)


class Proof(msgspec.Struct, frozen=True):
    """One thing that was to be shown: its kind, what about, whether it holds, and why not."""

    kind: str
    claim: str
    problem: str = ""

    @property
    def holds(self) -> bool:
        return not self.problem


def proofs(assignment: Assignment, only: str = "") -> Iterator[Proof]:
    """All proofs of one assignment whose kind and claim contain `only`, as they are found."""
    yield from (proof for proof in _static(assignment) if only in f"{proof.kind} {proof.claim}")
    jobs: dict[Proof, tuple[str, Callable[[Path], None]]] = {}
    judges: dict[Proof, Callable[[Graded], str]] = {}
    asked: dict[Proof, list[str]] = {}

    def plan(
        kind: str, claim: str, make: Callable[[Path], None], judge: Callable[[Graded], str], *tests: str
    ) -> None:
        proof = Proof(kind, claim)
        if only in f"{kind} {claim}":
            jobs[proof], judges[proof], asked[proof] = (assignment.id, make), judge, list(tests)

    total = points(assignment.facts.points)
    plan("solution", f"scores {total}", partial(samples.copy_solution, assignment), _full_marks)
    plan(
        "starter", "scores 0, every test reads 'not started'", partial(samples.copy_starter, assignment), _nothing
    )
    for wheat in samples.wheat_of(assignment):
        plan("wheat", f"{wheat.name} scores {total}", partial(samples.make_wheat, assignment, wheat), _full_marks)
    scopes = samples.scopes_of(assignment)
    for file, tests in scopes.items():
        claim = f"{Path(file).name} concerns tests {', '.join(tests)} and no others"
        plan("scope", claim, partial(samples.make_without, assignment, file), partial(_only_these_fail, tests))
    for chaff in samples.chaff_of(assignment):
        claim = f"{chaff.name} fails {', '.join(chaff.fails)}"
        make, judge = partial(samples.make_chaff, assignment, chaff), partial(_fails_as_named, chaff)
        plan("chaff", claim, make, judge, *scopes.get(chaff.file, ()))
    for proof, outcome in grade_all(jobs, SEED, only=asked):
        yield msgspec.structs.replace(proof, problem=_problem(outcome, judges[proof]))
    for seed in OTHER_SEEDS:
        proof = Proof("seeds", f"the solution scores {total} on seed {seed}")
        if only in f"{proof.kind} {proof.claim}":
            job = {proof: (assignment.id, partial(samples.copy_solution, assignment))}
            for _, outcome in grade_all(job, seed):
                yield msgspec.structs.replace(proof, problem=_problem(outcome, _full_marks))


def _problem(outcome: Graded | GraderFault, judge: Callable[[Graded], str]) -> str:
    return str(outcome) if isinstance(outcome, GraderFault) else judge(outcome)


def _not_passed(graded: Graded) -> list[Result]:
    return [result for result in graded.results if result.outcome != "passed"]


def _full_marks(graded: Graded) -> str:
    lost = [f"{_name(result)}: {result.worst.message}" for result in _not_passed(graded)]
    partial_marks = [_name(r) for r in graded.results if r.outcome == "passed" and r.score < r.weight]
    return "; ".join(lost + [f"{name} gave only part of its points" for name in partial_marks])


def _nothing(graded: Graded) -> str:
    wrong = [f"{_name(r)} is {r.outcome!r}" for r in graded.results if r.outcome != "not started" or r.score]
    return "; ".join(wrong)


def _only_these_fail(patterns: list[str], graded: Graded) -> str:
    wrong = [
        f"{_name(r)} is {r.outcome!r}"
        for r in graded.results
        if (r.outcome == "passed") is is_among(r.number, patterns)
    ]
    return "; ".join(wrong)


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


def _static(assignment: Assignment) -> Iterator[Proof]:
    yield Proof("points", "tests add up to the points of every part", _points_problem(assignment))
    yield Proof("starter", "is what `make handouts` writes", "; ".join(handout.check(assignment)[:5]))
    yield Proof("starter", "every stub can be imported", _import_problem(assignment))
    yield Proof("starter", "equals the solution outside the marked regions", _outside_problem(assignment))
    yield Proof("leaks", "no line of the solution is in a student's file", _leak_problem(assignment))
    made = [bundle.zip_bytes(handout.files(assignment)) for _ in range(2)]
    yield Proof("zip", "is the same byte for byte when made again", "" if made[0] == made[1] else "it differs")


def _points_problem(assignment: Assignment) -> str:
    sums = dict.fromkeys((part.number for part in assignment.facts.parts), 0.0)
    numbers: list[str] = []
    functions: list[str] = []
    sys.path.insert(0, str(assignment.tests))
    given_code = GivenCode(assignment.starter, assignment.facts)
    given_code.install()
    try:
        for path in sorted(assignment.tests.glob("*/test_*.py")):
            spec = importlib.util.spec_from_file_location(f"tpulab_tests_{path.stem}", path)
            assert spec is not None and spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            for name, test in vars(module).items():
                if name.startswith("test_"):
                    numbers.append(test.__number__)
                    functions.append(name)
                    sums[assignment.facts.part(test.__number__).number] += test.__weight__
    finally:
        given_code.remove()
        sys.path.remove(str(assignment.tests))
        for name in assignment.facts.support:
            sys.modules.pop(name.removesuffix(".py"), None)
    wrong = [
        f"part {part.number}: {points(sums[part.number])} of {points(part.points)}"
        for part in assignment.facts.parts
        if abs(sums[part.number] - part.points) > 1e-9
    ]
    wrong += [f"{kind} {x} twice" for kind, xs in (("number", numbers), ("name", functions)) for x in _twice(xs)]
    if assignment.facts.points != 100:
        wrong.append(f"all parts together give {points(assignment.facts.points)} points, not 100")
    return "; ".join(wrong)


def _twice(items: list[str]) -> list[str]:
    return sorted({item for item in items if items.count(item) > 1})


def _import_problem(assignment: Assignment) -> str:
    modules = [name.removesuffix(".py").replace("/", ".") for name in assignment.facts.student_files]
    with tempfile.TemporaryDirectory() as folder:
        samples.copy_starter(assignment, Path(folder))
        code = f"import sys; sys.path.insert(0, '.'); import {', '.join(modules)}"
        command = [str(assignment.worker_python), "-I", "-c", code]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.stderr.strip()[-300:]


def _outside_problem(assignment: Assignment) -> str:
    problems, count = [], 0
    for name in assignment.facts.student_files:
        source = (assignment.solution / name).read_text("utf-8")
        stub = iter((assignment.starter / name).read_text("utf-8").splitlines())
        count += len(stubs.regions(source, name))
        if not all(line in stub for line in stubs.outside(source, name)):
            problems.append(name)
    if count == 0:
        problems.append("there is no marked region at all")
    return ", ".join(problems)


def _leak_problem(assignment: Assignment) -> str:
    """Lines that only the solution's regions hold must be in no file of a student."""
    sources = {name: (assignment.solution / name).read_text("utf-8") for name in assignment.facts.student_files}
    given = [(assignment.solution / name).read_text("utf-8") for name in assignment.facts.given_files]
    public = {line.strip() for text in given for line in text.splitlines()}
    public |= {line.strip() for name, text in sources.items() for line in stubs.outside(text, name)}
    secret = {line for name, text in sources.items() for line in stubs.solution_lines(text, name)} - public
    leaks = [
        f"{line.strip()!r} is in {name}"
        for name, content in handout.files(assignment).items()
        for line in content.decode("utf-8", "replace").splitlines()
        if line.strip() in secret
    ]
    return "; ".join(leaks[:5]) if secret else "there is no line to look for"
