"""Folders around a worker: what its interpreter must be able to read, what it must not, how much it wrote."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

from autograder.faults import GraderFault
from autograder.sandbox.limits import MEBIBYTE

ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"} | dict.fromkeys(
    ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"
)
"""All that a worker's processes find in their environment."""

# JAX sizes its pools by NPROC: small, so that many cores do not mean many threads, but never 1, with which the
# interpreter of TPU memories deadlocks in JAX 0.10. Programs of tests run once, so compiling them is what counts.
ENVIRONMENT |= {"NPROC": "4", "JAX_PLATFORMS": "cpu", "JAX_DISABLE_MOST_OPTIMIZATIONS": "1"}


# Libraries of XLA ask what the processor can do, and refuse reductions and products where they get no answer.
_PROCESSOR = ["/proc/cpuinfo", "/sys/devices/system/cpu"]


def readable_folders(python: Path) -> list[str]:
    """What a worker's interpreter may need to read: its environment, its base, the system's libraries."""
    code = "import sys, sysconfig; print(sys.prefix, sys.base_prefix, sysconfig.get_path('stdlib'), sep='\\n')"
    try:
        found = subprocess.run(
            [str(python), "-I", "-c", code], capture_output=True, text=True, check=True, env=ENVIRONMENT
        ).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError) as error:
        raise GraderFault(f"the worker's Python {python.name} does not run: {error}") from error
    prefix, base, stdlib = found[:3]
    folders = [prefix, stdlib, "/usr/lib", "/lib", "/lib64", "/usr/lib64", "/etc/ld.so.cache", "/dev/urandom"]
    folders += _PROCESSOR
    return folders if base in ("/usr", "/") else [*folders, base]


def open_to_others(folder: str) -> bool:
    """Whether any user may enter a folder: every folder on the way to it lets others pass."""
    path = Path(folder).resolve()
    return all(part.stat().st_mode & 0o001 for part in (path, *path.parents))


def folder_mib(folder: str, enough: float) -> float:
    """MiB that a folder takes on disk, counting 4 KiB for each entry; stops looking when it is `enough`."""
    blocks, to_visit = 0, [folder]
    while to_visit and blocks * 512 <= enough * MEBIBYTE:
        with contextlib.suppress(OSError), os.scandir(to_visit.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    blocks += 8 + entry.stat(follow_symlinks=False).st_blocks
                    if entry.is_dir(follow_symlinks=False):
                        to_visit.append(entry.path)
    return blocks * 512 / MEBIBYTE


def close_to_others(folders: Iterable[Path]) -> None:
    """Take the permissions of group and others off folders that a worker must not read."""
    for folder in folders:
        if folder.exists():
            folder.chmod(folder.stat().st_mode & 0o700)
