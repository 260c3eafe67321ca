"""The table of points by part that closes a run on a laptop."""

from __future__ import annotations

from collections import Counter

from autograder.manifest import Manifest
from autograder.results import Result


def points(value: float) -> str:
    """`7`, `7.5`."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def points_table(facts: Manifest, combined: list[Result], seed: int, everything: bool) -> str:
    """One row a part: points of the tests that ran, and how many tests passed, failed or are not started.

    `everything` says that all tests of the starter ran, so that what is left to the total is hidden.
    """
    rows = []
    for part in facts.parts:
        mine = [result for result in combined if facts.part(result.number) is part]
        if not mine:
            continue
        counts = Counter(result.outcome for result in mine)
        score, total = sum(r.score for r in mine), sum(r.weight for r in mine)
        if counts["not started"] == len(mine):
            state = "not started"
        else:
            state = ", ".join(f"{n} {kind}" for kind, n in sorted(counts.items(), key=_by_importance))
        if total == 0:
            state += f"; its {points(part.points)} points come from tests that do not ship"
        rows.append((f"{part.number}  {part.title}", f"{points(score)} / {points(total)}", state))
    score, total = sum(r.score for r in combined), sum(r.weight for r in combined)
    rows.append(("Total of these tests", f"{points(score)} / {points(total)}", ""))
    width = max(len(row[0]) for row in rows)
    numbers = max(len(row[1]) for row in rows)
    rule = "-" * (width + numbers + 40)
    lines = [f"{name:<{width}}   {number:>{numbers}}   {state}".rstrip() for name, number, state in rows]
    text = "\n".join(["", f"{facts.id}: {facts.title}", rule, *lines[:-1], rule, lines[-1]])
    rest = facts.points - total
    if everything and rest > 0:
        text += (
            f"\nThe other {points(rest)} of {points(facts.points)} points are graded by tests that do not ship."
        )
    return text + f"\nInputs were drawn from seed {seed}; `make test SEED={seed}` draws them again."


def _by_importance(item: tuple[str, int]) -> int:
    return ["passed", "failed", "not started", "not run"].index(item[0])
