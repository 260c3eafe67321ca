"""Where things lie in the suite, and in a Gradescope bundle, which has the same folders less the solutions."""

from __future__ import annotations

from pathlib import Path

from autograder import manifest
from autograder.manifest import Manifest, ManifestError

ROOT = Path(__file__).resolve().parents[1]


class Assignment:
    """One assignment's facts and folders."""

    def __init__(self, identity: str, root: Path = ROOT) -> None:
        self.folder = root / "assignments" / identity
        if not self.folder.is_dir():
            raise ManifestError(f"there is no assignment {identity!r}; there are: {', '.join(names(root))}")
        self.facts: Manifest = manifest.load(self.folder)
        if self.facts.id != identity:
            raise ManifestError(
                f"{self.folder / manifest.FILE_NAME} says id = {self.facts.id!r}, not {identity!r}"
            )
        self.id = identity
        self.root = root
        self.solution = root / "solutions" / identity
        self.starter = root / "starter" / identity
        self.tests = root / "grading_tests" / identity

    @property
    def worker_python(self) -> Path:
        """The interpreter of the environment that student code runs in."""
        return self.root / f".venv-{self.facts.worker.environment}" / "bin" / "python"

    @property
    def private_folders(self) -> list[Path]:
        """Folders that a worker must not be able to read."""
        return [self.tests, self.solution, self.root / "solutions", self.root / "grading_tests"]


def names(root: Path = ROOT) -> list[str]:
    """The assignments there are, in order."""
    return sorted(path.parent.name for path in (root / "assignments").glob(f"*/{manifest.FILE_NAME}"))
