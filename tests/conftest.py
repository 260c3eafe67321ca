"""Fixtures for tests of the grader: a real sandbox on a small folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder import record
from autograder.project import ROOT, Assignment
from autograder.sandbox.folders import ENVIRONMENT
from autograder.sandbox.host import Sandbox
from autograder.sandbox.limits import Defences

WORKER_PYTHON = ROOT / ".venv-worker" / "bin" / "python"
PASSED = ROOT / "results" / "proved" / "tests.txt"


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--go-on` leaves out what passed before on the very same code; `make validate` goes on in this way."""
    parser.addoption("--go-on", action="store_true", help="leave out tests that passed before on the same code")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With `--go-on`: drop what passed, and note from now on what does."""
    if not config.getoption("--go-on"):
        return
    passed = record.PassedTests(PASSED, ROOT)
    before = [item for item in items if item.nodeid in passed.names]
    items[:] = [item for item in items if item not in before]
    config.hook.pytest_deselected(items=before)
    config.pluginmanager.register(_Noting(passed))


class _Noting:
    """Notes the tests that pass; what fails or is skipped runs again."""

    def __init__(self, passed: record.PassedTests) -> None:
        self.passed = passed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and report.passed:
            self.passed.note(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """That all have passed before is no failure."""
        if exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED and self.passed.names:
            session.exitstatus = pytest.ExitCode.OK


@pytest.fixture(scope="session")
def environment_for() -> Callable[[Assignment], dict[str, str]]:
    """The environment of a process that runs an assignment's code in this interpreter: with JAX, if it has it."""
    return _environment


def _environment(assignment: Assignment) -> dict[str, str]:
    env = dict(os.environ)
    if assignment.facts.worker.environment == "worker-jax":
        env |= {name: value for name, value in ENVIRONMENT.items() if name == "NPROC" or name.startswith("JAX_")}
        packages = assignment.worker_python.parents[1].glob(f"lib/python3.{sys.version_info.minor}/site-packages")
        env["PYTHONPATH"] = next((str(folder) for folder in packages), "")
    return env


@pytest.fixture(scope="session")
def open_to_workers(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], None]:
    """Lets a worker's user pass through the folders above a temporary one, which pytest closes to others."""
    top = tmp_path_factory.getbasetemp()
    top = next((folder for folder in (top, *top.parents) if folder.name.startswith("pytest-of-")), top)

    def open_up(path: Path) -> None:
        for folder in (path, *path.parents):
            if folder.is_relative_to(top):
                folder.chmod(folder.stat().st_mode | 0o011)

    return open_up


@pytest.fixture
def sandbox_of(tmp_path: Path, open_to_workers: Callable[[Path], None]) -> Iterator[Callable[..., Sandbox]]:
    """Makes a sandbox whose work folder holds these files; closed at the end."""
    opened: list[Sandbox] = []

    def make(files: dict[str, str] | None = None, defences: Defences | None = None) -> Sandbox:
        base = tmp_path / f"box{len(opened)}"
        open_to_workers(tmp_path)
        work, scratch = base / "work", base / "scratch"
        work.mkdir(parents=True)
        scratch.mkdir()
        for name, text in (files or {}).items():
            (work / name).write_text(text)
        for path in (base, *base.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o644)
        opened.append(Sandbox(WORKER_PYTHON, work, scratch, defences=defences))
        return opened[-1]

    yield make
    for sandbox in opened:
        sandbox.close()
