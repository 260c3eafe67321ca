"""What a test needs: ask the student's code through probes, judge what comes back.

    from autograder.kit import check, hint, number, probe, weight

The decorators that Gradescope's users know (`weight`, `number`, `visibility`, `hide_errors`, `tags`,
`leaderboard`, `partial_credit`) are those of `gradescope_utils`.
"""

from gradescope_utils.autograder_utils.decorators import (
    hide_errors,
    leaderboard,
    number,
    partial_credit,
    tags,
    visibility,
    weight,
)

from autograder.kit import check
from autograder.kit.decorators import hint, limits, probe
from autograder.kit.random_programs import given

__all__ = [
    "check",
    "given",
    "hide_errors",
    "hint",
    "leaderboard",
    "limits",
    "number",
    "partial_credit",
    "probe",
    "tags",
    "visibility",
    "weight",
]
