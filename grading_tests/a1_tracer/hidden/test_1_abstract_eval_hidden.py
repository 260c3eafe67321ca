"""Part 1, hidden: the same rules on inputs that are not in the starter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from autograder.kit import check, given, hint, number, probe, weight

import generators
import judge


@probe
def result_type(primitive, kinds, params) -> judge.Aval:
    """The type that abstract_eval gives for a primitive applied to operands of these types."""
    from minijax.abstract_eval import abstract_eval

    import describe

    out = abstract_eval(primitive, *map(describe.shaped, kinds), **describe.params(params))
    return [list(out.shape), out.dtype.name]


def agree(student: Any, primitive: str, kinds: list[Any], params: dict[str, Any]) -> None:
    """Compare a rule with what NumPy gives for zeros of these types."""
    operands = [np.zeros(shape, dtype) for shape, dtype in kinds]
    want = judge.apply(primitive, operands, params)
    got = student(result_type, primitive, kinds, params)
    check.equal([list(got.shape), got.dtype], [list(want.shape), want.dtype.name], f"the type of {primitive}")


@number("1.9")
@weight(2)
@hint("Every rule must agree with NumPy on every dtype, and on sizes 0 and 1. Handout, part 1, the table.")
@given(
    kinds=generators.typed(2),
    dot=generators.dot_operands(),
    call=generators.structural(),
    target=generators.dtypes,
    primitive=st.sampled_from(["add", "mul", "div", "eq", "gt"]),
    unary=st.sampled_from(["exp", "log", "sqrt", "cos"]),
    examples=70,
)
def test_every_rule_on_new_inputs(student, kinds, dot, call, target, primitive, unary):
    """every rule on types that are not in the starter's tests"""
    x, y = kinds
    agree(student, primitive, [x, y], {})
    agree(student, unary, [y], {})
    agree(student, "convert", [x], {"dtype": target})
    agree(student, "dot", [[dot[0], x[1]], [dot[1], y[1]]], {})
    agree(student, call[0], [[call[1], target]], call[2])


@number("1.10")
@weight(1)
@hint("A call that NumPy refuses, or that the table refuses, raises ShapeError or DTypeError.")
@pytest.mark.parametrize(
    ("primitive", "kinds", "params", "error"),
    [
        ("mul", [[[2, 3], "float32"], [[3, 2], "float32"]], {}, "ShapeError"),
        ("select", [[[2], "bool"], [[3], "float32"], [[2], "float32"]], {}, "ShapeError"),
        ("select", [[[2], "float32"], [[2], "float32"], [[2], "float32"]], {}, "DTypeError"),
        ("dot", [[[2, 3, 4], "float32"], [[5, 4, 2], "float32"]], {}, "ShapeError"),
        ("dot", [[[3], "float32"], [[4], "float32"]], {}, "ShapeError"),
        ("neg", [[[2], "bool"]], {}, "DTypeError"),
        ("sub", [[[2], "bool"], [[2], "bool"]], {}, "DTypeError"),
        ("reduce_sum", [[[2, 3], "float32"]], {"axis": [0, -2], "keepdims": False}, "ShapeError"),
        ("broadcast", [[[2, 3], "float32"]], {"shape": [3, 2], "broadcast_dimensions": [1, 0]}, "ShapeError"),
        ("reshape", [[[0, 3], "float32"]], {"shape": [1]}, "ShapeError"),
        ("broadcast", [[[3], "float32"]], {"shape": [3, 4], "broadcast_dimensions": [2]}, "ShapeError"),
        ("broadcast", [[[3], "float32"]], {"shape": [4, 3], "broadcast_dimensions": [-1]}, "ShapeError"),
        ("transpose", [[[2, 3], "float32"]], {"permutation": [0]}, "ShapeError"),
        ("reduce_max", [[[2, 3], "float32"]], {"axis": -3, "keepdims": True}, "ShapeError"),
        ("convert", [[[2], "float32"]], {"dtype": "complex64"}, "DTypeError"),
    ],
)
def test_wrong_calls_are_refused(student, primitive, kinds, params, error):
    """calls that must be refused"""
    check.raised(student.error(result_type, primitive, kinds, params), error, primitive=primitive)


@number("1.11")
@weight(1)
@hint("The result's dtype must follow the operands', not a default. Handout, part 1, the table.")
@pytest.mark.parametrize("dtype", judge.DTYPES)
def test_reductions_keep_or_count(student, dtype):
    """size 0 in reductions and reshapes, and sums of bools"""
    agree(student, "reduce_sum", [[[0, 3], dtype]], {"axis": 0, "keepdims": True})
    agree(student, "reduce_sum", [[[2, 3], dtype]], {"axis": None, "keepdims": False})
    agree(student, "reduce_max", [[[0, 3], dtype]], {"axis": 1, "keepdims": False})
    agree(student, "reshape", [[[0, 3], dtype]], {"shape": [3, 0, 2]})
