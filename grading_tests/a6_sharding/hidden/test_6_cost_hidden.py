"""Part 6, hidden: timelines and plans against brute force."""

from __future__ import annotations

from typing import Any

import numpy as np

from autograder.kit import check, hint, number, probe, weight

import oracle_plan


@probe
def timelines(cases) -> list[list[tuple[str, str, float, float]]]:
    """The spans of a step of each case."""
    import minispmd

    found = []
    for config, chip, batch, model in cases:
        spans = minispmd.step_timeline(minispmd.Gpt(*config), minispmd.Chip(*chip), batch, model)
        found.append([[span.name, span.resource, float(span.start), float(span.end)] for span in spans])
    return found


def random_config(rng: np.random.Generator) -> list[int]:
    """A model."""
    heads = int(rng.choice([8, 12, 16]))
    sizes = [int(rng.integers(2, 12)), 64 * heads, int(rng.choice([128, 512])), int(rng.integers(1000, 40_000))]
    return [*sizes, heads, int(rng.choice([32, 96]))]


def random_chip(rng: np.random.Generator, memory: float = 1e15) -> list[float]:
    """A chip whose network may be fast or slow."""
    return [float(rng.uniform(1e13, 1e15)), float(10 ** rng.uniform(9, 12.5)), memory]


RESOURCES = {"exchange": "model links", "gradient": "batch links"}


@number("6.6")
@weight(1)
@hint("One clock for computing and exchanges, another one for the batch links. Handout, part 6, the timeline.")
def test_timelines_of_random_models(student, rng):
    """timelines of random models, chips and meshes"""
    cases = []
    for batch, model in ((8, 1), (4, 2), (2, 4), (1, 4), (32, 2), (1, 1)):
        cases.append([random_config(rng), random_chip(rng), batch, model])
    answers = student(timelines, cases)
    check.equal(len(answers), len(cases), "the number of timelines")
    for (config, chip, batch, model), spans in zip(cases, answers, strict=True):
        want = oracle_plan.spans(config, chip, batch, model)
        check.equal(sorted(name for name, *_ in spans), sorted(want), "the names of the spans")
        last = max(end for _, end in want.values())
        starts = [start for _, _, start, _ in spans]
        check.equal(starts, sorted(starts), "the starts of the spans, which are in order")
        for name, resource, start, end in spans:
            check.equal(resource, RESOURCES.get(name.split()[0], "compute"), f"the resource of {name!r}")
            got, right = np.array([start, end, last]), np.array([*want[name], last])
            check.close(got, right, relative=1e-9, what=f"start and end of {name!r}, beside the step's end")


@probe
def planned(config, chip, devices) -> tuple[int, int, float, int]:
    """plan: batch, model, seconds, bytes of state."""
    import minispmd

    found = minispmd.plan(minispmd.Gpt(*config), minispmd.Chip(*chip), devices)
    return [int(found.batch), int(found.model), float(found.seconds), int(found.state_bytes)]


@number("6.7")
@weight(1)
@hint(
    "Every way to write the devices as batch · model that fits heads, batch and memory. Handout, part 6, planning."
)
def test_plans_against_brute_force(student, rng):
    """plan finds the fastest mesh that fits, or says that there is none"""
    cases: list[Any] = []
    for devices in (4, 8, 8, 16, 24, 32, 64, 96):
        config = random_config(rng)
        states = sorted(oracle_plan.state_bytes(config, model) for model in (1, 2, 4, 8))
        memory = float(rng.choice([1e15, *(state + 1 for state in states)]))
        cases.append((config, random_chip(rng, memory), devices))
    cases.append(([24, 1024, 1024, 50257, 16, 32], [2e14, 1.2e12, 4 * 2**30], 8))
    for config, chip, devices in cases:
        want = oracle_plan.best(config, chip, devices)
        if want is None:
            check.raised(student.error(planned, config, chip, devices), "NoPlan", devices=devices)
            continue
        batch, model, seconds, state = student(planned, config, chip, devices)
        check.equal([batch, model], list(want[:2]), f"the mesh of {devices} devices for {config} on {chip}")
        check.close(np.asarray(seconds), np.asarray(want[2]), relative=1e-9, what="the seconds of a step")
        check.equal(state, oracle_plan.state_bytes(config, model), "the bytes of training state")
    config, chip = cases[-1][0], cases[-1][1]
    too_small = [*chip[:2], float(oracle_plan.state_bytes(config, 8) - 1)]
    check.raised(student.error(planned, config, too_small, 8), "NoPlan", devices=8)
