"""The trusted end of the sandbox: starts the zygote, talks to workers, holds the clock and the scales."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from autograder import wire
from autograder.faults import GraderFault, WorkerStopped
from autograder.sandbox.folders import (
    ENVIRONMENT,
    close_to_others,
    folder_mib,
    open_to_others,
    readable_folders,
)
from autograder.sandbox.limits import MEBIBYTE, Defences, Limits
from autograder.sandbox.output import Output
from autograder.sandbox.pulse import Pulse
from autograder.sandbox.worker import READY
from autograder.sandbox.zygote import Setup

_FIRST_UID, _LAST_UID = 20_000, 59_999
_TICK = 0.05
_START_SECONDS = 60.0


class Worker:
    """One forked process with the student's code, for one test."""

    def __init__(self, sandbox: Sandbox, limits: Limits) -> None:
        self.limits, self._sandbox = limits, sandbox
        self.output = Output(limits.output_kib * 1024)
        self.seconds_left = limits.seconds
        ours, theirs = socket.socketpair()
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        self._socket, self._output_fd = ours, read_end
        self._output_open = True
        self._next_weighing = self._next_survey = time.monotonic() + _TICK
        self._pulse = Pulse()
        self.pid, self._folder = -1, ""
        try:
            request = {"act": "fork", "limits": msgspec.to_builtins(limits)}
            reply = sandbox.command(request, [theirs.fileno(), write_end])
            self.pid, self._folder = reply["pid"], reply["folder"]
        except GraderFault:
            ours.close()
            os.close(read_end)
            raise
        finally:
            theirs.close()
            os.close(write_end)
        self._await_start()

    def _await_start(self) -> None:
        try:
            deadline = time.monotonic() + _START_SECONDS
            if wire.receive_frame(lambda count: self._receive(count, deadline), len(READY)) == READY:
                return
        except (EOFError, wire.WireError, WorkerStopped):
            pass
        self.close(patience=2.0)
        raise GraderFault(f"a worker could not start: {self.output.text().strip()[-500:]}")

    def ask(self, payload: bytes) -> bytes:
        """Send a request and wait for the frame that answers it. Raises `WorkerStopped`."""
        started = time.monotonic()
        deadline = started + self.seconds_left
        self._pulse = Pulse()
        self._socket.settimeout(max(self.seconds_left, 0.001))
        try:
            try:
                wire.send_frame(self._socket, payload)
            except OSError:
                pass  # It died or does not listen; receiving says which.
            return wire.receive_frame(
                lambda count: self._receive(count, deadline), self.limits.answer_mib * MEBIBYTE
            )
        except EOFError:
            raise self._stopped() from None
        except wire.WireError as error:
            raise WorkerStopped("answer", f"The answer could not be read: {error}.") from None
        finally:
            self.seconds_left -= time.monotonic() - started

    def _receive(self, count: int, deadline: float) -> bytes:
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                raise WorkerStopped("time", f"No answer within {self.limits.seconds:g} seconds.")
            answers = self._socket.fileno()
            watched = [answers, self._output_fd] if self._output_open else [answers]
            ready, _, _ = select.select(watched, [], [], min(left, _TICK))
            self._weigh()
            if self._output_fd in ready:
                self._drain()
            if answers in ready:
                try:
                    return self._socket.recv(count)
                except OSError:
                    return b""
            if self.limits.hang_seconds and self._pulse.still(self.pid) > self.limits.hang_seconds:
                sentence = f"For {self.limits.hang_seconds:g} seconds your code has done nothing but wait"
                raise WorkerStopped("hang", f"{sentence}: for something that never happens?")

    def _drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            for _ in range(16):
                data = os.read(self._output_fd, 1 << 16)
                self._output_open = bool(data)
                if not data:
                    break
                self.output.add(data)

    def _weigh(self) -> None:
        """Shared mappings escape RLIMIT_DATA, so the resident size is watched from here too, every tick."""
        now = time.monotonic()
        if not self._sandbox.defences.memory_watch or now < self._next_weighing:
            return
        self._next_weighing = now + _TICK
        with contextlib.suppress(OSError, ValueError, IndexError):
            pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
            if pages * os.sysconf("SC_PAGE_SIZE") > (self.limits.memory_mib + 64) * MEBIBYTE:
                raise WorkerStopped("memory", f"More than {self.limits.memory_mib} MiB of memory were used.")
        if now >= self._next_survey:
            started = time.monotonic()
            used = folder_mib(self._folder, self.limits.folder_mib)
            self._next_survey = started + max(10 * _TICK, 5 * (time.monotonic() - started))
            if used > self.limits.folder_mib:
                raise WorkerStopped("disk", f"More than {self.limits.folder_mib} MiB were written to files.")

    def _stopped(self) -> WorkerStopped:
        status = self.close(patience=2.0)
        if status is None or status == 0:
            how = "ended the process before answering (os._exit, or a closed descriptor?)"
            return WorkerStopped("exit", f"Your code {how}.")
        if status > 0:
            return WorkerStopped("exit", f"Your code ended the process with exit code {status}.")
        name = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
        return WorkerStopped("signal", f"The process was killed by {name} (a crash, or out of memory?).")

    def close(self, patience: float = 0.0) -> int | None:
        """End the worker and everything of its user; its exit code if it ends by itself within `patience` s."""
        if self.pid < 0:
            return None
        self._drain()
        self._socket.close()
        try:
            request = {"act": "end", "pid": self.pid, "patience": patience}
            return self._sandbox.command(request)["status"]
        finally:
            self.pid = -1
            self._drain()
            os.close(self._output_fd)


class Sandbox:
    """A zygote on a work folder. `contained` says whether workers get a user of their own."""

    def __init__(
        self,
        python: Path,
        work: Path,
        scratch: Path,
        private: Iterable[Path] = (),
        defences: Defences | None = None,
        preload: Iterable[str] = (),
    ) -> None:
        self.defences = defences or Defences()
        self._uid_lock: int | None = None
        uid = self._claim_uid() if os.geteuid() == 0 and self.defences.uid else None
        self.contained = uid is not None
        if self.contained:
            close_to_others(private)
        scratch.chmod(0o711)
        readable = readable_folders(python)
        setup = Setup(
            work=str(work),
            scratch=str(scratch),
            uid=uid,
            readable=readable,
            defences=self.defences,
            preload=list(preload),
            whole_library=not all(map(open_to_others, readable[:2])),
        )
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control = ours
        try:
            self._process = subprocess.Popen(
                [str(python), "-I", "-B", str(Path(__file__).with_name("zygote.py")), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env=ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                cwd="/",
                start_new_session=True,
            )
        except OSError as error:
            raise GraderFault(f"the worker's Python could not be started: {error}") from error
        finally:
            theirs.close()
        self._control.settimeout(_START_SECONDS)
        self._control.send(msgspec.msgpack.encode(msgspec.to_builtins(setup)))
        try:
            ready = self._reply()
        except GraderFault:
            self.close()
            raise
        self.in_force: list[str] = ready["in_force"]
        self.cache_tag: str = ready["cache_tag"]

    def _claim_uid(self) -> int:
        """A user id that no account and no other grading run on this machine has."""
        import pwd

        taken = {entry.pw_uid for entry in pwd.getpwall()}
        folder = Path("/run/lock/tpulab-uids")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for uid in range(_FIRST_UID, _LAST_UID):
            if uid in taken:
                continue
            fd = os.open(folder / str(uid), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(fd)
                continue
            self._uid_lock = fd
            return uid
        raise GraderFault("no free user id is left for a worker")

    def command(self, request: dict[str, Any], descriptors: list[int] | None = None) -> dict[str, Any]:
        """Have the zygote do something. Raises `GraderFault` if it does not."""
        try:
            self._control.settimeout(_START_SECONDS)
            payload = [msgspec.msgpack.encode(request)]
            socket.send_fds(self._control, payload, descriptors or [])
        except OSError as error:
            raise GraderFault(f"the sandbox's zygote is gone: {error}") from error
        return self._reply()

    def _reply(self) -> dict[str, Any]:
        try:
            message = self._control.recv(1 << 16)
        except OSError as error:
            raise GraderFault(f"the sandbox's zygote does not answer: {error}") from error
        if not message:
            self._process.wait()
            stderr = self._process.stderr.read().decode("utf-8", "replace") if self._process.stderr else ""
            raise GraderFault(f"the sandbox's zygote ended: {stderr.strip()[-800:]}")
        return msgspec.msgpack.decode(message)

    @property
    def pid(self) -> int:
        """The zygote's process id."""
        return self._process.pid

    def open(self, limits: Limits) -> Worker:
        """A fresh worker."""
        return Worker(self, limits)

    def close(self) -> None:
        """End the zygote."""
        self._control.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=5)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()
        if self._uid_lock is not None:
            os.close(self._uid_lock)
            self._uid_lock = None


def runs_contained() -> bool:
    """Whether this process can give workers a user of their own."""
    return sys.platform == "linux" and os.geteuid() == 0
