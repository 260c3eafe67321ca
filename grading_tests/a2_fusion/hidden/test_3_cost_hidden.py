"""Part 3, hidden: cost of random programs, and of fusions within fusions."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
from given_minixla import text
from hypothesis import strategies as st

from autograder.kit import check, given, hint, number, probe, weight

import generators
import judge

RECORDED = json.loads((Path(__file__).parent / "golden_xla.json").read_text("utf-8"))
GOLDEN = {vector["name"]: vector for vector in RECORDED if vector["differs"] is None}


class Totals(msgspec.Struct):
    """The totals of a module's cost."""

    kernels: int
    bytes: int
    flops: int
    transcendentals: int


@probe
def totals(module, accounting) -> Totals:
    """the total cost of a module"""
    from minixla import cost_analysis, text

    found = cost_analysis.cost(text.parse(module), accounting)
    return {
        "kernels": len(found.kernels),
        "bytes": found.bytes,
        "flops": found.flops,
        "transcendentals": found.transcendentals,
    }


@number("3.8")
@weight(1.5)
@hint("Every kernel on its own: the arrays that it reads, each once, and those that it writes.")
@given(module=generators.programs(30), seed=st.integers(0, 2**31), examples=40)
def test_cost_of_random_programs(student, module, seed):
    """random programs move the bytes that the analysis says"""
    got = student(totals, text.print_module(module), "lecture")
    kernels, moved = judge.traffic(module, generators.arguments(module, np.random.default_rng(seed)))
    if (got.kernels, got.bytes) != (kernels, moved):
        judge.fail(module, None, f"expected {kernels} kernels, {moved:,} bytes; got {got.kernels}, {got.bytes:,}")


@number("3.9")
@weight(1.5)
@hint("An outer fusion reads its operands once, whatever the fusions inside it do with them.")
def test_golden_costs(student):
    """programs whose cost XLA's own analysis gave"""
    for name, vector in sorted(GOLDEN.items()):
        got = student(totals, vector["text"], "xla")
        have = [got.flops, got.transcendentals, got.bytes]
        want = [vector["flops"], vector["transcendentals"], vector["bytes_accessed"]]
        check.equal(have, want, f"operations, transcendentals and bytes of {name}")
