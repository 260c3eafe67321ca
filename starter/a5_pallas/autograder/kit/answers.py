"""Answers of the paper exercises: read from the notebook's tagged cells as literals, never executed.

An answer cell has the tag `answer-NAME` and assigns one literal: `answer = 3`, `answer = ["a", "c"]`,
`answer = \"\"\"{ lambda ; ... }\"\"\"`.
"""

from __future__ import annotations

import ast
import json
from typing import Any, TypeVar

from autograder.kit.verdicts import MalformedAnswer, NotStarted

MAX_CELL = 8_000
Kind = TypeVar("Kind")


class Answers:
    """The answers in one notebook; `None` stands for a notebook that is not there."""

    def __init__(self, notebook: bytes | None) -> None:
        self._cells: dict[str, str] = {}
        self._problem = ""
        if notebook is None:
            self._problem = "the notebook is missing"
            return
        try:
            for cell in json.loads(notebook)["cells"]:
                source = cell.get("source", "")
                for tag in cell.get("metadata", {}).get("tags", []):
                    if str(tag).startswith("answer-"):
                        name = str(tag).removeprefix("answer-")
                        self._cells[name] = source if isinstance(source, str) else "".join(map(str, source))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            self._problem = f"the notebook cannot be read ({type(error).__name__}): save it again from Jupyter"

    def get(self, name: str, kind: type[Kind]) -> Kind:
        """The answer called `name`, which must be a `kind`. Verdicts for one that is missing or malformed."""
        __tracebackhide__ = True
        if self._problem and name not in self._cells:
            raise MalformedAnswer(f"No answer: {self._problem}.")
        if name not in self._cells:
            raise MalformedAnswer(
                f"The notebook has no cell tagged answer-{name}: take it from the starter again."
            )
        value = _literal(self._cells[name], name)
        if value is None:
            raise NotStarted(f"exercise {name}")
        if kind is float and type(value) is int:
            value = float(value)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            got = type(value).__name__
            raise MalformedAnswer(f"The answer of exercise {name} must be a {kind.__name__}, not a {got}.")
        return value


def _literal(source: str, name: str) -> Any:
    """The value of the cell's single assignment to `answer`."""
    must = f"The answer cell of exercise {name} must hold one line of the form `answer = <literal>`"
    if len(source) > MAX_CELL:
        raise MalformedAnswer(f"{must}, of at most {MAX_CELL:,} characters.")
    try:
        statements = ast.parse(source).body
        if len(statements) != 1 or not isinstance(statements[0], ast.Assign):
            raise MalformedAnswer(f"{must} and nothing else.")
        return ast.literal_eval(statements[0].value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise MalformedAnswer(f"{must}; Python says: {error}.") from None
