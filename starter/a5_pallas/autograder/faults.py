"""The two things that can go wrong while grading, kept apart: the grader's fault and the worker's end."""

from __future__ import annotations


class GraderFault(RuntimeError):
    """Something on the trusted side broke: no score may be given, staff must look."""


class WorkerStopped(RuntimeError):
    """The worker ended, or had to be ended, before it answered: a verdict on the student's code.

    `reason` is one of `time`, `hang`, `memory`, `disk`, `exit`, `signal`, `answer`; the message is for students.
    """

    def __init__(self, reason: str, sentence: str) -> None:
        super().__init__(sentence)
        self.reason = reason
