"""A graded submission as Gradescope's `results.json`, and as a few lines for a terminal."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

from autograder.grading import Graded
from autograder.kit.table import points
from autograder.printable import printable
from autograder.results import Result

MAX_OUTPUT = 6_000
MAX_ALL_OUTPUTS = 80_000
_MAX_PRINTED = 1_500


def gradescope(graded: Graded) -> dict[str, Any]:
    """The results as Gradescope's autograder specification has them."""
    room = MAX_ALL_OUTPUTS
    tests = []
    for result in graded.results:
        entry = _test(result)
        entry["output"] = _cut(entry["output"], min(MAX_OUTPUT, max(room, 200)))
        room -= len(entry["output"])
        tests.append(entry)
    boards = [
        {"name": name, "value": value, "order": order}
        for result in graded.results
        for case in result.cases
        if case.leaderboard is not None
        for name, order, value in [case.leaderboard]
    ]
    return {
        "output": _cut(summary(graded), MAX_OUTPUT),
        "output_format": "md",
        "stdout_visibility": "hidden",
        "execution_time": round(graded.seconds),
        "tests": tests,
        "leaderboard": boards,
        "extra_data": {
            "assignment": graded.assignment,
            "seed": graded.seed,
            "for_credit": graded.for_credit,
            "defences": graded.in_force,
            "versions": graded.versions,
            "asked_again": graded.asked_again,
        },
    }


def summary(graded: Graded) -> str:
    """What students read first: visible points, what is still hidden, and what was noticed at intake."""
    visible = [result for result in graded.results if not result.hidden]
    hidden = [result for result in graded.results if result.hidden]
    got, total = sum(r.score for r in visible), sum(r.weight for r in visible)
    text = f"**{points(got)} of {points(total)} visible points**"
    if hidden:
        text += f"; {points(sum(r.weight for r in hidden))} more are graded by hidden tests"
    lines = [text + "."]
    if not graded.for_credit:
        lines.append("*Not for credit: this run could not keep the submission away from the grader.*")
    lines += [f"- {_fenced_if_long(note)}" for note in graded.notes]
    return "\n\n".join(lines[:2] if not graded.notes else [*lines])


def _fenced_if_long(note: str) -> str:
    first, *rest = note.split("\n")
    return first if not rest else f"{first}\n\n```\n" + "\n".join(rest) + "\n```"


def _test(result: Result) -> dict[str, Any]:
    return {
        "name": result.name,
        "number": result.number,
        "score": round(result.score, 4),
        "max_score": result.weight,
        "status": "passed" if result.outcome == "passed" else "failed",
        "output": student_text(result),
        "output_format": "text",
        "visibility": result.visibility,
        "tags": sorted({tag for case in result.cases for tag in case.tags}),
        "extra_data": {"outcome": result.outcome, "seconds": round(result.seconds, 3)},
    }


def student_text(result: Result) -> str:
    """What a student may read of a test. Of a hidden one: how it ended and the hint, never a value."""
    case = result.worst
    if case.outcome == "passed":
        return ""
    if result.hidden:
        failed = (
            "This hidden test gave only part of its points." if result.score else "This hidden test did not pass."
        )
        text = "Not started." if case.outcome == "not started" else failed
        return f"{text}\nLook at: {case.hint}" if case.hint else text
    text = case.message
    if case.hint and case.outcome == "failed":
        text += f"\n  hint:     {case.hint}"
    if case.printed.strip():
        text += f"\n  printed:  {_cut(case.printed.strip(), _MAX_PRINTED)}"
    return text


def _cut(text: str, limit: int) -> str:
    clean = printable(text)
    return (
        clean if len(clean) <= limit else clean[: limit - 40] + f"\n… {len(clean) - limit + 40:,} more characters"
    )


def write(content: dict[str, Any], path: Path) -> None:
    """Write JSON so that the file is either whole or not there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".results-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
            json.dump(content, handle, indent=1, allow_nan=False)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
