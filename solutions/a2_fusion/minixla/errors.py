"""Exceptions of minixla: facts as fields, and a sentence made from them."""

from __future__ import annotations


class HloError(ValueError):
    """A module that breaks a rule of the language.

    `computation` and `instruction`: where, by name (either may be empty). `rule`: which, in a
    word or two, such as `"operands first"`. `problem`: what was found and what is allowed.
    """

    def __init__(self, computation: str, instruction: str, rule: str, problem: str) -> None:
        self.computation = computation
        self.instruction = instruction
        self.rule = rule
        self.problem = problem
        places = [f"%{name}" for name in (computation, instruction) if name]
        super().__init__(f"{', '.join(places) or 'module'}: {problem} (rule: {rule})")


class StructureError(HloError):
    """Names, order, roots, parameters, calls or attributes that do not fit together."""


class ShapeError(HloError):
    """A declared shape that is not what the operands give, or operands that an opcode does not take."""


class KernelError(HloError):
    """A fused module that could not run as one pass over memory for each kernel."""


class EvaluationError(ValueError):
    """A module that cannot be evaluated with the given arguments, or is too large to be."""


class ParseError(ValueError):
    """A text that is no module.

    `line` and `column` count from 1. `problem`: what was expected there. The message shows the
    line with a caret below the place.
    """

    def __init__(self, text: str, position: int, problem: str) -> None:
        self.line = text.count("\n", 0, position) + 1
        start = text.rfind("\n", 0, position) + 1
        end = text.find("\n", start)
        self.column = position - start + 1
        self.problem = problem
        before = text[max(start, position - 60) : position]
        after = text[position : min(len(text) if end < 0 else end, position + 60)]
        shown = (before + after).replace("\t", " ")
        super().__init__(f"line {self.line}, column {self.column}: {problem}\n  {shown}\n  {' ' * len(before)}^")
