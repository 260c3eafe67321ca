"""Part 5: one program for every device, and what goes wrong when it is not one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from autograder.kit import check, hint, number, probe, weight

import generators
import judge


@probe
def mapped(mesh, kind, axes, options, blocks) -> judge.Run:
    """A collective inside shard_map; every device's block goes in and comes out."""
    import minispmd
    import numpy as np

    import describe

    every = minispmd.P(tuple(name for name, _ in mesh))
    along = tuple(axes) if len(axes) > 1 else axes[0]
    here = lambda x, axes: np.full_like(x, minispmd.axis_index(axes))
    call = here if kind == "axis_index" else getattr(minispmd, kind)
    run = minispmd.shard_map(lambda x: call(x, along, **options), describe.mesh(mesh), (every,), every)
    whole = run(np.concatenate(blocks))
    return {"outputs": np.split(whole, len(blocks)), "log": describe.log(run.fabric)}


def expected(mesh: list[Any], kind: str, axes: list[str], options: dict[str, Any], blocks: list[Any]) -> list[Any]:
    """Every device's output."""
    wanted: list[Any] = [None] * len(blocks)
    groups = generators.groups(mesh, axes)
    if parts := options.get("axis_index_groups"):
        groups = [[group[place] for place in part] for group in groups for part in parts]
    for group in groups:
        mine, n = [blocks[device] for device in group], len(group)
        for place, device in enumerate(group):
            match kind:
                case "axis_index":
                    wanted[device] = np.full_like(blocks[device], place)
                case "psum":
                    wanted[device] = sum(mine)
                case "all_gather":
                    wanted[device] = np.concatenate(mine, axis=options["dim"])
                case "psum_scatter":
                    wanted[device] = np.split(sum(mine), n, axis=options["dim"])[place]
                case "all_to_all":
                    pieces = [np.split(block, n, axis=options["split_dim"])[place] for block in mine]
                    wanted[device] = np.concatenate(pieces, axis=options["concat_dim"])
                case "ppermute":
                    sources = [source for source, target in options["perm"] if target == place]
                    wanted[device] = mine[sources[0]] if sources else np.zeros_like(mine[0])
    return wanted


@number("5.1")
@weight(2)
@hint(
    "Devices that differ along the named axes only are a group, in the axes' order. Handout, part 5, collectives."
)
@pytest.mark.parametrize("kind", ["axis_index", "psum", "all_gather", "psum_scatter", "all_to_all", "ppermute"])
def test_collectives_by_axis_names(student, rng, kind):
    """axis_index and the collectives along one axis and along several, in the order named, and in groups"""
    for mesh in ([["x", 2], ["y", 3]], [["y", 4], ["x", 2]], [["x", 2], ["z", 2], ["y", 2]]):
        names = [name for name, _ in mesh]
        devices = math.prod(size for _, size in mesh)
        for count in range(1, len(names) + 1):
            axes = names[::-1] if count == 3 else [str(name) for name in rng.permutation(names)[:count]]
            n = math.prod(dict(mesh)[axis] for axis in axes)
            options: dict[str, Any] = (
                {"dim": int(rng.integers(2))} if kind in ("all_gather", "psum_scatter") else {}
            )
            if kind == "all_to_all":
                options = {"split_dim": int(rng.integers(2)), "concat_dim": int(rng.integers(2))}
            if kind == "ppermute":
                places = [[int(place) for place in rng.permutation(n)] for _ in range(2)]
                options = {"perm": [list(pair) for pair in zip(*places, strict=True)][: int(rng.integers(n + 1))]}
            if kind not in ("ppermute", "axis_index") and n % 2 == 0 and n >= 4:
                options["axis_index_groups"] = rng.permutation(n).reshape(2, n // 2).tolist()
            draw = generators.terms if kind.startswith("psum") else generators.distinct
            blocks = draw(rng, devices, [n, n], "int64")
            run = student(mapped, mesh, kind, axes, options, blocks)
            judge.traffic(run, mesh)
            wanted = expected(mesh, kind, axes, options, blocks)
            for device, (got, want) in enumerate(zip(run.outputs, wanted, strict=True)):
                check.equal(got, want, f"{kind} along {axes} of {mesh}: the output of device {device}")
            if kind.startswith("psum"):
                judge.summed(run, blocks)
            elif kind != "axis_index":
                judge.moved(run, blocks, free=[0])


@probe
def disagreeing(mesh, odd, kind) -> Any:
    """A program in which one device calls something else than its peers."""
    import minispmd
    import numpy as np

    import describe

    names = tuple(name for name, _ in mesh)

    def program(x):
        if minispmd.axis_index(names) != odd:
            return minispmd.psum(x, names)
        if kind == "another collective":
            return minispmd.all_gather(x, names)
        if kind == "another shape":
            return minispmd.psum(x[:1], names)
        return x

    every = minispmd.P(names)
    devices = describe.mesh(mesh).size
    return minispmd.shard_map(program, describe.mesh(mesh), (every,), every)(np.ones((2 * devices, 2)))


@number("5.2")
@weight(1)
@hint("Call the collectives of part 2, which tell the fabric what they are. Handout, part 5, lock step.")
@pytest.mark.parametrize("kind", ["another collective", "another shape", "nothing"])
def test_devices_out_of_step(student, rng, kind):
    """a device that calls something else than its peers is named, and nothing hangs"""
    mesh = [["x", 2], ["y", int(rng.integers(2, 4))]]
    odd = int(rng.integers(2 * mesh[1][1]))
    error = student.error(disagreeing, mesh, odd, kind)
    if kind == "nothing":
        check.raised(error, "Deadlock", finished=[odd])
    else:
        check.raised(error, "CollectiveMismatch")
        devices = error.fields.get("devices")
        named = isinstance(devices, list) and odd in devices
        check.that(named, "the devices named", expected=f"{odd} among them", got=devices)


@probe
def claimed(mesh, summed, x) -> np.ndarray:
    """The row sums of blocks of columns, claimed to be the same everywhere; added up or not."""
    import minispmd

    import describe

    def program(block):
        total = block.sum(axis=1)
        return minispmd.psum(total, "x") if summed else total

    return minispmd.shard_map(program, describe.mesh(mesh), (minispmd.P(None, "x"),), minispmd.P())(x)


@number("5.3")
@weight(1)
@hint("out_specs that leave an axis out say that devices along it agree: check it. Handout, part 5, replication.")
def test_claims_of_replication_are_checked(student, rng):
    """a forgotten psum is found where out_specs claim replication"""
    mesh = [["x", int(rng.integers(2, 5))], ["y", 2]]
    x = rng.integers(1, 100, size=(3, 4 * mesh[0][1])).astype("float64")
    check.equal(student(claimed, mesh, True, x), x.sum(axis=1), "the row sums, added up by psum")
    error = student.error(claimed, mesh, False, x)
    check.raised(error, "ReplicaError", first=0, second=2)


@probe
def two_ways(mesh, a, b) -> tuple[np.ndarray, list[np.ndarray]]:
    """Every device's block of a @ b, both cut by rows: by hand with shard_map, and by the partitioner."""
    import minispmd
    import numpy as np
    from minispmd.program import matmul_state

    import describe

    where, rows = describe.mesh(mesh), minispmd.P(mesh[0][0])
    name = mesh[0][0]
    by_hand = minispmd.shard_map(lambda a, b: a @ minispmd.all_gather(b, name), where, (rows, rows), rows)
    shape = (a.shape[0], a.shape[1], b.shape[1])
    program = minispmd.partition_matmul(rows, rows, rows, where, shape, a.itemsize)
    start = matmul_state(shape, minispmd.axes_of(rows, 2), minispmd.axes_of(rows, 2))
    blocks = minispmd.shard(a, rows, where), minispmd.shard(b, rows, where)
    run = lambda device, a, b: minispmd.execute(device, program, start, {"a": a, "b": b})
    automatic = minispmd.Fabric(where).run(run, *blocks)
    return [np.asarray(by_hand(a, b)), [np.asarray(block) for block in automatic]]


@number("5.4")
@weight(1)
@hint("Gather b in the order of the axis, then multiply: the same operations as the partitioner's program.")
def test_by_hand_and_automatic_agree(student, rng):
    """gather the right block and multiply: by hand and automatically the same bits on every device"""
    n = int(rng.choice([2, 4]))
    a, b = rng.normal(size=(4 * n, 8 * n)).astype("float32"), rng.normal(size=(8 * n, 6)).astype("float32")
    whole, blocks = student(two_ways, [["x", n]], a, b)
    check.close(whole, a @ b, ulps=8 * n * 4, what="a @ b by hand")
    check.equal(len(blocks), n, "the number of devices")
    for device, (got, want) in enumerate(zip(blocks, np.split(whole, n), strict=True)):
        check.equal(got, want, f"device {device}: the automatic block, compared with that by hand")


@probe
def refused(what) -> Any:
    """Calls of shard_map and of collectives that do not fit."""
    import minispmd
    import numpy as np
    from minispmd import P

    mesh, x = minispmd.Mesh(x=2, y=2), np.ones((4, 4))
    match what:
        case "axis":
            return minispmd.shard_map(lambda x: minispmd.psum(x, "z"), mesh, (P("x"),), P("x"))(x)
        case "index":
            return minispmd.shard_map(lambda x: x * minispmd.axis_index(("x", "w")), mesh, (P("x"),), P("x"))(x)
        case "outside":
            return minispmd.psum(x, "x")
        case "arguments":
            return minispmd.shard_map(lambda x: x, mesh, (P("x"),), P("x"))(x, x)
        case "results":
            return minispmd.shard_map(lambda x: (x, x), mesh, (P("x"),), (P("x"), P("x"), P()))(x)
        case "one too many":
            program = lambda x: (x, x, x) if minispmd.axis_index(("x", "y")) == 3 else (x, x)
            return minispmd.shard_map(program, mesh, (P("x"),), (P("x"), P("x")))(x)
        case "two for one":
            return minispmd.shard_map(lambda x: (x, x), mesh, (P("x"),), P("x"))(x)
        case "shapes":
            program = lambda x: x[: 1 + minispmd.axis_index("x")]
            return minispmd.shard_map(program, mesh, (P("x"),), P("x"))(x)
        case "dtypes":
            program = lambda x: x.astype("float32") if minispmd.axis_index("x") else x
            return minispmd.shard_map(program, mesh, (P("x"),), P("x"))(x)
        case "negative":
            return minispmd.shard_map(lambda x: minispmd.ppermute(x, "x", [(-1, 0)]), mesh, (P("x"),), P("x"))(x)
        case "positions":
            return minispmd.shard_map(lambda x: minispmd.ppermute(x, "x", [(0, 2)]), mesh, (P("x"),), P("x"))(x)


@number("5.5")
@weight(1)
@hint("Look at what shard_map's docstring says is raised, and by what.")
@pytest.mark.parametrize(
    "what",
    [
        *("axis", "index", "outside", "arguments", "results", "one too many", "two for one"),
        *("shapes", "dtypes", "positions", "negative"),
    ],
)
def test_wrong_calls_are_refused(student, what):
    """unknown axes, calls outside shard_map, and arguments or results that do not fit raise ShardMapError"""
    check.raised(student.error(refused, what), "ShardMapError")
