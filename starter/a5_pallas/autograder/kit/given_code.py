"""The given files of an assignment's package, for the judge's own use.

A judge that must read a module's text or run a machine uses the very code that students were given, but never
the copies that lie beside a submission. `import given_minixla.text`, in a judge or a test, loads the file of
that name as it was handed out. Given files import one another relatively, so the whole package comes along
under the other name, and files that students write are not found in it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

from autograder.manifest import Manifest


class GivenCode(MetaPathFinder):
    """Finds `given_<package>` in `folder`, which holds the assignment as it was handed out."""

    def __init__(self, folder: Path, facts: Manifest) -> None:
        self.name = f"given_{facts.package}"
        self.package = folder / facts.package
        self.files = {folder / name for name in facts.given_files}

    def install(self) -> None:
        """Answer imports from now on."""
        sys.meta_path.insert(0, self)

    def remove(self) -> None:
        """Forget the package, so that another run reads it afresh."""
        sys.meta_path.remove(self)
        for name in [n for n in sys.modules if n == self.name or n.startswith(self.name + ".")]:
            del sys.modules[name]

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where a module of the package lies. Raises `ModuleNotFoundError` for one that is not a given file."""
        first, *rest = name.split(".")
        if first != self.name:
            return None
        place = self.package.joinpath(*rest)
        if place / "__init__.py" in self.files:
            return spec_from_file_location(name, place / "__init__.py", submodule_search_locations=[str(place)])
        file = place.with_suffix(".py")
        if file not in self.files:
            raise ModuleNotFoundError(f"{file.name} is not a given file of {self.package.name}", name=name)
        return spec_from_file_location(name, file)
