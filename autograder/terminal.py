"""What a person at a terminal sees of a graded submission."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from autograder.grading import Graded
from autograder.kit.table import points
from autograder.manifest import Manifest

_COLOUR = {"passed": "green", "failed": "red", "not started": "yellow", "not run": "magenta"}


def print_graded(console: Console, facts: Manifest, graded: Graded) -> None:
    """Every test that did not pass, then a table of points by part."""
    for note in graded.notes:
        console.print(Text(f"note: {note}"))
    for result in graded.results:
        if result.outcome == "passed":
            continue
        head = Text(f"{result.number:>5}  {result.outcome:<11}  {result.name}", style=_COLOUR[result.outcome])
        console.print(head)
        if result.outcome == "failed":
            text = result.worst.message + (f"\n  hint:     {result.worst.hint}" if result.worst.hint else "")
            console.print(Padding(Text(text), (0, 0, 1, 7)))
    table = Table(title=f"{graded.assignment}: {facts.title}")
    for column, justify in (("part", "left"), ("visible", "right"), ("hidden", "right"), ("points", "right")):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for part in facts.parts:
        mine = [result for result in graded.results if facts.part(result.number) is part]
        cells = [
            f"{points(sum(r.score for r in some))} / {points(sum(r.weight for r in some))}" if some else "-"
            for some in ([r for r in mine if not r.hidden], [r for r in mine if r.hidden], mine)
        ]
        table.add_row(f"{part.number}  {part.title}", *cells)
    table.add_section()
    table.add_row("total", "", "", f"{points(graded.score)} / {points(facts.points)}")
    console.print(table)
    credit = (
        "" if graded.for_credit else "  NOT FOR CREDIT: not run as root, so the sandbox has no user of its own."
    )
    for sentence in graded.asked_again:
        console.print(Text(f"for staff: {sentence}"))
    console.print(f"{graded.seconds:.1f} s, seed {graded.seed}, defences: {', '.join(graded.in_force)}.{credit}")
