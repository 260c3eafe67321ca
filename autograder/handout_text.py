"""A handout: an assignment's `handout.md`, and the pieces that all handouts share, each written once.

A line `{{how_to_run part=test_2 name=fan_out}}` stands for `assignments/handout_pieces/how_to_run.md` with
`@PART@` and `@NAME@` replaced. Facts of the assignment (`@ID@`, `@FILES@`, ...) need not be given.
"""

from __future__ import annotations

import re
from pathlib import Path

from autograder.manifest import Manifest, ManifestError
from autograder.project import Assignment

_PLACE = re.compile(r"^\{\{(?P<name>\w+)(?P<settings>(?: \w+=\S+)*)\}\}$", re.MULTILINE)
_BLANK = re.compile(r"@([A-Z]+)@")
_NUMBERS = (
    "no",
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
)


def text(assignment: Assignment) -> str:
    """The whole handout. Raises `ManifestError` for a piece that is unknown or lacks a setting."""
    path = assignment.folder / "handout.md"
    folder = assignment.folder.parent / "handout_pieces"

    def piece(place: re.Match[str]) -> str:
        source = folder / f"{place['name']}.md"
        if not source.is_file():
            known = ", ".join(sorted(file.stem for file in folder.glob("*.md")))
            raise ManifestError(f"{path}: there is no piece {place['name']!r}; there are: {known}")
        given = dict(setting.split("=", 1) for setting in place["settings"].split())
        return _filled(
            source, _facts(assignment.facts) | {name.upper(): word for name, word in given.items()}, path
        )

    return _PLACE.sub(piece, path.read_text("utf-8"))


def _filled(source: Path, words: dict[str, str], path: Path) -> str:
    piece = source.read_text("utf-8").rstrip("\n")
    if missing := sorted(set(_BLANK.findall(piece)) - set(words)):
        raise ManifestError(
            f"{path}: {{{{{source.stem}}}}} needs {', '.join(f'{name.lower()}=' for name in missing)}"
        )
    return _BLANK.sub(lambda blank: words[blank[1]], piece)


def _facts(facts: Manifest) -> dict[str, str]:
    count = len(facts.student_files)
    others = [name for name in facts.allowed_imports if name not in ("numpy", facts.package)]
    return {
        "ID": facts.id,
        "FILES": _NUMBERS[count] if count < len(_NUMBERS) else str(count),
        "SECONDS": f"{facts.worker.seconds:g}",
        "MEMORY": str(facts.worker.memory_mib),
        "IMPORTS": "".join(f", `{name}`" for name in others),
    }
