"""Lists mutants of a solution: every change that cosmic-ray's operators make inside a marked region, as JSON.

Run by `make mutants` in an environment of its own; the grader then grades each of them.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import parso
from cosmic_ray import plugins
from cosmic_ray.mutating import mutate_code

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from autograder import stubs

# One replacement for each kind of operator is enough; `|` is left alone, for it stands in annotations.
_BINARY = "Add_Sub Sub_Add Mul_Add Div_Mul Mod_Add FloorDiv_Mul Pow_Mul"
_COMPARISON = "Eq_NotEq NotEq_Eq Lt_LtE LtE_Lt Gt_GtE GtE_Gt Is_IsNot IsNot_Is"
_OTHERS = (
    "AddNot ReplaceTrueWithFalse ReplaceFalseWithTrue ReplaceAndWithOr ReplaceOrWithAnd "
    "ReplaceBreakWithContinue ReplaceContinueWithBreak NumberReplacer ZeroIterationForLoop "
    "ReplaceUnaryOperator_USub_UAdd ReplaceUnaryOperator_Delete_Not RemoveDecorator"
)
OPERATORS = [
    *(f"core/ReplaceBinaryOperator_{name}" for name in _BINARY.split()),
    *(f"core/ReplaceComparisonOperator_{name}" for name in _COMPARISON.split()),
    *(f"core/{name}" for name in _OTHERS.split()),
]


def changed_line(before: str, after: str) -> int:
    """The 0-based number of the first line that differs."""
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    return next((index for index, (old, new) in enumerate(pairs) if old != new), -1)


def mutants(name: str, source: str) -> list[dict[str, object]]:
    """The mutants of one file, without those that are no other program (annotations, for example)."""
    inside = {i for region in stubs.regions(source, name) for i in range(region.begin + 1, region.end)}
    program = ast.dump(ast.parse(source))
    found, seen = [], {source}
    for operator_name in OPERATORS:
        operator = plugins.get_operator(operator_name)()
        sites = sum(len(list(operator.mutation_positions(node))) for node in walk(parso.parse(source)))
        for occurrence in range(sites):
            mutated = mutate_code(source, operator, occurrence)
            if mutated is None or mutated in seen:
                continue
            seen.add(mutated)
            line = changed_line(source, mutated)
            if "strict=False" in mutated.splitlines()[line]:
                continue  # zip's own check; without it a program that is right stays right
            if line in inside and ast.dump(ast.parse(mutated)) != program:
                old, new = source.splitlines()[line].strip(), mutated.splitlines()[line].strip()
                found.append({"file": name, "line": line + 1, "old": old, "new": new, "source": mutated})
    return found


def walk(node: object) -> list[object]:
    """A parso node and everything below it."""
    return [node, *(inner for child in getattr(node, "children", []) for inner in walk(child))]


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    json.dump([m for name in sys.argv[2:] for m in mutants(name, (folder / name).read_text("utf-8"))], sys.stdout)
