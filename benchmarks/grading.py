"""Cost of grading: the sandbox against the same checks in one process, memory, and two cores against one."""

from __future__ import annotations

import multiprocessing
import os
import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from autograder import grading, intake, project
from autograder.kit.answers import Answers
from autograder.kit.plugin import Grading
from autograder.kit.student import LocalStudent
from autograder.validate import SEED

MIB = 1024  # getrusage counts KiB on Linux


def sandboxed(identity: str) -> tuple[float, float, float, float]:
    """Score, seconds, and peak MiB of the trusted process and of the largest process of the sandbox."""
    assignment = project.Assignment(identity)
    graded = grading.grade(assignment, assignment.solution, SEED)
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MIB
    children = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / MIB
    return graded.score, graded.seconds, own, children


def in_process(identity: str) -> float:
    """Seconds of the same checks with the student's code in this very process."""
    assignment = project.Assignment(identity)
    facts = assignment.facts
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        intake.lay_out(intake.read(assignment.solution, facts), facts, assignment.starter, work)
        sys.path.insert(0, folder)
        start = time.monotonic()
        run = Grading(facts, SEED, lambda limits: LocalStudent(work, facts.package))
        run.answers = Answers((assignment.solution / facts.notebook).read_bytes() if facts.notebook else None)
        grading.run_checks(assignment, run)
        seconds = time.monotonic() - start
        sys.path.remove(folder)
    return seconds


def throughput(identity: str, workers: int, count: int) -> float:
    """Submissions a second with this many processes."""
    context = multiprocessing.get_context("spawn")
    start = time.monotonic()
    with ProcessPoolExecutor(workers, context, max_tasks_per_child=1) as pool:
        list(pool.map(sandboxed, [identity] * count))
    return count / (time.monotonic() - start)


def fresh(act: partial) -> object:
    """Run something in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(act).result()


def main() -> None:
    """Print the table for each assignment."""
    for identity in project.names():
        score, seconds, own, children = fresh(partial(sandboxed, identity))  # type: ignore[misc]
        local = fresh(partial(in_process, identity))
        cores = os.cpu_count() or 1
        one, all_cores = throughput(identity, 1, 4), throughput(identity, cores, 4)
        print(f"{identity}: the reference scores {score:g}")
        print(f"  grading it in the sandbox            {seconds:6.1f} s")
        print(f"  the same checks in one process       {local:6.1f} s   sandbox/in-process {seconds / local:.2f}")
        print(f"  peak memory                          {own:6.0f} MiB trusted + {children:.0f} MiB sandbox")
        print(f"  throughput on {cores} cores over one        {all_cores / one:6.2f}")


if __name__ == "__main__":
    main()
