from __future__ import annotations

from typing import Any

import pytest

from ragauge.core.score import Scored, Unscored
from ragauge.errors import Reason
from ragauge.metrics.citation.citation_accuracy import CitationAccuracy
from ragauge.testing import ScriptedJudge, a_sample, score_now


def supported(claims: Any, chunks: Any, cited: Any) -> dict[str, Any]:
    return {claim.id: ("supported", cited[claim.id][0]) for claim in claims}


def judged(answer: str, said: Any = supported, retrieved: Any = "a b c", **more: Any) -> tuple[Any, ScriptedJudge]:
    judge = ScriptedJudge({"citation_support": said})
    return score_now(CitationAccuracy(judge), a_sample(retrieved, answer=answer, **more)), judge


def score(answer: str, said: Any = supported, retrieved: Any = "a b c", **more: Any) -> Scored:
    scored, _ = judged(answer, said, retrieved, **more)
    assert isinstance(scored, Scored), scored
    return scored


def test_a_citation_of_nothing_is_wrong_and_counted_apart() -> None:
    scored = score("A is one [1]. B is two [2][9].")
    assert scored.value == 2 / 3
    assert scored.count == 3
    assert [(v.id, v.label) for v in scored.verdicts] == [
        ("s1", "supported"), ("s2", "supported"), ("s2!1", "not_mentioned"),
    ]  # fmt: skip
    assert scored.details["n_pointing_nowhere"] == 1


def test_a_sentence_is_held_against_all_that_it_cites_and_only_that() -> None:
    _, judge = judged("A is one [1]. B is two [2][3].")
    inputs = judge.calls[0].inputs
    assert [claim.text for claim in inputs["claims"]] == ["A is one.", "B is two."]
    assert inputs["cited"] == {"s1": ("a",), "s2": ("b", "c")}
    assert [chunk.id for chunk in inputs["chunks"]] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "answer",
    [
        "The port is open. [1]",
        "The port is open.[1]",
        "The port is open [1].",
        "The port is open (1).",
        "The port is open [1, 2].",
    ],
)
def test_a_trailing_marker_belongs_to_the_sentence_before_it(answer: str) -> None:
    scored, judge = judged(answer)
    assert isinstance(scored, Scored)
    assert scored.count == 1
    assert [claim.text for claim in judge.calls[0].inputs["claims"]] == ["The port is open."]


def test_ids_are_citations_too() -> None:
    _, judge = judged("A is one [guide#2].", retrieved=["x", "guide#2"])
    assert judge.calls[0].inputs["cited"] == {"s1": ("guide#2",)}


def test_an_unsupported_sentence_counts_against() -> None:
    scored = score("A is one [1]. B is two [2].", {"s1": ("supported", "a"), "s2": "contradicted"})
    assert scored.value == 0.5
    assert scored.details["contradicted"] == 0.5


def test_when_nothing_was_retrieved_every_citation_points_nowhere() -> None:
    scored = score("A is one [1]. B is two [2].", AssertionError("must not be asked"), retrieved="")
    assert (scored.value, scored.count) == (0.0, 2)


def test_a_cited_chunk_without_text_supports_nothing() -> None:
    scored = score("A is one [1].", AssertionError("must not be asked"), retrieved=[("a", "  ")])
    assert (scored.value, scored.count) == (0.0, 1)


def test_no_citations_is_not_applicable() -> None:
    unscored, judge = judged("A is one. See a[0] and the list [docs](x).")
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.NO_CITATIONS
    assert judge.count() == 0


def test_sources_named_for_the_whole_answer_are_held_against_each_sentence() -> None:
    scored, judge = judged("A is one. B is two.", citations=("a", "gone"))
    assert isinstance(scored, Scored)
    assert judge.calls[0].inputs["cited"] == {"s1": ("a",), "s2": ("a",)}
    assert scored.value == 2 / 3


@pytest.mark.parametrize("name", ["guide", "GUIDE", "2", "b"])
def test_listed_sources_may_be_documents_or_places(name: str) -> None:
    _, judge = judged("A is one.", citations=(name,), documents={"b": "guide"})
    assert judge.calls[0].inputs["cited"] == {"s1": ("b",)}


@pytest.mark.parametrize("name", ["0", "9", "99999999999999999999", "²", ""])
def test_listed_sources_that_are_nowhere_are_wrong(name: str) -> None:
    scored = score("A is one.", AssertionError("must not be asked"), citations=(name,))
    assert (scored.value, scored.count) == (0.0, 1)


def test_a_judge_that_skips_a_sentence_does_not_shrink_the_denominator() -> None:
    unscored, _ = judged("A is one [1]. B is two [2].", {"s1": ("supported", "a")})
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_INCOMPLETE
