"""Where attacks are fought: one grading with secrets planted in it and everything around it watched.

Gradings happen in processes of their own, several at a time; whoever asks for an outcome waits for it.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import gc
import hashlib
import io
import json
import multiprocessing
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Literal

import msgspec
from rich.console import Console

from attacks import CANARY, Attack, ByHeart, Naive, Outcome, Without, naive_grader, with_payload, write_submission
from attacks.catalogue import ATTACKS, MEMORY_MIB, hangs
from autograder import grading, report
from autograder.project import Assignment
from autograder.sandbox import host
from autograder.sandbox.limits import Defences, Limits
from autograder.terminal import print_graded

SEED, OTHER_SEED = 20260301, 20260302
AT_ONCE = (os.cpu_count() or 1) + 4
PATIENCE = 90.0
NAIVE_PATIENCE, HANGING_PATIENCE = 45.0, 3.0
SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run/lock")
SHARED_MEMORY_KEY = 0x7470756C
MAX_READ = 1 << 20
_SECRET_IN_ENVIRONMENT = "TPULAB_GRADER_SECRET"

BY_NAME = {attack.name: attack for attack in ATTACKS}


@dataclass(frozen=True)
class Job:
    """One grading: of the starter, of an attack in the sandbox, or of its control."""

    assignment: str
    attack: str
    side: Literal["starter", "defended", "control"]


# --- the arena: one grading with secrets planted and everything watched ------------------------------------


class Arena:
    """A folder with a project in it, a bystander process and an open port, all watched during a grading."""

    def __init__(self, base: Path) -> None:
        self.base = base
        base.chmod(0o755)
        self.secret, self.probe_secret = (CANARY + secrets.token_hex(8) for _ in range(2))
        self.temporary, self.results = base / "tmp", base / "results" / "results.json"
        self.elsewhere = base / "elsewhere"
        for folder in (self.temporary, self.results.parent, self.elsewhere):
            folder.mkdir()
        self.results.parent.chmod(0o700)
        self.results.write_text("{}")
        (self.elsewhere / "jax.py").write_text("")
        tempfile.tempdir = str(self.temporary)
        self.grader_secret = os.environ[_SECRET_IN_ENVIRONMENT]
        self.server = socket.create_server(("127.0.0.1", 0))
        self.server.setblocking(False)

    def __enter__(self) -> Arena:
        return self

    def __exit__(self, *_: object) -> None:
        self.server.close()

    @contextlib.contextmanager
    def watching(self, trusted: list[Path], user: int) -> Iterator[dict[str, Any]]:
        """Yields what an attacker is told; afterwards `self.outcome` says what became of the surroundings."""
        self.outcome = Outcome()
        before = _snapshot([*trusted, self.results])
        bystander = subprocess.Popen(["sleep", "300"], user=user)
        try:
            yield {
                "canary": CANARY,
                "answer_mib": Limits().answer_mib,
                "trusted": [str(path) for path in trusted],
                "results": str(self.results),
                "grader_pid": os.getpid(),
                "bystander_pid": bystander.pid,
                "port": self.server.getsockname()[1],
                "elsewhere": str(self.elsewhere),
            }
        finally:
            self.outcome.bystander_died = bystander.poll() is not None
            bystander.kill()
            bystander.wait()
        self.outcome.changed = sorted(
            str(path) for path, state in _snapshot([*trusted, self.results]).items() ^ before.items()
        )
        self.outcome.heard = self._was_called()

    def _was_called(self) -> bool:
        try:
            line, _ = self.server.accept()
        except BlockingIOError:
            return False
        line.close()
        return True


def _snapshot(paths: list[Path]) -> dict[Path, tuple[int, str]]:
    """Mode and digest of every file below some paths."""
    files = [file for path in paths for file in ([path] if path.is_file() else sorted(path.rglob("*")))]
    return {
        file: (file.stat().st_mode, hashlib.sha256(file.read_bytes()).hexdigest())
        for file in files
        if file.is_file()
    }


def _processes_of(uid: int) -> list[int]:
    """Processes of a user, zombies excepted."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                status = (folder / "status").read_text()
                state = status.split("State:")[1].split()[0]
                if state not in "ZX" and int(status.split("Uid:")[1].split()[0]) == uid:
                    found.append(int(folder.name))
    return found


def _clear_after(uid: int, outcome: Outcome) -> None:
    """Note what a user left, and remove it."""
    time.sleep(0.05)
    pids = _processes_of(uid)
    outcome.survivors = len(pids)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, 9)
    for folder in filter(os.path.isdir, SHARED_FOLDERS):
        for entry in os.scandir(folder):
            with contextlib.suppress(FileNotFoundError):
                if entry.stat(follow_symlinks=False).st_uid == uid:
                    outcome.left.append(entry.path)
                    subprocess.run(["rm", "-rf", entry.path], check=True)
    libc = ctypes.CDLL(None)
    segment = libc.shmget(SHARED_MEMORY_KEY, 0, 0)
    if segment >= 0:
        libc.shmctl(segment, 0, None)


# --- our own grader ----------------------------------------------------------------------------------------


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


def _grade_in_sandbox(job: Job, attack: Attack, arena: Arena) -> Outcome:
    original = Assignment(job.assignment)
    assignment = _copy_project(original, attack, arena)
    defences, seed, learnt = Defences(), SEED, {}
    if isinstance(attack.control, ByHeart) and job.side != "starter":
        learnt = {"answers": _learn_answers(assignment, original.solution)}
        seed = SEED if job.side == "control" else OTHER_SEED
    elif isinstance(attack.control, Without) and job.side == "control":
        defences = attack.control.defences
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
        _clear_after(uid, outcome)
        os.close(lock)
    outcome.left += [str(path) for path in arena.temporary.iterdir()]
    if graded is not None:
        _publish(graded, assignment, arena, outcome)
    return outcome


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


# --- naive graders -----------------------------------------------------------------------------------------


def _grade_naively(attack: Attack, control: Naive, arena: Arena) -> Outcome:
    uid = 60_000 + os.getpid() % 4_000
    folder = arena.base / "naive"
    folder.mkdir()
    arena.results = folder / "results.json"
    private = folder / "private.txt"
    private.write_text("expected answers")
    private.chmod(0o600)
    (folder / "submission_metadata.json").write_text(json.dumps({"previous": arena.secret}))
    text = naive_grader.SOLUTION if attack.base == "solution" else naive_grader.STARTER
    with arena.watching([private], user=uid) as known:
        known |= {"grader_pid": 0, **control.settings}
        (folder / "student.py").write_text(with_payload(text, attack.source(known)), "utf-8")
        for path in (folder, *folder.iterdir()):
            os.chown(path, uid, uid)
        outcome = arena.outcome
        patience = HANGING_PATIENCE if control.success is hangs else NAIVE_PATIENCE
        said = _run_naive_grader(control.runner, folder, uid, outcome, patience)
    _clear_after(uid, outcome)
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        results = arena.results.read_text("utf-8")
        said += results[:MAX_READ]
        found = json.loads(results)
        if all(isinstance(test["score"], int | float) for test in found["tests"]):
            outcome.report = found
    outcome.said = said
    outcome.secrets = [arena.secret] if arena.secret in said else []
    return outcome


def _run_naive_grader(runner: str, folder: Path, uid: int, outcome: Outcome, patience: float) -> str:
    """Run it in a session of its own; returns what it printed."""
    log = folder.parent / "log"
    grader = Path(shutil.copy(naive_grader.__file__, folder))
    command = [sys.executable, "-B", str(grader), runner, str(folder), str(uid)]
    environment = {"PATH": os.environ.get("PATH", ""), "LANG": "C.UTF-8", "OPENBLAS_NUM_THREADS": "1"}
    with log.open("wb") as stream:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=stream, stderr=stream, start_new_session=True
        )
    deadline = time.monotonic() + patience
    while True:
        pid, _, usage = os.wait4(process.pid, 0 if outcome.hung else os.WNOHANG)
        if pid:
            break
        if time.monotonic() > deadline:
            outcome.hung = True
            os.killpg(process.pid, 9)
        time.sleep(0.02)
    process.returncode = 0
    outcome.peak_mib = usage.ru_maxrss / 1024
    with log.open("rb") as stream:
        return stream.read(MAX_READ).decode("utf-8", "replace")


# --- several gradings at a time ----------------------------------------------------------------------------


def fight(job: Job, answer: Connection) -> None:
    """Do one job and send what came of it. Runs in a process of its own."""
    warnings.simplefilter("default")
    gc.freeze()
    attack = BY_NAME[job.attack]
    base = Path(tempfile.mkdtemp(prefix="tpulab-arena-", dir="/tmp"))
    try:
        with Arena(base) as arena:
            control = attack.control
            if job.side == "control" and isinstance(control, Naive):
                outcome = _grade_naively(attack, control, arena)
            else:
                outcome = _grade_in_sandbox(job, attack, arena)
                outcome.peak_mib = _own_peak_mib()
    finally:
        subprocess.run(["rm", "-rf", str(base)], check=True)
    answer.send(outcome)


def _own_peak_mib() -> float:
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


class Schedule:
    """Runs jobs a few at a time; `outcome(job)` waits for one."""

    def __init__(self, jobs: list[Job]) -> None:
        os.environ.setdefault(_SECRET_IN_ENVIRONMENT, CANARY + secrets.token_hex(8))
        self.waiting, self.done = list(dict.fromkeys(jobs)), dict[Job, Outcome]()
        self.running: dict[Connection, tuple[Job, Any, float]] = {}
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(
            ["attacks.catalogue", "autograder.terminal", "autograder.report", __name__]
        )

    def outcome(self, job: Job) -> Outcome:
        """What came of a job, as soon as it is known."""
        if (
            job not in self.waiting
            and job not in self.done
            and job not in [run[0] for run in self.running.values()]
        ):
            self.waiting.insert(0, job)
        while job not in self.done:
            self._step()
        return self.done[job]

    def _step(self) -> None:
        while self.waiting and len(self.running) < AT_ONCE:
            job = self.waiting.pop(0)
            ours, theirs = self.context.Pipe(duplex=False)
            process = self.context.Process(target=fight, args=(job, theirs))
            process.start()
            theirs.close()
            self.running[ours] = (job, process, time.monotonic() + PATIENCE)
        for ready in wait(list(self.running), timeout=0.1):
            assert isinstance(ready, Connection)
            job, process, _ = self.running.pop(ready)
            try:
                self.done[job] = ready.recv()
            except EOFError:
                self.done[job] = Outcome(problem="the grading process died")
            process.join()
        for connection, (job, process, deadline) in list(self.running.items()):
            if time.monotonic() > deadline:
                process.kill()
                self.running.pop(connection)
                self.done[job] = Outcome(problem="grading did not end", hung=True)

    def close(self) -> None:
        """End what still runs."""
        for _, process, _ in self.running.values():
            process.kill()
