"""Hostile submissions: what an attack is, how it becomes a submission, and what can come of it.

Every attack has a control, which shows that it is one: the same payload gets what it wants from a naive
grader, or from our own sandbox with the defence against it switched off. An attack that fails everywhere
proves nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from autograder.manifest import Manifest
from autograder.sandbox.limits import Defences

PAYLOADS = Path(__file__).with_name("payloads")
CANARY = "tpulab-canary-"
"""How every planted secret begins. Payloads know this much, to find one; the rest is drawn for each run."""


@dataclass
class Outcome:
    """What one grading came to, as seen from outside."""

    report: dict[str, Any] | None = None
    """The results as Gradescope gets them; None if there were none, or no valid ones."""
    problem: str = ""
    """Why there is no report."""
    said: str = ""
    """All that students or staff can read: the report's JSON and the terminal."""
    secrets: list[str] = field(default_factory=list)
    """Canaries that can be read where they must not be."""
    survivors: int = 0
    """Processes of the submission's user that were still alive after grading."""
    left: list[str] = field(default_factory=list)
    """Files of the submission's user in folders that everybody may write to."""
    changed: list[str] = field(default_factory=list)
    """Trusted files whose content or mode changed."""
    heard: bool = False
    """Whether somebody outside was reached over the network."""
    bystander_died: bool = False
    """Whether a process died that has nothing to do with the submission."""
    hung: bool = False
    """Whether grading had to be ended from outside."""
    peak_mib: float = 0.0
    """The largest resident size of the process that grades."""

    @property
    def score(self) -> float:
        """Points of all tests together."""
        return sum(test["score"] for test in self.report["tests"]) if self.report else 0.0


Success = Callable[[Outcome], bool]


@dataclass(frozen=True)
class Naive:
    """A control in a grader without a sandbox: one of the runners of `naive_grader`."""

    runner: Literal["unittest", "pytest", "script", "child"]
    success: Success
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Without:
    """A control in our sandbox with a defence switched off. `why` says so where it takes more than one."""

    defences: Defences
    success: Success
    why: str = ""


@dataclass(frozen=True)
class Unjudged:
    """A control in our sandbox where one function of the assignment's judge passes whatever it is shown.

    For attacks on evidence: what stops them is not a wall, but what the trusted side does with what it gets.
    """

    module: str
    function: str
    success: Success


@dataclass(frozen=True)
class ByHeart:
    """A control in our sandbox as it is, on the seed whose answers the submission has learnt."""

    success: Success


@dataclass(frozen=True)
class Attack:
    """A hostile submission: a payload put at the head of a student's file."""

    name: str
    tries: str
    control: Naive | Without | Unjudged | ByHeart
    payload: str = ""
    """Name of the file in `payloads/`, if it is not the attack's."""
    uses: tuple[str, ...] = ()
    """Shared pieces of `payloads/` that go before the payload."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What the payload finds in `_KNOWN`, besides what every attacker is told."""
    assignments: tuple[str, ...] | None = None
    """Where it applies; None for all there are and all there will be."""
    file: str | None = None
    """The student's file that carries it; the first one if None."""
    base: Literal["starter", "solution"] = "starter"
    tests: tuple[str, ...] = ()
    """The tests to ask; a few typical ones if empty."""
    slow: bool = False
    """Takes its time at every question, so that tests which ask many are left out."""
    seconds: float = 10.0
    """The time limit of a test; short where the attack uses all of it."""
    weakness: str = ""
    """Why the grader does not withstand it yet. Its test must fail, and says so once it does not."""

    def applies_to(self, assignment: str) -> bool:
        """Whether the attack is one on this assignment."""
        return self.assignments is None or assignment in self.assignments

    def source(self, known: Mapping[str, Any]) -> str:
        """The payload's text, with what the attacker knows as a literal at its head."""
        pieces = [*self.uses, self.payload or self.name]
        texts = [(PAYLOADS / f"{piece}.py").read_text("utf-8") for piece in pieces]
        return "\n".join([f"_KNOWN = {dict(self.settings) | dict(known)!r}", *texts])


@dataclass(frozen=True)
class Job:
    """One grading: of the starter, of an attack in the sandbox, or of its control."""

    assignment: str
    attack: str
    side: Literal["starter", "defended", "control"]


def with_payload(source: str, payload: str) -> str:
    """A module's source with the payload at its head, after the docstring and `from __future__` lines."""
    head = 0
    for index, node in enumerate(ast.parse(source).body):
        docstring = index == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if not docstring and not (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
            break
        head = node.end_lineno or 0
    lines = source.splitlines(keepends=True)
    return "".join([*lines[:head], "\n", payload, "\n", *lines[head:]])


def write_submission(attack: Attack, facts: Manifest, base: Path, folder: Path, known: Mapping[str, Any]) -> None:
    """Write the hostile submission into `folder`: the student's files of `base`, one with the payload."""
    target = attack.file or facts.student_files[0]
    for name in facts.student_files:
        text = (base / name).read_text("utf-8")
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(with_payload(text, attack.source(known)) if name == target else text, "utf-8")
