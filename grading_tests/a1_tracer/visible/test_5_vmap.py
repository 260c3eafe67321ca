"""Part 5: one program for a whole batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from autograder.kit import check, given, hint, number, probe, weight

import generators
import judge


@probe
def batched(function, arguments, in_axes, out_axes) -> Any:
    """vmap of a function with these in_axes and out_axes, on these arguments."""
    import minijax

    import describe

    call = lambda *xs: function(minijax, *xs)
    axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    return describe.leaves(minijax.vmap(call, in_axes=axes, out_axes=out_axes)(*arguments))


@probe
def batched_jaxpr(function, arguments, in_axes) -> judge.Jaxpr:
    """make_jaxpr of vmap of a function."""
    import minijax

    import describe

    call = lambda *xs: function(minijax, *xs)
    return describe.jaxpr(minijax.make_jaxpr(minijax.vmap(call, in_axes=tuple(in_axes)))(*arguments))


def loop(function: Any, arguments: list[np.ndarray], in_axes: list[int | None]) -> np.ndarray:
    """The same, member by member, with NumPy."""
    size = next(x.shape[axis] for x, axis in zip(arguments, in_axes, strict=True) if axis is not None)
    rows = []
    for member in range(size):
        xs = [x if axis is None else np.take(x, member, axis) for x, axis in zip(arguments, in_axes, strict=True)]
        rows.append(np.asarray(function(np, *xs)))
    return np.stack(rows)


def predict(xp, w, x):
    """Written for one sample x[4]."""
    return xp.tanh(x @ w)


@number("5.1")
@weight(2)
@hint("The batch axis goes in front; the weights stay as they are. Handout, part 5, the picture.")
def test_predict_becomes_one_matrix_product(student, rng):
    """vmap of predict(W, x): one dot of f32[6,4] and f32[4,3], whatever the size of the batch"""
    w, x = rng.normal(size=(4, 3)).astype("f4"), rng.normal(size=(6, 4)).astype("f4")
    jaxpr = student(batched_jaxpr, predict, [w, x], [None, 0])
    (got,) = judge.run(jaxpr, [w, x])
    check.close(got, np.tanh(x @ w), ulps=32)
    types = {v.number: str(v.aval) for v in [*jaxpr.invars, *(eqn.out for eqn in jaxpr.eqns)]}
    dots = [
        [types.get(getattr(a, "number", -1), "?") for a in e.operands] for e in jaxpr.eqns if e.primitive == "dot"
    ]
    check.equal(dots, [["f32[6,4]", "f32[4,3]"]], "the operands of every dot")


@probe
def batched_program(run_program, steps, x) -> np.ndarray:
    """vmap of a random program over the first axis."""
    import minijax
    import numpy as np

    return np.asarray(minijax.vmap(lambda x: run_program(minijax, steps, x))(x))


@number("5.2")
@weight(2)
@hint("Which equation of the program gives another value for a batch than for its members?")
@given(
    steps=generators.programs(),
    shape=st.sampled_from([[5, 3], [1, 3], [4, 2, 3], [3, 3, 3]]),
    draw=st.integers(0, 2**31),
    examples=60,
)
def test_vmap_of_random_programs(student, steps, shape, draw):
    """vmap of random programs equals a loop over the members"""
    x = generators.normal(np.random.default_rng(draw), *shape)
    want = loop(lambda xp, x: generators.run_program(xp, steps, x), [x], [0])
    check.close(student(batched_program, generators.run_program, steps, x), want, ulps=512)


def affine(xp, w, x, b):
    """w[3,4], x[4], b[3]."""
    return xp.sum(w, axis=1) * xp.tanh(w @ x + b)


@number("5.3")
@weight(2)
@hint("in_axes names the mapped axis of each argument, negative from the right; None is shared. Handout, part 5.")
@pytest.mark.parametrize(
    ("shapes", "in_axes"),
    [
        ([[5, 3, 4], [5, 4], [5, 3]], [0, 0, 0]),
        ([[3, 5, 4], [4, 5], [3]], [1, -1, None]),
        ([[3, 4, 5], [4], [5, 3]], [-1, None, 0]),
        ([[3, 4], [4, 5], [3, 5]], [None, 1, -1]),
        ([[3, 4], [4], [5, 3]], [None, None, 0]),
    ],
)
@pytest.mark.parametrize("out_axes", [0, 1, -1])
def test_in_axes_and_out_axes(student, rng, shapes, in_axes, out_axes):
    """in_axes and out_axes: positive, negative and None"""
    arguments = [rng.normal(size=shape) for shape in shapes]
    got = student(batched, affine, arguments, in_axes, out_axes)
    check.close(got, np.moveaxis(loop(affine, arguments, in_axes), 0, out_axes), ulps=64)


def dot(xp, a, b):
    """One product."""
    return a @ b


@number("5.4")
@weight(2)
@hint("np.matmul takes axes before the last two as a batch; a vector is no matrix. Handout, part 5, dot.")
@pytest.mark.parametrize(
    ("left", "right"),
    [
        ([4], [4]),
        ([3, 4], [4]),
        ([4], [4, 2]),
        ([3, 4], [4, 2]),
        ([7, 3, 4], [4, 2]),
        ([4], [7, 4, 2]),
        ([7, 3, 4], [7, 4, 2]),
    ],
)
@pytest.mark.parametrize("in_axes", [[0, None], [None, 0], [0, 0], [-1, 0]])
def test_dot_with_either_or_both_operands_mapped(student, rng, left, right, in_axes):
    """dot of vectors, matrices and batches, either or both operands mapped"""
    arguments = []
    for shape, axis in zip([left, right], in_axes, strict=True):
        place = len(shape) if axis == -1 else 0
        arguments.append(rng.normal(size=shape if axis is None else [*shape[:place], 5, *shape[place:]]))
    got = student(batched, dot, arguments, in_axes, 0)
    check.close(got, loop(dot, arguments, in_axes), ulps=64)


def reductions(xp, x):
    """Reductions by positive, negative and no axis, of x[3, 4]."""
    a = xp.sum(x, axis=0) * xp.max(x, axis=-2)
    b = xp.max(x, axis=1, keepdims=True) + xp.sum(x, axis=(0, -1), keepdims=True)
    return xp.sum(a) * b + xp.sum(x)


def rearrangements(xp, x):
    """transpose, reshape, where and a comparison, of x[3, 4]."""
    y = xp.reshape(xp.transpose(x), (2, 6))
    return xp.where(y > 0.1, y * 2.0, xp.reshape(x, (2, 6)))


@number("5.5")
@weight(1)
@hint("Axes counted from the left move by one, those from the right stay; a new shape gets the batch in front.")
@pytest.mark.parametrize("function", [reductions, rearrangements])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_axes_shift(student, rng, function, axis):
    """reductions, transposes and reshapes of a mapped operand"""
    x = np.moveaxis(rng.normal(size=(5, 3, 4)), 0, axis)
    check.close(student(batched, function, [x], [axis], 0), loop(function, [x], [axis]), ulps=64)


@probe
def disagreement(way) -> np.ndarray:
    """vmap on arguments whose mapped axes differ in size, or with nothing mapped."""
    import minijax
    import numpy as np

    axes = (None, None) if way == "none mapped" else (0, 1)
    product = minijax.vmap(lambda first, second: first * second, in_axes=axes)
    return np.asarray(product(np.ones((3,)), np.ones((2, 3 if way == "fine" else 4))))


@number("5.6")
@weight(1)
@hint("Look at errors.BatchSizeError: it takes the arguments' names with their sizes.")
def test_sizes_must_agree(student):
    """mapped axes of different sizes raise BatchSizeError naming both arguments"""
    check.equal(student(disagreement, "fine"), np.ones((3, 2)), "the product of a batch of three")
    error = student.error(disagreement, "sizes")
    check.raised(error, "BatchSizeError", sizes=[["first", 3], ["second", 4]])
    check.raised(student.error(disagreement, "none mapped"), "BatchSizeError", sizes=[])


@number("5.7")
@weight(1)
@hint("vmap changes the program, it does not repeat it: no loop over the members.")
def test_the_program_does_not_grow_with_the_batch(student, rng):
    """the number of equations does not depend on the size of the batch"""
    counts = []
    for size in (2, 3, 17):
        arguments = [rng.normal(size=shape) for shape in ([size, 3, 4], [4], [size, 3])]
        jaxpr = student(batched_jaxpr, affine, arguments, [0, None, 0])
        check.close(judge.run(jaxpr, arguments)[0], loop(affine, arguments, [0, None, 0]), ulps=64)
        counts.append(len(jaxpr.eqns))
    check.that(len(set(counts)) == 1, "equations for batches of 2, 3 and 17", expected="one number", got=counts)


@probe
def trap(x, rows) -> list[np.ndarray]:
    """Functions of a scalar member beside arrays of the batch's own size."""
    import minijax
    import numpy as np

    table = np.arange(3.0)
    functions = [lambda x, row: 1 + x, lambda x, row: row + x, lambda x, row: minijax.where(x > 0.0, row, table)]
    return [np.asarray(minijax.vmap(function)(x, rows)) for function in functions]


@number("5.11")
@weight(1)
@hint(
    "A batch of scalars has the shape of a row: give it unit axes before it meets one. Handout, part 5, the trap."
)
def test_broadcasting_does_not_mix_members(student, rng):
    """a batch of 3 scalars beside rows of 3"""
    x, rows = rng.normal(size=3), rng.normal(size=(3, 3))
    one, added, chosen = student(trap, x, rows)
    check.close(one, 1 + x, ulps=2, what="1 + x")
    check.close(added, rows + x[:, None], ulps=2, what="row + x")
    check.close(chosen, np.where(x[:, None] > 0, rows, np.arange(3.0)), ulps=2, what="where(x > 0, row, table)")
