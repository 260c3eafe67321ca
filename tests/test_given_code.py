"""The judge's own copy of the given files: the handed-out ones, under another name, and nothing of a student's."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from autograder.kit.given_code import GivenCode
from autograder.manifest import Manifest

FACTS = {
    "id": "a0_tiny",
    "title": "Tiny",
    "package": "tiny",
    "student_files": ["tiny/code.py"],
    "given_files": ["tiny/__init__.py", "tiny/text.py", "tiny/numbers.py"],
    "allowed_imports": [],
    "part": [{"number": "1", "title": "Twice", "points": 100}],
}


@pytest.fixture
def given(tmp_path: Path) -> Iterator[GivenCode]:
    """`given_tiny`, from a folder that holds a student's file as well."""
    package = tmp_path / "tiny"
    package.mkdir()
    (package / "__init__.py").write_text('"""Tiny."""\n')
    (package / "numbers.py").write_text("TWO = 2\n")
    (package / "text.py").write_text("from .numbers import TWO\n\n\ndef say():\n    return f'two is {TWO}'\n")
    (package / "code.py").write_text("raise SystemExit\n")
    found = GivenCode(tmp_path, msgspec.convert(FACTS, Manifest))
    found.install()
    yield found
    found.remove()


def test_given_files_import_one_another_under_the_other_name(given: GivenCode) -> None:
    """`given_tiny.text` brings `given_tiny.numbers`, and no module called `tiny`."""
    assert importlib.import_module("given_tiny.text").say() == "two is 2"
    assert "given_tiny.numbers" in sys.modules
    assert not any(name.split(".")[0] == "tiny" for name in sys.modules)


def test_files_of_students_are_not_in_it(given: GivenCode) -> None:
    """A file that students write is not found, though it lies in the folder."""
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("given_tiny.code")


def test_another_run_reads_it_afresh(given: GivenCode) -> None:
    """After `remove` the modules are gone, and the name with them."""
    importlib.import_module("given_tiny.text")
    given.remove()
    assert not any(name.startswith("given_tiny") for name in sys.modules)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("given_tiny.text")
    given.install()
