"""Grade several submissions side by side, each in a process of its own."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

from autograder.faults import GraderFault
from autograder.grading import Graded, grade
from autograder.project import Assignment

Key = TypeVar("Key")


def _grade_made(
    identity: str, make: Callable[[Path], object], seed: int, stop_at_first: bool, only: Sequence[str]
) -> Graded:
    with TemporaryDirectory(prefix="tpulab-sample-") as folder:
        make(Path(folder))
        return grade(Assignment(identity), Path(folder), seed, stop_at_first=stop_at_first, only=only)


def grade_all(
    jobs: Mapping[Key, tuple[str, Callable[[Path], object]]],
    seed: int,
    stop_at_first: bool = False,
    only: Mapping[Key, Sequence[str]] | None = None,
) -> Iterator[tuple[Key, Graded | GraderFault]]:
    """Grade what each job's maker writes into a folder; yields outcomes as they come.

    A job is an assignment's id and a function (picklable) that writes a submission; `only` has patterns of numbers
    for jobs of which not all tests are asked.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=context, max_tasks_per_child=1) as pool:
        waiting: dict[Future[Graded], Key] = {
            pool.submit(_grade_made, identity, make, seed, stop_at_first, (only or {}).get(key, ())): key
            for key, (identity, make) in jobs.items()
        }
        for future in as_completed(waiting):
            try:
                yield waiting[future], future.result()
            except GraderFault as fault:
                yield waiting[future], fault
