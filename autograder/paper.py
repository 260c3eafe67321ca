"""Paper exercises: questions whose numbers are drawn from the class seed, with their answers.

An assignment has them in `grading_tests/<id>/paper.py`, as `exercises(seed) -> list[Exercise]`. The notebook
shows the prompts; the answers go into the solution's notebook and into the checks, never to students.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

import msgspec

from autograder.manifest import ManifestError
from autograder.project import Assignment


class Exercise(msgspec.Struct, frozen=True):
    """One question: `prompt` is Markdown, `form` says in a line what kind of literal the answer is."""

    name: str
    title: str
    prompt: str
    form: str
    answer: Any


def exercises_of(assignment: Assignment) -> list[Exercise]:
    """The assignment's exercises for its class seed; none if it has no `paper.py`."""
    path = assignment.tests / "paper.py"
    if not path.is_file():
        return []
    spec = importlib.util.spec_from_file_location(f"tpulab_paper_{assignment.id}", path)
    if spec is None or spec.loader is None:
        raise ManifestError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(assignment.tests))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(assignment.tests))
    return module.exercises(assignment.facts.paper_seed)
