"""Part 2, hidden: both ways round, against JAX, and calls that cannot be carried out."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autograder.kit import check, given, hint, number, probe, weight

import generators
import judge

GOLDEN = json.loads((Path(__file__).parent / "golden_jax.json").read_text())["collectives"]


@probe
def both_ways(name, blocks, group, options) -> judge.Run:
    """A collective of a group, all devices of a ring, both ways round."""
    from minispmd import collectives

    import describe

    call = getattr(collectives, name)
    program = lambda device, x: call(device, x, **options, group=tuple(group), both_ways=True)
    return describe.run([["ring", len(blocks)]], program, blocks)


@number("2.12")
@weight(1)
@hint("Both ways or one way, the values are the same, for any group and any size. Handout, part 2, both ways.")
@given(n=generators.rings, draw=generators.seeds, examples=8)
def test_both_ways_in_any_order(student, n, draw):
    """with both_ways, groups in any order and blocks of odd sizes give the same values"""
    rng = np.random.default_rng(draw)
    group, size = [int(device) for device in rng.permutation(n)], int(rng.choice([1, 3, 5]))
    blocks = generators.distinct(rng, n, [size, 1], "int32")
    run = student(both_ways, "all_gather", blocks, group, {"dim": 0})
    judge.moved(run, blocks)
    check.equal(run.outputs, [np.concatenate([blocks[member] for member in group])] * n, "all_gather, the outputs")
    check.equal(run.inputs, blocks, "the inputs after the run, compared with those before")
    for name, options, shape in (("reduce_scatter", {"dim": 1}, [1, size * n]), ("all_reduce", {}, [size])):
        blocks = generators.terms(rng, n, shape)
        run = student(both_ways, name, blocks, group, options)
        judge.summed(run, blocks)
        total = sum(blocks)
        pieces = np.split(total, n, axis=1) if options else [total] * n
        for device, output in enumerate(run.outputs):
            check.equal(output, pieces[group.index(device)], f"{name}, the output of device {device}")
        check.equal(run.inputs, blocks, "the inputs after the run, compared with those before")


@probe
def on_a_mesh(name, mesh, axes, groups, options, blocks) -> judge.Run:
    """A collective along some axes of a mesh, among the groups that groups_of gives."""
    from minispmd import collectives

    import describe

    call = getattr(collectives, name)
    found = collectives.groups_of(describe.mesh(mesh), tuple(axes), groups)

    def program(device, x):
        group = next(group for group in found if device.id in group)
        return call(device, x, **options, group=tuple(group))

    return describe.run(mesh, program, blocks)


NAMES = {
    "psum": "all_reduce",
    "all_gather": "all_gather",
    "psum_scatter": "reduce_scatter",
    "all_to_all": "all_to_all",
    "ppermute": "collective_permute",
}


@number("2.13")
@weight(2)
@hint("Groups along several axes have an order, and so have axis_index_groups. Handout, part 2, groups.")
@pytest.mark.parametrize("kind", list(NAMES))
def test_collectives_agree_with_jax(student, kind):
    """collectives along axes and groups of a mesh, as JAX's have them"""
    for case in (case for case in GOLDEN if case["kind"] == kind):
        blocks = [np.array(block, np.int32) for block in case["inputs"]]
        options: dict[str, Any] = dict(case["options"])
        if kind == "ppermute":
            options = {"pairs": options["perm"]}
        arguments = (NAMES[kind], case["mesh"], case["axes"], case["groups"], options, blocks)
        run = student(on_a_mesh, *arguments)
        traffic = judge.traffic(run, case["mesh"])
        for device, (got, want) in enumerate(zip(run.outputs, case["outputs"], strict=True)):
            check.equal(got, np.array(want, np.int32), f"{kind}, the output of device {device}")
        n = math.prod(dict(case["mesh"])[axis] for axis in case["axes"])
        n = len(case["groups"][0]) if case["groups"] else n
        pieces = {"all_gather": n - 1, "psum": 2 * (n - 1) / n, "ppermute": 1}.get(kind, (n - 1) / n)
        check.at_most(max(traffic.sent), pieces * blocks[0].nbytes, f"{kind}, bytes sent by a device")
