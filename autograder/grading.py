"""Grade one submission: intake, sandbox, checks, outcome."""

from __future__ import annotations

import contextlib
import io
import os
import platform
import secrets
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from autograder import intake, results
from autograder.faults import GraderFault
from autograder.kit import plugin, probe
from autograder.kit.answers import Answers
from autograder.kit.given_code import GivenCode
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

    @property
    def asked_again(self) -> list[str]:
        """Tests that were asked again because a worker hung, in a sentence each: for staff, not for students."""
        return [
            f"{result.number} {result.function.split('::')[-1]}: a worker hung and was replaced; "
            f"the second answer counts ({result.outcome})"
            for result in self.results
            if result.asked_again
        ]


class Compiled(msgspec.Struct, frozen=True):
    """A source file as bytecode, or why it does not parse."""

    bytecode: bytes = b""
    message: str = ""
    line: int = 0
    column: int = 0
    text: str = ""


@probe
def compiled(files) -> dict[str, Compiled]:
    """Compile source files without running them."""
    import os
    import py_compile

    found: dict[str, Any] = {}
    for name in files:
        target = os.path.join(os.getcwd(), "out.pyc")
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        try:
            py_compile.compile(name, cfile=target, doraise=True, invalidation_mode=mode)
            with open(target, "rb") as handle:
                found[name] = {"bytecode": handle.read()}
        except py_compile.PyCompileError as error:
            reason = error.exc_value
            found[name] = {
                "message": str(getattr(reason, "msg", reason)),
                "line": getattr(reason, "lineno", 0) or 0,
                "column": getattr(reason, "offset", 0) or 0,
                "text": (getattr(reason, "text", "") or "")[:200],
            }
        except (ValueError, RecursionError, MemoryError) as error:
            found[name] = {"message": f"{type(error).__name__}: {error}"}
    return found


def grade(
    assignment: Assignment,
    submission: Path,
    seed: int | None = None,
    defences: Defences | None = None,
    progress: Callable[[results.Case], None] | None = None,
    stop_at_first: bool = False,
    only: Sequence[str] = (),
) -> Graded:
    """Grade a folder or a zip. Raises `GraderFault` when no verdict can be reached.

    `stop_at_first` ends the run at the first test that does not pass, when only that is asked; `only` runs the
    tests whose numbers match a pattern, when others cannot be concerned.
    """
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
            notes = [*taken.notes, *_compile(sandbox, work)]
            run = Grading(
                facts,
                seed,
                lambda limits: SandboxedStudent(lambda: sandbox.open(limits)),
                seconds=facts.worker.total_seconds,
                progress=progress,
            )
            run.only = only
            run.answers = Answers(taken.files.get(facts.notebook) if facts.notebook else None)
            run_checks(assignment, run, stop_at_first)
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


def _compile(sandbox: Sandbox, work: Path) -> list[str]:
    """Put bytecode beside every source file, so that no test compiles it again; sentences about what fails.

    The compiler runs in a worker, on nobody's word but Python's; its output only ever runs in a worker.
    """
    someone = SandboxedStudent(lambda: sandbox.open(Limits(seconds=30, answer_mib=16)))
    sources = [str(path) for path in sorted(work.rglob("*.py"))]
    try:
        files = someone(compiled, sources)
    except (Verdict, Ended) as error:
        return [f"The submission's files could not be compiled: {error}"]
    finally:
        someone.close()
    notes = []
    for name in sources:
        outcome = files.get(name, Compiled(message="was not compiled"))
        if outcome.bytecode:
            target = Path(name).parent / "__pycache__" / f"{Path(name).stem}.{sandbox.cache_tag}.pyc"
            target.parent.mkdir(exist_ok=True, mode=0o755)
            target.write_bytes(outcome.bytecode)
            continue
        caret = f"\n    {outcome.text.rstrip()}\n    {' ' * max(outcome.column - 1, 0)}^" if outcome.text else ""
        where = Path(name).relative_to(work)
        notes.append(f"{where} does not parse, line {outcome.line}: {outcome.message}{caret}")
    return notes


def run_checks(assignment: Assignment, run: Grading, stop_at_first: bool = False) -> None:
    """Run the assignment's tests in this process; a fault of theirs becomes a `GraderFault`."""
    for name in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS"):
        os.environ.pop(name, None)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    kinds = [assignment.tests / kind for kind in ("visible", "hidden")]
    folders = [str(folder) for folder in kinds if folder.is_dir()]
    if not folders:
        raise GraderFault(f"{assignment.tests} has neither visible nor hidden tests")
    arguments = [
        *folders,
        *("-q", "-s", "--tb=no", "--import-mode=importlib", "-p", "no:cacheprovider"),
        *("-c", os.devnull, f"--rootdir={assignment.tests}", "-o", f"pythonpath={assignment.tests}"),
        *(("-x",) if stop_at_first else ()),
    ]
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), _forgetting_modules(assignment):
        status = pytest.main(arguments, plugins=[_Registered(run), plugin])
    if run.fault is not None:
        raise GraderFault(f"a check broke: {run.fault}\n{run.traceback}")
    if status not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or not run.cases:
        raise GraderFault(f"the checks could not run (pytest status {status}):\n{said.getvalue()[-3000:]}")


@contextlib.contextmanager
def _forgetting_modules(assignment: Assignment) -> Iterator[None]:
    """Leave neither modules nor bytecode of an assignment's tests behind: another run reads them afresh."""
    wrote_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    given_code = GivenCode(assignment.starter, assignment.facts)
    given_code.install()
    try:
        yield
    finally:
        given_code.remove()
        sys.dont_write_bytecode = wrote_bytecode
        for name, module in list(sys.modules.items()):
            if Path(getattr(module, "__file__", None) or "/").is_relative_to(assignment.tests):
                del sys.modules[name]


class _Registered:
    """Puts a grading run in place before the kit's plugin would make one of its own."""

    def __init__(self, run: Grading) -> None:
        self.run = run

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        config.pluginmanager.register(self.run, "tpulab")
