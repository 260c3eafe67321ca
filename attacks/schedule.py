"""Several gradings at a time, each in a process of its own; whoever asks for an outcome waits for it."""

from __future__ import annotations

import gc
import multiprocessing
import os
import secrets
import subprocess
import tempfile
import time
import warnings
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from attacks import CANARY, Job, Naive, Outcome
from attacks.arena import SECRET_IN_ENVIRONMENT, Arena
from attacks.catalogue import ATTACKS
from attacks.sandboxed import grade_in_sandbox
from attacks.unsandboxed import grade_naively

AT_ONCE = (os.cpu_count() or 1) + 4
PATIENCE = 90.0

BY_NAME = {attack.name: attack for attack in ATTACKS}


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
                outcome = grade_naively(attack, control, arena)
            else:
                outcome = grade_in_sandbox(job, attack, arena)
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
        os.environ.setdefault(SECRET_IN_ENVIRONMENT, CANARY + secrets.token_hex(8))
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
