"""Submissions made from the solution: as it is, half done, with a bug, or written differently."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from autograder import handout
from autograder.manifest import ManifestError
from autograder.project import Assignment


class Chaff(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The solution with one plausible bug, and the tests that must notice it, named beforehand.

    `may_also_fail` has names of tests, or patterns of their numbers such as `4.*`.
    """

    name: str
    bug: str
    file: str
    find: str
    replace: str
    fails: list[str]
    may_also_fail: list[str] = []
    because: str = ""


class _ChaffFile(msgspec.Struct, forbid_unknown_fields=True):
    chaff: list[Chaff]


class Wheat(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A correct submission with another idea. Files it does not have are the solution's."""

    name: str
    idea: str
    folder: Path


def chaff_of(assignment: Assignment) -> list[Chaff]:
    """The assignment's chaff. Raises `ManifestError` for a file that cannot be read or a bug without tests."""
    path = assignment.tests / "chaff.toml"
    try:
        found = msgspec.toml.decode(path.read_bytes(), type=_ChaffFile).chaff
    except (OSError, msgspec.MsgspecError, ValueError) as error:
        raise ManifestError(f"{path} cannot be read: {error}") from None
    for chaff in found:
        if not chaff.fails:
            raise ManifestError(f"{path}: chaff {chaff.name!r} names no test that must fail")
        if chaff.may_also_fail and not chaff.because:
            raise ManifestError(f"{path}: chaff {chaff.name!r} may fail other tests but does not say why")
    names = [chaff.name for chaff in found]
    if len(set(names)) != len(names):
        raise ManifestError(f"{path}: two chaffs have one name")
    return found


def wheat_of(assignment: Assignment) -> list[Wheat]:
    """The assignment's wheat; each folder says its idea in `IDEA.md`."""
    found = []
    for folder in sorted((assignment.tests / "wheat").glob("*/")):
        idea = folder / "IDEA.md"
        if not idea.is_file():
            raise ManifestError(f"{folder} has no IDEA.md that says how it differs from the solution")
        found.append(Wheat(folder.name, idea.read_text("utf-8").strip().splitlines()[0], folder))
    return found


def copy_solution(assignment: Assignment, target: Path) -> None:
    """The solution as a submission."""
    names = [*assignment.facts.student_files, *([assignment.facts.notebook] if assignment.facts.notebook else [])]
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(assignment.solution / name, target / name)


def copy_starter(assignment: Assignment, target: Path) -> None:
    """The whole starter, as a student has it before the first line."""
    for name, content in handout.files(assignment).items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (target / name).write_bytes(content)


def make_chaff(assignment: Assignment, chaff: Chaff, target: Path) -> None:
    """The solution with the bug. Raises `ManifestError` if the text to replace is not there exactly once."""
    copy_solution(assignment, target)
    path = target / chaff.file
    source = path.read_text("utf-8")
    if source.count(chaff.find) != 1:
        count = source.count(chaff.find)
        raise ManifestError(
            f"chaff {chaff.name!r}: its `find` text occurs {count} times in {chaff.file}, not once"
        )
    path.write_text(source.replace(chaff.find, chaff.replace), "utf-8")


def make_wheat(assignment: Assignment, wheat: Wheat, target: Path) -> None:
    """The solution's files with the wheat's over them."""
    copy_solution(assignment, target)
    shutil.copytree(wheat.folder, target, dirs_exist_ok=True)


def make_without(assignment: Assignment, file: str, target: Path) -> None:
    """The solution with one file still a stub."""
    copy_solution(assignment, target)
    (target / file).write_bytes(handout.files(assignment)[file])


def make_half_done(assignment: Assignment, target: Path) -> None:
    """The first half of the student files as in the solution, the others still stubs."""
    files = assignment.facts.student_files
    starter = handout.files(assignment)
    for index, name in enumerate(files):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        done = index < (len(files) + 1) // 2
        (target / name).write_bytes((assignment.solution / name).read_bytes() if done else starter[name])
