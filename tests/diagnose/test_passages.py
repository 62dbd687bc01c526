"""The quick forms of the text measures against their plain definitions, and what they are for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.analysis.thresholds import resolve_thresholds
from ragauge.core.run import Record
from ragauge.core.sample import GoldenItem, Labels, Response, RetrievedChunk, RetrievedContext, Sample
from ragauge.core.score import Scored
from ragauge.diagnose import passages
from ragauge.diagnose.facts import read_facts
from ragauge.diagnose.parts import run_facts
from ragauge.diagnose.passages import covered, cut_off, holds, says_nothing, told
from ragauge.diagnose.rootcause import root_cause
from ragauge.text.normalise import normalise
from ragauge.text.tokens import content_words, words

WORDS = ("port", "8125", "the", "agent", "listens", "on", "UDP", "by", "default", "Straße", "--flag", "a.b", "\n", ".")
TEXTS = st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join)


def plain_covered(quote: str, texts: list[str], size: int = 3) -> float:
    asked = words(quote)
    if not asked:
        return 1.0
    size = min(size, len(asked))
    runs = {tuple(found[i : i + size]) for found in map(words, texts) for i in range(len(found) - size + 1)}
    hit = [False] * len(asked)
    for start in range(len(asked) - size + 1):
        if tuple(asked[start : start + size]) in runs:
            hit[start : start + size] = [True] * size
    return sum(hit) / len(asked)


@given(TEXTS, st.lists(TEXTS, max_size=3))
def test_covered_is_what_it_was_defined_as(quote: str, texts: list[str]) -> None:
    assert covered(quote, texts) == plain_covered(quote, texts)


@given(TEXTS, TEXTS)
def test_holds_and_says_nothing_are_what_they_were_defined_as(quote: str, text: str) -> None:
    assert holds(quote, text) == (bool(normalise(quote)) and normalise(quote) in normalise(text))
    content = content_words(text)
    empty = len(content) < 8 or (len(content) >= 24 and len(set(content)) / len(content) < 0.3)
    assert says_nothing(text) == empty


@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=3))
def test_shares_lie_between_none_and_all_and_grow_with_the_texts(
    statement: str, question: str, texts: list[str]
) -> None:
    share = told(statement, question, texts)
    assert share is None or 0 <= share <= 1
    assert share is None or told(statement, question, [*texts, statement]) == 1
    assert all(0 <= cut_off(statement, text) < 1 for text in texts)


def test_a_reference_is_told_by_its_own_words_alone() -> None:
    assert told("It listens on UDP port 8125", "On which port does it listen?", ["TCP port 9000"]) == 0
    assert told("It listens on UDP port 8125", "On which port does it listen?", ["UDP 8125 is open"]) == 1
    assert told("Yes", "Does it listen?", ["It does."]) is None


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("Before that. The agent listens on UDP po", 5 / 9),  # the chunk ends in the quote, within a word
        ("# Ports\n\nport 8125 by default. After that.", 4 / 9),  # it goes on below the heading
        ("In the lobby the agent listens on UDP, then it stops.", 0.0),  # words of it, at no edge
        ("The agent listens on UDP port 8125 by default", 0.0),  # all of it
        ("It ends on the agent", 0.0),  # two words
    ],
)
def test_a_quote_is_cut_off_at_an_edge_of_a_chunk(text: str, share: float) -> None:
    assert cut_off("The agent listens on UDP port 8125 by default", text) == pytest.approx(share)


def test_rows_without_problems_are_not_read_word_by_word(monkeypatch: pytest.MonkeyPatch) -> None:
    chunk = RetrievedChunk(id="a#1", document="a", text="It listens on port 8125, and on nothing else.", rank=1)
    record = Record(
        index=0,
        sample=Sample(
            item=GoldenItem(id="q", question="Port?", answer="8125", answerable=True),
            response=Response(context=RetrievedContext(chunks=(chunk,)), answer="It listens on port 8125."),
            labels=Labels(chunks={"a#1": 1}, documents={"a": 1}),
        ),
        scores={"correctness": Scored(value=1.0)},
    )

    def never(text: str) -> list[str]:
        raise AssertionError(f"read: {text}")

    monkeypatch.setattr(passages, "words", never)
    assert root_cause(read_facts(record, run_facts([record]), resolve_thresholds({}))) is None
