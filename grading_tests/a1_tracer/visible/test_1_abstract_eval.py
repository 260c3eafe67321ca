"""Part 1: shapes and dtypes without computing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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


@probe
def scalar_type(kind, beside) -> str:
    """The dtype that a Python scalar takes beside operands of these dtypes."""
    import numpy as np
    from minijax.abstract_eval import scalar_dtype

    scalar = {"bool": bool, "int": int, "float": float}[kind]
    return np.dtype(scalar_dtype(scalar, *map(np.dtype, beside))).name


def agree(student: Any, primitive: str, kinds: list[Any], params: dict[str, Any]) -> None:
    """Compare a rule with what NumPy gives for zeros of these types."""
    operands = [np.zeros(shape, dtype) for shape, dtype in kinds]
    want = judge.apply(primitive, operands, params)
    got = student(result_type, primitive, kinds, params)
    check.equal([list(got.shape), got.dtype], [list(want.shape), want.dtype.name], f"the type of {primitive}")


@number("1.1")
@weight(2)
@hint("Align shapes at the right; 1 stretches, to 0 as well. Handout, part 1, broadcasting.")
@given(kinds=generators.typed(2), examples=60)
def test_binary_operations_broadcast(student, kinds):
    """add, mul and div broadcast like NumPy and promote dtypes"""
    for primitive in ("add", "mul", "div"):
        agree(student, primitive, kinds, {})


@number("1.2")
@weight(1)
@hint("The order is bool, i32, i64, f32, f64, and the higher operand wins. Handout, part 1, the table.")
def test_every_pair_of_dtypes_promotes(student):
    """promotion of every pair of dtypes, either way round"""
    for left in judge.DTYPES:
        for right in judge.DTYPES:
            agree(student, "mul", [[[2], left], [[2], right]], {})
            agree(student, "gt", [[[2], left], [[2], right]], {})


@number("1.3")
@weight(1)
@hint("A Python scalar never widens an array of its kind or a higher one. Handout, part 1, Python scalars.")
@pytest.mark.parametrize(
    ("kind", "beside", "want"),
    [
        ("float", ["float32"], "float32"),
        ("float", ["float64"], "float64"),
        ("float", ["int64"], "float32"),
        ("float", [], "float32"),
        ("int", ["int64"], "int64"),
        ("int", ["float32"], "float32"),
        ("int", ["bool"], "int32"),
        ("int", [], "int32"),
        ("bool", ["int32"], "int32"),
        ("bool", ["bool"], "bool"),
        ("float", ["int32", "float64"], "float64"),
    ],
)
def test_python_scalars_take_the_dtype_beside_them(student, kind, beside, want):
    """Python scalars take the dtype of the arrays beside them"""
    check.equal(student(scalar_type, kind, beside), want, f"the dtype of a Python {kind} beside {beside}")


@number("1.4")
@weight(1)
@hint("exp, log, tanh and sqrt of integers are f32; comparisons are bool. Handout, part 1, the table.")
@given(kinds=generators.typed(3), examples=60)
def test_unary_comparison_and_select(student, kinds):
    """neg, exp, sqrt, eq, gt and select, on every dtype"""
    x, y, z = kinds
    for primitive in ("exp", "sqrt", "tanh", "sin"):
        agree(student, primitive, [x], {})
    if x[1] != "bool":
        agree(student, "neg", [x], {})
    agree(student, "eq", [x, y], {})
    agree(student, "select", [[x[0], "bool"], y, z], {})


@number("1.5")
@weight(1)
@hint("A 1-D operand is a row on the left, a column on the right; axes before the last two are a batch.")
@given(shapes=generators.dot_operands(), dtype=generators.dtypes, examples=60)
def test_dot_contracts_and_broadcasts(student, shapes, dtype):
    """dot has the shapes of np.matmul, from vectors to batches"""
    agree(student, "dot", [[shapes[0], dtype], [shapes[1], "float32"]], {})


@number("1.6")
@weight(1)
@hint("Which axis of the operand goes where, and which sizes may change? Negative axes count from the end.")
@given(call=generators.structural(), dtype=generators.dtypes, examples=120)
def test_transpose_reshape_broadcast_reduce(student, call, dtype):
    """transpose, reshape, broadcast and reductions"""
    primitive, shape, params = call
    agree(student, primitive, [[shape, dtype]], params)


@number("1.7")
@weight(1)
@hint("Raise minijax.ShapeError with the primitive's name and the types of all operands.")
@pytest.mark.parametrize(
    ("primitive", "shapes", "params"),
    [
        ("add", [[4, 3], [4, 2]], {}),
        ("dot", [[4, 3], [2, 5]], {}),
        ("dot", [[], [3]], {}),
        ("transpose", [[2, 3]], {"permutation": [0, 0]}),
        ("reshape", [[2, 3]], {"shape": [5]}),
        ("broadcast", [[3]], {"shape": [3, 4], "broadcast_dimensions": [1]}),
        ("reduce_sum", [[2, 3]], {"axis": 2, "keepdims": False}),
        ("reduce_max", [[0, 3]], {"axis": 0, "keepdims": False}),
    ],
)
def test_shape_errors_name_the_operands(student, primitive, shapes, params):
    """a call whose shapes do not fit raises ShapeError naming primitive and operands"""
    error = student.error(result_type, primitive, [[shape, "float32"] for shape in shapes], params)
    types = [f"f32[{','.join(map(str, shape))}]" for shape in shapes]
    check.raised(error, "ShapeError", f"{primitive} of {' and '.join(types)}", primitive=primitive, avals=types)
