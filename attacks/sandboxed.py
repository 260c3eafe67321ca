"""An attack on our own grader: a copy of the project with secrets in its tests, graded in the sandbox."""

from __future__ import annotations

import ast
import hashlib
import io
import json
import os
import shutil
from pathlib import Path

import msgspec
from rich.console import Console

from attacks import Attack, ByHeart, Job, Outcome, Unjudged, Without, write_submission
from attacks.arena import Arena, clear_after
from attacks.catalogue.successes import MEMORY_MIB
from autograder import grading, report
from autograder.project import Assignment
from autograder.sandbox import host
from autograder.sandbox.limits import Defences
from autograder.terminal import print_graded

SEED, OTHER_SEED = 20260301, 20260302


def _copy_project(assignment: Assignment, attack: Attack, arena: Arena) -> Assignment:
    """The parts of the project that grading needs, with the tests of an attack and secrets in the hidden ones."""
    root = arena.base / "project"
    for name in ("assignments", "starter"):
        (root / name).mkdir(parents=True)
        (root / name / assignment.id).symlink_to(assignment.root / name / assignment.id)
    for environment in assignment.root.glob(".venv-*"):
        (root / environment.name).symlink_to(environment)
    wanted = chosen_tests(assignment, attack)
    tests = root / "grading_tests" / assignment.id
    for path in [*assignment.tests.glob("*.py"), *assignment.tests.glob("*/test_*.py")]:
        text = path.read_text("utf-8")
        if path.parent == assignment.tests or any(f"def {name}(" in text for name in wanted):
            target = tests / path.relative_to(assignment.tests)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_with_secrets(text, arena) if target.parent.name == "hidden" else text, "utf-8")
    for path in assignment.tests.glob("hidden/*.json"):
        target = tests / "hidden" / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    (tests / "conftest.py").write_text(_SELECTION.format(wanted=wanted))
    (tests / "submission_metadata.json").write_text(json.dumps({"previous": [arena.secret]}))
    copy = Assignment(assignment.id, root)
    memory = MEMORY_MIB * (2 if copy.facts.worker.environment == "worker-jax" else 1)  # JAX alone takes a part
    worker = msgspec.structs.replace(
        copy.facts.worker, seconds=attack.seconds, memory_mib=memory, total_seconds=60.0
    )
    copy.facts = msgspec.structs.replace(copy.facts, worker=worker)
    return copy


_SELECTION = '''"""Keeps a few tests, and of each the first case."""


def pytest_collection_modifyitems(items):
    first = {{}}
    for item in items:
        first.setdefault(item.function.__name__, item)
    items[:] = [item for name, item in first.items() if name in {wanted}]
'''


def _with_secrets(text: str, arena: Arena) -> str:
    """Hidden tests with one secret in the file, and another in every probe's source."""
    lines = text.splitlines(keepends=True)
    for node in reversed(ast.parse(text).body):
        if isinstance(node, ast.FunctionDef) and any(ast.unparse(d) == "probe" for d in node.decorator_list):
            lines.insert(node.body[0].lineno - 1, " " * node.body[0].col_offset + f"# {arena.probe_secret}\n")
    return "".join([*lines, f"\nSECRET = {arena.secret!r}\n"])


def chosen_tests(assignment: Assignment, attack: Attack) -> list[str]:
    """Names of the tests to ask: visible and hidden ones of the first files, of the usual kinds."""
    if attack.tests:
        return list(attack.tests)
    visible, hidden = (_test_functions(assignment.tests / kind) for kind in ("visible", "hidden"))
    drawn = [test for test in visible if _is_drawn(test)]
    if isinstance(attack.control, ByHeart):
        seeded = [test for test in visible if any(argument.arg == "rng" for argument in test.args.args)]
        return [test.name for test in (drawn or seeded)[:1]]
    once = [test for test in visible if not _is_drawn(test)]
    refusing = [test for test in visible if "student.error(" in ast.unparse(test)]
    hidden_once = [test for test in hidden if not _is_drawn(test)]
    chosen = (refusing or once)[:1] + hidden_once[:1] + ([] if attack.slow else drawn[:1])
    return [test.name for test in chosen]


def _is_drawn(test: ast.FunctionDef) -> bool:
    """Whether hypothesis asks the test's question many times."""
    return any("given(" in ast.unparse(decorator) for decorator in test.decorator_list)


def _test_functions(folder: Path) -> list[ast.FunctionDef]:
    """Tests that ask the student, of the first file that has any."""
    for path in sorted(folder.glob("test_*.py")):
        functions = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)]
        tests = [function for function in functions if function.name.startswith("test_")]
        asking = [test for test in tests if any(a.arg == "student" for a in test.args.args)]
        if asking:
            return asking
    raise LookupError(f"no test in {folder} asks the student")


def grade_in_sandbox(job: Job, attack: Attack, arena: Arena) -> Outcome:
    original = Assignment(job.assignment)
    assignment = _copy_project(original, attack, arena)
    defences, seed, learnt = Defences(), SEED, {}
    if isinstance(attack.control, ByHeart) and job.side != "starter":
        learnt = {"answers": _learn_answers(assignment, original.solution)}
        seed = SEED if job.side == "control" else OTHER_SEED
    elif isinstance(attack.control, Without) and job.side == "control":
        defences = attack.control.defences
    elif isinstance(attack.control, Unjudged) and job.side == "control":
        _pass_everything(assignment, attack.control)
    uids = _note_uids()
    submission = arena.base / "submission"
    with arena.watching([assignment.root / "grading_tests"], user=0) as known:
        if job.side == "starter":
            submission = original.starter
        else:
            base = original.solution if attack.base == "solution" else original.starter
            write_submission(attack, assignment.facts, base, submission, known | learnt)
        graded, problem = None, ""
        try:
            graded = grading.grade(assignment, submission, seed, defences)
        except BaseException as error:
            problem = f"{type(error).__name__}: {error}"
    outcome = arena.outcome
    outcome.problem = problem
    for uid, lock in uids.items():
        clear_after(uid, outcome)
        os.close(lock)
    outcome.left += [str(path) for path in arena.temporary.iterdir()]
    if graded is not None:
        _publish(graded, assignment, arena, outcome)
    return outcome


def _pass_everything(assignment: Assignment, control: Unjudged) -> None:
    """Let one function of the copied judge do nothing."""
    path = assignment.tests / f"{control.module}.py"
    text = path.read_text("utf-8")
    assert f"\ndef {control.function}(" in text, f"{path.name} has no function {control.function}"
    path.write_text(f"{text}\n\ndef {control.function}(*_, **__):\n    pass\n", "utf-8")


def _note_uids() -> dict[int, int]:
    """The user ids that sandboxes will take in this process, each with a lock that keeps others from it."""
    uids: dict[int, int] = {}
    claim = host.Sandbox._claim_uid

    def noted(self: host.Sandbox) -> int:
        uid = claim(self)
        assert self._uid_lock is not None
        uids[uid] = os.dup(self._uid_lock)
        return uid

    host.Sandbox._claim_uid = noted  # type: ignore[method-assign]
    return uids


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _publish(graded: grading.Graded, assignment: Assignment, arena: Arena, outcome: Outcome) -> None:
    """Write the report as Gradescope gets it and as a terminal shows it, and look for secrets in both."""
    terminal = io.StringIO()
    report.write(report.gradescope(graded), arena.results)
    print_graded(Console(file=terminal, width=160), assignment.facts, graded)
    text = arena.results.read_text("utf-8")
    outcome.report = json.loads(text, parse_constant=_refuse_constant)
    outcome.said = text + terminal.getvalue()
    places = {arena.secret: outcome.said, arena.grader_secret: outcome.said, arena.probe_secret: text}
    outcome.secrets = [secret for secret, place in places.items() if secret in place]


def _learn_answers(assignment: Assignment, solution: Path) -> dict[str, bytes]:
    """What the solution answers to each question of the tests on SEED."""
    answers: dict[str, bytes] = {}
    ask = host.Worker.ask

    def listen(worker: host.Worker, request: bytes) -> bytes:
        answer = ask(worker, request)
        _, probe, arguments = msgspec.msgpack.decode(request)
        if isinstance(probe, msgspec.msgpack.Ext):
            digest = hashlib.sha256(probe.data + msgspec.msgpack.encode(arguments)).hexdigest()
            answers[digest] = answer
        return answer

    host.Worker.ask = listen  # type: ignore[method-assign]
    try:
        grading.grade(assignment, solution, SEED)
    finally:
        host.Worker.ask = ask  # type: ignore[method-assign]
    return answers
