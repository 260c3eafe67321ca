"""Grade one submission: intake, sandbox, checks, outcome."""

from __future__ import annotations

import contextlib
import io
import os
import platform
import secrets
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from autograder import intake, results
from autograder.faults import GraderFault, WorkerStopped
from autograder.kit import probe
from autograder.kit.answers import Answers
from autograder.kit.plugin import Grading
from autograder.kit.student import SandboxedStudent
from autograder.kit.verdicts import Ended, Verdict
from autograder.project import Assignment
from autograder.sandbox.host import Sandbox
from autograder.sandbox.limits import Defences, Limits


class Graded(msgspec.Struct):
    """The outcome of one submission, before it is rendered for anyone."""

    assignment: str
    results: list[results.Result]
    notes: list[str]
    seed: int
    for_credit: bool
    in_force: list[str]
    seconds: float
    versions: dict[str, str]

    @property
    def score(self) -> float:
        """Points of all tests, hidden ones included."""
        return sum(result.score for result in self.results)


@probe
def source_errors(files: list[str]) -> list[list[Any]]:
    """Which files Python cannot parse, with line, column and text."""
    found = []
    for name in files:
        try:
            with open(name, "rb") as handle:
                compile(handle.read(), name, "exec")
        except SyntaxError as error:
            found.append([name, str(error.msg), error.lineno or 0, error.offset or 0, (error.text or "")[:200]])
        except ValueError as error:
            found.append([name, str(error), 0, 0, ""])
    return found


def grade(
    assignment: Assignment,
    submission: Path,
    seed: int | None = None,
    defences: Defences | None = None,
    progress: Callable[[results.Case], None] | None = None,
) -> Graded:
    """Grade a folder or a zip. Raises `GraderFault` when no verdict can be reached."""
    started = time.monotonic()
    seed = secrets.randbelow(2**32) if seed is None else seed
    facts = assignment.facts
    if not assignment.worker_python.exists():
        raise GraderFault(f"there is no {assignment.worker_python.parent.parent.name}; run `make setup`")
    taken = intake.read(submission, facts)
    with tempfile.TemporaryDirectory(prefix="tpulab-") as folder:
        base = Path(folder)
        base.chmod(0o711)
        work, scratch = base / "work", base / "scratch"
        work.mkdir()
        scratch.mkdir()
        intake.lay_out(taken, facts, assignment.starter, work)
        sandbox = Sandbox(
            assignment.worker_python,
            work,
            scratch,
            private=assignment.private_folders,
            defences=defences,
            preload=facts.worker.preload,
        )
        try:
            notes = [*taken.notes, *_source_notes(sandbox, work, sorted(taken.files))]
            run = Grading(
                facts,
                seed,
                lambda limits: SandboxedStudent(lambda: sandbox.open(limits)),
                seconds=facts.worker.total_seconds,
                progress=progress,
            )
            run.answers = Answers(taken.files.get(facts.notebook) if facts.notebook else None)
            _run_checks(assignment, run)
        finally:
            sandbox.close()
    return Graded(
        assignment=assignment.id,
        results=results.combine(run.cases),
        notes=notes,
        seed=seed,
        for_credit=sandbox.contained,
        in_force=sandbox.in_force,
        seconds=time.monotonic() - started,
        versions={"python": platform.python_version(), "numpy": np.__version__, "pytest": pytest.__version__},
    )


def _source_notes(sandbox: Sandbox, work: Path, files: list[str]) -> list[str]:
    """Sentences about files that do not parse; the parser runs in a worker, on nobody's word but Python's."""
    someone = SandboxedStudent(lambda: sandbox.open(Limits(seconds=20)))
    try:
        broken = someone(source_errors, [str(work / name) for name in files if name.endswith(".py")])
    except (Verdict, Ended, WorkerStopped) as error:
        return [f"The submission's files could not be parsed: {error}"]
    finally:
        someone.close()
    notes = []
    for name, message, line, column, text in broken:
        where = Path(name).relative_to(work)
        caret = f"\n    {text.rstrip()}\n    {' ' * max(column - 1, 0)}^" if text else ""
        notes.append(f"{where} does not parse, line {line}: {message}{caret}")
    return notes


def _run_checks(assignment: Assignment, run: Grading) -> None:
    """Run the assignment's tests in this process; a fault of theirs becomes a `GraderFault`."""
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        os.environ.pop(name, None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    plugin = _Registered(run)
    arguments = [
        *(str(assignment.tests / kind) for kind in ("visible", "hidden") if (assignment.tests / kind).is_dir()),
        *("-q", "-s", "--tb=short", "--import-mode=importlib", "-p", "no:cacheprovider"),
        *("-c", os.devnull, f"--rootdir={assignment.tests}", "-o", f"pythonpath={assignment.tests}"),
        *("-p", "autograder.kit.plugin"),
    ]
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        status = pytest.main(arguments, plugins=[plugin])
    if run.fault is not None:
        raise GraderFault(f"a check broke: {run.fault}\n{getattr(run, 'traceback', '')}")
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or not run.cases:
        raise GraderFault(f"the checks could not run (pytest status {status}):\n{said.getvalue()[-3000:]}")


class _Registered:
    """Puts a grading run in place before the kit's plugin would make one of its own."""

    def __init__(self, run: Grading) -> None:
        self.run = run

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.pluginmanager.register(self.run, "tpulab")
