"""A worker that hangs is told from one that works, and is replaced once where the libraries may be at fault."""

from __future__ import annotations

import time

import msgspec
import pytest

from autograder import report, wire
from autograder.faults import WorkerStopped
from autograder.grading import Graded
from autograder.kit import probe
from autograder.kit.student import SandboxedStudent
from autograder.kit.verdicts import Ended
from autograder.results import Case, combine
from autograder.sandbox.limits import Limits
from autograder.sandbox.output import Output


@probe
def wait(kind) -> str:
    """Take a while: in a lock that nobody opens, in Python, or in a thread while the main one waits."""
    import threading
    import time

    def work():
        until = time.monotonic() + 3
        while time.monotonic() < until:
            pass

    thread = threading.Thread(target=work)
    if kind == "lock":
        threading.Event().wait()
    elif kind == "thread":
        thread.start()
        thread.join()
    else:
        work()
    return kind


@probe
def leave() -> None:
    """End the process."""
    import os

    os._exit(3)


@probe
def remember(word, state) -> list[str]:
    """Keep a word and give back all words so far."""
    state.setdefault("words", []).append(word)
    return state["words"]


@pytest.mark.parametrize("kind", ["python", "thread"])
def test_a_worker_that_works_does_not_hang(sandbox_of, kind):
    sandbox = sandbox_of()
    student = SandboxedStudent(lambda: sandbox.open(Limits(seconds=20, hang_seconds=1.0)))
    assert student(wait, kind) == kind
    assert not student.asked_again
    student.close()


def test_a_worker_that_waits_for_ever_hangs_and_is_replaced_once(sandbox_of):
    sandbox, opened = sandbox_of(), []

    def open_worker():
        opened.append(sandbox.open(Limits(seconds=20, hang_seconds=1.0)))
        return opened[-1]

    student, started = SandboxedStudent(open_worker), time.monotonic()
    with pytest.raises(Ended, match="nothing but wait"):
        student(wait, "lock")
    assert time.monotonic() - started < 10
    assert len(opened) == 2
    assert student.asked_again
    student.close()


def test_without_a_limit_for_hanging_only_time_ends_a_worker(sandbox_of):
    sandbox, opened = sandbox_of(), []

    def open_worker():
        opened.append(sandbox.open(Limits(seconds=2.0)))
        return opened[-1]

    student = SandboxedStudent(open_worker)
    with pytest.raises(Ended, match="No answer within 2 seconds"):
        student(wait, "lock")
    assert len(opened) == 1
    student.close()


class Hanging:
    """A real worker in whose place nothing answers the question number `hangs_at`."""

    def __init__(self, worker, hangs_at=0):
        self.worker, self.hangs_at, self.asked = worker, hangs_at, 0
        self.output = worker.output if worker else Output(100)

    def ask(self, payload):
        self.asked += 1
        if self.asked == self.hangs_at:
            raise WorkerStopped("hang", "nothing but wait")
        return self.worker.ask(payload)

    def close(self):
        self.worker.close()


def test_the_new_worker_is_asked_all_that_the_old_one_was(sandbox_of):
    sandbox, plan = sandbox_of(), [2, 0]
    student = SandboxedStudent(lambda: Hanging(sandbox.open(Limits()), plan.pop(0)))
    assert student(remember, "one") == ["one"]
    assert student(remember, "two") == ["one", "two"]
    assert student(remember, "three") == ["one", "two", "three"]
    assert student.asked_again
    assert plan == []
    student.close()


def test_other_ends_are_no_reason_to_ask_again(sandbox_of):
    sandbox, opened = sandbox_of(), []

    def open_worker():
        opened.append(sandbox.open(Limits(hang_seconds=1.0)))
        return opened[-1]

    student = SandboxedStudent(open_worker)
    with pytest.raises(Ended, match="exit code 3"):
        student(leave)
    assert len(opened) == 1
    assert not student.asked_again
    student.close()


def test_staff_are_told_and_students_are_not():
    case = Case("t.py::test_x", "1.1", "a name", False, "visible", 2.0, "passed", 2.0, asked_again=True)
    graded = Graded("a", combine([case]), [], 1, True, [], 1.0, {})
    shown = report.gradescope(graded)
    assert shown["extra_data"]["asked_again"] == graded.asked_again
    assert "1.1 test_x" in graded.asked_again[0]
    assert "hung" not in str(shown["tests"]) + shown["output"]
    assert wire.decode_answer(msgspec.msgpack.encode(shown["extra_data"]["asked_again"])) == graded.asked_again
