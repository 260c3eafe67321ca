"""Part 6: seconds, bytes, timelines, and a collective matmul against the clock."""

from __future__ import annotations

from typing import Any

import numpy as np
from given_minispmd.errors import ScheduleError
from given_minispmd.hardware import Links
from given_minispmd.schedule import MAX_ACTIONS, CollectiveMatmul, DotBlock, Receive, SendBlock, simulate

from autograder.kit import check, hint, leaderboard, number, probe, weight

KIB, MIB, GIB = 2**10, 2**20, 2**30


@probe
def seconds(calls, bandwidth, hop) -> list[float]:
    """Functions of cost.py, by name; `links` is put in after the positional arguments."""
    import minispmd

    links = minispmd.Links(bandwidth, hop)
    found = []
    for name, arguments, options in calls:
        arguments = [tuple(item) if isinstance(item, list) else item for item in arguments]
        extra = [] if name == "hops" else [links]
        found.append(float(getattr(minispmd, name)(*arguments, *extra, **options)))
    return found


@number("6.1")
@weight(2)
@hint("Hops times the time of a hop, and a hop takes at least its latency. Handout, part 6, rings.")
def test_times_of_rings_and_tori(student, rng):
    """times of collectives: the numbers of the scaling book, and drawn ones"""
    line = {"wrap": False}
    book = [
        (["collective_seconds", ["all_gather", 512 * KIB, 4], {}], 2 * 512 * KIB / 4.5e10),  # 23.3 µs
        (["halved_seconds", [2 * MIB, 4], {}], 1.5 * MIB / 9e10),  # 17.5 µs
        (["torus_bound", [8 * MIB, 2], {}], 8 * MIB / 18e10),  # 46.6 µs
        (["two_phase_seconds", [512 * KIB, [4, 4]], {}], 58.2542e-6),
        (["collective_seconds", ["all_gather", 64, 4], {}], 2e-6),
        (["collective_seconds", ["all_gather", 8 * MIB, 4], line], 3 * 8 * MIB / 4.5e10),  # 559 µs
    ]
    got = student(seconds, [call for call, _ in book], 4.5e10, 1e-6)
    check.equal(len(got), len(book), "the number of answers")
    for (call, want), found in zip(book, got, strict=True):
        check.close(np.asarray(found), np.asarray(want), relative=1e-4, what=f"{call[0]}{call[1]}, in seconds")
    bandwidth, hop = float(rng.uniform(1e10, 1e11)), float(rng.uniform(1e-7, 1e-5))
    drawn: list[tuple[Any, float]] = []
    for n in (int(n) for n in rng.integers(2, 33, size=8)):
        block = float(rng.choice([1e3, 1e5, 1e7]))
        for wrap, count in ((True, n // 2), (False, n - 1)):
            one, quarter = max(hop, block / bandwidth), max(hop, block / 4 / bandwidth)
            for kind, want in (
                ("all_gather", count * one),
                ("reduce_scatter", count * one),
                ("all_reduce", 2 * count * one),
                ("all_to_all", count * quarter),
            ):
                drawn.append((["collective_seconds", [kind, block, n], {"wrap": wrap}], want))
            drawn.append((["hops", [n], {"wrap": wrap}], float(count)))
        drawn.append((["halved_seconds", [block, n], {}], (n - 1) / n * block / 2 / bandwidth))
    x, y = (int(size) for size in rng.integers(2, 9, size=2))
    times = [max(hop, part / bandwidth) for part in (5e5, 5e5 * x, 5e5 * y)]
    two = times[0] * max(x // 2, y // 2) + max(times[1] * (y // 2), times[2] * (x // 2))
    drawn.append((["two_phase_seconds", [1e6, [x, y]], {}], two))
    drawn.append((["torus_bound", [1e6, 3], {}], 1e6 / 6 / bandwidth))
    got = student(seconds, [call for call, _ in drawn], bandwidth, hop)
    check.equal(len(got), len(drawn), "the number of answers")
    for (call, want), found in zip(drawn, got, strict=True):
        check.close(np.asarray(found), np.asarray(want), relative=1e-9, what=f"{call[0]}{call[1]} {call[2]}")
    unknown = student.error(seconds, [["collective_seconds", ["gather", 1e6, 4], {}]], bandwidth, hop)
    check.raised(unknown, "ValueError")


@probe
def model_numbers(config, meshes) -> list[float]:
    """Parameters, and bytes on each mesh (batch, model)."""
    import minispmd

    gpt = minispmd.Gpt(*config)
    found = [int(minispmd.parameter_count(gpt)), int(minispmd.sharded_parameter_count(gpt))]
    for batch, model in meshes:
        found += [
            float(minispmd.train_state_bytes(gpt, model)),
            float(minispmd.gradient_bytes(gpt, batch, model)),
            float(minispmd.activation_bytes(gpt, batch, model)),
        ]
    return found


def by_formula(config: list[int], meshes: list[tuple[int, int]]) -> list[float]:
    """The same numbers."""
    layers, width, sequence, vocabulary, _, batch_size = config
    matrices = layers * 12 * width**2
    rest = layers * 13 * width + (vocabulary + sequence + 2) * width
    found = [float(matrices + rest), float(matrices)]
    for batch, model in meshes:
        held = matrices / model + rest
        size = 4 * batch_size / batch * sequence * width
        found += [16 * held, 2 * (batch - 1) / batch * 4 * held, layers * 8 * (model - 1) / model * size]
    return found


@number("6.2")
@weight(2)
@hint(
    "16 bytes a parameter; only the layers' matrices are cut; biases and LayerNorms count. Handout, part 6, GPT-2."
)
def test_numbers_of_gpt2(student, rng):
    """GPT-2 on the meshes (8, 1) and (4, 2): 5.29, 3.04 and 2.31 GiB, and other models"""
    gpt2 = [24, 1024, 1024, 50257, 16, 32]
    got = student(model_numbers, gpt2, [[8, 1], [4, 2]])
    want = [354_823_168, 301_989_888, 5.2873 * GIB, 2.3132 * GIB, 0.0, 3.0373 * GIB, 1.1390 * GIB, 3.0 * GIB]
    check.equal(len(got), len(want), "the number of numbers")
    names = ["parameters", "parameters that are cut"]
    names += [
        f"{what} on {mesh}" for mesh in ("(8, 1)", "(4, 2)") for what in ("state", "gradients", "activations")
    ]
    for name, found, right in zip(names, got, want, strict=True):
        check.close(np.asarray(float(found)), np.asarray(float(right)), relative=1e-4, what=f"GPT-2: {name}")
    least = got[3] / 1200e9
    check.close(np.asarray(least), np.asarray(2.07e-3), relative=1e-3, what="GPT-2: its gradients at 1,200 GB/s")
    heads = int(rng.choice([8, 16]))
    config = [int(rng.integers(2, 40)), 64 * heads, int(rng.choice([256, 2048])), int(rng.integers(1000, 60_000))]
    config += [heads, 64]
    meshes = [[8, 1], [4, 2], [2, 4], [16, 4], [1, 8]]
    names = ["parameters", "parameters that are cut"]
    names += [f"{what} on {mesh}" for mesh in meshes for what in ("state", "gradients", "activations")]
    got = student(model_numbers, config, meshes)
    check.equal(len(got), len(names), "the number of numbers")
    for name, found, right in zip(names, got, by_formula(config, [tuple(m) for m in meshes]), strict=True):
        check.close(np.asarray(float(found)), np.asarray(right), relative=1e-9, what=f"{name} of {config}")


@probe
def timeline(config, chip, batch, model) -> list[tuple[str, str, float, float]]:
    """The spans of a step."""
    import minispmd

    spans = minispmd.step_timeline(minispmd.Gpt(*config), minispmd.Chip(*chip), batch, model)
    return [[span.name, span.resource, float(span.start), float(span.end)] for span in spans]


@number("6.3")
@weight(1)
@hint(
    "Gradients travel while earlier layers compute; activations hold everybody up. Handout, part 6, the timeline."
)
def test_what_overlaps(student, rng):
    """gradients overlap the backward pass, activations do not: the spans of a step, in order of their start"""
    layers, width, sequence, vocabulary, batch_size = 3, 128, 64, 1000, 16
    config = [layers, width, sequence, vocabulary, 4, batch_size]
    flops, network = float(rng.uniform(1e12, 2e12)), float(rng.uniform(1e9, 4e9))
    for batch, model in ((4, 2), (8, 1), (1, 4)):
        spans = student(timeline, config, [flops, network, 1e12], batch, model)
        tokens = batch_size / batch * sequence
        matrices = 12 * width**2 / model
        lengths = {f"forward {layer}": 2 * matrices * tokens / flops for layer in range(layers)}
        lengths |= {f"backward {layer}": 4 * matrices * tokens / flops for layer in range(layers)}
        lengths["head"] = 6 * vocabulary * width * tokens / flops
        exchange = 2 * 2 * (model - 1) / model * 4 * tokens * width / network
        lengths |= {
            f"exchange {way} {layer}": exchange for layer in range(layers) for way in ("forward", "backward")
        }
        share = 2 * (batch - 1) / batch * 4 / network
        lengths |= {f"gradient {layer}": share * (matrices + 13 * width) for layer in range(layers)}
        lengths["gradient embeddings"] = share * (vocabulary + sequence + 2) * width
        judge_spans(spans, layers, {name: length for name, length in lengths.items() if length})


def judge_spans(spans: list[Any], layers: int, lengths: dict[str, float]) -> None:
    """Pass if the spans have these lengths, start when they may, and come in the order of their starts."""
    check.equal(sorted(name for name, *_ in spans), sorted(lengths), "the names of the spans")
    starts = [start for _, _, start, _ in spans]
    check.equal(starts, sorted(starts), "the starts of the spans, which are in order")
    at = {name: (start, end) for name, _, start, end in spans}
    for name, length in lengths.items():
        start, end = at[name]
        check.close(np.asarray(end - start), np.asarray(length), relative=1e-6, what=f"the length of {name!r}")
    order = [part for layer in range(layers) for part in (f"forward {layer}", f"exchange forward {layer}")]
    order += ["head"]
    order += [p for layer in reversed(range(layers)) for p in (f"backward {layer}", f"exchange backward {layer}")]
    clock, free = 0.0, 0.0
    for name in (name for name in order if name in at):
        what = f"1 + start of {name!r}"
        check.close(np.asarray(1 + at[name][0]), np.asarray(1 + clock), relative=1e-9, what=what)
        clock = at[name][1]
    gradients = [*(f"gradient {layer}" for layer in reversed(range(layers))), "gradient embeddings"]
    for name in (name for name in gradients if name in at):
        ready = at["backward " + name.split()[1]][1] if "embeddings" not in name else at["backward 0"][1]
        what = f"1 + start of {name!r}"
        check.close(np.asarray(1 + at[name][0]), np.asarray(1 + max(ready, free)), relative=1e-9, what=what)
        free = at[name][1]


@probe
def planned(config, chip, devices) -> tuple[int, int, float, int, float]:
    """plan: batch, model, seconds, bytes of state; and the end of that mesh's timeline."""
    import minispmd

    gpt, chip = minispmd.Gpt(*config), minispmd.Chip(*chip)
    found = minispmd.plan(gpt, chip, devices)
    end = max(span.end for span in minispmd.step_timeline(gpt, chip, found.batch, found.model))
    return [int(found.batch), int(found.model), float(found.seconds), int(found.state_bytes), float(end)]


@number("6.5")
@weight(1)
@hint("Every way to write the devices as batch · model that fits heads, batch and memory. See plan's docstring.")
def test_plans_where_little_is_allowed(student, rng):
    """plan where memory, batch or heads leave one mesh or none, and where two meshes are as fast"""
    layers, vocabulary = int(rng.integers(2, 12)), int(rng.integers(1000, 40_000))
    config, fast = [layers, 512, 128, vocabulary, 8, 32], [2e14, 1e11]
    states = {model: by_formula(config, [(1, model)])[2] for model in (1, 2, 4, 8)}
    # A model of one layer whose gradients take exactly as long as the exchange and a head that is not cut.
    tie = [1, 8, 4, 166, 2, 2]
    cases: list[Any] = [
        ([*config[:4], 4, 32], [*fast, states[4]], 8, (2, 4)),  # memory asks for 4, four heads allow no more
        (config, [*fast, states[8]], 8, (1, 8)),
        ([*config[:5], 6], [*fast, 1e15], 16, (2, 8)),  # 16 and 4 do not divide a batch of 6, 16 no 8 heads
        ([*config[:4], 1, 32], [*fast, 1e15], 8, (8, 1)),
        (tie, [2.0**30, 2.0**28, 1e15], 2, (2, 1)),
    ]
    for given_config, chip, devices, mesh in cases:
        what = f"of {devices} devices for {given_config} on {chip}"
        batch, model, seconds_, state, end = student(planned, given_config, chip, devices)
        check.equal([batch, model], list(mesh), f"the mesh {what}")
        check.close(np.asarray(seconds_), np.asarray(end), relative=1e-9, what=f"the seconds {what}")
        check.close(np.asarray(float(state)), np.asarray(by_formula(given_config, [mesh])[2]), relative=1e-9)
    for none in ((config, [*fast, states[8] - 1], 8), ([*config[:4], 4, 3], [*fast, 1e15], 8)):
        check.raised(student.error(planned, *none), "NoPlan", devices=8)


Block = tuple[int, int]


@probe
def schedules(problems) -> list[list[list[list[Any]]]]:
    """collective_matmul of each problem, as data."""
    import minispmd
    from minispmd.hardware import Links
    from minispmd.schedule import CollectiveMatmul

    import describe

    found = []
    for *sizes, bandwidth, hop in problems:
        schedule = minispmd.collective_matmul(CollectiveMatmul(*sizes, Links(bandwidth, hop)))
        found.append([[describe.action(action) for action in actions] for actions in schedule])
    return found


def problem_of(devices: int, m: int, per_device: int, tiles_n: int) -> CollectiveMatmul:
    """Tiles of 128 × 128 bf16 elements, a chip of 200 TFLOP/s, the links of the book."""
    return CollectiveMatmul(devices, m, per_device * devices, tiles_n, 128, 2, 2e14, 1e-6, Links(4.5e10, 1e-6))


def plain(problem: CollectiveMatmul) -> list[float]:
    """A problem as data."""
    p = problem
    sizes = [p.devices, p.m, p.tiles_k, p.tiles_n, p.tile, p.itemsize, p.flops, p.start]
    return [*sizes, p.links.bandwidth, p.links.hop]


def simulated(problem: CollectiveMatmul, lists: list[list[list[Any]]]) -> float:
    """Seconds of a schedule, by the grader's own simulator; fails as a check if it is not a right one."""
    if sum(map(len, lists)) > MAX_ACTIONS:
        check.fail("the schedule", expected=f"at most {MAX_ACTIONS:,} actions", got="more")
    try:
        return simulate(problem, [[action_of(item) for item in actions] for actions in lists])
    except ScheduleError as error:
        check.fail("the schedule", expected="one that multiplies all of b on every device", got=str(error))


def action_of(item: list[Any]) -> SendBlock | Receive | DotBlock:
    """An action from data."""
    match item:
        case ["Receive", int(source)]:
            return Receive(source)
        case ["SendBlock", int(to), [int(r0), int(r1)], [int(c0), int(c1)]]:
            return SendBlock(to, (r0, r1), (c0, c1))
        case ["DotBlock", [int(r0), int(r1)], [int(c0), int(c1)]]:
            return DotBlock((r0, r1), (c0, c1))
    check.fail("an action of the schedule", expected="SendBlock, Receive or DotBlock", got=str(item)[:200])


def limits(problem: CollectiveMatmul) -> tuple[float, float]:
    """A bound below every schedule, and the time of gathering in whole blocks and then multiplying."""
    everything = (0, problem.tiles_k), (0, problem.tiles_n)
    dot = problem.dot_seconds(*everything)
    hop = problem.block_bytes(problem.own_rows(0), everything[1]) / problem.links.bandwidth
    n = problem.devices
    links = 2 if n > 2 else 1
    return max(dot, (n - 1) / links * hop), n // 2 * hop + dot


@number("6.4")
@weight(2)
@leaderboard("collective matmul on 8 devices, µs", "asc")
@hint("Pass a block on before you multiply it, both ways round, in pieces. Handout, part 6, overlap.")
def test_collective_matmul(student, rng, set_leaderboard_value=None):
    """a collective matmul: within 25 % of the bound, with the points falling to 0 at gather-then-multiply"""
    problems = [problem_of(8, 1024, 8, 16)]
    for m in (256, 1024, 4096):
        problems.append(problem_of(int(rng.integers(3, 9)), m, int(rng.integers(4, 10)), int(rng.integers(8, 20))))
    small = [problem_of(2, 128, 3, 5), problem_of(3, 128, 1, 1), problem_of(2, 128, 1, 1)]
    few = student(schedules, [plain(problem) for problem in small])
    check.equal(len(few), len(small), "the number of schedules")
    for problem, lists in zip(small, few, strict=True):
        simulated(problem, lists)  # their times are not judged
    answers = student(schedules, [plain(problem) for problem in problems])
    check.equal(len(answers), len(problems), "the number of schedules")
    fractions, worst = [], ""
    for problem, lists in zip(problems, answers, strict=True):
        time = simulated(problem, lists)
        bound, serial = limits(problem)
        if set_leaderboard_value and not fractions:
            set_leaderboard_value(round(time * 1e6, 2))
        fractions.append(check.fraction_within(time, full=1.25 * bound, none=max(serial, 1.26 * bound)))
        if fractions[-1] == min(fractions):
            worst = f"{time * 1e6:.1f} µs, bound {bound * 1e6:.1f}, serial {serial * 1e6:.1f}, for {problem}"
    mean = float(np.mean(fractions))
    check.partly(mean, "the time of a collective matmul", expected="at most 1.25 times the bound", got=worst)
