from __future__ import annotations

from ragauge.core.score import Scored, Unscored
from ragauge.errors import Reason
from ragauge.metrics.answer.completeness import Completeness
from ragauge.testing import ScriptedJudge, a_sample, score_now

CLAIMS = ("82 km long.", "Opened in 1911.", "Closed to freight in 1984.")


def test_counts_the_references_claims_in_the_answer() -> None:
    judge = ScriptedJudge({"coverage": ["supported", "supported", "not_mentioned"]})
    scored = score_now(Completeness(judge), a_sample(claims=CLAIMS, answer="It is 82 km long, since 1911 [1]."))
    assert isinstance(scored, Scored)
    assert (scored.value, scored.count) == (2 / 3, 3)
    assert judge.calls[0].inputs["text"] == "It is 82 km long, since 1911."


def test_a_judge_that_skips_a_claim_does_not_shrink_the_denominator() -> None:
    unscored = score_now(Completeness(ScriptedJudge({"coverage": {"r1": "supported"}})), a_sample(claims=CLAIMS))
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_INCOMPLETE


def test_an_unanswerable_item_has_nothing_to_be_complete_about() -> None:
    unscored = score_now(Completeness(ScriptedJudge({})), a_sample(answerable=False, reference="Say that you cannot."))
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.UNANSWERABLE
