"""Fixtures for tests of the grader: a real sandbox on a small folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder.project import ROOT, Assignment
from autograder.sandbox.folders import ENVIRONMENT
from autograder.sandbox.host import Sandbox
from autograder.sandbox.limits import Defences

WORKER_PYTHON = ROOT / ".venv-worker" / "bin" / "python"


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


@pytest.fixture
def sandbox_of(tmp_path: Path) -> Iterator[Callable[..., Sandbox]]:
    """Makes a sandbox whose work folder holds these files; closed at the end."""
    opened: list[Sandbox] = []

    def make(files: dict[str, str] | None = None, defences: Defences | None = None) -> Sandbox:
        base = tmp_path / f"box{len(opened)}"
        for folder in (tmp_path, *tmp_path.parents[:2]):
            folder.chmod(folder.stat().st_mode | 0o011)
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
