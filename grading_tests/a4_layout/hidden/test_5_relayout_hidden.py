"""Part 5, hidden: layouts with nested tiles, exact costs, the cheapest plans."""

from __future__ import annotations

from hypothesis import strategies as st

from autograder.kit import check, given, hint, number, probe, weight

import generators
import judge
import oracle


@probe
def bitcast(operation, a, b) -> bool:
    """is_bitcast of an operation, with the layouts of its operand and its result."""
    import tiledlayout

    import describe

    return bool(tiledlayout.is_bitcast(describe.operation(operation), describe.layout(a), describe.layout(b)))


@probe
def copying(a, b) -> tuple[int, int, int]:
    """relayout_cost from one layout to another: bytes read, bytes written, registers shuffled."""
    import tiledlayout

    import describe

    return describe.cost(tiledlayout.relayout_cost(describe.layout(a), describe.layout(b)))


@probe
def planned(a, b) -> list[judge.Step]:
    """The steps of plan from one layout to another."""
    import tiledlayout

    import describe

    steps = tiledlayout.plan(describe.layout(a), describe.layout(b)).steps
    return [
        {"kind": s.kind, "layout": describe.fields(s.layout), "cost": describe.cost(s.cost), "reason": s.reason}
        for s in steps
    ]


@number("5.8")
@weight(2)
@hint("All tiles count, stars and sub-tiles, too; padding does not. Handout, part 5, bitcasts.")
@given(move=generators.moves(tiles=2, stars=True), examples=40)
def test_bitcasts_with_any_tiles(student, move):
    """bitcasts of arrays with nested tiles and merged dimensions"""
    operation, a, b = move
    want = judge.is_bitcast(operation, judge.layout_of(a), judge.layout_of(b), oracle.memory)
    check.equal(student(bitcast, operation, a, b), want, f"whether {operation} from {a} to {b} is a bitcast")


@number("5.9")
@weight(1)
@hint(
    "A register is shuffled unless one register of the operand is moved into it as it is. Handout, part 5, copies."
)
@given(pair=generators.relayouts(nested=True), extra=st.integers(0, 2), examples=10)
def test_costs_of_any_copy(student, rng, pair, extra):
    """bytes and shuffled registers of copies between nested tiles"""
    a, b = pair
    for here, there in ((a, b), (b, a)):
        want = oracle.relayout_cost(judge.layout_of(here), judge.layout_of(there))
        check.equal(list(student(copying, here, there)), want, f"the cost of {here} to {there}")
    rows = 8 * int(rng.integers(2, 12)) + extra
    plain, pairs = (
        {"dtype": "bf16", "dims": [rows, 256], "minor_to_major": [1, 0], "tiles": tiles}
        for tiles in ([[16, 128]], [[16, 128], [2, 1]])
    )
    count = -(-rows // 16) * 2
    check.equal(
        list(student(copying, plain, pairs)), [4096 * count, 4096 * count, count], "the cost of pairing rows"
    )


DETOUR = [
    {"dtype": "f32", "dims": [3, 1, 128], "minor_to_major": order, "tiles": tiles}
    for order, tiles in (([2, 1, 0], [[8, 128]]), ([2, 0, 1], [[4, 128], [2, 1]]))
]
THIRD_ORDER = [
    {"dtype": "f32", "dims": [1, 6, 93], "minor_to_major": order, "tiles": tiles}
    for order, tiles in (([2, 0, 1], [[1, 128]]), ([1, 0, 2], [[8, 128], [2, 1]]))
]


@number("5.10")
@weight(2)
@hint("Search all chains: over bitcasts, and in the order that pads less on the way. Handout, part 5, plans.")
@given(
    pair=st.one_of(st.sampled_from([DETOUR, DETOUR[::-1], THIRD_ORDER]), *[generators.relayouts(nested=True)] * 3),
    examples=7,
)
def test_plans_are_the_cheapest(student, pair):
    """no chain of steps costs less than the plan"""
    a, b = map(judge.layout_of, pair)
    spent = oracle.plan_total(student(planned, *pair), a, b)
    check.at_most(spent, oracle.cheapest(a, b), f"the total of the plan from {pair[0]} to {pair[1]}")
