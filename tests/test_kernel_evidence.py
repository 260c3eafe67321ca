"""A kernel's program comes from beside the student's code: whatever it is, a verdict follows, and soon."""

from __future__ import annotations

import copy
import importlib
import random
import sys
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from autograder.kit.given_code import GivenCode
from autograder.kit.verdicts import Verdict
from autograder.project import Assignment


@pytest.fixture(scope="module")
def a5() -> Iterator[Any]:
    """The judge of a5_pallas, with the given files as they are handed out."""
    assignment = Assignment("a5_pallas")
    given = GivenCode(assignment.starter, assignment.facts)
    given.install()
    sys.path.insert(0, str(assignment.tests))
    try:
        names = {"program": "given_pallas_kernels.program", "walk": "given_pallas_kernels.walk", "judge": "judge"}
        yield SimpleNamespace(**{name: importlib.import_module(module) for name, module in names.items()})
    finally:
        sys.path.remove(str(assignment.tests))
        sys.modules.pop("judge", None)
        given.remove()


def accumulating_sum() -> dict[str, Any]:
    """A program as it travels: sums of rows f32[32,512] in blocks of 8 × 128, and a copy by hand."""
    block, column, scalar = [[8, 128], "float32", "vmem"], [[8, 1], "float32", "vmem"], [[], "int32", ""]
    kinds = lambda *types: [dict(zip(("shape", "dtype", "space"), kind, strict=True)) for kind in types]  # noqa: E731
    equation = lambda primitive, operands, results, **more: {  # noqa: E731
        "primitive": primitive,
        "operands": operands,
        "results": results,
        **more,
    }
    empty = {"types": kinds(column), "inputs": [0], "constants": [], "equations": [], "outputs": []}
    start = [equation("swap", [0, {"value": 0.0}], [], views=[{"ref": 0, "index": []}])]
    kernel = {
        "types": kinds(block, column, scalar, [[], "bool", ""], [[8, 128], "float32", ""], [[8], "float32", ""]),
        "inputs": [0, 1],
        "constants": [],
        "equations": [
            equation("program_id", [], [2], params={"axis": 1}),
            equation("eq", [2, {"value": 0}], [3]),
            equation("cond", [3, 1], [], bodies=[3, 4]),
            equation("get", [0], [4], views=[{"ref": 0, "index": []}]),
            equation("reduce_sum", [4], [5], params={"axes": [1]}),
            equation("scan", [], [], bodies=[3], params={"length": 3, "num_consts": 0, "num_carry": 0}),
        ],
        "outputs": [],
    }
    index = {"types": kinds(scalar, scalar), "inputs": [0, 1], "constants": [], "equations": []}
    blocks = {"space": "vmem", "element": False, "buffers": 2}
    x = {"name": "x", "array": kinds([[32, 512], "float32", ""])[0], "shape": [8, 128], "index_map": 2, **blocks}
    y = {"name": "y", "array": kinds([[32, 1], "float32", ""])[0], "shape": [8, 1], "index_map": 5, **blocks}
    call = {
        "name": "rowsum",
        "grid": [4, 4],
        "scalars": [np.arange(4, dtype=np.int32)],
        "inputs": [x],
        "outputs": [y],
        "scratch": kinds(column),
        "kernel": 1,
        "semantics": ["parallel", "arbitrary"],
        "aliases": [],
        "cost": None,
    }
    outer = {
        "types": kinds([[32, 512], "float32", ""], [[32, 1], "float32", ""]),
        "inputs": [0],
        "constants": [],
        "equations": [equation("pallas_call", [0], [1], call=0)],
        "outputs": [1],
    }
    call["scalars"] = []
    return {
        "bodies": [
            outer,
            kernel,
            {**index, "outputs": [0, 1]},
            empty,
            {**empty, "equations": start},
            {**index, "outputs": [0, {"value": 0}]},
        ],
        "calls": [call],
        "constants": [],
    }


def as_program(a5: Any, plain: Any) -> Any:
    """What the grader makes of plain data, or None if it has not the form."""
    try:
        return msgspec.convert(plain, a5.program.Program, dec_hook=lambda kind, value: value)
    except msgspec.ValidationError:
        return None


def test_a_well_formed_program_is_measured(a5):
    report = a5.judge.measured(as_program(a5, accumulating_sum()), "rowsum")
    (kernel,) = a5.judge.only_kernels(report, "rowsum")
    assert [traffic.moves for traffic in kernel.traffic] == [16, 4]
    assert kernel.loaded == 32 * 512 * 4
    assert kernel.flops == 32 * 512
    assert not list(report.problems())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda p: p["bodies"].clear(), "no equations"),
        (lambda p: p["calls"][0].update(grid=[4, -1]), "grid"),
        (lambda p: p["calls"][0].update(grid=[1 << 30, 1 << 30]), "steps"),
        (lambda p: p["calls"][0].update(kernel=0), "kernel"),
        (lambda p: p["calls"][0]["inputs"][0].update(shape=[8]), "rank"),
        (lambda p: p["calls"][0]["inputs"][0].update(index_map=99), "sense"),
        (lambda p: p["bodies"][1]["equations"][2].update(bodies=[3, 1]), "contain one another"),
        (lambda p: p["bodies"][1]["equations"][1].update(operands=[77, 2]), "no type"),
        (lambda p: p["bodies"][1]["equations"][5]["params"].update(length=1 << 30), "too long"),
        (lambda p: p["bodies"][1]["equations"][0]["params"].update(axis=-1), "sense"),
        (lambda p: p["bodies"][0]["types"][0].update(shape=[-1]), "shape"),
    ],
)
def test_what_makes_no_sense_is_a_verdict(a5, change, why):
    plain = accumulating_sum()
    change(plain)
    started = time.process_time()
    with pytest.raises(Verdict, match=why):
        a5.judge.only_kernels(a5.judge.measured(as_program(a5, plain), "rowsum"), "rowsum")
    assert time.process_time() - started < 10


VALUES = [
    None,
    True,
    -1,
    0,
    1,
    2,
    3,
    5,
    7,
    128,
    1 << 20,
    1 << 40,
    0.5,
    float("nan"),
    "",
    "x",
    "dot_general",
    "while",
]
VALUES += ["scan", "dma_start", "run_scoped", "get", [], [0], [[0]], {}, {"value": 3}, {"value": None}]


def vandalise(rng: random.Random, node: Any) -> None:
    """Change a random leaf, or drop or repeat a random item, somewhere in a nest of dicts and lists."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = rng.choice(keys)
        if isinstance(node[key], dict | list) and rng.random() < 0.85:
            node = node[key]
            continue
        if isinstance(node, list) and rng.random() < 0.3:
            node.insert(key, copy.deepcopy(node[key]))
        elif isinstance(node, list) and rng.random() < 0.3:
            del node[key]
        else:
            node[key] = copy.deepcopy(rng.choice(VALUES))
        return


def nested(levels: int) -> dict[str, Any]:
    """A program whose bodies each contain the next one twice, outside of kernels or in one."""
    plain = accumulating_sum()
    first = len(plain["bodies"])
    call = {"primitive": "jit", "operands": [], "results": [], "bodies": [0]}
    for level in range(levels):
        inner = [{**call, "bodies": [first + level + 1]}] * 2 if level + 1 < levels else []
        body = {"types": [], "inputs": [], "constants": [], "equations": inner, "outputs": []}
        plain["bodies"].append(body)
    return plain


def twice_forty_times_outside(plain):
    """Bodies that double, outside of kernels."""
    plain["bodies"][0]["equations"].append(
        {"primitive": "jit", "operands": [], "results": [], "bodies": [len(plain["bodies"]) - 40]}
    )


def twice_forty_times_inside(plain):
    """Bodies that double, in a kernel."""
    plain["bodies"][1]["equations"].append(
        {"primitive": "jit", "operands": [], "results": [], "bodies": [len(plain["bodies"]) - 40]}
    )


def many_kernels(plain):
    """A hundred thousand calls of a kernel whose grid is long."""
    plain["calls"][0]["grid"] = [1 << 8, 1 << 8]
    plain["bodies"][0]["equations"] *= 100_000


def many_indices(plain):
    """A block with more indices than memory could hold for every step."""
    plain["calls"][0]["grid"] = [1 << 8, 1 << 8]
    plain["bodies"][2]["outputs"] = [0] * 100_000


def an_endless_loop(plain):
    """A loop of no equations whose condition is constantly true."""
    always = {"types": [], "inputs": [], "constants": [], "equations": [], "outputs": [{"value": True}]}
    plain["bodies"] += [always, {**always, "outputs": []}]
    last = len(plain["bodies"])
    plain["bodies"][1]["equations"].append(
        {"primitive": "while", "operands": [], "results": [], "bodies": [last - 1, last - 2]}
    )


@pytest.mark.parametrize(
    "change",
    [twice_forty_times_outside, twice_forty_times_inside, many_kernels, many_indices, an_endless_loop],
)
def test_what_would_take_for_ever_is_a_verdict_soon(a5, change):
    plain = nested(40)
    change(plain)
    started = time.process_time()
    with pytest.raises(Verdict, match="too long"):
        a5.judge.only_kernels(a5.judge.measured(as_program(a5, plain), "rowsum"), "rowsum")
    assert time.process_time() - started < 10


def test_vandalised_programs_never_break_the_grader(a5, monkeypatch):
    monkeypatch.setattr(a5.walk, "MAX_WORK", 2e7)
    rng, measured = random.Random(5), 0
    for _ in range(1500):
        plain = accumulating_sum()
        for _ in range(rng.randint(1, 4)):
            vandalise(rng, plain)
        plan = as_program(a5, plain)
        if plan is None:
            continue
        try:
            report = a5.judge.measured(plan, "rowsum")
            a5.judge.only_kernels(report, "rowsum")
            a5.judge.legal(report, "rowsum")
            a5.judge.fits(report, 1 << 20, "rowsum")
            a5.judge.traffic_fraction(report, 1 << 17, 1 << 18, "rowsum")
            str(report)
            measured += 1
        except Verdict:
            pass
    assert measured > 100, "hardly any program was left to measure"
