"""The pytest plugin: the `student` and `rng` fixtures, and one record per test.

On a laptop (`make test`) it runs student code in this process, prints failures as sentences and a table of
points by part. In the sandbox it does the same through a worker, and an exception on this side that is not
a verdict ends the run without a score.
"""

from __future__ import annotations

import inspect
import os
import secrets
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder import evidence, manifest, results
from autograder.kit import gaps, random_programs, verdicts
from autograder.kit.answers import Answers
from autograder.kit.given_code import GivenCode
from autograder.kit.imports import ImportGuard
from autograder.kit.student import LocalStudent, SandboxedStudent, Student
from autograder.kit.table import points_table
from autograder.printable import printable
from autograder.sandbox.limits import Limits

HIDDEN_FOLDER = "hidden"
PATIENCE = "TPULAB_PATIENCE"
"""An environment variable: by how much limits of time are longer, on a machine that is busy with other things."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options of a run by hand; grading sets its own plugin instance instead."""
    group = parser.getgroup("tpulab")
    group.addoption("--inputs-seed", type=int, default=None, help="draw the same inputs again")
    group.addoption("--sandbox", action="store_true", help="run student code in a worker (Linux)")


def pytest_configure(config: pytest.Config) -> None:
    """Register the local grading unless a grading run brought its own."""
    if config.pluginmanager.has_plugin("tpulab"):
        return
    root = Path(config.rootpath)
    facts = manifest.load(root)
    given_code = GivenCode(root, facts)
    given_code.install()
    config.add_cleanup(given_code.remove)
    seed = config.getoption("--inputs-seed")
    seed = secrets.randbelow(2**32) if seed is None else seed
    grading: Grading
    if config.getoption("--sandbox"):
        from autograder.kit.local_sandbox import LocalSandbox

        sandbox = LocalSandbox(root, facts)
        config.add_cleanup(sandbox.close)
        grading = Grading(facts, seed, lambda limits: SandboxedStudent(lambda: sandbox.open(limits)))
    else:
        guard = ImportGuard(root / facts.package, facts.allowed_imports)
        guard.install()
        config.add_cleanup(guard.remove)
        grading = Grading(facts, seed, lambda limits: LocalStudent(root, facts.package))
    grading.local = True
    notebook = root / facts.notebook if facts.notebook else None
    grading.answers = Answers(notebook.read_bytes() if notebook and notebook.is_file() else None)
    config.pluginmanager.register(grading, "tpulab")


def _grading(config: pytest.Config) -> Grading:
    grading = config.pluginmanager.get_plugin("tpulab")
    assert isinstance(grading, Grading)
    return grading


@pytest.fixture
def student(request: pytest.FixtureRequest) -> Iterator[Student]:
    """The student's code, fresh for this test."""
    grading = _grading(request.config)
    someone = grading.student_for(request.node)
    yield someone
    someone.close()


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers from the run's seed and the test's name."""
    grading = _grading(request.config)
    return np.random.default_rng([grading.seed, zlib.crc32(request.node.name.encode())])


@pytest.fixture
def answers(request: pytest.FixtureRequest) -> Answers:
    """What the student wrote into the notebook's answer cells."""
    grading = _grading(request.config)
    return grading.answers


class Grading:
    """One run of an assignment's tests: orders them, records what came of each, reports at the end."""

    def __init__(
        self,
        facts: manifest.Manifest,
        seed: int,
        new_student: Callable[[Limits], Student],
        seconds: float | None = None,
        progress: Callable[[results.Case], None] | None = None,
    ) -> None:
        self.facts, self.seed, self.new_student = facts, seed, new_student
        self.seconds, self.progress = seconds, progress
        self.started = time.monotonic()
        self.cases: list[results.Case] = []
        self.fault: str | None = None
        self.traceback = ""
        self.local = self.ran_everything = False
        self.answers = Answers(None)
        self.students: dict[str, Student] = {}
        self.only: Sequence[str] = ()
        self.patience = float(os.environ.get(PATIENCE) or 1)

    def student_for(self, item: pytest.Item) -> Student:
        """A student whose worker has the limits of this test."""
        worker = self.facts.worker
        wanted: dict[str, Any] = {
            "seconds": worker.seconds,
            "memory_mib": worker.memory_mib,
            "hang_seconds": worker.hang_seconds,
        }
        wanted |= getattr(_function(item), "__limits__", {})
        wanted["seconds"] *= self.patience
        someone = self.new_student(Limits(**wanted))
        self.students[item.nodeid] = someone
        return someone

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Visible before hidden, then by number; a test without a number or points is refused."""
        everything = not config.option.keyword and config.args_source is pytest.Config.ArgsSource.TESTPATHS
        self.ran_everything = everything
        for item in items:
            function = _function(item)
            if not hasattr(function, "__number__") or not hasattr(function, "__weight__"):
                raise pytest.UsageError(f"{item.nodeid}: every test states its @number and its @weight")
            self.facts.part(function.__number__)
            random_programs.seed(function, self.seed)
        items.sort(key=lambda item: (_hidden(item), results.number_key(_function(item).__number__)))
        if self.only:
            items[:] = [item for item in items if results.is_among(_function(item).__number__, self.only)]

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A test file that cannot be read is a fault of the grader."""
        if report.failed and not self.local and self.fault is None:
            self.fault = f"{report.nodeid} cannot be collected: {report.longreprtext[-2000:]}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Do not start a test when the submission's time is over."""
        if self.seconds is not None and time.monotonic() - self.started > self.seconds * self.patience:
            raise _TimeIsOver
        vars(_function(item)).pop("__score__", None)

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Classify what happened, and replace the traceback by a sentence where that is enough."""
        outcome = yield
        report = outcome.get_result()  # type: ignore[attr-defined]
        if call.when == "teardown" and not call.excinfo:
            self._keep_output(item)
        if call.when == "call" or call.excinfo:
            self._record(item, call, report)

    def _record(self, item: pytest.Item, call: pytest.CallInfo[None], report: pytest.TestReport) -> None:
        error = call.excinfo.value if call.excinfo else None
        someone = self.students.get(item.nodeid)
        if error is None:
            kind, text = "passed", ""
        elif isinstance(error, _TimeIsOver):
            kind, text = "not run", "Not run: the time for the whole submission was used up before it."
        elif isinstance(error, verdicts.NotStarted):
            kind, text = "not started", f"Not started: {error.text}"
        elif isinstance(error, verdicts.Verdict | verdicts.Ended):
            kind, text = "failed", error.text
        elif isinstance(error, AssertionError) and call.when == "call":
            kind, text = "failed", str(error)
        elif isinstance(someone, LocalStudent) and someone.raised is error:
            kind, text = "failed", verdicts.explain(evidence.of_exception(error, someone.root))
        else:
            self._blame_grader(item, call)
            return
        case = self._case(item, call, kind, text, someone)
        if isinstance(error, verdicts.PartlyPassed):
            case.score = case.weight * error.fraction
        self.cases.append(case)
        if self.progress:
            self.progress(case)
        report.user_properties.append(("tpulab", kind))
        if self.local and text and item.config.option.tbstyle == "auto":
            report.longrepr = _message(case, self.seed)

    def _blame_grader(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        if self.fault is None and call.excinfo:
            self.fault = f"{item.nodeid} ({call.when}): {call.excinfo.exconly()}"
            call.excinfo.traceback = call.excinfo.traceback.cut(path=item.path)
            self.traceback = str(call.excinfo.getrepr(style="short"))
        if not self.local:
            item.session.shouldstop = "the grader failed"

    def _case(
        self, item: pytest.Item, call: pytest.CallInfo[None], kind: Any, text: str, someone: Student | None
    ) -> results.Case:
        function = _function(item)
        weight = float(function.__weight__)
        if text and someone is not None and someone.asked and kind == "failed":
            text = f"{text}\n  asked:    {someone.asked}"
        column = getattr(function, "__leaderboard_column__", None)
        board = None
        if column is not None and hasattr(function, "__leaderboard_value__"):
            board = (column, function.__leaderboard_sort_order__, function.__leaderboard_value__)
        hidden = _hidden(item)
        return results.Case(
            function=item.nodeid.split("[")[0],
            number=function.__number__,
            name=(inspect.getdoc(function) or item.name).splitlines()[0],
            hidden=hidden,
            visibility=getattr(function, "__visibility__", "after_published" if hidden else "visible"),
            weight=weight,
            outcome=kind,
            score=float(getattr(function, "__score__", weight)) if kind == "passed" else 0.0,
            message=printable(text),
            hint=getattr(function, "__hint__", ""),
            seconds=call.duration,
            tags=list(getattr(function, "__tags__", ())),
            leaderboard=board,
        )

    def _keep_output(self, item: pytest.Item) -> None:
        someone = self.students.pop(item.nodeid, None)
        if isinstance(someone, SandboxedStudent) and self.cases:
            self.cases[-1].printed = someone.output
            self.cases[-1].asked_again = someone.asked_again

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        """A stub is `not started`, which is not worth a failure's space."""
        kind = dict(getattr(report, "user_properties", ())).get("tpulab")
        if kind in ("not started", "not run") and report.failed:
            return str(kind), "-", str(kind).upper()
        return None

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """The table of points by part."""
        if not self.local:
            return
        combined = results.combine(self.cases)
        terminalreporter.write_line(points_table(self.facts, combined, self.seed, self.ran_everything))
        if self.ran_everything:
            terminalreporter.write_line(gaps.sentence(Path(terminalreporter.config.rootpath), self.facts))
        if self.fault:
            sentence = f"A test broke by a fault of its own, not yours; please report it: {self.fault}"
            terminalreporter.write_line(sentence, red=True)


class _TimeIsOver(Exception):
    """The submission's time was used up."""


def _function(item: pytest.Item) -> Any:
    return item.function  # type: ignore[attr-defined]


def _hidden(item: pytest.Item) -> bool:
    return item.path.parent.name == HIDDEN_FOLDER


def _message(case: results.Case, seed: int) -> str:
    lines = [f"{case.number}  {case.name}", "", case.message]
    if case.hint:
        lines.append(f"  hint:     {case.hint}")
    lines.append(f"  again:    make test T={case.function.split('::')[-1]} SEED={seed}")
    return "\n".join(lines) + "\n"
