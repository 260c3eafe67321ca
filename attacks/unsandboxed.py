"""The control of an attack: the same payload against a grader without a sandbox."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

from attacks import Attack, Naive, Outcome, naive_grader, with_payload
from attacks.arena import Arena, clear_after
from attacks.catalogue.successes import hangs

NAIVE_PATIENCE, HANGING_PATIENCE = 45.0, 3.0
MAX_READ = 1 << 20


def grade_naively(attack: Attack, control: Naive, arena: Arena) -> Outcome:
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
    clear_after(uid, outcome)
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
