"""`make demo`: reference, starter and a half-done sample of every assignment, graded in the sandbox."""

from __future__ import annotations

from functools import partial

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from autograder import project, samples
from autograder.batch import Job, grade_all
from autograder.faults import GraderFault
from autograder.grading import Graded
from autograder.kit.table import points
from autograder.validate import SEED

_SAMPLES = {
    "reference": samples.copy_solution,
    "half done": samples.make_half_done,
    "starter": samples.copy_starter,
}


def run(console: Console) -> bool:
    """Grade and print one table; returns whether reference and starter scored what they must."""
    assignments = [project.Assignment(name) for name in project.names()]
    jobs = {
        (a.id, kind): Job(a.id, partial(make, a), SEED) for a in assignments for kind, make in _SAMPLES.items()
    }
    outcomes: dict[tuple[str, str], Graded | GraderFault] = {}
    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn()]
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("grading in the sandbox", total=len(jobs))
        for key, outcome in grade_all(jobs):
            outcomes[key] = outcome
            progress.advance(bar)
    table = Table(title="tpulab: what the grader gives to three submissions of each assignment")
    table.add_column("assignment")
    for kind in _SAMPLES:
        table.add_column(kind, justify="right")
    table.add_column("tests", justify="right")
    table.add_column("slowest", justify="right")
    for a in assignments:
        mine = [outcomes[a.id, kind] for kind in _SAMPLES]
        graded = [g for g in mine if isinstance(g, Graded)]
        cells = [
            f"{points(g.score)} / {points(a.facts.points)}" if isinstance(g, Graded) else "grader failed"
            for g in mine
        ]
        slowest = f"{max((g.seconds for g in graded), default=0):.1f} s"
        table.add_row(f"{a.id}  {a.facts.title}", *cells, str(len(graded[0].results)) if graded else "-", slowest)
    console.print(table)
    for outcome in outcomes.values():
        if isinstance(outcome, GraderFault):
            console.print(f"the grader failed: {outcome}", style="red", markup=False)
    first = next((g for g in outcomes.values() if isinstance(g, Graded)), None)
    if first is not None and not first.for_credit:
        console.print("Not run as root: the sandbox has no user of its own, so none of this is for credit.")
    return all(
        isinstance(g, Graded) and g.score == (a.facts.points if kind == "reference" else 0)
        for a in assignments
        for kind in ("reference", "starter")
        for g in [outcomes[a.id, kind]]
    )
