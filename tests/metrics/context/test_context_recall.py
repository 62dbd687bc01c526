from __future__ import annotations

from typing import Any

from ragauge.core.score import Scored, Unscored
from ragauge.errors import Reason
from ragauge.metrics.context.context_recall import ContextRecall
from ragauge.testing import ScriptedJudge, a_sample, score_now

CLAIMS = ("Paid within 10 days.", "Shipping is not refunded.", "Gift cards are excluded.", "Sale items get credit.")


def score(script: dict[str, Any], **changes: Any) -> Scored | Unscored:
    return score_now(ContextRecall(ScriptedJudge(script)), a_sample(**changes))


def test_stored_claims_are_the_denominator_and_are_not_split_again() -> None:
    labels = {"r1": ("supported", "a"), "r2": "not_mentioned", "r3": "not_mentioned", "r4": "contradicted"}
    scored = score({"support": labels}, claims=CLAIMS)
    assert isinstance(scored, Scored)
    assert (scored.value, scored.count) == (0.25, 4)
    assert scored.details == {"supported": 0.25, "contradicted": 0.25, "not_mentioned": 0.5}
    assert [verdict.claim for verdict in scored.verdicts] == list(CLAIMS)


def test_without_stored_claims_the_reference_is_split() -> None:
    scored = score({"split_claims": ["One.", "Two."], "support": ["supported", "not_mentioned"]})
    assert isinstance(scored, Scored)
    assert (scored.value, scored.count) == (0.5, 2)


def test_a_judge_that_skips_a_claim_does_not_shrink_the_denominator() -> None:
    unscored = score({"support": {"r1": "supported"}}, claims=CLAIMS)
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_INCOMPLETE


def test_nothing_retrieved_recalls_nothing() -> None:
    scored = score({}, retrieved="", claims=CLAIMS)
    assert isinstance(scored, Scored)
    assert (scored.value, scored.count) == (0.0, 4)


def test_no_reference_and_no_claims_are_told_apart() -> None:
    none, silent = score({}, reference=None), score({"split_claims": []}, reference="Hm.")
    stored = score({}, claims=())
    assert isinstance(none, Unscored)
    assert isinstance(silent, Unscored)
    assert isinstance(stored, Unscored)
    assert [none.reason, silent.reason, stored.reason] == [Reason.NO_REFERENCE, Reason.NO_CLAIMS, Reason.NO_CLAIMS]


def test_only_the_first_k_chunks_are_shown() -> None:
    judge = ScriptedJudge({"support": "supported"})
    score_now(ContextRecall(judge, k=2), a_sample(claims=CLAIMS))
    assert [chunk.id for chunk in judge.calls[0].inputs["chunks"]] == ["a", "b"]
