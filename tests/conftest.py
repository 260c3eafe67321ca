"""Fixtures for tests of the grader: a real sandbox on a small folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autograder.project import ROOT
from autograder.sandbox.host import Sandbox
from autograder.sandbox.limits import Defences

WORKER_PYTHON = ROOT / ".venv-worker" / "bin" / "python"


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
