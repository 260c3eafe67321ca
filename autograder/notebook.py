"""Builds an assignment's notebook from its `notebook.md` and its paper exercises.

Prose becomes Markdown cells and each ```python block a code cell. A line `{{exercise NAME}}` becomes a paper
exercise: its prompt, and a cell for the answer with the tags by which the grader finds it.
"""

from __future__ import annotations

import re

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from autograder.paper import Exercise, exercises_of
from autograder.project import Assignment

SOURCE = "notebook.md"
_PIECE = re.compile(r"^```python\n(?P<code>.*?)^```$|^\{\{exercise (?P<name>.+?)\}\}$", re.MULTILINE | re.DOTALL)
_KEPT = {"deletable": False}  # Jupyter will not delete such a cell by accident


class NotebookError(ValueError):
    """A `notebook.md` that does not match its exercises; the message says what to mend."""


def build(assignment: Assignment, answered: bool) -> bytes:
    """The notebook as a file: with the answers if `answered`, else with gaps; the same bytes every time.

    Raises `NotebookError` for an exercise that is unknown, and for one that is left out or stands there twice.
    """
    path = assignment.folder / SOURCE
    text = path.read_text("utf-8")
    exercises = {exercise.name: exercise for exercise in exercises_of(assignment)}
    cells: list[nbformat.NotebookNode] = []
    placed: list[str] = []
    end = 0

    def prose(words: str) -> None:
        if words.strip():
            cells.append(new_markdown_cell(words.strip()))

    for piece in _PIECE.finditer(text):
        prose(text[end : piece.start()])
        end = piece.end()
        name = piece["name"]
        if name is None:
            cells.append(new_code_cell(piece["code"].rstrip()))
        elif name not in exercises:
            raise NotebookError(f"{path}: there is no exercise {name!r}; there are: {', '.join(exercises)}")
        else:
            placed.append(name)
            cells += _exercise_cells(exercises[name], answered)
    prose(text[end:])
    if sorted(placed) != sorted(exercises):
        known, found = ", ".join(exercises), ", ".join(placed)
        raise NotebookError(f"{path}: place each exercise once; there are {known}; placed are {found}")
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number:03}"
    return _file(cells)


def _exercise_cells(exercise: Exercise, answered: bool) -> list[nbformat.NotebookNode]:
    """The prompt and the answer cell of a paper exercise."""
    prompt = f"### {exercise.title}\n\n{exercise.prompt}\n\nYour answer: {exercise.form}."
    answer = _literal(exercise.answer) if answered else f"None  # {exercise.form}"
    tags = ["answer", f"answer-{exercise.name}"]
    return [
        new_markdown_cell(prompt, metadata=nbformat.from_dict(_KEPT)),
        new_code_cell(f"answer = {answer}", metadata=nbformat.from_dict({**_KEPT, "tags": tags})),
    ]


def _literal(answer: object) -> str:
    """The answer as Python source; a text of several lines is shown as such."""
    if isinstance(answer, str) and "\n" in answer and "\\" not in answer and '"' not in answer:
        return f'"""{answer}"""'
    return repr(answer)


def _file(cells: list[nbformat.NotebookNode]) -> bytes:
    """A valid notebook of version 4.5 with these cells, no outputs, and nothing that changes from run to run."""
    python = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": python, "language_info": {"name": "python"}}
    notebook = new_notebook(cells=cells, metadata=nbformat.from_dict(metadata), nbformat_minor=5)
    nbformat.validate(notebook)
    return (nbformat.writes(notebook, version=4).rstrip("\n") + "\n").encode()
