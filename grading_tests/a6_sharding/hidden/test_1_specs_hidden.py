"""Part 1, hidden: against JAX, and where two problems meet."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from autograder.kit import check, hint, number, probe, weight

GOLDEN = json.loads((Path(__file__).parent / "golden_jax.json").read_text())["indices"]


@probe
def placed(mesh, spec, shape) -> tuple[list[list[list[int]]], list[int], int]:
    """device_indices, local_shape and replication of a spec."""
    import minispmd

    import describe

    where, how = describe.mesh(mesh), describe.spec(spec)
    found = minispmd.device_indices(tuple(shape), how, where)
    rows = [[[int(piece.start), int(piece.stop)] for piece in index] for index in found]
    return [rows, list(minispmd.local_shape(tuple(shape), how, where)), minispmd.replication(how, where)]


@number("1.7")
@weight(2)
@hint("Several axes on one dimension: the first one is slowest. Handout, part 1, which block.")
def test_indices_agree_with_jax(student):
    """blocks of every device, as JAX's NamedSharding has them"""
    for case in GOLDEN:
        rows, block, copies = student(placed, case["mesh"], case["spec"], case["shape"])
        check.equal(rows, case["indices"], "the indices")
        check.equal(block, case["local"], "the local shape")
        same = [row for row in case["indices"] if row == case["indices"][0]]
        check.equal(copies, len(same), "the number of copies")


@probe
def refused(what, mesh, spec, shape) -> Any:
    """A function of part 1 on a spec that does not fit."""
    import minispmd
    import numpy as np

    import describe

    where, how = describe.mesh(mesh), describe.spec(spec)
    if what == "shard":
        return minispmd.shard(np.zeros(shape), how, where)
    return getattr(minispmd, what)(tuple(shape), how, where)


@number("1.8")
@weight(1)
@hint("Problems are looked for dimension by dimension, and no row may be dropped. See check_spec's docstring.")
@pytest.mark.parametrize("what", ["check_spec", "local_shape", "device_indices", "shard"])
def test_the_first_problem_is_reported(student, what):
    """of two problems the first is reported, by every function that takes a shape"""
    mesh = [["x", 4], ["y", 2]]
    cases = [
        (["w", "x", "y"], [8, 8], {"problem": "rank"}),
        (["x", "w"], [6, 8], {"problem": "not divisible", "dim": 0}),
        (["x", ["y", "x"]], [8, 7], {"problem": "axis twice", "axis": "x", "dim": 1}),
        ([["x", "w", "x"]], [8], {"problem": "unknown axis", "axis": "w", "dim": 0}),
        ([None, ["y", "x"]], [5, 12], {"problem": "not divisible", "dim": 1}),
        (["x"], [3], {"problem": "not divisible", "dim": 0}),
    ]
    for spec, shape, fields in cases:
        check.raised(student.error(refused, what, mesh, spec, shape), "SpecError", **fields)
