from __future__ import annotations

from typing import Any

import pytest

from ragauge.core.score import Scored, Unscored
from ragauge.core.tasks import ClaimsReply
from ragauge.core.verdict import Claim
from ragauge.errors import JudgeUnavailable, Reason
from ragauge.metrics.answer.faithfulness import Faithfulness
from ragauge.testing import Rounds, ScriptedJudge, a_sample, score_now

CLAIMS = ["weighs 14 kg", "runs on 48 V", "rated IP67"]


def judged(support: Any, claims: Any = CLAIMS) -> ScriptedJudge:
    return ScriptedJudge({"split_claims": claims, "support": support})


def score(support: Any, claims: Any = CLAIMS, **changes: Any) -> Scored | Unscored:
    return score_now(Faithfulness(judged(support, claims)), a_sample(**changes))


def test_counts_supported_claims_and_keeps_every_verdict() -> None:
    scored = score([("supported", "a"), "contradicted", "not_mentioned"])
    assert isinstance(scored, Scored)
    assert scored.value == 1 / 3
    assert scored.count == 3
    assert scored.details == {"supported": 1 / 3, "contradicted": 1 / 3, "not_mentioned": 1 / 3}
    assert [(v.id, v.claim, v.label, v.evidence) for v in scored.verdicts] == [
        ("c1", "weighs 14 kg", "supported", "a"),
        ("c2", "runs on 48 V", "contradicted", None),
        ("c3", "rated IP67", "not_mentioned", None),
    ]


@pytest.mark.parametrize("said", [{"c1": "supported"}, {"c1": "supported", "c2": "supported"}, {}])
def test_a_judge_that_skips_a_claim_does_not_shrink_the_denominator(said: Any) -> None:
    unscored = score(said)
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_INCOMPLETE
    assert unscored.raw


def test_only_the_skipped_claims_are_asked_again() -> None:
    judge = judged(Rounds({"c1": "supported"}, {"c2": "not_mentioned", "c3": "not_mentioned"}))
    scored = score_now(Faithfulness(judge), a_sample())
    assert isinstance(scored, Scored)
    assert (scored.value, scored.count) == (1 / 3, 3)
    assert [claim.id for claim in judge.calls[2].inputs["claims"]] == ["c2", "c3"]


@pytest.mark.parametrize(
    "said",
    [
        {"c1": "supported", "c2": "supported", "c3": "mostly"},
        {"c1": "supported", "c2": "supported", "c3": "supported", "c4": "supported"},
        {"c1": "supported", "c2": "supported", "c3": ("supported", "no such chunk")},
    ],
)
def test_a_reply_off_the_menu_or_about_something_else_is_unparseable(said: Any) -> None:
    unscored = score(said)
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_UNPARSEABLE


def test_two_verdicts_on_one_claim_are_none() -> None:
    from ragauge.core.tasks import VerdictsReply
    from ragauge.core.verdict import Verdict

    twice = VerdictsReply(verdicts=tuple(Verdict(id=id, label="supported") for id in ("c1", "c2", "c3", "c3")))
    unscored = score(twice)
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_UNPARSEABLE


def test_two_claims_with_one_id_are_unparseable() -> None:
    twice = ClaimsReply(claims=(Claim(id="c1", text="One."), Claim(id="c1", text="Two.")))
    unscored = score("supported", twice)
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_UNPARSEABLE


def test_a_judge_that_cannot_be_reached_is_an_error_not_a_zero() -> None:
    unscored = score(JudgeUnavailable("nobody answers"))
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_UNAVAILABLE


def test_the_judge_sees_neither_question_nor_reference_nor_citation_markers() -> None:
    judge = judged("supported")
    score_now(
        Faithfulness(judge), a_sample(question="Q?", reference="R.", answer="The port is 8125 [1]. It is UDP [2][3].")
    )
    assert judge.calls[0].inputs == {"text": "The port is 8125. It is UDP."}
    assert set(judge.calls[1].inputs) == {"claims", "chunks"}


def test_an_answer_without_claims_has_nothing_to_be_faithful_about() -> None:
    unscored = score("supported", [])
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.NO_CLAIMS


def test_an_invented_answer_without_context_is_zero_with_every_claim_not_mentioned() -> None:
    scored = score(AssertionError("must not be asked"), retrieved="")
    assert isinstance(scored, Scored)
    assert (scored.value, scored.count) == (0.0, 3)
    assert {verdict.label for verdict in scored.verdicts} == {"not_mentioned"}
    assert scored.details["no_context"] is True


@pytest.mark.parametrize(("threshold", "passed"), [(0.3, True), (1 / 3, True), (0.95, False)])
def test_the_items_own_threshold_is_compared(threshold: float, passed: bool) -> None:
    scored = score(["supported", "not_mentioned", "not_mentioned"], faithfulness_threshold=threshold)
    assert isinstance(scored, Scored)
    assert scored.details["passed"] is passed
    assert scored.details["threshold"] == threshold


def test_a_chunk_retrieved_twice_is_shown_once() -> None:
    judge = judged("supported")
    score_now(Faithfulness(judge), a_sample("a b a"))
    assert [chunk.id for chunk in judge.calls[1].inputs["chunks"]] == ["a", "b"]


def test_a_trailing_citation_alone_is_no_answer() -> None:
    unscored = score("supported", answer="[1]")
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.NO_ANSWER
