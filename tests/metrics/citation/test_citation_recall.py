from __future__ import annotations

from typing import Any

import pytest

from ragauge.core.score import Scored, Unscored
from ragauge.errors import Reason
from ragauge.metrics.citation.citation_recall import CitationRecall
from ragauge.testing import ScriptedJudge, a_sample, score_now


def score(answer: str, said: Any = "needed", retrieved: Any = "a b c") -> Scored | Unscored:
    return score_now(CitationRecall(ScriptedJudge({"needs_citation": said})), a_sample(retrieved, answer=answer))


@pytest.mark.parametrize(
    ("answer", "said", "want", "count"),
    [
        ("Hello there. A is one [1]. B is two.", ["not_needed", "needed", "needed"], 0.5, 2),
        ("A is one [1]. B is two [2].", "needed", 1.0, 2),
        ("A is one. B is two.", "needed", 0.0, 2),
        ("Hello there [1]. B is two.", ["not_needed", "needed"], 0.0, 1),
    ],
)
def test_counts_the_sentences_that_need_one(answer: str, said: Any, want: float, count: int) -> None:
    scored = score(answer, said)
    assert isinstance(scored, Scored)
    assert (scored.value, scored.count) == (want, count)


def test_a_citation_that_points_nowhere_is_none() -> None:
    known, unknown = score("A is one [9]."), score("A is one [9].", retrieved=None)
    assert isinstance(known, Scored)
    assert isinstance(unknown, Scored)
    assert (known.value, unknown.value) == (0.0, 1.0)


def test_a_trailing_marker_is_no_sentence() -> None:
    scored = score("A is one. [1]")
    assert isinstance(scored, Scored)
    assert (scored.value, scored.count, scored.details["n_sentences"]) == (1.0, 1, 1)


def test_the_sentences_without_are_named() -> None:
    scored = score("A is one [1]. B is two.")
    assert isinstance(scored, Scored)
    assert scored.details["without"] == ["s2"]
    assert [verdict.claim for verdict in scored.verdicts] == ["A is one.", "B is two."]


def test_small_talk_needs_no_source() -> None:
    unscored = score("Hello there.", "not_needed")
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.NO_CLAIMS


def test_a_judge_that_skips_a_sentence_does_not_shrink_the_denominator() -> None:
    unscored = score("A is one [1]. B is two.", {"s1": "needed"})
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_INCOMPLETE
