"""Part 1, hidden: any layout, what XLA itself prints, and texts with one fault put in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from autograder.kit import check, given, hint, number, probe, weight

import generators
import oracle

GOLDEN = json.loads(Path(__file__).with_name("golden_xla.json").read_text("utf-8"))
TYPES = [*generators.WHOLE, *generators.BELOW_A_BYTE, "pred", "s32", "f16"]


@probe
def text_and_back(layout) -> tuple[str, Any]:
    """to_string of the layout with these fields, and the fields of what parse makes of the text."""
    import tiledlayout

    import describe

    text = tiledlayout.to_string(describe.tree(layout))
    return [text, describe.fields(tiledlayout.parse(text))]


@probe
def printed_again(texts) -> list[str]:
    """to_string(parse(text)) for each text."""
    import tiledlayout

    return [tiledlayout.to_string(tiledlayout.parse(text)) for text in texts]


@probe
def fields_of(text) -> Any:
    """The fields of parse(text)."""
    import tiledlayout

    import describe

    return describe.fields(tiledlayout.parse(text))


def everything(fields: Any) -> Any:
    """The fields with those that are at their default."""
    if isinstance(fields, list):
        return [everything(part) for part in fields]
    return {"tiles": [], "tail_alignment": 1, "element_bits": 0, "memory_space": 0, **fields}


@number("1.7")
@weight(2)
@hint("Print every kind of layout and tuple as XLA does, and read it again. Handout, part 1, printing.")
@given(
    layouts=st.lists(
        st.one_of(
            generators.layouts(suffixes=True, zeros=True, most_rank=5, dtypes=TYPES),
            generators.layouts(tiles=0, most_rank=2, dtypes=TYPES),
        ),
        min_size=1,
        max_size=5,
    ),
    times=st.integers(1, 6),
    nested=st.booleans(),
    examples=20,
)
def test_any_layout_is_printed_and_read(student, layouts, times, nested):
    """layouts and tuples of every kind, printed and read again"""
    tree: Any = [*layouts[:2], layouts * times] if nested else layouts * times
    for shape in (tree, *layouts[:2]):
        text, again = student(text_and_back, shape)
        check.equal(text, oracle.text(shape), "the text")
        check.equal(again, everything(shape), "the layout after printing and parsing")


@number("1.8")
@weight(1)
@hint("What XLA's own parser reads and prints, read and printed.")
def test_texts_that_xla_prints(student):
    """texts that XLA's parser read, printed as XLA prints them"""
    texts, printed = zip(*GOLDEN["printed"], strict=True)
    answers = student(printed_again, list(texts))
    check.equal(len(answers), len(texts), "the number of texts")
    for text, got, want in zip(texts, answers, printed, strict=True):
        check.equal(got, want, f"{text} read and printed")


@st.composite
def broken(draw: Any) -> tuple[str, str, int]:
    """A rule, a text that breaks it, and where."""
    fields = draw(generators.layouts(tiles=2, least_rank=1, suffixes=True, dtypes=TYPES))
    before = draw(st.sampled_from(["", "(", "(f32[], "]))
    rule = draw(st.sampled_from(["element type", "dimension", "permutation", "rank", "tile", "syntax"]))
    text = before + oracle.text(fields)
    start = len(before)
    brace = text.index("{", start)
    if rule == "element type":
        return rule, text[:start] + "x" + text[start:], start
    if rule == "dimension":
        bracket = text.index("[", start) + 1
        return rule, text[:bracket] + "-" + text[bracket:], bracket
    if rule == "permutation":
        return rule, text[: brace + 1] + str(len(fields["dims"])) + text[brace + 2 :], brace + 1
    if rule == "rank":
        end = min(text.index(mark, brace) for mark in ":}" if mark in text[brace:])
        inner = text[brace + 1 : end]
        bad = inner.rpartition(",")[0] if draw(st.booleans()) else ""
        return rule, text[: brace + 1] + bad + text[end:], brace
    if rule == "tile" and fields["tiles"]:
        at = text.index("T(", brace) + 2
        stop = min(text.index(mark, at) for mark in ",)" if mark in text[at:])
        return rule, text[:at] + draw(st.sampled_from(["0", "-3"])) + text[stop:], at
    return "syntax", text.rstrip(")") + "}", len(text.rstrip(")"))


@number("1.9")
@weight(1)
@hint("The first fault that reading from left to right meets, wherever it stands. Handout, part 1, errors.")
@given(fault=broken(), examples=30)
def test_faults_are_found_where_they_are(student, fault):
    """one fault put into a valid text is found where it is"""
    rule, text, position = fault
    check.raised(student.error(fields_of, text), "ParseError", f"parse({text!r})", rule=rule, position=position)
