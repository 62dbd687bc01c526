from __future__ import annotations

from typing import Any

from ragauge.core.score import Scored, Unscored
from ragauge.errors import Reason
from ragauge.metrics.context.context_utilisation import ContextUtilisation
from ragauge.testing import ScriptedJudge, a_sample, score_now

CLAIMS = ["One.", "Two.", "Three."]


def score(useful: Any, support: Any, **changes: Any) -> Scored | Unscored:
    script = {"split_claims": CLAIMS, "usefulness": useful, "support": support}
    return score_now(ContextUtilisation(ScriptedJudge(script)), a_sample(**changes))


def test_a_useful_chunk_counts_when_a_supported_claim_rests_on_it() -> None:
    scored = score(["useful", "useful", "not_useful"], [("supported", "a"), ("supported", "c"), ("not_mentioned", "b")])
    assert isinstance(scored, Scored)
    assert (scored.value, scored.count) == (0.5, 2)
    assert scored.details["used"] == ["a"]
    assert scored.details["unused"] == ["b"]
    assert scored.details["used_not_useful"] == ["c"]


def test_without_useful_chunks_there_is_nothing_to_use() -> None:
    unscored = score("not_useful", "supported")
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.NO_RELEVANT


def test_a_claim_without_evidence_uses_no_chunk() -> None:
    scored = score("useful", "supported")
    assert isinstance(scored, Scored)
    assert scored.value == 0.0
    assert scored.details["n_supported_without_evidence"] == 3


def test_a_judge_that_skips_a_chunk_or_claim_does_not_shrink_a_denominator() -> None:
    for useful, support in (({"a": "useful"}, "supported"), ("useful", {"c1": ("supported", "a")})):
        unscored = score(useful, support)
        assert isinstance(unscored, Unscored)
        assert unscored.reason is Reason.JUDGE_INCOMPLETE


def test_evidence_that_was_never_shown_is_no_verdict() -> None:
    unscored = score("useful", ("supported", "elsewhere"))
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_UNPARSEABLE
