"""The facts of an assignment, read from its `assignment.toml`."""

from __future__ import annotations

from pathlib import Path

import msgspec

FILE_NAME = "assignment.toml"


class ManifestError(ValueError):
    """An `assignment.toml` that cannot be used; the message says where and why."""


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One part of an assignment. `number` is what stands before the dot in its tests' numbers."""

    number: str
    title: str
    points: float


class WorkerNeeds(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What student code runs with: environment, limits of one test, seconds for a whole submission.

    `preload` names modules that a worker finds imported; with a `?` behind it, one that may be missing.
    `hang_seconds` is for libraries that may hang by a fault of their own: a worker in which nothing has run for
    so long is given up, and its test is asked once more in a fresh one. 0 means never.
    """

    environment: str = "worker"
    seconds: float = 10.0
    memory_mib: int = 512
    total_seconds: float = 420.0
    hang_seconds: float = 0.0
    preload: list[str] = []


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An assignment: its package, which files students write, its parts and their points."""

    id: str
    title: str
    package: str
    student_files: list[str]
    given_files: list[str]
    parts: list[Part] = msgspec.field(name="part")
    allowed_imports: list[str]
    worker: WorkerNeeds = WorkerNeeds()
    notebook: str | None = None
    paper_seed: int = 0
    support: list[str] = []

    def part(self, number: str) -> Part:
        """The part that a test number such as `2.7` belongs to. Raises `ManifestError`."""
        for part in self.parts:
            if part.number == number.split(".")[0]:
                return part
        known = ", ".join(part.number for part in self.parts)
        raise ManifestError(f"test number {number!r} names no part of {self.id}; parts are {known}")

    @property
    def points(self) -> float:
        """Points of all parts together."""
        return sum(part.points for part in self.parts)


def load(folder: Path) -> Manifest:
    """Read `folder/assignment.toml`. Raises `ManifestError` with a sentence that says what to mend."""
    path = folder / FILE_NAME
    try:
        manifest = msgspec.toml.decode(path.read_bytes(), type=Manifest)
    except FileNotFoundError:
        raise ManifestError(f"{path} does not exist; is {folder.name!r} an assignment?") from None
    except OSError as error:
        raise ManifestError(f"{path} cannot be read: {error.strerror}") from None
    except (msgspec.MsgspecError, UnicodeError, ValueError) as error:
        raise ManifestError(f"{path} is not a valid assignment file: {error}") from None
    numbers = [part.number for part in manifest.parts]
    if len(set(numbers)) != len(numbers):
        raise ManifestError(f"{path}: a part number occurs twice: {', '.join(numbers)}")
    if any(part.points <= 0 for part in manifest.parts):
        raise ManifestError(f"{path}: every part needs more than 0 points")
    return manifest
