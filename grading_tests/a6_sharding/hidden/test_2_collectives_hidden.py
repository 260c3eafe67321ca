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
def both_ways(name, blocks, options) -> judge.Run:
    """A collective of all devices of a ring, both ways round."""
    from minispmd import collectives

    import describe

    call, group = getattr(collectives, name), tuple(range(len(blocks)))
    program = lambda device, x: call(device, x, **options, group=group, both_ways=True)
    return describe.run([["ring", len(blocks)]], program, blocks)


@number("2.10")
@weight(2)
@hint("Half of every block goes the other way, at the same time. Handout, part 2, both ways.")
@given(n=generators.rings, draw=generators.seeds, examples=10)
def test_both_ways_round(student, n, draw):
    """with both_ways, the busiest link carries half as much"""
    rng = np.random.default_rng(draw)
    rounds = math.ceil((n - 1) / 2)
    blocks = generators.distinct(rng, n, [2, 4], "float32")
    run = student(both_ways, "all_gather", blocks, {"dim": 1})
    traffic = judge.traffic(run, [["ring", n]])
    judge.moved(run, blocks)
    for device, output in enumerate(run.outputs):
        check.equal(output, np.concatenate(blocks, axis=1), f"all_gather, the output of device {device}")
    check.at_most(max(traffic.sent), (n - 1) * blocks[0].nbytes, "all_gather, bytes sent by a device")
    check.at_most(traffic.busiest, rounds * blocks[0].nbytes, "all_gather, bytes over the busiest link")
    blocks = generators.terms(rng, n, [2 * n, 2])
    total, piece = sum(blocks), blocks[0].nbytes // n
    wanted = {"reduce_scatter": np.split(total, n), "all_reduce": [total] * n}
    for name, options in (("reduce_scatter", {"dim": 0}), ("all_reduce", {})):
        run = student(both_ways, name, blocks, options)
        traffic = judge.traffic(run, [["ring", n]])
        judge.summed(run, blocks)
        for device, output in enumerate(run.outputs):
            check.equal(output, wanted[name][device], f"{name}, the output of device {device}")
        times = 2 if name == "all_reduce" else 1
        check.at_most(max(traffic.sent), times * (n - 1) * piece, f"{name}, bytes sent by a device")
        check.at_most(traffic.busiest, times * rounds * piece, f"{name}, bytes over the busiest link")


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


@number("2.11")
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


@probe
def refused(name, shape, group, options) -> Any:
    """A collective that cannot be carried out, on a ring of four."""
    import numpy as np
    from minispmd import collectives

    import describe

    call = getattr(collectives, name)
    program = lambda device, x: call(device, x, **options, group=tuple(group))
    return describe.run([["ring", 4]], program, [np.zeros(shape)] * 4)["outputs"]


@number("2.12")
@weight(1)
@hint("A dimension that does not divide, a source or target named twice: raise CollectiveError.")
@pytest.mark.parametrize(
    ("name", "shape", "options"),
    [
        ("reduce_scatter", [6, 4], {"dim": 0}),
        ("all_to_all", [4, 6], {"split_dim": 1, "concat_dim": 0}),
        ("collective_permute", [2], {"pairs": [[0, 1], [0, 2]]}),
        ("collective_permute", [2], {"pairs": [[0, 1], [2, 1]]}),
    ],
)
def test_what_cannot_be_carried_out_is_refused(student, name, shape, options):
    """a collective that cannot be carried out raises CollectiveError"""
    error = student.error(refused, name, shape, [0, 1, 2, 3], options)
    check.raised(error, "CollectiveError", collective=name)
