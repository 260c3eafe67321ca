"""Exceptions of minitpu: facts first, wording second.

The machine refuses a program by saying where (bundle and slot), what (the operation as it is
written) and why. Whoever raises an exception gives facts; the class builds the sentence.
"""

from __future__ import annotations


class LLOError(ValueError):
    """A line of LLO that is no operation. `text`: the line. `reason`: what is wrong with it."""

    def __init__(self, text: str, reason: str) -> None:
        self.text = text
        self.reason = reason
        super().__init__(f"{text!r} is no operation: {reason}.")


class MachineError(RuntimeError):
    """The machine cannot execute an operation where it stands.

    `bundle`: number of the bundle, which is the cycle. `slot`: the kind of slot. `instruction`:
    the operation as text. `problem`: what is wrong.
    """

    def __init__(self, bundle: int, slot: str, instruction: str, problem: str) -> None:
        self.bundle = bundle
        self.slot = slot
        self.instruction = instruction
        self.problem = problem
        super().__init__(f"bundle {bundle}, slot {slot}, `{instruction}`: {problem}.")


class SlotError(MachineError):
    """A bundle holds more operations of one kind than the machine has slots for."""


class OperandError(MachineError):
    """An operation that this machine does not have, or an operand that it cannot take."""


class ConflictError(MachineError):
    """Two results would arrive in one place in one cycle."""


class BusyError(MachineError):
    """Two pops of one queue, or two pushes to one set of weights, too close to one another."""


class QueueError(MachineError):
    """A result is popped before it is there, or never popped."""


class RegisterPressureError(RuntimeError):
    """A program needs more registers than the machine has. `needed`, `available`: how many."""

    def __init__(self, needed: int, available: int) -> None:
        self.needed = needed
        self.available = available
        super().__init__(
            f"{needed} registers would be live at once, and the machine has {available}: work on fewer "
            "tiles at a time, or spill."
        )
