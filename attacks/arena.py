"""Where one attack is fought: secrets are planted, and everything around the grading is watched."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import secrets
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attacks import CANARY, Outcome
from autograder.sandbox.limits import Limits

SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run/lock")
SHARED_MEMORY_KEY = 0x7470756C
SECRET_IN_ENVIRONMENT = "TPULAB_GRADER_SECRET"


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
        self.grader_secret = os.environ[SECRET_IN_ENVIRONMENT]
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


def clear_after(uid: int, outcome: Outcome) -> None:
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
