"""Part 6: DMA beside computing, and the top-level program."""

from __future__ import annotations

from typing import Any

from autograder.kit import check, hint, number, probe, weight

import generators

ENGINES = ("load", "compute", "store")


@probe
def events(tiles, cycles, buffers) -> list[tuple[str, int, int, int, int]]:
    """timeline: engine, tile, buffer, start and end of each event."""
    from minitpu.pipeline import timeline

    return [
        (str(event.engine), int(event.tile), int(event.buffer), int(event.start), int(event.end))
        for event in timeline(tiles, *cycles, buffers)
    ]


def tick_by_tick(tiles: int, cycles: tuple[int, ...], buffers: int) -> int:
    """The makespan, found by watching three engines cycle by cycle."""
    left = {engine: [length] * tiles for engine, length in zip(ENGINES, cycles, strict=True)}
    place = dict.fromkeys(ENGINES, 0)  # the tile that each engine is at
    now = 0
    while place["store"] < tiles:
        may = {
            "load": place["load"] < tiles and place["load"] - place["store"] < buffers,
            "compute": place["compute"] < place["load"],
            "store": place["store"] < place["compute"],
        }
        working = [engine for engine in ENGINES if may[engine]]
        for engine in working:
            left[engine][place[engine]] -= 1
        for engine in working:
            place[engine] += left[engine][place[engine]] == 0
        now += 1
    return now


def judge_events(got: list[Any], tiles: int, cycles: tuple[int, ...], buffers: int) -> int:
    """The makespan of events that keep all rules and start as early as these allow."""
    wanted = {
        (engine, tile): length for tile in range(tiles) for engine, length in zip(ENGINES, cycles, strict=True)
    }
    check.equal(sorted((event[0], event[1]) for event in got), sorted(wanted), "the events: engine and tile")
    times = {(engine, tile): (start, end) for engine, tile, _, start, end in got}
    for engine, tile, buffer, start, end in got:
        name = f"{engine} of tile {tile}"
        check.equal(end - start, wanted[engine, tile], f"cycles of {name}")
        check.equal(buffer, tile % buffers, f"the buffer of {name}")
        earliest = {"the engine": times[engine, tile - 1][1] if tile else 0}
        if engine != "load":
            earliest["the tile"] = times[ENGINES[ENGINES.index(engine) - 1], tile][1]
        elif tile >= buffers:
            earliest["the buffer"] = times["store", tile - buffers][1]
        what = max(earliest, key=earliest.__getitem__)
        ready = earliest[what]
        expected = f"{ready}, when {what} is ready"
        check.that(start == ready, f"the start of {name}, as early as can be", expected=expected, got=start)
    return max(event[4] for event in got)


@number("6.1")
@weight(2)
@hint("With one buffer nothing overlaps; with three only the slowest engine counts. Handout, part 6, buffers.")
def test_one_and_three_buffers(student, rng):
    """timeline with one and with three buffers against closed forms"""
    for _ in range(12):
        tiles, cycles = int(rng.integers(1, 9)), tuple(int(length) for length in rng.integers(1, 9, size=3))
        one = judge_events(student(events, tiles, cycles, 1), tiles, cycles, 1)
        check.equal(one, tiles * sum(cycles), f"the makespan of {tiles} tiles {cycles} with one buffer")
        three = judge_events(student(events, tiles, cycles, 3), tiles, cycles, 3)
        check.equal(
            three, sum(cycles) + (tiles - 1) * max(cycles), f"the makespan of {tiles} tiles {cycles} with three"
        )


@number("6.2")
@weight(2)
@hint("The load of a tile waits until the tile that had its buffer before has been stored. Part 6, buffers.")
def test_two_buffers(student, rng):
    """timeline with two buffers against three engines watched cycle by cycle"""
    for _ in range(20):
        tiles, cycles = int(rng.integers(1, 9)), tuple(int(length) for length in rng.integers(1, 9, size=3))
        got = judge_events(student(events, tiles, cycles, 2), tiles, cycles, 2)
        check.equal(
            got, tick_by_tick(tiles, cycles, 2), f"the makespan of {tiles} tiles {cycles} with two buffers"
        )


@probe
def commands(kernels, copies, vmem) -> list[tuple[str, str]]:
    """top_level_program: its commands."""
    from minitpu.pipeline import Copy, Kernel, top_level_program

    made = top_level_program(
        [
            Kernel(name, cycles, tuple(reads), tuple((value, size) for value, size in makes))
            for name, cycles, reads, makes in kernels
        ],
        [Copy(*copy) for copy in copies],
        vmem,
    )
    return [(str(what), str(name)) for what, name in made]


def judge_commands(got: list[tuple[str, str]], kernels: list[Any], copies: list[Any], vmem: int) -> dict[str, int]:
    """Before which kernel each copy begins; fails unless the program keeps the rules and is not too careful."""
    check.at_most(len(got), len(kernels) + 2 * len(copies), "the number of commands")
    check.equal([n for what, n in got if what == "call"], [kernel[0] for kernel in kernels], "the calls")
    begins: dict[str, int] = {}
    for what in ("copy-start", "copy-done"):
        check.equal(sorted(n for w, n in got if w == what), sorted(copy[0] for copy in copies), f"each {what}")
    for name, *_ in copies:
        start, done = got.index(("copy-start", name)), got.index(("copy-done", name))
        check.that(start < done, f"copy {name}", expected="copy-start before copy-done", got=str(got[done]))
        begins[name] = sum(what == "call" for what, _ in got[:start])
        ended = sum(what == "call" for what, _ in got[:done])
        first = generators.first_read(kernels, name)
        check.equal(ended, first, f"calls before copy-done of {name}, which {kernels[first][0]} reads first")
        after = next(what for what, _ in got[done:] if what != "copy-done")
        expected = "the call, with at most other copy-done between"
        check.that(after == "call", f"what follows copy-done of {name}", expected=expected, got=after)
    taken = generators.taken(kernels, copies, begins)
    for kernel, size in zip(kernels, taken, strict=True):
        check.at_most(size, vmem, f"bytes of VMEM that are taken during {kernel[0]}")
    for name, size, _ in copies:
        room = begins[name] == 0 or taken[begins[name] - 1] + size > vmem
        expected = f"before {kernels[begins[name] - 1][0]} or earlier: there is room" if not room else ""
        check.that(room, f"copy-start of {name}", expected=expected, got=f"before {kernels[begins[name]][0]}")
    return begins


@number("6.3")
@weight(3)
@hint(
    "Count bytes call by call: copies to their last reader, values to theirs, unread ones to the end. In the "
    "mini-attention w2 then flies during the three kernels in the middle. Part 6, VMEM."
)
def test_the_second_weight_flies_during_three_kernels(student, rng):
    """mini-attention, and random chains of kernels: copies start as early as there is room, are awaited late"""
    kernels, copies = generators.mini_attention()
    least = max(generators.taken(kernels, copies, {"w1": 0, "w2": 4}))
    for vmem in (least, least + 4096 * int(rng.integers(1, 4)), 10 * least):
        order = copies if rng.random() < 0.5 else copies[::-1]
        starts = judge_commands(student(commands, kernels, order, vmem), kernels, order, vmem)
        check.at_most(starts["w2"], 1, "the number of the kernel before which the copy of w2 starts")
    for _ in range(20):
        kernels, copies, vmem = generators.kernels_with_copies(rng)
        judge_commands(student(commands, kernels, copies, vmem), kernels, copies, vmem)
