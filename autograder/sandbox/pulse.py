"""Tells a process that hangs from one that works: by the processor time of all its threads."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path


class Pulse:
    """When a process last ran; one that waits for its turn on a busy machine counts as running."""

    def __init__(self) -> None:
        self._used, self._beat = -1, time.monotonic()

    def still(self, pid: int) -> float:
        """For how many seconds, as far as we looked, no thread of the process has run or wanted to."""
        now = time.monotonic()
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            used = int(fields[11]) + int(fields[12])
            if used != self._used or any(map(_runnable, Path(f"/proc/{pid}/task").iterdir())):
                self._used, self._beat = used, now
        except (OSError, ValueError, IndexError):
            self._beat = now
        return now - self._beat


def _runnable(task: Path) -> bool:
    with contextlib.suppress(OSError, IndexError):
        return (task / "stat").read_text().rpartition(")")[2].split()[0] in "RD"
    return False
