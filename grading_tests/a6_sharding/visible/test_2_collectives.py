"""Part 2: collectives out of sends, judged by the log of what was sent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from autograder.kit import check, given, hint, number, probe, weight

import generators
import judge


@probe
def grouped(mesh, axes, index_groups) -> list[list[int]]:
    """groups_of a mesh along some axes."""
    from minispmd import collectives

    import describe

    found = collectives.groups_of(describe.mesh(mesh), tuple(axes), index_groups)
    return [[int(device) for device in group] for group in found]


@number("2.1")
@weight(2)
@hint("Positions, not devices, and their order is the group's. Handout, part 2, groups.")
@given(mesh=generators.meshes(12), draw=generators.seeds, examples=15)
def test_groups_along_axes(student, mesh, draw):
    """groups along axes in any order, split by axis_index_groups"""
    check.equal(student(grouped, [["x", 4]], ["x"], [[2, 0], [1, 3]]), [[2, 0], [1, 3]], "groups of [[2,0],[1,3]]")
    rng = np.random.default_rng(draw)
    names = [str(name) for name in rng.permutation([name for name, _ in mesh])]
    axes = names[: int(rng.integers(1, len(names) + 1))]
    whole = generators.groups(mesh, axes)
    check.equal(sorted(student(grouped, mesh, axes, None)), sorted(whole), f"groups along {axes}")
    order = [int(place) for place in rng.permutation(len(whole[0]))]
    cut = int(rng.integers(1, len(order) + 1))
    parts = [part for part in (order[:cut], order[cut:]) if part]
    want = [[group[place] for place in part] for group in whole for part in parts]
    check.equal(sorted(student(grouped, mesh, axes, parts)), sorted(want), f"groups along {axes} of {parts}")
    for wrong in ([order[:-1]], [order, [order[0]]], [[place + 1 for place in order]]):
        error = student.error(grouped, mesh, axes, wrong)
        check.raised(error, "CollectiveError", collective="axis_index_groups")


@probe
def collective(name, blocks, group, options) -> judge.Run:
    """Run a collective of one group, all devices of a ring, on a fabric."""
    from minispmd import collectives

    import describe

    call = getattr(collectives, name)
    program = lambda device, x: call(device, x, **options, group=tuple(group))
    return describe.run([["ring", len(blocks)]], program, blocks)


def ran(student: Any, name: str, blocks: list[np.ndarray], group: list[int], **options: Any) -> judge.Run:
    """The run, with the sender's dtype in every message and the inputs as they were."""
    run = student(collective, name, blocks, group, options)
    judge.traffic(run, [["ring", len(blocks)]])
    check.equal(run.inputs, blocks, "the inputs after the run, compared with those before")
    for events in run.log:
        for event in events:
            if isinstance(event, judge.Send):
                check.equal(event.payload.dtype.name, blocks[0].dtype.name, "the dtype of what is sent")
    return run


def budgets(run: judge.Run, devices: int, nbytes: int, steps: int, natural: bool) -> None:
    """Pass if nobody sends more bytes, and, where the group goes round the ring, if there are no more steps."""
    traffic = judge.traffic(run, [["ring", devices]])
    check.at_most(max(traffic.sent), nbytes, "bytes sent by a device")
    if natural:
        check.at_most(traffic.steps, steps, "steps")


def outputs(run: judge.Run, wanted: list[np.ndarray]) -> None:
    """Pass if every device returned what it should."""
    for device, (got, want) in enumerate(zip(run.outputs, wanted, strict=True)):
        check.equal(got, want, f"the output of device {device}")


def matrices(*rows: list[list[int]]) -> list[np.ndarray]:
    """Blocks of the examples of the StableHLO specification."""
    return [np.array(block, np.int32) for block in rows]


def order_of(rng: np.random.Generator, n: int) -> tuple[list[int], bool]:
    """A group of all devices of a ring: in order, or in a random one."""
    natural = bool(rng.integers(2))
    return [int(device) for device in (range(n) if natural else rng.permutation(n))], natural


@number("2.2")
@weight(3)
@hint("In each step hand on what came in the step before, for n - 1 steps. Handout, part 2, gather.")
@given(n=generators.rings, draw=generators.seeds, dtype=st.sampled_from(generators.DTYPES), examples=12)
def test_all_gather(student, n, draw, dtype):
    """all_gather: values, (n - 1)/n of the total sent by each device, n - 1 steps"""
    first, second = matrices([[1, 2], [3, 4]], [[5, 6], [7, 8]])
    run = ran(student, "all_gather", [first, second], [0, 1], dim=1)
    outputs(run, matrices([[1, 2, 5, 6], [3, 4, 7, 8]]) * 2)
    rng = np.random.default_rng(draw)
    group, natural = order_of(rng, n)
    shape = [int(size) for size in rng.integers(1, 4, size=rng.integers(1, 4))]
    dim = int(rng.integers(len(shape)))
    blocks = generators.distinct(rng, n, shape, dtype)
    run = ran(student, "all_gather", blocks, group, dim=dim)
    outputs(run, [np.concatenate([blocks[member] for member in group], axis=dim)] * n)
    judge.moved(run, blocks)
    budgets(run, n, (n - 1) * blocks[0].nbytes, n - 1, natural)


@number("2.3")
@weight(3)
@hint("The sum of a block starts at its owner's neighbour and ends at its owner. Handout, part 2, scatter.")
@given(n=generators.rings, draw=generators.seeds, examples=12)
def test_reduce_scatter(student, n, draw):
    """reduce_scatter: the right block to every position, (n - 1)/n of the array sent, n - 1 steps"""
    first, second = matrices([[1, 2, 3, 4], [5, 6, 7, 8]], [[9, 10, 11, 12], [13, 14, 15, 16]])
    run = ran(student, "reduce_scatter", [first, second], [0, 1], dim=1)
    outputs(run, matrices([[10, 12], [18, 20]], [[14, 16], [22, 24]]))
    rng = np.random.default_rng(draw)
    group, natural = order_of(rng, n)
    shape = [int(size) for size in rng.integers(1, 4, size=rng.integers(1, 3))]
    dim = int(rng.integers(len(shape)))
    shape[dim] = n * int(rng.integers(1, 3))
    blocks = generators.terms(rng, n, shape, str(rng.choice(["int64", "float64"])))
    run = ran(student, "reduce_scatter", blocks, group, dim=dim)
    pieces = np.split(sum(blocks), n, axis=dim)
    outputs(run, [pieces[group.index(device)] for device in range(n)])
    judge.summed(run, blocks)
    budgets(run, n, (n - 1) * blocks[0].nbytes // n, n - 1, natural)


@number("2.4")
@weight(3)
@hint("Scatter the flat array in n nearly equal pieces, then gather. Handout, part 2, all-reduce.")
@given(n=generators.rings, draw=generators.seeds, examples=12)
def test_all_reduce(student, n, draw):
    """all_reduce: arrays of any size, 2(n - 1) pieces sent, 2(n - 1) steps"""
    rng = np.random.default_rng(draw)
    group, natural = order_of(rng, n)
    shape = [int(size) for size in rng.integers(1, 5, size=rng.integers(1, 4))]
    blocks = generators.terms(rng, n, shape, str(rng.choice(["int64", "float64"])))
    run = ran(student, "all_reduce", blocks, group)
    outputs(run, [sum(blocks)] * n)
    judge.summed(run, blocks)
    piece = math.ceil(blocks[0].size / n) * blocks[0].itemsize
    budgets(run, n, 2 * (n - 1) * piece, 2 * (n - 1), natural)


@number("2.5")
@weight(1)
@hint("Add up each element in one place, in one order, and send the sum round. Handout, part 2, all-reduce.")
@given(
    n=generators.rings,
    draw=generators.seeds,
    both=st.booleans(),
    dtype=st.sampled_from(["float32", "int32"]),
    examples=12,
)
def test_sums_have_the_same_bits_everywhere(student, n, draw, both, dtype):
    """all_reduce of float32 and int32: close to the sum, and the same bits on every device"""
    rng = np.random.default_rng(draw)
    blocks = [(1000 * rng.normal(size=(3, 7))).astype(dtype) for _ in range(n)]
    run = ran(student, "all_reduce", blocks, order_of(rng, n)[0], both_ways=both)
    check.close(run.outputs[0], np.sum(blocks, axis=0, dtype="float64").astype(dtype), ulps=4 * n)
    for device, output in enumerate(run.outputs):
        check.equal(output, run.outputs[0], f"the output of device {device}, compared with that of device 0")


@number("2.6")
@weight(2)
@hint("Piece i goes straight to position i; pieces that come are joined by position. Handout, part 2, all-to-all.")
@given(n=generators.rings, draw=generators.seeds, dtype=st.sampled_from(generators.DTYPES), examples=12)
def test_all_to_all(student, n, draw, dtype):
    """all_to_all: values in the group's order, (n - 1)/n of the array sent, no link overloaded"""
    examples = matrices([[1, 2, 3, 4], [5, 6, 7, 8]], [[9, 10, 11, 12], [13, 14, 15, 16]])
    run = ran(student, "all_to_all", examples, [0, 1], split_dim=1, concat_dim=0)
    outputs(run, matrices([[1, 2], [5, 6], [9, 10], [13, 14]], [[3, 4], [7, 8], [11, 12], [15, 16]]))
    run = ran(student, "all_to_all", examples, [1, 0], split_dim=1, concat_dim=0)
    outputs(run, matrices([[11, 12], [15, 16], [3, 4], [7, 8]], [[9, 10], [13, 14], [1, 2], [5, 6]]))
    rng = np.random.default_rng(draw)
    group, natural = order_of(rng, n)
    shape = [int(size) for size in rng.integers(1, 3, size=rng.integers(1, 4))]
    split, concat = (int(dim) for dim in rng.integers(len(shape), size=2))
    shape[split] = n * int(rng.integers(1, 3))
    blocks = generators.distinct(rng, n, shape, dtype)
    run = ran(student, "all_to_all", blocks, group, split_dim=split, concat_dim=concat)
    pieces = [np.split(block, n, axis=split) for block in blocks]
    mine = [
        np.concatenate([pieces[member][group.index(device)] for member in group], axis=concat)
        for device in range(n)
    ]
    outputs(run, mine)
    judge.moved(run, blocks)
    piece = blocks[0].nbytes // n
    budgets(run, n, (n - 1) * piece, n * n, natural)
    if natural:
        busiest = judge.traffic(run, [["ring", n]]).busiest
        check.at_most(busiest, (n // 2) * (n // 2 + 1) // 2 * piece, "bytes over the busiest link")


@number("2.7")
@weight(2)
@hint("Positions that no pair names as a target get zeros, not what they had. Handout, part 2, permute.")
@given(n=st.integers(3, 8), draw=generators.seeds, dtype=st.sampled_from(generators.DTYPES), examples=12)
def test_collective_permute(student, n, draw, dtype):
    """collective_permute: one array from source to target, zeros where nothing is sent"""
    rng = np.random.default_rng(draw)
    group, _ = order_of(rng, n)
    blocks = generators.distinct(rng, n, [2, 3], dtype)
    sources, targets = ([int(place) for place in rng.permutation(n)] for _ in range(2))
    count = int(rng.integers(0, n + 1))
    for places in ([(0, 1), (1, 2)], list(zip(sources, targets, strict=True))[:count]):
        run = ran(student, "collective_permute", blocks, group, pairs=[list(pair) for pair in places])
        wanted = [np.zeros_like(block) for block in blocks]
        for source, target in places:
            wanted[group[target]] = blocks[group[source]]
        outputs(run, wanted)
        judge.moved(run, blocks, free=[0])
        sending = {group[source] for source, target in places if source != target}
        for device, nbytes in enumerate(judge.traffic(run, [["ring", n]]).sent):
            check.at_most(nbytes, blocks[0].nbytes if device in sending else 0, f"bytes sent by device {device}")


@number("2.8")
@weight(1)
@hint("Nobody receives the array twice. Handout, part 2, broadcast.")
@given(n=generators.rings, draw=generators.seeds, dtype=st.sampled_from(generators.DTYPES), examples=12)
def test_broadcast(student, n, draw, dtype):
    """broadcast: the first position's array, n - 1 copies sent in all, n - 1 steps"""
    rng = np.random.default_rng(draw)
    group, natural = order_of(rng, n)
    blocks = generators.distinct(rng, n, [2, 2], dtype)
    run = ran(student, "broadcast", blocks, group)
    outputs(run, [blocks[group[0]]] * n)
    judge.moved(run, blocks)
    traffic = judge.traffic(run, [["ring", n]])
    check.at_most(sum(traffic.sent), (n - 1) * blocks[0].nbytes, "bytes sent by all devices together")
    if natural:
        check.at_most(traffic.steps, n - 1, "steps")


@probe
def by_axes(mesh, axes, blocks) -> judge.Run:
    """all_reduce_by_axes on a torus, along these axes in this order."""
    from minispmd import collectives

    import describe

    everyone = tuple(range(len(blocks)))

    def program(device, x):
        groups = [device.mesh.group(device.id, [axis]) for axis in axes]
        return collectives.all_reduce_by_axes(device, x, groups, everyone)

    return describe.run(mesh, program, blocks)


@number("2.9")
@weight(2)
@hint("Scatter along one axis after the other, then gather in the opposite order. Handout, part 2, torus.")
@pytest.mark.parametrize("sizes", [[2, 2], [2, 3], [4, 2], [2, 2, 2]])
def test_all_reduce_by_axes(student, rng, sizes):
    """all_reduce along the axes of a torus: the bytes of one ring in far fewer steps"""
    mesh = [[name, size] for name, size in zip("xyz", sizes, strict=False)]
    axes = [str(axis) for axis in rng.permutation([name for name, _ in mesh])]
    n = math.prod(sizes)
    blocks = generators.terms(rng, n, [int(size) for size in rng.integers(2, 6, size=2)])
    run = student(by_axes, mesh, axes, blocks)
    check.equal(run.inputs, blocks, "the inputs after the run, compared with those before")
    traffic = judge.traffic(run, mesh)
    outputs(run, [sum(blocks)] * n)
    judge.summed(run, blocks)
    held, elements = blocks[0].size, 0
    for axis in axes:
        held = math.ceil(held / dict(mesh)[axis])
        elements += 2 * (dict(mesh)[axis] - 1) * held
    check.at_most(max(traffic.sent), elements * blocks[0].itemsize, "bytes sent by a device")
    check.at_most(traffic.steps, 2 * sum(size - 1 for size in sizes), "steps")


def links(run: judge.Run, sent: int, busiest: int) -> None:
    """Pass if no device sends more bytes than `sent`, and no link of the ring carries more than `busiest`."""
    traffic = judge.traffic(run, [["ring", len(run.outputs)]])
    check.at_most(max(traffic.sent), sent, "bytes sent by a device")
    check.at_most(traffic.busiest, busiest, "bytes over the busiest link")


@number("2.10")
@weight(1)
@hint("Half of every block goes the other way, at the same time. Handout, part 2, both ways.")
@given(n=generators.rings, draw=generators.seeds, examples=10)
def test_both_ways_round(student, n, draw):
    """with both_ways the same values come, and the busiest link carries half as much"""
    rng = np.random.default_rng(draw)
    ring, rounds = list(range(n)), math.ceil((n - 1) / 2)
    blocks = generators.distinct(rng, n, [2, 4], "float32")
    run = ran(student, "all_gather", blocks, ring, dim=1, both_ways=True)
    outputs(run, [np.concatenate(blocks, axis=1)] * n)
    judge.moved(run, blocks)
    links(run, (n - 1) * blocks[0].nbytes, rounds * blocks[0].nbytes)
    blocks = generators.terms(rng, n, [2 * n, 2])
    total, piece = sum(blocks), blocks[0].nbytes // n
    run = ran(student, "reduce_scatter", blocks, ring, dim=0, both_ways=True)
    outputs(run, np.split(total, n))
    judge.summed(run, blocks)
    links(run, (n - 1) * piece, rounds * piece)
    run = ran(student, "all_reduce", blocks, ring, both_ways=True)
    outputs(run, [total] * n)
    judge.summed(run, blocks)
    links(run, 2 * (n - 1) * piece, 2 * rounds * piece)


@probe
def refused(name, shape, group, options) -> Any:
    """A collective that cannot be carried out, on a ring of four."""
    import numpy as np
    from minispmd import collectives

    import describe

    call = getattr(collectives, name)
    program = lambda device, x: call(device, x, **options, group=tuple(group))
    return describe.run([["ring", 4]], program, [np.zeros(shape)] * 4)["outputs"]


@number("2.11")
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
def test_what_cannot_be_carried_out_is_refused(student, rng, name, shape, options):
    """a collective that cannot be carried out raises CollectiveError"""
    group = [int(device) for device in rng.permutation(4)]
    check.raised(student.error(refused, name, shape, group, options), "CollectiveError", collective=name)
