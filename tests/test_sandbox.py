"""The worker: what it may do, what it may not, and what ends it."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import numpy as np
import pytest

from autograder.faults import GraderFault
from autograder.kit import probe
from autograder.kit.student import SandboxedStudent
from autograder.kit.verdicts import Ended, MalformedAnswer, NotStarted, StudentError
from autograder.sandbox.limits import Limits

needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="an ordinary user cannot give the worker a user of its own"
)


@probe
def echo(x) -> Any:
    """Give back what came."""
    return x


@probe
def attempt(act) -> str:
    """Try something that should be refused."""
    import ctypes
    import os
    import socket
    import subprocess
    import sys
    import threading

    libc = ctypes.CDLL(None, use_errno=True)
    acts = {
        "fork": lambda: os.fork(),
        "exec": lambda: os.execv("/bin/true", ["true"]),
        "spawn": lambda: subprocess.run(["/bin/true"], check=True),
        "socket": lambda: socket.socket(),
        "ptrace": lambda: (libc.ptrace(16, os.getppid(), 0, 0) and os.strerror(ctypes.get_errno())) or "done",
        "become root": lambda: os.setuid(0),
        "read passwords": lambda: open("/etc/passwd").read(),
        "list processes": lambda: os.listdir("/proc"),
        "write beside": lambda: open("/tmp/tpulab-was-here", "w"),
        "shared memory": lambda: open("/dev/shm/tpulab-was-here", "w"),
        "kill parent": lambda: os.kill(os.getppid(), 9),
        "change own code": lambda: open(os.path.join(sys.path[0], "stub.py"), "w"),
        "thread": lambda: threading.Thread(target=int).start(),
        "own file": lambda: open("mine", "w").write("x"),
    }
    try:
        acts[act]()
    except (OSError, PermissionError) as error:
        return f"refused: {error.strerror}"
    return "done"


def student_of(sandbox: Any, **limits: Any) -> SandboxedStudent:
    """A student with these limits."""
    return SandboxedStudent(lambda: sandbox.open(Limits(**limits)))


REFUSED = (
    "fork, exec, spawn, socket, become root, read passwords, list processes, write beside, shared memory, "
    "kill parent, change own code"
).split(", ")


@needs_root
@pytest.mark.parametrize("act", REFUSED)
def test_what_a_worker_must_not_do_is_refused(sandbox_of, act):
    student = student_of(sandbox_of({"stub.py": ""}))
    assert student(attempt, act).startswith("refused")
    student.close()


@pytest.mark.parametrize("act", ["thread", "own file"])
def test_what_a_worker_may_do_works(sandbox_of, act):
    student = student_of(sandbox_of())
    assert student(attempt, act) == "done"
    student.close()


@needs_root
def test_every_defence_is_in_force_here(sandbox_of):
    sandbox = sandbox_of()
    assert sandbox.contained
    assert {"uid", "rlimits", "seccomp"} <= set(sandbox.in_force)


@probe
def remembered(state) -> int:
    """Count the calls of one test, in the state and in a file."""
    state["n"] = state.get("n", 0) + 1
    with open("count", "a") as handle:
        handle.write("x")
    with open("count") as handle:
        return state["n"] * 100 + len(handle.read())


def test_state_lasts_for_one_test_only(sandbox_of):
    sandbox = sandbox_of()
    for _ in range(2):
        student = student_of(sandbox)
        assert [student(remembered), student(remembered)] == [101, 202]
        student.close()


@probe
def misbehave(how) -> Any:
    """Do something fatal."""
    import os
    import signal
    import sys
    import time

    import numpy as np

    if how == "exit":
        os._exit(0)
    if how == "exit code":
        os._exit(3)
    if how == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == "loop":
        signal.signal(signal.SIGALRM, signal.SIG_IGN)
        while True:
            try:
                time.sleep(0.01)
            except BaseException:
                pass
    if how == "memory":
        return [np.ones(1 << 24) for _ in range(100)]
    if how == "shared memory":
        import mmap

        held = [mmap.mmap(-1, 64 << 20) for _ in range(40)]
        for block in held:
            block.write(b"x" * (64 << 20))
        return len(held)
    if how == "many files":
        for index in range(1_000_000):
            with open(f"file{index}", "wb") as handle:
                handle.write(bytes(1 << 20))
    if how == "large answer":
        return b"x" * (5 << 20)
    if how == "SystemExit":
        sys.exit("bye")
    if how == "half a frame":
        for fd in range(3, 30):
            try:
                os.write(fd, b"\0\0\0\x50abc")
            except OSError:
                pass
        time.sleep(60)
    return object()


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        ("exit", Ended, "ended the process before answering"),
        ("exit code", Ended, "exit code 3"),
        ("crash", Ended, "SIGSEGV"),
        ("loop", Ended, "No answer within 1 seconds"),
        ("memory", StudentError, "MemoryError"),
        ("shared memory", Ended, "MiB of memory"),
        ("many files", Ended, "64 MiB were written"),
        ("large answer", StudentError, "may cross"),
        ("SystemExit", StudentError, "SystemExit: bye"),
        ("half a frame", Ended, "No answer within 1 seconds"),
        ("object", StudentError, "not plain data"),
    ],
)
def test_what_goes_wrong_costs_this_test_only(sandbox_of, how, error, words):
    sandbox = sandbox_of()
    student = student_of(sandbox, seconds=1 if how in ("loop", "half a frame") else 10, memory_mib=256)
    with pytest.raises(error, match=words):
        student(misbehave, how)
    student.close()
    after = student_of(sandbox)
    assert after(echo, 7) == 7
    after.close()


@probe
def chatter(count) -> int:
    """Print much, with bytes that are no text."""
    import os

    os.write(1, b"head\0\xff" + b"x" * count + b"tail")
    return count


def test_output_is_kept_at_both_ends_and_made_printable(sandbox_of):
    student = student_of(sandbox_of())
    student(chatter, 1 << 20)
    student.close()
    assert student.output.startswith("head\u2400\ufffd")
    assert student.output.endswith("tail")
    assert "bytes left out" in student.output
    assert len(student.output) < 70_000


@probe
def typed(value) -> list[int]:
    """Something that should be a list of integers."""
    return value


def test_an_answer_of_another_form_is_a_verdict(sandbox_of):
    student = student_of(sandbox_of())
    assert student(typed, [1, 2]) == [1, 2]
    with pytest.raises(MalformedAnswer, match="form of an answer"):
        student(typed, ["a"])
    student.close()


@probe
def unfinished() -> int:
    """Call a stub of the student's."""
    import stub

    return stub.function()


def test_stubs_read_not_started_and_errors_show_the_students_lines(sandbox_of):
    source = "def function():\n    raise NotImplementedError('a0.1: do it')\n"
    student = student_of(sandbox_of({"stub.py": source}))
    with pytest.raises(NotStarted, match=r"a0\.1"):
        student(unfinished)
    student.close()
    student = student_of(sandbox_of({"stub.py": "def function():\n    return 1 // 0\n"}))
    with pytest.raises(StudentError, match=r"ZeroDivisionError[^$]*stub\.py:2 in function\n +return 1 // 0"):
        student(unfinished)
    student.close()
    student = student_of(sandbox_of({"stub.py": "def function(:\n    return 1\n"}))
    with pytest.raises(StudentError, match=r"could not be imported: SyntaxError[^$]*\^"):
        student(unfinished)
    student.close()


@needs_root
def test_nothing_of_the_worker_outlives_its_test(sandbox_of):
    sandbox = sandbox_of()
    student = student_of(sandbox)
    student(attempt, "thread")
    pid = student._worker.pid
    student.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_dead_zygote_is_the_graders_fault(sandbox_of):
    sandbox = sandbox_of()
    os.kill(sandbox.pid, signal.SIGKILL)
    time.sleep(0.1)
    with pytest.raises(GraderFault, match="zygote"):
        student_of(sandbox)(echo, 1)


def test_arrays_cross_the_boundary_and_come_back(sandbox_of):
    student = student_of(sandbox_of())
    array = np.arange(6, dtype="float32").reshape(2, 3)
    got = student(echo, {"a": [array]})["a"][0]
    assert got.dtype == array.dtype
    assert np.array_equal(got, array)
    student.close()
