"""Which gaps of a starter are still gaps, whether or not a test asks for them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from autograder.manifest import Manifest

_SHOWN = 12


def unfilled(root: Path, facts: Manifest) -> Iterator[tuple[str, str]]:
    """File and function of each gap that still raises `NotImplementedError`."""
    for name in facts.student_files:
        try:
            tree = ast.parse((root / name).read_bytes())
        except (OSError, SyntaxError, ValueError):
            continue
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef) and any(map(_is_gap, function.body)):
                yield name, function.name


def _is_gap(statement: ast.stmt) -> bool:
    match statement:
        case ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
    return False


def sentence(root: Path, facts: Manifest) -> str:
    """What is still to fill, in a sentence; empty if nothing is."""
    found = list(unfilled(root, facts))
    if not found:
        return ""
    if len(found) > _SHOWN:
        places = [f"{count} in {file}" for file, count in Counter(file for file, _ in found).items()]
    else:
        places = [f"{function} in {file}" for file, function in found]
    count = "1 gap is" if len(found) == 1 else f"{len(found)} gaps are"
    return f"{count} not filled yet: {', '.join(places)}."
