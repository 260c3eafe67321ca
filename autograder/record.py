"""Proofs that held, kept between runs, so that `make validate` goes on where it was stopped.

A proof is kept under a fingerprint of all that its outcome depends on: the grader's code and its locked packages,
the interpreter, the assignment's solution, given files and tests, the graded files, the seed, and what was
expected of the outcome. Whatever changes one of these is proved again. Only proofs that held are kept.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path

import msgspec

from autograder.project import Assignment

_NOT_EVIDENCE = {"__pycache__", "chaff.toml", "survivors.toml", "wheat"}
"""Left out of the fingerprint of tests: what these say is in the graded files and in what is expected of them."""


_CODE = ("assignments", "attacks", "autograder", "grading_tests", "requirements", "solutions", "starter", "tests")


class Proof(msgspec.Struct, frozen=True):
    """One thing that was to be shown: its kind, what about, and why it does not hold.

    `concerned` has the numbers of the tests that need a file, where that was the question; `kept` says that the
    proof held in an earlier run and nothing has changed since.
    """

    kind: str
    claim: str
    problem: str = ""
    concerned: tuple[str, ...] = ()
    kept: bool = False

    @property
    def holds(self) -> bool:
        return not self.problem


class _Line(msgspec.Struct):
    fingerprint: str
    proof: Proof


class Record:
    """The proofs of one assignment that held, in a file of one JSON line each."""

    def __init__(self, path: Path, assignment: Assignment, forget: bool = False) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        if forget:
            path.unlink(missing_ok=True)
        self._assignment, self._common = assignment, _digest_of_surroundings(assignment)
        self._held = dict(_read(path))

    def fingerprint(self, made: Path, *expected: object) -> str:
        """What identifies a proof: surroundings, the files of the submission, and whatever else is `expected`."""
        digest = hashlib.sha256(self._common)
        add_files(digest, made, made.rglob("*"))
        digest.update(repr(expected).encode())
        return digest.hexdigest()

    def held(self, fingerprint: str) -> Proof | None:
        """The proof with this fingerprint, if it held before."""
        found = self._held.get(fingerprint)
        return msgspec.structs.replace(found, kept=True) if found else None

    def keep(self, fingerprint: str, proof: Proof) -> None:
        """Note a proof that holds, unless something that it depends on was edited while it was found."""
        if _digest_of_surroundings(self._assignment) != self._common:
            return
        with self.path.open("ab") as file:
            file.write(msgspec.json.encode(_Line(fingerprint, proof)) + b"\n")


class PassedTests:
    """Tests of the suite that passed on the code as it is: a file of one line each, after a digest of the code."""

    def __init__(self, path: Path, root: Path) -> None:
        digest = hashlib.sha256(sys.version.encode())
        for folder in _CODE:
            add_files(digest, root, (root / folder).rglob("*"))
        code = digest.hexdigest()
        lines = path.read_text("utf-8").splitlines() if path.exists() else []
        self.path, self.names = path, set(lines[1:]) if lines[:1] == [code] else set[str]()
        if not self.names:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{code}\n", "utf-8")

    def note(self, name: str) -> None:
        """Add a test that passed."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{name}\n")


def _read(path: Path) -> Iterable[tuple[str, Proof]]:
    """What a record says; a line that was cut off by the end of a run is no proof."""
    for line in path.read_bytes().splitlines() if path.exists() else ():
        try:
            found = msgspec.json.decode(line, type=_Line)
        except msgspec.MsgspecError:
            continue
        yield found.fingerprint, found.proof


def _digest_of_surroundings(assignment: Assignment) -> bytes:
    root, digest = assignment.root, hashlib.sha256(sys.version.encode())
    add_files(digest, root, (root / "autograder").rglob("*.py"))
    locked = ("grader", assignment.facts.worker.environment)
    add_files(digest, root, [root / "requirements" / f"{name}.txt" for name in locked])
    add_files(digest, root, assignment.folder.glob("*.toml"))
    add_files(digest, root, assignment.solution.rglob("*"))
    tests = [
        path
        for path in assignment.tests.rglob("*")
        if not _NOT_EVIDENCE & set(path.relative_to(assignment.tests).parts)
    ]
    add_files(digest, root, tests)
    return digest.digest()


def add_files(digest: hashlib._Hash, root: Path, paths: Iterable[Path]) -> None:
    """Put the names (from `root`) and contents of some files into a digest, bytecode excepted."""
    for path in sorted(path for path in paths if path.is_file() and "__pycache__" not in path.parts):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(root)}\0{len(content)}\0".encode())
        digest.update(content)
