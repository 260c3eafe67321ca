"""What is proved of an assignment by reading it: points, stubs, leaks, and that generated files are up to date."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from autograder import bundle, handout, samples, stubs
from autograder.kit.given_code import GivenCode
from autograder.kit.table import points
from autograder.project import Assignment
from autograder.record import Proof


def static_proofs(assignment: Assignment, only: str = "") -> Iterator[Proof]:
    """Proofs that need no grading and whose kind and claim contain `only`."""
    for kind, claim, problem in (
        ("points", "tests add up to the points of every part", _points_problem),
        ("starter", "is what `make handouts` writes", _sync_problem),
        ("starter", "every stub can be imported", _import_problem),
        ("starter", "equals the solution outside the marked regions", _outside_problem),
        ("leaks", "no line of the solution is in a student's file", _leak_problem),
        ("zip", "is the same byte for byte when made again", _zip_problem),
    ):
        if only in f"{kind} {claim}":
            yield Proof(kind, claim, problem(assignment))


def _sync_problem(assignment: Assignment) -> str:
    return "; ".join(handout.check(assignment)[:5])


def _zip_problem(assignment: Assignment) -> str:
    made = [bundle.zip_bytes(handout.files(assignment)) for _ in range(2)]
    return "" if made[0] == made[1] else "it differs"


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
