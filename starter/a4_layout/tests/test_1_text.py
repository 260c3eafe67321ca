"""Part 1: from text to layout and back."""

from __future__ import annotations

from typing import Any

import pytest

from autograder.kit import check, given, hint, number, probe, weight

import generators

DEEPEST = 100  # tuples in tuples
DEFAULTS: dict[str, Any] = {"tiles": [], "tail_alignment": 1, "element_bits": 0, "memory_space": 0}


@probe
def parsed(text) -> Any:
    """The fields of parse(text)."""
    import tiledlayout

    import describe

    return describe.fields(tiledlayout.parse(text))


@probe
def printed(layout) -> str:
    """to_string of the layout with these fields."""
    import tiledlayout

    import describe

    return tiledlayout.to_string(describe.tree(layout))


@probe
def printed_again(text) -> str:
    """to_string(parse(text))."""
    import tiledlayout

    return tiledlayout.to_string(tiledlayout.parse(text))


@probe
def round_trip(layout) -> Any:
    """The fields of parse(to_string(x)) for the layout x with these fields."""
    import tiledlayout

    import describe

    return describe.fields(tiledlayout.parse(tiledlayout.to_string(describe.tree(layout))))


def full(dtype: str, dims: list[int], order: list[int], **others: Any) -> dict[str, Any]:
    """All fields of a layout."""
    return {"dtype": dtype, "dims": dims, "minor_to_major": order, **DEFAULTS, **others}


def samples(rng: Any) -> list[tuple[str, dict[str, Any]]]:
    """Texts as XLA prints them, with random numbers in them, and what they mean."""
    a, b, c, d = (int(n) for n in rng.integers(2, 3000, size=4))
    s, e = int(rng.integers(1, 9)), int(rng.integers(1, 99))
    return [
        (f"f32[{a},{b}]{{1,0}}", full("f32", [a, b], [1, 0])),
        (f"bf16[{a},{b}]{{0,1}}", full("bf16", [a, b], [0, 1])),
        ("f32[]", full("f32", [], [])),
        (f"pred[{a}]{{0}}", full("pred", [a], [0])),
        (f"s32[0,{a}]{{1,0}}", full("s32", [0, a], [1, 0])),
        (f"u32[]{{:T({a})}}", full("u32", [], [], tiles=[[a]])),
        (f"u8[]{{:S({s})}}", full("u8", [], [], memory_space=s)),
        (f"f32[{a},{b}]{{1,0:T(8,128)}}", full("f32", [a, b], [1, 0], tiles=[[8, 128]])),
        (f"bf16[{a}]{{0:T(1024)(128)(2,1)}}", full("bf16", [a], [0], tiles=[[1024], [128], [2, 1]])),
        (
            f"f32[2,7,8,{a},{b}]{{4,3,2,1,0:T(*,*,{c},*,{d})}}",
            full("f32", [2, 7, 8, a, b], [4, 3, 2, 1, 0], tiles=[["*", "*", c, "*", d]]),
        ),
        (
            f"s4[{a},{b}]{{1,0:T({c},{d})(8,1)E(4)}}",
            full("s4", [a, b], [1, 0], tiles=[[c, d], [8, 1]], element_bits=4),
        ),
        (
            f"c64[1,{a},3,4]{{3,2,0,1:T(42,123)(4,5)L({b})E({e})S({s})}}",
            full(
                *("c64", [1, a, 3, 4], [3, 2, 0, 1]),
                tiles=[[42, 123], [4, 5]],
                tail_alignment=b,
                element_bits=e,
                memory_space=s,
            ),
        ),
        (f"f8e4m3fn[{a}]{{0:L({b})}}", full("f8e4m3fn", [a], [0], tail_alignment=b)),
    ]


@number("1.1")
@weight(2)
@hint("One function for each line of the grammar in parse.py. Handout, part 1, the notation.")
def test_texts_are_understood(student, rng):
    """parse reads element type, dimensions, minor-to-major and the suffixes T, L, E, S"""
    for text, fields in samples(rng):
        check.equal(student(parsed, text), fields, f"the fields of {text}")
    vector = "bf16[9,9,9,9]{3,2,1,0:T(42,123)(4,5)L(100)E(42)}"
    want = full("bf16", [9] * 4, [3, 2, 1, 0], tiles=[[42, 123], [4, 5]], tail_alignment=100, element_bits=42)
    check.equal(student(parsed, vector), want, f"the fields of {vector}")


@number("1.2")
@weight(2)
@hint("No blanks, minor-to-major always, and nothing that has its default. Handout, part 1, printing.")
def test_layouts_are_printed_as_xla_does(student, rng):
    """to_string prints what XLA prints, to the character"""
    for text, fields in samples(rng):
        check.equal(student(printed, fields), text, "the text")


@number("1.3")
@weight(1)
@hint(
    "A comma and a blank between elements, every fifth is announced, 100 levels at most. Handout, part 1, tuples."
)
def test_tuples_are_read_and_printed(student, rng):
    """tuples, nested and empty ones, in both directions; not deeper than parse's docstring says"""
    texts, layouts = zip(*samples(rng), strict=True)
    cases: list[tuple[str, list[Any]]] = [
        ("()", []),
        (f"({texts[0]})", [layouts[0]]),
        (f"({texts[1]}, ({texts[2]}, {texts[5]}), ())", [layouts[1], [layouts[2], layouts[5]], []]),
        (
            "("
            + ", ".join(texts[:5])
            + f", /*index=5*/{texts[5]}, "
            + ", ".join(texts[6:10])
            + f", /*index=10*/{texts[10]})",
            list(layouts[:11]),
        ),
    ]
    for text, layout in cases:
        check.equal(student(parsed, text), layout, f"the fields of {text}")
        check.equal(student(printed, layout), text, "the text")
    deep = "(" * DEEPEST + texts[0] + ")" * DEEPEST
    check.equal(student(printed_again, deep), deep, f"{DEEPEST} tuples in each other, read and printed")
    for text in (f"({deep})", "(" * 20_000):
        error = student.error(parsed, text)
        check.raised(error, "ParseError", "parse of deeper ones", rule="syntax", position=DEEPEST)


@number("1.4")
@weight(1)
@hint("What may be left out is left out, or spelt out; blanks may stand between any two pieces.")
def test_other_spellings_are_read(student, rng):
    """defaults, spelt out or left out, blanks and comments"""
    a, b = (int(n) for n in rng.integers(2, 3000, size=2))
    plain = full("f32", [a, b], [1, 0])
    tiled = full("f32", [a, b], [1, 0], tiles=[[2, 2]])
    cases = [
        (f"f32[{a},{b}]", plain),
        (f"f32[{a},{b}]{{1,0:S(0)}}", plain),
        (f"f32[{a},{b}]{{1,0:L(1)E(0)S(0)}}", plain),
        (f" f32 [ {a} , {b} ] {{ 1 , 0 }} ", plain),
        (f"f32[{a}, {b}]{{1, 0 : T( 2 , 2 ) L(1)}}", tiled),
        (f"/* weights */ f32[{a},{b}]{{1,0:T(2,2)E(0)}}", tiled),
        (f"s8[{a}]", full("s8", [a], [0])),
        (f"f64[2,3,{b}]", full("f64", [2, 3, b], [2, 1, 0])),
    ]
    for text, fields in cases:
        check.equal(student(parsed, text), fields, f"the fields of {text!r}")


@number("1.5")
@weight(2)
@hint("parse(to_string(x)) == x for every layout x.")
@given(layout=generators.layouts(suffixes=True, zeros=True, dtypes=[*generators.WHOLE, "s4", "u2"]), examples=30)
def test_text_goes_there_and_back(student, layout):
    """what is printed means the layout that was printed"""
    check.equal(student(round_trip, layout), {**DEFAULTS, **layout}, "the layout after printing and parsing")


# The fault is between two bars, which are no part of the text: its position is that of the first.
FAULTS = [
    ("element type", "|q8|[{a}]"),
    ("element type", "|F32|[{a},{b}]"),
    ("element type", "(f32[{a}], |f33|[2])"),
    ("dimension", "f32[{a},|-5|]"),
    ("dimension", "f32[{a},|-123456789012345678|]"),
    ("rank", "f32[3,5,{a}]|{{|0}}"),
    ("rank", "f32[{a}]|{{|}}"),
    ("permutation", "f32[{a},{b}]{{1,|1|}}"),
    ("permutation", "f32[{a},{b}]{{|2|,0}}"),
    ("permutation", "f32[{a},{b}]{{1,|-1|}}"),
    ("tile", "f32[{a},{b}]{{1,0:T(|0|,2)}}"),
    ("tile", "f32[{a},{b}]{{1,0:T(|-2|,2)}}"),
    ("tile", "f32[{a},{b}]{{1,0:T(8,128)(2,|0|)}}"),
    ("tile", "f32[{a},{b}]{{1,0:T(2,|*|)}}"),
    ("tile", "f32[{a}]{{0:T(|)|}}"),
    ("suffix", "f32[{a}]{{0:|Q|(2)}}"),
    ("suffix", "f32[{a}]{{0:S(1)|E|(4)}}"),
    ("suffix", "f32[{a}]{{0:T(2)|T|(2)}}"),
    ("value", "f32[{a}]{{0:L(|0|)}}"),
    ("value", "f32[{a}]{{0:S(|-1|)}}"),
    ("value", "f32[{a}]{{0:E(|-4|)}}"),
    ("permutation", "f32[{a},{b}]{{1,0,|0|}}"),
    ("syntax", "f32[{a},{b}|"),
    ("syntax", "f32[{a},|1234567890123456789|]"),
    ("syntax", "f32[{a}]{{0:|é|(2)}}"),
    ("syntax", "f32[{a},|]|"),
    ("syntax", "f32[{a},{b}]{{0|"),
    ("syntax", "f32[{a}]{{0:|}}|"),
    ("syntax", "f32[{a}]{{0:T(2,|)|}}"),
    ("syntax", "f32[{a}]{{0:T(2,*|"),
    ("syntax", "(f32[{a}],|)|"),
    ("syntax", "f32[{a},|,{b}]"),
    ("syntax", "f32[{a}]{{0:T(2,2|}}"),
    ("syntax", "f32[{a}]{{0}}|x|"),
    ("syntax", "(f32[{a}], f32[{b}]|"),
    ("syntax", "|"),
]


@number("1.6")
@weight(3)
@hint(
    "ParseError carries the rule and the position. The docstring of parse has the table. Handout, part 1, errors."
)
@pytest.mark.parametrize("rule", list(dict.fromkeys(rule for rule, _ in FAULTS)))
def test_wrong_texts_are_refused(student, rng, rule):
    """a text that breaks a rule is refused, naming the rule and the character"""
    a, b = (int(n) for n in rng.integers(2, 3000, size=2))
    for marked in [marked for broken, marked in FAULTS if broken == rule]:
        text = marked.format(a=a, b=b)
        position, text = text.index("|"), text.replace("|", "")
        check.raised(student.error(parsed, text), "ParseError", f"parse({text!r})", rule=rule, position=position)
