"""Marked passages: by their exact places, whatever overlaps."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ragauge.report.html_marks import Mark, find, find_words, passage

marks = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 12), st.sampled_from(["", "yes", "no", "gold"])).map(
        lambda t: Mark(t[0], t[0] + t[1], t[2], "n")  # type: ignore[arg-type]
    ),
    max_size=6,
)


@given(st.text(max_size=40), marks)
def test_no_character_is_lost_or_doubled(text: str, given_marks: list[Mark]) -> None:
    assert "".join(s.text for s in passage(text, given_marks).segments) == text


@given(st.text(max_size=60), marks, st.integers(0, 30))
def test_a_shortened_text_is_a_stretch_of_the_whole_and_says_how_long_it_is(
    text: str, given_marks: list[Mark], limit: int
) -> None:
    found = passage(text, given_marks, limit)
    shown = "".join(s.text for s in found.segments)
    assert shown == text[found.start : found.start + found.n_shown]
    assert len(shown) == min(limit, len(text))
    assert found.cut is (len(text) > limit)


def test_where_marks_overlap_the_first_colours_and_each_note_stands_at_its_end() -> None:
    found = passage("abcdef", [Mark(0, 4, "no", "✗1"), Mark(2, 6, "yes", "✓2", target=3)])
    assert [(s.text, s.kind, s.note, s.target) for s in found.segments] == [
        ("ab", "no", "", None),
        ("cd", "no", "✗1", 3),
        ("ef", "yes", "✓2", 3),
    ]


def test_a_mark_far_into_a_long_text_is_shown() -> None:
    text = "x" * 10_000 + "the evidence" + "y" * 10_000
    found = passage(text, find(text, [("the evidence", "yes", "1")]), 200)
    assert any(s.text == "the evidence" and s.kind == "yes" for s in found.segments)


def test_a_quote_that_is_not_there_marks_nothing() -> None:
    assert find("abc", [("abd", "yes", "1"), (None, "yes", "2"), ("", "yes", "3")]) == []


@given(st.text(max_size=40), st.integers(0, 40), st.integers(1, 20))
def test_words_of_the_text_are_found_whatever_the_white_space(text: str, start: int, size: int) -> None:
    quote = text[start : start + size]
    found = find_words(text, [("  ".join(quote), "yes", "1")])
    if not quote.strip():
        assert found == []
    else:
        (mark,) = found
        assert "".join(text[mark.start : mark.end].split()) == "".join(quote.split())
