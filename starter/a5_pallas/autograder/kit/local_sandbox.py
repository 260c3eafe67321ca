"""`make test SANDBOX=1`: the student's own code in a worker with the grader's limits."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from autograder.manifest import Manifest
from autograder.sandbox.host import Sandbox, Worker
from autograder.sandbox.limits import Limits


class LocalSandbox:
    """A sandbox on a copy of the package in `root`."""

    def __init__(self, root: Path, facts: Manifest) -> None:
        if sys.platform != "linux":
            raise SystemExit("SANDBOX=1 needs Linux; plain `make test` asks the same questions.")
        self._folder = tempfile.TemporaryDirectory(prefix="tpulab-")
        base = Path(self._folder.name)
        base.chmod(0o711)
        work, scratch = base / "work", base / "scratch"
        shutil.copytree(root / facts.package, work / facts.package, ignore=shutil.ignore_patterns("__pycache__"))
        for name in facts.support:
            shutil.copy(root / "tests" / name, work / name)
        scratch.mkdir()
        for path in [work, *work.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)
        self._sandbox = Sandbox(Path(sys.executable), work, scratch, preload=facts.worker.preload)

    def open(self, limits: Limits) -> Worker:
        """A fresh worker."""
        return self._sandbox.open(limits)

    def close(self) -> None:
        """End the sandbox and remove the copy."""
        self._sandbox.close()
        self._folder.cleanup()
