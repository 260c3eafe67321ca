"""Part 5, hidden: collectives inside shard_map as JAX has them, and results of several arrays."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from autograder.kit import check, hint, number, probe, weight

import judge

GOLDEN = json.loads((Path(__file__).parent / "golden_jax.json").read_text())["collectives"]


@probe
def mapped(mesh, kind, axes, groups, options, blocks) -> judge.Run:
    """A collective inside shard_map; every device's block goes in and comes out."""
    import minispmd
    import numpy as np

    import describe

    every = minispmd.P(tuple(name for name, _ in mesh))
    along = tuple(axes) if len(axes) > 1 else axes[0]
    call = getattr(minispmd, kind)
    keywords = dict(options) if groups is None else {**options, "axis_index_groups": groups}
    run = minispmd.shard_map(lambda x: call(x, along, **keywords), describe.mesh(mesh), (every,), every)
    return {"outputs": np.split(run(np.concatenate(blocks)), len(blocks)), "log": describe.log(run.fabric)}


@number("5.6")
@weight(1)
@hint("Axes in the order of the call, positions in the order of axis_index_groups. Handout, part 5, collectives.")
def test_shard_map_agrees_with_jax(student):
    """collectives inside shard_map, as JAX has them"""
    for case in GOLDEN:
        blocks = [np.array(block, np.int32) for block in case["inputs"]]
        run = student(mapped, case["mesh"], case["kind"], case["axes"], case["groups"], case["options"], blocks)
        judge.traffic(run, case["mesh"])
        for device, (got, want) in enumerate(zip(run.outputs, case["outputs"], strict=True)):
            check.equal(got, np.array(want, np.int32), f"{case['kind']}: the output of device {device}")


@probe
def statistics(mesh, x) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Means of rows and positions of devices, from a program with two results and two collectives."""
    import minispmd
    import numpy as np
    from minispmd import P

    import describe

    where = describe.mesh(mesh)

    def program(block):
        total = minispmd.psum(block.sum(axis=1), "y")
        count = minispmd.psum(np.full(1, block.shape[1]), "y")
        place = np.full((1, 1), 10 * minispmd.axis_index("x") + minispmd.axis_index("y"))
        centred = block - (total / count)[:, None]
        return total / count, place, centred, np.full((1, 1), minispmd.axis_index(("y", "x")))

    specs = (P("x"), P("x", "y"), P("x", "y"), P("x", "y"))
    return [np.asarray(result) for result in minispmd.shard_map(program, where, (P("x", "y"),), specs)(x)]


@number("5.7")
@weight(1)
@hint("A tuple of specs for a tuple of results, each put together by its own spec. See shard_map's docstring.")
def test_several_results(student, rng):
    """a program with several collectives and several results, cut in different ways"""
    mesh = [["x", 2], ["y", int(rng.integers(2, 5))]]
    columns = mesh[1][1]
    x = rng.normal(size=(4, 3 * columns))
    mean, place, centred, number_ = student(statistics, mesh, x)
    check.close(mean, x.mean(axis=1), ulps=64, what="the means")
    check.equal(
        place.tolist(), [[10 * i + j for j in range(columns)] for i in range(2)], "10·x + y of each device"
    )
    check.close(centred, x - x.mean(axis=1, keepdims=True), ulps=64, what="x less its means")
    want = [[j * 2 + i for j in range(columns)] for i in range(2)]
    check.equal(number_.tolist(), want, 'axis_index(("y", "x")) of each device')
