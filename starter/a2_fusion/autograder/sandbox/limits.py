"""What a worker may use, and which defences are in force.

Every limit is the parent's: the worker cannot catch, postpone or raise it.
"""

from __future__ import annotations

import resource
from typing import Any

import msgspec

MEBIBYTE = 1 << 20


class Limits(msgspec.Struct, frozen=True):
    """Limits of one test. Times in seconds of wall clock, sizes in MiB.

    `hang_seconds`: after so long without any work a worker counts as hanging; 0 means never.
    """

    seconds: float = 10.0
    hang_seconds: float = 0.0
    memory_mib: int = 512
    answer_mib: int = 2
    output_kib: int = 64
    file_mib: int = 16
    folder_mib: int = 64
    open_files: int = 64
    threads: int = 64


class Defences(msgspec.Struct, frozen=True):
    """Switches for the proofs: each attack must succeed when the defence against it is off.

    Grading never turns one off; only the tests of the grader do, to show that a defence is what stops an
    attack.
    """

    uid: bool = True
    rlimits: bool = True
    memory_watch: bool = True
    seccomp: bool = True
    landlock: bool = True
    sweep: bool = True
    fresh_fork: bool = True


def apply_rlimits(limits: Limits, headroom_mib: int = 0) -> None:
    """Set hard resource limits on the calling process. `headroom_mib` is what it already holds."""
    data = (limits.memory_mib + headroom_mib) * MEBIBYTE
    wanted: list[tuple[int, int]] = [
        (resource.RLIMIT_DATA, data),
        (resource.RLIMIT_FSIZE, limits.file_mib * MEBIBYTE),
        (resource.RLIMIT_NOFILE, limits.open_files),
        (resource.RLIMIT_NPROC, limits.threads),
        (resource.RLIMIT_CPU, int(limits.seconds) + 30),
        (resource.RLIMIT_CORE, 0),
    ]
    for name in ("RLIMIT_MSGQUEUE", "RLIMIT_MEMLOCK"):
        if hasattr(resource, name):
            wanted.append((getattr(resource, name), 0))
    for which, value in wanted:
        _, hard = resource.getrlimit(which)
        ceiling = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(which, (ceiling, ceiling))


def as_data(struct: msgspec.Struct) -> dict[str, Any]:
    """The struct as a plain dict, to cross into the zygote."""
    return msgspec.to_builtins(struct)
