"""The command line: `python -m autograder grade a1_tracer SUBMISSION`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from rich.console import Console

from autograder import manifest, project
from autograder.faults import GraderFault

VERDICT, FAULT, USAGE = 0, 1, 2


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="autograder", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    _add_grade(commands)
    options = parser.parse_args(arguments)
    try:
        return options.run(options)
    except manifest.ManifestError as error:
        print(f"autograder: {error}", file=sys.stderr)
        return USAGE
    except GraderFault as error:
        print(f"autograder: the grader failed, so there is no score: {error}", file=sys.stderr)
        return FAULT


def _add_grade(commands: argparse._SubParsersAction) -> None:
    command = commands.add_parser("grade", help="grade one submission in the sandbox")
    command.add_argument("assignment")
    command.add_argument("submission", type=Path, help="a folder or a zip")
    command.add_argument("--out", type=Path, help="write Gradescope's results.json here")
    command.add_argument("--seed", type=int, help="draw the same inputs again")
    command.set_defaults(run=_grade)


def _grade(options: argparse.Namespace) -> int:
    from autograder import grading, report
    from autograder.terminal import print_graded

    assignment = project.Assignment(options.assignment)
    if not options.submission.exists():
        print(f"autograder: {options.submission} does not exist; give a folder or a zip", file=sys.stderr)
        return USAGE
    if options.out:
        options.out.unlink(missing_ok=True)
    graded = grading.grade(assignment, options.submission, options.seed)
    if options.out:
        report.write(report.gradescope(graded), options.out)
    print_graded(Console(), assignment.facts, graded)
    return VERDICT
