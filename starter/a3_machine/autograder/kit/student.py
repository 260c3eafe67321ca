"""The student, as a test sees one: something that answers probes.

`student(probe, *arguments)` runs the probe beside the student's code and returns its answer as plain data
of the declared form. `student.error(probe, *arguments)` returns the exception it must raise. Two transports
do the same: `LocalStudent` in this process, with ordinary tracebacks and `--pdb`; `SandboxedStudent` in a
worker of the sandbox.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from autograder import evidence, wire
from autograder.evidence import Answer, ErrorEvidence
from autograder.faults import GraderFault, WorkerStopped
from autograder.kit import show
from autograder.kit.decorators import answer_type
from autograder.kit.verdicts import CheckFailed, Ended, MalformedAnswer, NotStarted, StudentError
from autograder.sandbox import worker


class Student:
    """What both transports share: how an answer becomes a value or a verdict."""

    def __init__(self) -> None:
        self._last: tuple[Callable[..., Any], tuple[Any, ...]] | None = None

    @property
    def asked(self) -> str:
        """The last question, in words and as a call."""
        return _describe_call(*self._last) if self._last else ""

    def __call__(self, probe: Callable[..., Any], *arguments: Any) -> Any:
        """The probe's answer. Raises a verdict if the student's code raised, stopped or made no sense."""
        __tracebackhide__ = True
        answer = self._ask(probe, arguments, expect_error=False)
        if answer.error is not None:
            raise _verdict(answer.error)
        return _in_form(answer.value, probe)

    def error(self, probe: Callable[..., Any], *arguments: Any) -> ErrorEvidence:
        """The exception that the probe raises, as data. A verdict if it raises none."""
        __tracebackhide__ = True
        answer = self._ask(probe, arguments, expect_error=True)
        if answer.error is None:
            got = f"no exception; it returned {show.value(answer.value)}"
            raise CheckFailed(f"an exception was due\n  expected: an exception\n  got:      {got}")
        if "NotImplementedError" in answer.error.classes:
            raise _verdict(answer.error)
        return answer.error

    def _ask(self, probe: Callable[..., Any], arguments: tuple[Any, ...], expect_error: bool) -> Answer:
        if not getattr(probe, "__probe__", False):
            raise GraderFault(f"{probe.__name__} is asked, but not marked with @probe")
        self._last = (probe, arguments)
        return self._transport(probe, list(arguments), expect_error)

    def _transport(self, probe: Callable[..., Any], arguments: list[Any], expect_error: bool) -> Answer:
        raise NotImplementedError

    def close(self) -> None:
        """End the conversation."""


class LocalStudent(Student):
    """Student code in this process: exceptions pass through untouched, so that a debugger works."""

    def __init__(self, root: Path, package: str) -> None:
        super().__init__()
        self.root, self.package = root, package
        self.state: dict[str, Any] = {}
        self.raised: BaseException | None = None
        self._forget_package()

    def _forget_package(self) -> None:
        for name in [n for n in sys.modules if n == self.package or n.startswith(self.package + ".")]:
            del sys.modules[name]

    def _transport(self, probe: Callable[..., Any], arguments: list[Any], expect_error: bool) -> Answer:
        __tracebackhide__ = True
        function, data = wire.decode_request(wire.encode_request([probe, arguments]))
        try:
            value = worker.run(function, data, self.state)
        except Exception as error:
            if expect_error or isinstance(error, NotImplementedError):
                return Answer(0, error=evidence.of_exception(error, self.root))
            self.raised = error
            raise
        try:
            return Answer(0, wire.decode_answer(wire.encode_answer(value)))
        except wire.WireError as error:
            return Answer(0, error=evidence.of_exception(error, self.root))

    def close(self) -> None:
        """Forget the package, so that the next test starts afresh."""
        self._forget_package()


class SandboxedStudent(Student):
    """Student code in a worker, started at the first question.

    A worker that hangs, where the assignment's libraries may hang by a fault of their own, is replaced once: the
    new one is asked everything again. `asked_again` says that this happened.
    """

    def __init__(self, open_worker: Callable[[], Any]) -> None:
        super().__init__()
        self._open = open_worker
        self._worker: Any = None
        self._questions: list[bytes] = []
        self.asked_again = False
        self.output = ""

    def _transport(self, probe: Callable[..., Any], arguments: list[Any], expect_error: bool) -> Answer:
        if self._worker is None:
            self._worker = self._open()
        sequence = len(self._questions) + 1
        self._questions.append(wire.encode_request([sequence, probe, arguments]))
        try:
            answer = msgspec.convert(wire.decode_answer(self._reply()), Answer, dec_hook=_as_array)
        except WorkerStopped as stopped:
            raise Ended(str(stopped)) from None
        except (wire.WireError, msgspec.ValidationError) as error:
            raise Ended(f"The answer could not be read: {error}.") from None
        if answer.sequence != sequence:
            raise Ended("The answer belongs to another question.")
        return answer

    def _reply(self) -> bytes:
        """The answer to the last question. Raises `WorkerStopped`."""
        try:
            return self._worker.ask(self._questions[-1])
        except WorkerStopped as stopped:
            if stopped.reason != "hang" or self.asked_again:
                raise
        self.asked_again = True
        self._worker.close()
        self._worker = self._open()
        return [self._worker.ask(question) for question in self._questions][-1]

    def close(self) -> None:
        """End the worker and keep what it printed."""
        if self._worker is not None:
            self._worker.close()
            self.output = self._worker.output.text()


def _verdict(error: ErrorEvidence) -> Exception:
    return NotStarted(error.message) if "NotImplementedError" in error.classes else StudentError(error)


def _as_array(wanted: type, value: Any) -> Any:
    if wanted is np.ndarray and not isinstance(value, np.ndarray):
        raise ValueError(f"Expected an array, got {type(value).__name__}")
    return value


def _in_form(value: Any, probe: Callable[..., Any]) -> Any:
    try:
        return msgspec.convert(value, answer_type(probe), dec_hook=_as_array)
    except msgspec.ValidationError as error:
        raise MalformedAnswer(f"What came back has not the form of an answer: {error}.") from None


def _describe_call(probe: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    names = [name for name in inspect.signature(probe).parameters if name != "state"]
    parts = [f"{name}={_on_one_line(argument)}" for name, argument in zip(names, arguments, strict=False)]
    doc = inspect.getdoc(probe)
    call = f"{probe.__name__}({', '.join(parts)})"
    return f"{doc.splitlines()[0]}\n            {call}" if doc else call


def _on_one_line(argument: Any) -> str:
    first, *more = show.value(argument, 200 if not isinstance(argument, str) else 10**9).split("\n")
    return f"{first} … ({len(more) + 1} lines)" if more else show.value(argument, 200)
