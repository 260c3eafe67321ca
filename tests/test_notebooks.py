"""Notebooks are valid, the same every time, and run: the answered one to its end, the starter's up to the gaps."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import pytest

from autograder import notebook, project, samples
from autograder.kit.answers import Answers
from autograder.kit.verdicts import NotStarted
from autograder.paper import exercises_of
from autograder.project import Assignment

NAMES = [name for name in project.names() if (Assignment(name).folder / notebook.SOURCE).is_file()]

# Runs in a process of its own, so that Jupyter's sockets and event loops do not outlive it. Without folders to
# look in, the one kernel that there is belongs to the interpreter that runs this.
EXECUTE = """
import sys, nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient

kernels = KernelSpecManager(kernel_dirs=[])
assert kernels.get_kernel_spec("python3").argv[0] == sys.executable
manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=kernels)
book = nbformat.read(sys.stdin, as_version=4)
NotebookClient(book, km=manager, timeout=120, allow_errors=True).execute()
nbformat.write(book, sys.stdout)
"""


@pytest.fixture(params=NAMES)
def assignment(request: pytest.FixtureRequest) -> Assignment:
    """Each assignment that has a notebook."""
    return Assignment(request.param)


def run(content: bytes, folder: Path, environment: dict[str, str]) -> Any:
    """The notebook, executed to its end in a folder; what Jupyter keeps for itself lies there, too."""
    homes = ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR", "MPLCONFIGDIR")
    env = {**environment, **{name: str(folder / name.lower()) for name in homes}}
    command = [sys.executable, "-W", "ignore", "-c", EXECUTE]
    done = subprocess.run(command, input=content, cwd=folder, env=env, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()[-3000:]
    return nbformat.reads(done.stdout.decode(), as_version=4)


def errors(book: Any) -> list[Any]:
    """What cells raised."""
    outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
    return [output for output in outputs if output.output_type == "error"]


def test_the_answered_notebook_runs(assignment: Assignment, tmp_path: Path, environment_for: Any) -> None:
    samples.copy_starter(assignment, tmp_path)
    for name in assignment.facts.student_files:
        (tmp_path / name).write_bytes((assignment.solution / name).read_bytes())
    book = run(notebook.build(assignment, answered=True), tmp_path, environment_for(assignment))
    assert [f"{error.ename}: {error.evalue}" for error in errors(book)] == []
    assert any(cell.get("outputs") for cell in book.cells), "the tour shows nothing"


def test_the_starters_notebook_stops_only_at_the_gaps(
    assignment: Assignment, tmp_path: Path, environment_for: Any
) -> None:
    samples.copy_starter(assignment, tmp_path)
    book = run(notebook.build(assignment, answered=False), tmp_path, environment_for(assignment))
    found = [f"{error.ename}: {error.evalue}" for error in errors(book)]
    assert found, "no cell of the tour calls a part that is to be written"
    assert [text for text in found if not text.startswith("NotImplementedError: ")] == []


@pytest.mark.parametrize("answered", [True, False])
def test_building_again_gives_the_same_valid_file(assignment: Assignment, answered: bool) -> None:
    content = notebook.build(assignment, answered)
    assert content == notebook.build(assignment, answered)
    assert content.endswith(b"}\n")
    assert b"\r" not in content
    book = json.loads(content)
    assert (book["nbformat"], book["nbformat_minor"]) == (4, 5)
    nbformat.validate(book)
    ids = [cell["id"] for cell in book["cells"]]
    assert len(set(ids)) == len(ids)
    assert all(cell["outputs"] == [] for cell in book["cells"] if cell["cell_type"] == "code")


def test_the_grader_reads_the_answers_and_the_gaps(assignment: Assignment) -> None:
    answered, gaps = (Answers(notebook.build(assignment, answered)) for answered in (True, False))
    for exercise in exercises_of(assignment):
        assert answered.get(exercise.name, type(exercise.answer)) == exercise.answer
        with pytest.raises(NotStarted):
            gaps.get(exercise.name, type(exercise.answer))


def test_gaps_do_not_show_the_answers(assignment: Assignment) -> None:
    cells = json.loads(notebook.build(assignment, answered=False))["cells"]
    for cell in cells:
        if "answer" in cell["metadata"].get("tags", []):
            assert "".join(cell["source"]).startswith("answer = None  # ")


def test_an_exercise_must_be_placed_once(assignment: Assignment, tmp_path: Path) -> None:
    text = (assignment.folder / notebook.SOURCE).read_text("utf-8")
    name = exercises_of(assignment)[0].name
    line = f"{{{{exercise {name}}}}}\n"
    assignment.folder = tmp_path
    for changed in (text.replace(line, ""), text + "\n" + line, text.replace(name + "}}", "nonsense}}")):
        (tmp_path / notebook.SOURCE).write_text(changed, "utf-8")
        with pytest.raises(notebook.NotebookError, match="exercise"):
            notebook.build(assignment, answered=False)
