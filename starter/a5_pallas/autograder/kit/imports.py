"""On a laptop: refuse, with a reason, an import that the grader's worker does not have."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType


class ImportGuard(MetaPathFinder):
    """Stops imports of packages outside `allowed`, when they come from a file below `folder`."""

    def __init__(self, folder: Path, allowed: Sequence[str]) -> None:
        self.folder = folder
        self.allowed = {*allowed, *sys.stdlib_module_names, folder.name, "describe"}

    def install(self) -> None:
        """Look at imports from now on."""
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Look away."""
        sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Raise `ImportError` for a forbidden top-level package; never find anything itself."""
        if "." not in name and name not in self.allowed and self._from_student():
            allowed = ", ".join(sorted(self.allowed - sys.stdlib_module_names - {self.folder.name, "describe"}))
            raise ImportError(
                f"{name} is not available in this assignment: you build it yourself from {allowed} "
                "and the standard library, and the grader's machine has nothing else"
            )
        return None

    def _from_student(self) -> bool:
        frame = sys._getframe(2)
        while frame is not None:
            file = frame.f_code.co_filename
            if not file.startswith("<frozen importlib"):
                return Path(file).is_relative_to(self.folder)
            frame = frame.f_back  # type: ignore[assignment]
        return False
