"""Part 1: partition specs, and arrays cut by them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from autograder.kit import check, given, hint, number, probe, weight

import generators


@probe
def local(mesh, spec, shape) -> tuple[list[int], int]:
    """local_shape and replication of a spec."""
    import minispmd

    import describe

    where, how = describe.mesh(mesh), describe.spec(spec)
    return [list(minispmd.local_shape(tuple(shape), how, where)), minispmd.replication(how, where)]


def expected_local(mesh: list[Any], spec: list[Any], shape: list[int]) -> list[Any]:
    """The block's shape and the number of copies."""
    sizes = dict(mesh)
    cuts = generators.axes_of(spec, len(shape))
    parts = [math.prod(sizes[axis] for axis in axes) for axes in cuts]
    block = [size // part for size, part in zip(shape, parts, strict=True)]
    return [block, math.prod(sizes.values()) // math.prod(parts)]


LECTURE = [
    (["batch", None], [8, 6], [[2, 6], 2]),
    ([None, "model"], [8, 6], [[8, 3], 4]),
    (["batch", "model"], [8, 6], [[2, 3], 1]),
    ([None, None], [8, 6], [[8, 6], 8]),
]


@number("1.1")
@weight(2)
@hint("Divide each dimension by the sizes of its axes; the axes left out hold copies. Handout, part 1, blocks.")
@given(drawn=generators.placements(16), examples=15)
def test_local_shapes_and_copies(student, drawn):
    """the shape of a block and the number of its copies"""
    mesh = [["batch", 4], ["model", 2]]
    for spec, shape, want in LECTURE:
        check.equal(student(local, mesh, spec, shape), want, f"local_shape and replication of P({spec}) on {mesh}")
    got = student(local, [["X", 2], ["Y", 8], ["Z", 2]], [["X", "Y"]], [128, 2048])
    check.equal(
        got, [[8, 2048], 2], "block (16,384 bytes of int8) and copies of [128, 2048] cut along X and Y of 2·8·2"
    )
    want = expected_local(drawn["mesh"], drawn["spec"], drawn["shape"])
    got = student(local, drawn["mesh"], drawn["spec"], drawn["shape"])
    check.equal(got, want, "local_shape and replication")


@probe
def checked(what, mesh, spec, shape) -> str:
    """check_spec, or another function that takes a shape: "fits", if it raises nothing."""
    import minispmd
    import numpy as np

    import describe

    where, how = describe.mesh(mesh), describe.spec(spec)
    if what == "shard":
        minispmd.shard(np.zeros(shape), how, where)
    else:
        getattr(minispmd, what)(tuple(shape), how, where)
    return "fits"


@number("1.2")
@weight(2)
@hint("Look at errors.SpecError, and at the order of the problems in check_spec's docstring.")
@given(drawn=generators.placements(16, (1, 3)), draw=generators.seeds, examples=16)
def test_wrong_specs_are_refused(student, drawn, draw):
    """a spec that does not fit is refused with SpecError, by check_spec and by all that take a shape"""
    rng = np.random.default_rng(draw)
    mesh, spec, shape = drawn["mesh"], drawn["spec"], drawn["shape"]
    what = str(rng.choice(["check_spec", "local_shape", "device_indices", "shard"]))
    check.equal(student(checked, what, mesh, spec, shape), "fits", f"{what} of a spec that fits")
    rank, names = len(shape), [name for name, _ in mesh]
    full = [*generators.axes_of(spec, rank)]
    first, dim = sorted(int(place) for place in rng.integers(rank, size=2))

    def refused(spec: list[Any], shape: list[int], **fields: Any) -> None:
        check.raised(student.error(checked, what, mesh, spec, shape), "SpecError", **fields)

    refused([*full, *[None] * (rank + 1 - len(full))], shape, problem="rank", dim=-1, axis="")
    with_w = [[*axes, "w"] if place == dim else axes for place, axes in enumerate(full)]
    refused(with_w, shape, problem="unknown axis", axis="w", dim=dim)
    axis = names[int(rng.integers(len(names)))]
    twice = [[axis] * ((place == first) + (place == dim)) for place in range(rank)]
    fitting = [dict(mesh)[axis] * size for size in shape]
    refused(twice, fitting, problem="axis twice", axis=axis, dim=dim)
    # What comes later in the spec is worse, but not looked at any more.
    whole = [[axis] if place == dim else ["w"] if place > dim else None for place in range(rank)]
    odd = [dict(mesh)[axis] * 3 + 1 if place == dim else size for place, size in enumerate(shape)]
    refused(whole, odd, problem="not divisible", axis="", dim=dim)


@probe
def indices(mesh, spec, shape) -> list[list[list[int]]]:
    """device_indices of a spec: [start, stop] for each device and dimension."""
    import minispmd

    import describe

    found = minispmd.device_indices(tuple(shape), describe.spec(spec), describe.mesh(mesh))
    return [[[int(piece.start), int(piece.stop)] for piece in index] for index in found]


def expected_indices(mesh: list[Any], spec: list[Any], shape: list[int]) -> list[list[list[int]]]:
    """Where each device's block lies."""
    (block, _), cuts = expected_local(mesh, spec, shape), generators.axes_of(spec, len(shape))
    devices = math.prod(size for _, size in mesh)
    starts = [
        [generators.position(mesh, device, axes) * size for axes, size in zip(cuts, block, strict=True)]
        for device in range(devices)
    ]
    return [[[start, start + size] for start, size in zip(row, block, strict=True)] for row in starts]


@number("1.3")
@weight(3)
@hint("A block's number is the device's position along the dimension's axes. Handout, part 1, which block.")
@given(drawn=generators.placements(16), examples=16)
def test_which_block_a_device_holds(student, drawn):
    """device_indices, with several axes on one dimension in either order"""
    for names in (["x", "y"], ["y", "x"]):
        mesh = [["x", 2], ["y", 3]]
        got = student(indices, mesh, [names], [12])
        check.equal(got, expected_indices(mesh, [names], [12]), f"indices of P(({names})) on {mesh}")
    got = student(indices, drawn["mesh"], drawn["spec"], drawn["shape"])
    check.equal(got, expected_indices(drawn["mesh"], drawn["spec"], drawn["shape"]), "the indices")


@probe
def cut_and_joined(mesh, spec, x) -> tuple[list[np.ndarray], np.ndarray, bool]:
    """The shards of an array, and unshard of them; the first shard is overwritten in between."""
    import minispmd
    import numpy as np

    import describe

    where, how = describe.mesh(mesh), describe.spec(spec)
    before = x.copy()
    shards = minispmd.shard(x, how, where)
    copies = [np.array(piece) for piece in shards]
    for piece in shards:
        piece[...] = 0
    return [copies, minispmd.unshard(copies, how, where), bool((x == before).all())]


@number("1.4")
@weight(2)
@hint("shard gives each device an array of its own; unshard puts every block at its place. Handout, part 1.")
@given(
    drawn=generators.placements(12), draw=generators.seeds, dtype=st.sampled_from(generators.DTYPES), examples=15
)
def test_shards_come_together_again(student, drawn, draw, dtype):
    """shard cuts copies of the right blocks, and unshard is its inverse"""
    rng = np.random.default_rng(draw)
    (x,) = generators.distinct(rng, 1, drawn["shape"], dtype)
    shards, whole, untouched = student(cut_and_joined, drawn["mesh"], drawn["spec"], x)
    places = expected_indices(drawn["mesh"], drawn["spec"], drawn["shape"])
    check.equal(len(shards), len(places), "the number of shards")
    for device, (got, place) in enumerate(zip(shards, places, strict=True)):
        check.equal(got, x[tuple(slice(*edges) for edges in place)], f"the shard of device {device}")
    check.equal(whole, x, "unshard of the shards")
    check.that(untouched, "the array after its shards were overwritten", expected="unchanged", got="changed")


@probe
def normal_forms(first, second, rank) -> tuple[list[list[str]], list[list[str]], bool, bool]:
    """axes_of two specs, whether they are equal, and whether their hashes are."""
    import minispmd

    import describe

    one, other = describe.spec(first), describe.spec(second)
    axes = [[list(map(str, axes)) for axes in minispmd.axes_of(spec, rank)] for spec in (one, other)]
    return [*axes, one == other, hash(one) == hash(other)]


@number("1.5")
@weight(1)
@hint("Every entry becomes a tuple of axes, and there is one for each dimension. Handout, part 1.")
@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (["x"], [["x"]], True),
        (["x"], ["x", None], True),
        ([None], [], True),
        ([[]], [None, None], True),
        ([["x", "y"]], [["y", "x"]], False),
        (["x"], [None, "x"], False),
    ],
)
def test_axes_of_specs(student, rng, first, second, same):
    """axes_of gives one tuple of axes for each dimension; specs that cut alike are equal"""
    rank = int(rng.integers(2, 5))
    one, other, equal, hashes = student(normal_forms, first, second, rank)
    check.equal(one, generators.axes_of(first, rank), f"axes_of(P({first}), {rank})")
    check.equal(other, generators.axes_of(second, rank), f"axes_of(P({second}), {rank})")
    check.equal(equal, same, "whether the specs are equal")
    check.that(hashes or not same, "hashes of equal specs", expected="equal", got="different")


@probe
def joined(mesh, spec, shards) -> np.ndarray:
    """unshard of these blocks."""
    import minispmd

    import describe

    return minispmd.unshard(shards, describe.spec(spec), describe.mesh(mesh))


@number("1.6")
@weight(1)
@hint("Devices that differ only along axes that the spec leaves out hold the same block. Handout, part 1, copies.")
@given(
    drawn=generators.placements(12, (1, 2)),
    draw=generators.seeds,
    last=st.sampled_from([(7.0, -1.0), (0.0, -0.0), (math.nan, math.nan)]),
    examples=18,
)
def test_copies_that_differ_are_named(student, drawn, draw, last):
    """unshard refuses copies that differ in a bit, as 0.0 and -0.0 do, and names the first two devices"""
    mesh, spec, shape = drawn["mesh"], drawn["spec"], drawn["shape"]
    rng = np.random.default_rng(draw)
    places = expected_indices(mesh, spec, shape)
    (x,) = generators.distinct(rng, 1, shape, "float32")
    odd = int(rng.integers(len(places)))
    common, other = last
    x[tuple(slice(*edges) for edges in places[odd])].flat[-1] = common
    shards = [x[tuple(slice(*edges) for edges in place)].copy() for place in places]
    shards[odd].flat[-1] = other
    holders = [device for device, place in enumerate(places) if place == places[odd]]
    if len(holders) == 1 or math.isnan(common):
        x[tuple(slice(*edges) for edges in places[odd])] = shards[odd]
        check.equal(student(joined, mesh, spec, shards), x, "unshard where no copies differ")
        return
    second = holders[1] if odd == holders[0] else odd
    error = student.error(joined, mesh, spec, shards)
    check.raised(error, "ReplicaError", first=holders[0], second=second)
