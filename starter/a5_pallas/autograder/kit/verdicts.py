"""The ways a test can go against a student, each with a sentence that the student understands."""

from __future__ import annotations

from autograder.evidence import ErrorEvidence


class Verdict(Exception):
    """The student's code is not right; `text` says how."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class CheckFailed(Verdict):
    """What came back is not what was expected."""


class PartlyPassed(CheckFailed):
    """What came back is right, but not as good as asked: worth a fraction of the points, from 0 to 1."""

    def __init__(self, text: str, fraction: float) -> None:
        super().__init__(text)
        self.fraction = fraction


class MalformedAnswer(Verdict):
    """What came back does not even have the form of an answer."""


class NotStarted(Verdict):
    """The code still raises `NotImplementedError`."""


class StudentError(Verdict):
    """The student's code raised an exception."""

    def __init__(self, error: ErrorEvidence) -> None:
        super().__init__(explain(error))
        self.error = error


class Ended(BaseException):
    """The worker stopped. Not an `Exception`, so that hypothesis does not try a smaller example."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


def explain(error: ErrorEvidence) -> str:
    """An exception of the student's as text: what it was, then the student's own lines, innermost last."""
    at_import = "SyntaxError" in error.classes or (error.frames and error.frames[0].function == "<module>")
    if "NotImplementedError" in error.classes and not at_import:
        return f"Not started: {error.message}" if error.message else "Not started."
    head = "Your code could not be imported" if at_import else "Your code raised an exception"
    lines = [f"{head}: {error.name}: {error.message}" if error.message else f"{head}: {error.name}"]
    for frame in error.frames:
        lines.append(f"  {frame.file}:{frame.line} in {frame.function}")
        if frame.source:
            lines.append(f"      {frame.source}")
    return "\n".join(lines)
