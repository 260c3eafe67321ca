"""Part 6, hidden: other numbers of buffers, random kernels and copies."""

from __future__ import annotations

from autograder.kit import check, hint, number, probe, weight

import generators


@probe
def makespans(cases) -> list[list[int]]:
    """timeline for each case: start and end of every event, in the order of tiles and engines."""
    from minitpu.pipeline import timeline

    found = []
    for tiles, load, compute, store, buffers in cases:
        events = sorted(
            timeline(tiles, load, compute, store, buffers), key=lambda event: (event.tile, event.start)
        )
        found.append([int(time) for event in events for time in (event.start, event.end)])
    return found


@number("6.4")
@weight(1)
@hint("Each event starts as soon as its engine, its tile and its buffer are ready. Handout, part 6, buffers.")
def test_every_event_as_early_as_can_be(student, rng):
    """timelines with one to five buffers, every start and end"""
    cases = [[int(size) for size in (*rng.integers(1, 12, size=4), rng.integers(1, 6))] for _ in range(25)]
    answers = student(makespans, cases)
    check.equal(len(answers), len(cases), "the number of answers")
    for case, got in zip(cases, answers, strict=True):
        tiles, *cycles, buffers = case
        wanted, ends = [], {}
        for tile in range(tiles):
            ready = ends.get((2, tile - buffers), 0)
            for engine, length in enumerate(cycles):
                start = max(ready, ends.get((engine, tile - 1), 0))
                ready = ends[engine, tile] = start + length
                wanted += [start, ready]
        check.equal(got, wanted, f"starts and ends for {tiles} tiles {cycles} with {buffers} buffers")


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


@number("6.5")
@weight(2)
@hint("Count what is taken during every call, from copy-start to the last reader. Handout, part 6, VMEM.")
def test_random_kernels_with_copies(student, rng):
    """random chains of kernels: VMEM is never exceeded, and no copy could start one call earlier"""
    for _ in range(50):
        kernels, copies, vmem = generators.kernels_with_copies(rng)
        got = student(commands, kernels, copies, vmem)
        wanted = sorted(
            ["call " + kernel[0] for kernel in kernels] + [f"{w} {c[0]}" for c in copies for w in BOTH]
        )
        check.equal(sorted(map(" ".join, got)), wanted, "the commands")
        check.equal([n for what, n in got if what == "call"], [kernel[0] for kernel in kernels], "the calls")
        calls = [sum(what == "call" for what, _ in got[:place]) for place in range(len(got))]
        at = {command: place for place, command in enumerate(got)}
        starts = {name: calls[at["copy-start", name]] for name, *_ in copies}
        for name, size, _ in copies:
            check.that(
                at["copy-start", name] < at["copy-done", name], f"{name}", expected="start, then done", got=""
            )
            check.equal(
                calls[at["copy-done", name]], generators.first_read(kernels, name), "calls before copy-done"
            )
            after = next(what for what, _ in got[at["copy-done", name] :] if what != "copy-done")
            check.equal(after, "call", f"what follows copy-done of {name}, but for others of its kind")
            taken = generators.taken(kernels, copies, starts)
            check.at_most(max(taken), vmem, "the most bytes of VMEM that are taken during a call")
            early = starts[name] == 0 or taken[starts[name] - 1] + size > vmem
            check.that(early, f"copy-start of {name}", expected="as early as there is room", got="later")


BOTH = ("copy-start", "copy-done")
