"""Part 5: when the same bytes serve, and what it costs when they do not."""

from __future__ import annotations

from typing import Any

import pytest

from autograder.kit import check, given, hint, number, probe, weight

import generators
import judge


@probe
def bitcast(operation, a, b) -> judge.Verdict:
    """is_bitcast of an operation, with the layouts of its operand and its result."""
    import tiledlayout

    import describe

    verdict = tiledlayout.is_bitcast(describe.operation(operation), describe.layout(a), describe.layout(b))
    return {"possible": bool(verdict), "reason": str(verdict.reason)}


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


@probe
def dear(operation, layout) -> str:
    """op_cost of an operation on an array in this layout."""
    import tiledlayout

    import describe

    return tiledlayout.op_cost(describe.operation(operation), describe.layout(layout))


def fields(dims: Any, order: Any, *tiles: Any, dtype: str = "f32", **others: Any) -> dict[str, Any]:
    """A layout."""
    made = [list(tile) for tile in tiles]
    return {"dtype": dtype, "dims": list(dims), "minor_to_major": list(order), "tiles": made, **others}


def decide(student: Any, operation: list[Any], a: dict[str, Any], b: dict[str, Any], want: bool) -> None:
    """Compare the verdict, which must come with a reason."""
    got = student(bitcast, operation, a, b)
    check.equal(got.possible, want, f"whether {operation} from {a} to {b} is a bitcast")
    check.that(len(got.reason.split()) >= 3, "the reason", expected="a sentence", got=got.reason)


@number("5.1")
@weight(2)
@hint("Where is each element in the operand, and where must it be in the result? Handout, part 5, bitcasts.")
@given(move=generators.moves(), examples=35)
def test_reshapes_and_transposes_that_are_bitcasts(student, move):
    """reshapes and transposes of arrays with at most one tile"""
    operation, a, b = move
    decide(student, operation, a, b, judge.is_bitcast(operation, judge.layout_of(a), judge.layout_of(b)))


@number("5.2")
@weight(1)
@hint("Untiled, a dimension of size 1 changes no address; tiled, it may change how much is padded.")
def test_known_bitcasts_and_unit_dimensions(student, rng):
    """known cases; dimensions of size 1 move freely in untiled arrays, and not in tiled ones"""
    rows, columns = [1, 0], [0, 1]
    decide(student, ["reshape", [6, 2]], fields([3, 4], rows), fields([6, 2], rows), True)
    decide(student, ["reshape", [6, 2]], fields([3, 4], columns), fields([6, 2], rows), False)
    decide(student, ["reshape", [6, 2]], fields([3, 4], rows), fields([6, 2], columns), False)
    decide(student, ["reshape", [6, 2]], fields([3, 4], columns), fields([6, 2], columns), False)
    decide(student, ["reshape", [6, 2]], fields([3, 2, 2], [1, 0, 2]), fields([6, 2], columns), True)
    decide(student, ["transpose", [1, 0]], fields([10, 5], rows), fields([5, 10], columns), True)
    decide(student, ["reshape", [5, 10]], fields([10, 5], rows), fields([5, 10], columns), False)
    n, m = (int(size) for size in rng.integers(2, 60, size=2))
    same = ["reshape", [n, 1, m]]
    decide(student, same, fields([n, 1, m], [2, 1, 0]), fields([n, 1, m], [2, 0, 1]), True)
    decide(student, same, fields([n, 1, m], [1, 2, 0]), fields([n, 1, m], [2, 0, 1]), True)
    decide(student, ["reshape", [n, m]], fields([n, 1, m], [1, 2, 0]), fields([n, m], [1, 0]), True)
    tiled = [fields([3, 1, 4], order, (2, 2)) for order in ([2, 1, 0], [2, 0, 1])]
    decide(student, ["reshape", [3, 1, 4]], *tiled, False)
    # As many bytes, and yet other places: a row of n in n tiles, or a column of n in n tiles.
    decide(student, ["reshape", [8, 1, 8]], *[fields([8, 1, 8], o, (2, 1)) for o in ([2, 1, 0], [1, 2, 0])], False)
    row, column = fields([n, 2], [1, 0]), fields([n, 2], [0, 1])
    decide(student, ["reshape", [n, 2]], row, column, False)


@number("5.3")
@weight(1)
@hint("A tile that spans the whole of its rows leaves the order as it is. Handout, part 5, bitcasts.")
def test_tiled_as_if_untiled(student, rng):
    """tiles that change nothing, the padding that does, and what it holds that does not"""
    n = 8 * int(rng.integers(1, 40))
    for dims, tile, want in [
        ([24, 128], (8, 128), True),
        ([n, 128], (8, 128), True),
        ([4, 256], (1, 128), True),
        ([n, 256], (8, 128), False),
        ([2, 3, 4], (8, 128), False),
        ([n + 1, 128], (8, 128), False),
    ]:
        order = list(range(len(dims)))[::-1]
        decide(student, ["reshape", dims], fields(dims, order, tile), fields(dims, order), want)
    collective = [fields([16 * n, 128], [1, 0], (size, 128)) for size in (8, 16)]
    decide(student, ["reshape", [16 * n, 128]], *collective, True)
    decide(student, ["reshape", [16 * n, 128]], *collective[::-1], True)
    padded = [fields([n - 3, 100], [1, 0], (8, 128)), fields([n - 3, 1, 100], [2, 0, 1], (8, 128))]
    decide(student, ["reshape", [n - 3, 1, 100]], *padded, True)
    moved = [fields([n, 128], [1, 0], memory_space=space) for space in (0, 1)]
    decide(student, ["reshape", [n, 128]], *moved, False)
    packed = [fields([n], [0], dtype="s4", element_bits=bits) for bits in (4, 0)]
    decide(student, ["reshape", [n]], *packed, False)
    # The tail makes up for the half byte: eight bytes each.
    packed = [fields([15], [0], dtype="u4", element_bits=4, tail_alignment=tail) for tail in (1, 16)]
    decide(student, ["reshape", [15]], *packed, True)
    # Without elements there are no addresses to compare, and everything else still counts.
    empty = fields([0, n], [1, 0])
    decide(student, ["reshape", [n, 0]], empty, fields([n, 0], [0, 1], (8, 128)), True)
    decide(student, ["transpose", [1, 0]], empty, fields([n, 0], [1, 0]), True)
    decide(student, ["reshape", [0, n]], empty, fields([0, n], [1, 0], memory_space=1), False)
    decide(student, ["reshape", [0, n]], empty, fields([0, n], [1, 0], element_bits=64), False)


@number("5.4")
@weight(1)
@hint("Raise OperationError with the operation's name for what no layout could mend. Handout, errors.")
@pytest.mark.parametrize(
    ("operation", "a", "b", "kinds"),
    [
        (["reshape", [3]], [3, 2], [3], ("s4", "s8")),
        (["reshape", [3, 2]], [3, 2], [3, 2], ("f32", "s32")),
        (["reshape", [4, 2]], [3, 2], [4, 2], ("f32", "f32")),
        (["reshape", [6]], [3, 2], [2, 3], ("f32", "f32")),
        (["transpose", [0, 0]], [3, 3], [3, 3], ("f32", "f32")),
        (["transpose", [1, 0]], [3, 2], [3, 2], ("f32", "f32")),
    ],
)
def test_what_is_no_bitcast_at_all_is_refused(student, operation, a, b, kinds):
    """operations that cannot make such a result are refused with a sentence"""
    layouts = [fields(d, list(range(len(d)))[::-1], dtype=kind) for d, kind in zip((a, b), kinds, strict=True)]
    error = student.error(bitcast, operation, *layouts)
    check.raised(
        error, "OperationError", f"{operation} from {kinds[0]}{a} to {kinds[1]}{b}", operation=operation[0]
    )


@number("5.5")
@weight(2)
@hint("The most minor dimension that is touched decides. Handout, part 5, the price list.")
def test_the_price_of_operations(student, rng):
    """which operations are free, cheap and dear"""
    a, b, c, d = (int(n) for n in rng.integers(2, 9, size=4))
    shape = [a, b, c, d]
    natural, other = [3, 2, 1, 0], [0, 2, 1, 3]
    for order in (natural, other):
        for dim in range(4):
            want = ["dear", "cheap", "free", "free"][order.index(dim)]
            layout = fields(shape, order, (8, 128))
            check.equal(student(dear, ["reduce", [dim]], layout), want, f"a sum over {dim} of {layout}")
            lower = fields([1 if i == dim else size for i, size in enumerate(shape)], order, (8, 128))
            check.equal(student(dear, ["broadcast", [dim]], lower), want, f"a broadcast along {dim} of {lower}")
    both = fields(shape, other)
    check.equal(student(dear, ["reduce", [1, 0]], both), "dear", f"a sum over 0 and 1 of {both}")
    check.equal(student(dear, ["reduce", [1, 3]], both), "free", f"a sum over 1 and 3 of {both}")
    rows = fields(shape, natural)
    for permutation, want in [([1, 0, 2, 3], "free"), ([0, 2, 1, 3], "cheap"), ([0, 1, 3, 2], "dear")]:
        check.equal(student(dear, ["transpose", permutation], rows), want, f"a transpose {permutation} of {rows}")
    check.equal(student(dear, ["transpose", [0, 1, 2, 3]], rows), "free", "a transpose that moves nothing")
    for name in ("reduce", "broadcast"):
        check.equal(student(dear, [name, []], rows), "free", f"a {name} over no axes")
    for few, many, want in [([d], [1, d], "cheap"), ([c, d], [1, c, d], "free"), ([], [1], "dear")]:
        for before, after in ((few, many), (many, few)):
            layout = fields(before, list(range(len(before)))[::-1])
            check.equal(student(dear, ["reshape", after], layout), want, f"a reshape of {layout} to {after}")
    for dims, want in [
        ([a * b, c, d], "free"),
        ([a, b * c, d], "cheap"),
        ([a, b, c * d], "dear"),
        (shape, "free"),
    ]:
        check.equal(student(dear, ["reshape", dims], rows), want, f"a reshape of {rows} to {dims}")


@number("5.6")
@weight(1)
@hint("Whole registers may move for nothing but their bytes. Handout, part 5, copies.")
def test_copies(student, rng):
    """bytes and shuffled registers of copies, where they can be told without counting"""
    r, c = 2 * int(rng.integers(1, 5)), int(rng.integers(2, 4))
    size = 4096 * r * c
    narrow, wide = [8 * r, 128], [8 * r, 128 * c]

    def copy(a: dict[str, Any], b: dict[str, Any], *want: int) -> None:
        check.equal(list(student(copying, a, b)), list(want), f"the cost of {a} to {b}")

    copy(fields(narrow, [1, 0], (8, 128)), fields(narrow, [1, 0], (16, 128)), 0, 0, 0)
    copy(fields(narrow, [1, 0], (8, 128)), fields(narrow, [1, 0]), 0, 0, 0)
    copy(fields(wide, [1, 0], (8, 128)), fields(wide, [1, 0], (16, 128)), size, size, 0)
    copy(fields(wide, [1, 0], (8, 128)), fields(wide, [1, 0]), size, size, r * c)
    three, turned = [fields([r, c, 8, 128], order, (8, 128)) for order in ([3, 2, 1, 0], [3, 2, 0, 1])]
    copy(three, turned, size, size, 0)
    square = [128 * c, 128 * c]
    area = 4 * 128 * c * 128 * c
    copy(fields(square, [1, 0], (8, 128)), fields(square, [0, 1], (8, 128)), area, area, area // 4096)
    half = [8 * r, 64]
    copy(fields(half, [1, 0], (8, 128)), fields(half, [1, 0]), 4096 * r, 2048 * r, r // 2)
    # Two halves that keep their places, and yet come from two registers.
    copy(fields([2, 512], [1, 0], (1, 1536)), fields([2, 512], [1, 0]), 12288, 4096, 1)
    # All of a register moves by as many bytes, and yet it comes from two.
    copy(fields([2, 1024], [1, 0], (1, 1536)), fields([2, 1024], [1, 0]), 12288, 8192, 1)
    # In one register, and yet at other places in it.
    copy(fields([8, 128], [1, 0]), fields([8, 128], [0, 1]), 4096, 4096, 1)
    # A register has 4096 bytes, so two or four tiles of 8 rows of narrower elements.
    for dtype, high in (("bf16", 16), ("s8", 32)):
        whole, part, two = (
            fields([high * r, 128 * c], [1, 0], (rows, 128), dtype=dtype) for rows in (high, 8, 2 * high)
        )
        copy(whole, two, size, size, 0)
        copy(whole, part, size, size, r * c)
    tail = fields([1024], [0], tail_alignment=1024 * r)
    copy(fields([1024], [0]), tail, 4096, 4096 * r, 0)


def follow(student: Any, a: dict[str, Any], b: dict[str, Any]) -> list[judge.Step]:
    """The steps of a plan, each of which is what it says and has the bytes that it says."""
    steps = student(planned, a, b)
    list(judge.follow(steps, judge.layout_of(a), judge.layout_of(b)))
    return steps


@number("5.7")
@weight(1)
@hint("Each step changes one thing, and says why. Handout, part 5, plans.")
@given(pair=generators.relayouts(longest=1500), examples=6)
def test_plans_lead_from_one_layout_to_the_other(student, pair):
    """a plan is a chain of legal steps, each with its kind, its bytes and its reason"""
    a, b = map(judge.layout_of, pair)
    steps = follow(student, *pair)
    if a == b or judge.is_bitcast(["reshape", list(a.dims)], a, b):
        check.equal([step.kind for step in steps], [] if a == b else ["bitcast"], "the kinds of the steps")


@number("5.11")
@weight(1)
@hint(
    "The least total, not the fewest steps; a detour over a bitcast or a third order may be cheaper. "
    "Handout, part 5, plans."
)
def test_known_plans(student):
    """nothing to do, one step of each kind, and two detours like the handout's"""
    rows, tiled, columns = (fields([8, 128], *x) for x in (([1, 0],), ([1, 0], (8, 128)), ([0, 1],)))
    for a, b, kinds in [(tiled, tiled, []), (tiled, rows, ["bitcast"]), (rows, columns, ["transpose"])]:
        check.equal([step.kind for step in follow(student, a, b)], kinds, f"the steps from {a} to {b}")
    pairs = [fields([16, 256], [1, 0], *tiles, dtype="bf16") for tiles in ([(8, 128)], [(8, 128), (2, 1)])]
    for a, b in (pairs, pairs[::-1]):
        kinds = [step.kind for step in student(planned, a, b)]
        check.equal(kinds, ["sublane shuffle"], f"the kinds of the steps from {a} to {b}")
    # The shorter chain, a retile and a transpose, carries more padding along; or it takes a third order.
    one = [fields([3, 1, 128], [2, 1, 0], (8, 128)), fields([3, 1, 128], [2, 0, 1], (4, 128))]
    two = [fields([1, 2, 78], [0, 2, 1], (4, 128)), fields([1, 2, 78], [1, 2, 0], (1, 128))]
    for detour, least in ((one, 17_920 + 3_584), (two, 173_056)):
        costs = [step.cost for step in follow(student, *detour)]
        total = sum(read + written + judge.REGISTER * shuffled for read, written, shuffled in costs)
        check.equal(total, least, f"the total of the plan from {detour[0]} to {detour[1]}")
