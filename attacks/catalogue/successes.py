"""What success is, for an attack: each is a question about the outcome of a grading."""

from __future__ import annotations

from attacks import Outcome

MEMORY_MIB, GRADER_MIB = 128, 256
"""Memory of one test while attacks are tried, and what a grader under attack may use at most."""


def gains(outcome: Outcome) -> bool:
    """Points were given."""
    return outcome.score > 0


def doubles(outcome: Outcome) -> bool:
    """The toy homework's function `double` counts as right."""
    tests = outcome.report["tests"] if outcome.report else []
    return any(test["score"] > 0 for test in tests if "test_double" in test["name"])


def no_report(outcome: Outcome) -> bool:
    """Grading ended without valid results."""
    return outcome.report is None


def hangs(outcome: Outcome) -> bool:
    """Grading does not end by itself."""
    return outcome.hung


def bloats(outcome: Outcome) -> bool:
    """More memory was held than a test may have, by the submission or by its grader."""
    return "HELD" in outcome.said or outcome.peak_mib > GRADER_MIB


def leaks(outcome: Outcome) -> bool:
    """A planted secret can be read."""
    return bool(outcome.secrets)


def survives(outcome: Outcome) -> bool:
    """A process outlived grading."""
    return outcome.survivors > 0


def tampers(outcome: Outcome) -> bool:
    """A trusted file is not what it was."""
    return bool(outcome.changed)


def reaches_out(outcome: Outcome) -> bool:
    """Somebody outside was reached."""
    return outcome.heard


def kills_bystander(outcome: Outcome) -> bool:
    """A process of somebody else's died."""
    return outcome.bystander_died


def listens(outcome: Outcome) -> bool:
    """A port was opened."""
    return "LISTENING" in outcome.said


def borrows(outcome: Outcome) -> bool:
    """A package was imported that the assignment does not have."""
    return "BORROWED" in outcome.said


def hands_on(outcome: Outcome) -> bool:
    """A test could read what an earlier one left."""
    return "STASHED" in outcome.said


def paints(outcome: Outcome) -> bool:
    """Control sequences reach the reader's terminal."""
    return "\x1b]0;" in outcome.said
