"""Grade several submissions side by side, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import msgspec

from autograder.faults import GraderFault
from autograder.grading import Graded, grade
from autograder.project import Assignment

Key = TypeVar("Key")


class Job(msgspec.Struct, frozen=True):
    """One submission to grade: an assignment's id, and a picklable function that writes it into a folder.

    `only` has patterns of numbers if not all tests are asked; `stop_at_first` ends it at the first that fails.
    """

    assignment: str
    make: Callable[[Path], object]
    seed: int
    only: tuple[str, ...] = ()
    stop_at_first: bool = False


def _grade_made(job: Job) -> Graded:
    with TemporaryDirectory(prefix="tpulab-sample-") as folder:
        job.make(Path(folder))
        assignment = Assignment(job.assignment)
        return grade(assignment, Path(folder), job.seed, stop_at_first=job.stop_at_first, only=job.only)


def grade_all(jobs: Mapping[Key, Job]) -> Iterator[tuple[Key, Graded | GraderFault]]:
    """Grade what each job's maker writes; yields outcomes as they come."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context, max_tasks_per_child=1) as pool:
        waiting: dict[Future[Graded], Key] = {pool.submit(_grade_made, job): key for key, job in jobs.items()}
        for future in as_completed(waiting):
            try:
                yield waiting[future], future.result()
            except GraderFault as fault:
                yield waiting[future], fault
