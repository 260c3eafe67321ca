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
    commands.add_parser("demo", help="grade three samples of each assignment").set_defaults(run=_demo)
    command = commands.add_parser("handouts", help="generate starter/ and the students' zips in dist/")
    command.add_argument("--check", action="store_true", help="only say what would change")
    command.set_defaults(run=_handouts)
    command = commands.add_parser("bundle", help="make the zip that Gradescope unpacks")
    command.add_argument("assignment")
    command.set_defaults(run=_bundle)
    command = commands.add_parser("gradescope", help="grade as Gradescope's run_autograder does")
    command.add_argument("assignment")
    command.add_argument("--prefix", type=Path, required=True, help="Gradescope's folder, /autograder there")
    command.set_defaults(run=_gradescope)
    command = commands.add_parser("validate", help="prove that an assignment's tests are right")
    command.add_argument("assignment", nargs="*")
    command.add_argument(
        "--only", default="", help="only proofs whose line contains this, e.g. chaff or a test's name"
    )
    command.add_argument("--again", action="store_true", help="prove again what held in an earlier run")
    command.set_defaults(run=_validate)
    command = commands.add_parser("mutants", help="grade mutants of the solution that a file lists")
    command.add_argument("assignment")
    command.add_argument("file", type=Path)
    command.set_defaults(run=_mutants)
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


def _demo(options: argparse.Namespace) -> int:
    from autograder import demo

    return VERDICT if demo.run(Console()) else FAULT


def _handouts(options: argparse.Namespace) -> int:
    from autograder import bundle, handout

    problems = []
    for name in project.names():
        assignment = project.Assignment(name)
        if options.check:
            problems += [f"starter/{name}: {problem}" for problem in handout.check(assignment)]
            continue
        made = handout.files(assignment)
        handout.write(assignment)
        target = project.ROOT / "dist" / f"{name}.zip"
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(bundle.zip_bytes({f"{name}/{file}": content for file, content in made.items()}))
        print(f"starter/{name}: {len(made)} files; dist/{name}.zip: {target.stat().st_size // 1024} KiB")
    for problem in problems:
        print(f"{problem}; run `make handouts`", file=sys.stderr)
    return FAULT if problems else VERDICT


def _validate(options: argparse.Namespace) -> int:
    from autograder import proof_table

    names = options.assignment or project.names()
    everything = proof_table.run(Console(), names, options.only, options.again)
    return VERDICT if everything else FAULT


def _bundle(options: argparse.Namespace) -> int:
    from autograder import bundle

    assignment = project.Assignment(options.assignment)
    files = bundle.gradescope_files(assignment, bundle.class_seed(project.ROOT))
    target = project.ROOT / "dist" / f"{assignment.id}-gradescope.zip"
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(bundle.zip_bytes(files, bundle.EXECUTABLE))
    print(f"{target.relative_to(project.ROOT)}: {len(files)} files, {target.stat().st_size // 1024} KiB")
    print(f"The class's secret seed is in {bundle.SEED_FILE}: keep it, so that a new upload changes no grade.")
    return VERDICT


def _gradescope(options: argparse.Namespace) -> int:
    from autograder import bundle, grading, report
    from autograder.sandbox.folders import close_to_others
    from autograder.sandbox.host import runs_contained

    prefix: Path = options.prefix
    results = prefix / "results" / "results.json"
    results.unlink(missing_ok=True)
    if runs_contained():
        close_to_others([prefix / "submission_metadata.json", prefix / "submission", prefix / "results"])
    seed = bundle.read_seed(project.ROOT / "class_seed")
    graded = grading.grade(project.Assignment(options.assignment), prefix / "submission", seed)
    report.write(report.gradescope(graded), results)
    print(f"{graded.assignment}: graded {len(graded.results)} tests in {graded.seconds:.0f} s")
    for sentence in graded.asked_again:
        print(sentence)
    return VERDICT


def _mutants(options: argparse.Namespace) -> int:
    from autograder import mutants

    return FAULT if mutants.report(project.Assignment(options.assignment), options.file) else VERDICT
