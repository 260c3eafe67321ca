"""The zygote: a small process that imports NumPy once and forks a worker for every test.

It is exec'd (never forked from the checks' process), so it holds no test, no solution and no result. It
keeps its privileges in order to give each worker an unprivileged user of its own, to kill whatever that
user left behind after a test, and to wipe the scratch folder. Requests come as datagrams of msgpack over
the control socket, with the descriptors of the new worker's socket and output pipe attached.

Run as `python -I zygote.py CONTROL_FD`.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import msgspec

from autograder.sandbox import landlock, limits, seccomp, worker

PRELOAD = (
    "abc ast base64 bisect collections.abc contextlib copy copyreg dataclasses datetime decimal dis enum "
    "fractions functools gc hashlib heapq inspect io itertools json keyword linecache math numbers "
    "operator pathlib pprint queue random re reprlib statistics string struct symtable tempfile textwrap "
    "threading time tokenize traceback types typing unittest uuid warnings weakref encodings.ascii "
    "encodings.idna encodings.latin_1 encodings.utf_8_sig encodings.unicode_escape py_compile ml_dtypes numpy "
    "numpy.fft numpy.lib.stride_tricks numpy.linalg numpy.ma numpy.polynomial numpy.random numpy.testing "
    "numpy.typing"
).split()

# Modules that do something when imported, need a screen, or are tools rather than a library.
_NOT_PRELOADED = set(
    "antigravity this idlelib turtle turtledemo tkinter test lib2to3 ensurepip venv pip distutils asyncio imp "
    "concurrent multiprocessing sqlite3 dbm curses xmlrpc wsgiref webbrowser nntplib smtpd asyncore "
    "asynchat".split()
)
_PR_SET_CHILD_SUBREAPER = 36
_SHARED_FOLDERS = ("/tmp", "/var/tmp", "/dev/shm", "/run/lock")


class Setup(msgspec.Struct, frozen=True):
    """What the zygote is told once: folders, the worker's user, which defences to raise."""

    work: str
    scratch: str
    uid: int | None
    readable: list[str]
    defences: limits.Defences
    preload: list[str] = []
    whole_library: bool = False


class Zygote:
    """Forks workers and cleans up after them."""

    def __init__(self, control: socket.socket, setup: Setup) -> None:
        self.control, self.setup = control, setup
        self.in_force: list[str] = []
        self.headroom_mib = _data_mib()
        self.ruleset: int | None = None
        self.counter = 0
        self.folder = Path(setup.scratch)

    def prepare(self) -> dict[str, Any]:
        """Raise what can be raised once, and say which defences will be in force."""
        setup, on = self.setup, self.setup.defences
        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        if setup.uid is not None:
            self.in_force.append("uid")
        if on.rlimits:
            self.in_force.append("rlimits")
        if on.landlock and landlock.abi() > 0:
            with contextlib.suppress(OSError):
                self.ruleset = landlock.ruleset([setup.work, *setup.readable], [setup.scratch, "/dev/null"])
                self.in_force.append("landlock")
        if on.seccomp and seccomp.supported():
            self.in_force.append("seccomp")
        return {"in_force": self.in_force, "cache_tag": sys.implementation.cache_tag}

    def fork(self, test_limits: limits.Limits, call: int, output: int) -> int:
        """Start a worker on the two descriptors; returns its process id."""
        self.counter += 1
        self.folder = Path(self.setup.scratch) / str(self.counter)
        self.folder.mkdir(mode=0o700)
        if self.setup.uid is not None:
            os.chown(self.folder, self.setup.uid, self.setup.uid)
        pid = os.fork()
        if pid == 0:
            try:
                self._become_worker(test_limits, call, output)
            except BaseException as error:
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
                os._exit(1)
            os._exit(0)
        return pid

    def _become_worker(self, test_limits: limits.Limits, call: int, output: int) -> None:
        self.control.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        null = os.open("/dev/null", os.O_RDONLY)
        for source, target in ((null, 0), (output, 1), (output, 2)):
            os.dup2(source, target)
        os.close(null)
        os.close(output)
        sys.stdout, sys.stderr = (
            open(fd, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False) for fd in (1, 2)
        )
        os.setsid()
        os.chdir(self.folder)
        os.environ["TMPDIR"] = os.environ["HOME"] = str(self.folder)
        sock = socket.socket(fileno=call)
        self._drop_privileges(test_limits)
        sys.path.insert(0, self.setup.work)
        worker.serve(sock, Path(self.setup.work), test_limits.answer_mib * limits.MEBIBYTE)

    def _drop_privileges(self, test_limits: limits.Limits) -> None:
        with contextlib.suppress(OSError):
            Path("/proc/self/oom_score_adj").write_text("1000")
        if self.setup.defences.rlimits:
            limits.apply_rlimits(test_limits, self.headroom_mib)
        uid = self.setup.uid
        if uid is not None:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
        os.umask(0o077)
        if self.ruleset is None and "seccomp" not in self.in_force:
            return
        seccomp.no_new_privs()
        if self.ruleset is not None:
            landlock.enter(self.ruleset)
            os.close(self.ruleset)
        if "seccomp" in self.in_force:
            seccomp.install()

    def end(self, pid: int, patience: float) -> dict[str, Any]:
        """Reap the worker, kill all that its user still runs, wipe what it wrote."""
        status = _reap(pid, patience)
        if self.setup.defences.sweep:
            if self.setup.uid is not None:
                if _has_children():
                    _kill_all_of(self.setup.uid)
                if self.ruleset is None:
                    _wipe_shared_folders(self.setup.uid)
            _remove(self.folder)
        return {"status": status}

    def serve(self) -> None:
        """Obey the control socket until it is closed."""
        while True:
            message, descriptors, _, _ = socket.recv_fds(self.control, 1 << 16, 2)
            if not message:
                return
            request = msgspec.msgpack.decode(message)
            if request["act"] == "fork":
                test_limits = msgspec.convert(request["limits"], limits.Limits)
                reply: dict[str, Any] = {"pid": self.fork(test_limits, *descriptors), "folder": str(self.folder)}
                for descriptor in descriptors:
                    os.close(descriptor)
            else:
                reply = self.end(request["pid"], request["patience"])
            self.control.send(msgspec.msgpack.encode(reply))


def _remove(folder: Path) -> None:
    """Remove a folder and all below it, however deep; links are not followed."""
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        return
    except (OSError, RecursionError):
        subprocess.run(["rm", "-rf", "--", str(folder)], stdin=subprocess.DEVNULL, check=False)


def _data_mib() -> int:
    """What this process already counts against RLIMIT_DATA, in MiB."""
    with contextlib.suppress(OSError, ValueError, StopIteration):
        status = Path("/proc/self/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmData:"))
        return int(line.split()[1]) // 1024 + 1
    return 64


def _reap(pid: int, patience: float) -> int | None:
    """Exit code of a worker that ends by itself within `patience` seconds (negative: signal), or None.

    A dying process closes its socket before it can be waited for, hence the patience.
    """
    deadline = time.monotonic() + patience
    ended, status = os.waitpid(pid, os.WNOHANG)
    while not ended and time.monotonic() < deadline:
        time.sleep(0.002)
        ended, status = os.waitpid(pid, os.WNOHANG)
    if not ended:
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return None
    return os.waitstatus_to_exitcode(status)


def _has_children() -> bool:
    """Whether a descendant is left: orphans become children of the zygote, which is their subreaper."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _kill_all_of(uid: int) -> None:
    """Kill every process of a user at once, which no chain of forks can outrun, and wait for their end."""
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            os.kill(-1, signal.SIGKILL)
        os._exit(0)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _wipe_shared_folders(uid: int) -> None:
    """Remove what a user left in folders that everybody may write to."""
    for folder in _SHARED_FOLDERS:
        with contextlib.suppress(OSError):
            for entry in os.scandir(folder):
                if entry.stat(follow_symlinks=False).st_uid == uid:
                    if entry.is_dir(follow_symlinks=False):
                        _remove(Path(entry.path))
                    else:
                        os.unlink(entry.path)


def _import_whole_library() -> None:
    """Import the standard library while it can be read: a worker's user cannot enter its folder."""
    for name in sorted(sys.stdlib_module_names):
        if not name.startswith("_") and name not in _NOT_PRELOADED:
            with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
                importlib.import_module(name)


def main() -> None:
    """Read the setup, import what workers may need, say what is in force, serve."""
    control = socket.socket(fileno=int(sys.argv[1]))
    setup = msgspec.convert(msgspec.msgpack.decode(control.recv(1 << 16)), Setup)
    for module in [*PRELOAD, *setup.preload]:
        with contextlib.suppress(*([ImportError] if module.endswith("?") else [])):
            importlib.import_module(module.removesuffix("?"))
    if setup.whole_library:
        _import_whole_library()
    sys.path.pop(0)
    zygote = Zygote(control, setup)
    ready = zygote.prepare()
    gc.collect()
    gc.freeze()
    control.send(msgspec.msgpack.encode(ready))
    zygote.serve()


if __name__ == "__main__":
    main()
