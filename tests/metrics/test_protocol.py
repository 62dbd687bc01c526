"""The parts that metrics share: what is settled first, claims, the verdict protocol, what is remembered."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from ragauge.core.score import Unscored
from ragauge.core.tasks import SUPPORT, VerdictsReply
from ragauge.core.verdict import Claim, Verdict
from ragauge.errors import JudgeIncomplete, JudgeUnparseable, Reason
from ragauge.metrics import remembered
from ragauge.metrics.claims import reference_claims, split
from ragauge.metrics.decision import decide
from ragauge.metrics.settle import answer_text, claimed_text, retrieved
from ragauge.metrics.verdicts import match_verdicts, shares
from ragauge.testing import ScriptedJudge, a_sample


def reply(*pairs: tuple[str, str], evidence: str | None = None) -> VerdictsReply:
    return VerdictsReply(verdicts=tuple(Verdict(id=id, label=label, evidence=evidence) for id, label in pairs))


def test_verdicts_are_matched_one_for_one_in_the_order_asked() -> None:
    given = reply(("c2", "contradicted"), ("c1", "supported"))
    assert [v.label for v in match_verdicts(["c1", "c2"], given, SUPPORT.labels)] == ["supported", "contradicted"]


@pytest.mark.parametrize(
    ("given", "error"),
    [
        (reply(("c1", "supported")), JudgeIncomplete),
        (reply(), JudgeIncomplete),
        (reply(("c1", "supported"), ("c1", "supported"), ("c2", "supported")), JudgeUnparseable),
        (reply(("c1", "supported"), ("c2", "supported"), ("c3", "supported")), JudgeUnparseable),
        (reply(("c1", "supported"), ("c2", "SUPPORTED")), JudgeUnparseable),
        (reply(("c1", "supported"), ("c2", "1")), JudgeUnparseable),
        (reply(("c1", "supported"), ("c2", "supported"), evidence="elsewhere"), JudgeUnparseable),
    ],
)
def test_anything_else_is_an_error_that_keeps_the_reply(given: VerdictsReply, error: type[JudgeUnparseable]) -> None:
    with pytest.raises(error) as caught:
        match_verdicts(["c1", "c2"], given, SUPPORT.labels, evidence={"a"})
    assert caught.value.raw == given.model_dump_json()


def test_shares_cover_the_whole_menu_and_add_up() -> None:
    verdicts = reply(("c1", "supported"), ("c2", "supported"), ("c3", "not_mentioned")).verdicts
    assert shares(verdicts, SUPPORT.labels) == {"supported": 2 / 3, "contradicted": 0.0, "not_mentioned": 1 / 3}
    assert shares((), SUPPORT.labels) == {}


def test_ids_in_brackets_are_markers_only_where_they_are_known() -> None:
    answer = "The port is 8125 [guide#2]."
    assert answer_text(a_sample(["guide#2"], answer=answer)) == "The port is 8125."
    assert answer_text(a_sample(None, answer=answer)) == answer


def test_text_that_no_claim_can_hold_is_made_storable() -> None:
    assert answer_text(a_sample(answer="Port\x00 8125\ud800.")) == "Port\ufffd 8125\ufffd."
    judge = ScriptedJudge({})
    claims = asyncio.run(reference_claims(judge, a_sample(claims=("Port\ud800.", " "))))
    assert claims == (Claim(id="r1", text="Port\ufffd."),)


@pytest.mark.parametrize("answer", ["[1]", "[1][2]", "…", "---"])
def test_an_answer_without_words_is_no_answer(answer: str) -> None:
    text = answer_text(a_sample(answer=answer))
    assert isinstance(text, Unscored)
    assert text.reason is Reason.NO_ANSWER


@pytest.mark.parametrize("answer", ["8125", "yes", "`x=1`", "א"])
def test_a_short_answer_is_an_answer(answer: str) -> None:
    assert claimed_text(a_sample(answer=answer)) == answer


def test_retrieved_chunks_keep_their_order_and_count_once() -> None:
    chunks = retrieved(a_sample("c a c b"), k=2)
    assert not isinstance(chunks, Unscored)
    assert [chunk.id for chunk in chunks] == ["c", "a"]


def test_a_claim_without_words_is_unparseable() -> None:
    with pytest.raises(JudgeUnparseable, match="without words"):
        asyncio.run(split(ScriptedJudge({"split_claims": ["One.", " "]}), "One."))


@pytest.mark.parametrize("wrong", [VerdictsReply(verdicts=())])
def test_a_reply_of_another_type_is_unparseable(wrong: Any) -> None:
    with pytest.raises(JudgeUnparseable, match="VerdictsReply"):
        asyncio.run(split(ScriptedJudge({"split_claims": wrong}), "One."))


def test_the_decision_names_the_words_that_show_it() -> None:
    decision = decide(a_sample(answer="I'm sorry, but the provided documents do not mention this."))
    assert decision is not None
    assert decision.kind == "declined"
    assert decision.phrase
    assert decision.phrase in decision.said()


def test_remembering_changes_nothing_but_the_time() -> None:
    short = "The port is 8125 [1]. I could not find the host."
    long = "filler word. " * 2000 + short
    assert len(long) > remembered.LONG
    for text in (short, long):
        for _ in range(2):
            assert remembered.plain(text, ()).endswith("The port is 8125. I could not find the host.")
            assert remembered.cited_sentences(text, ())[-2].citations
            assert remembered.numbers(text)[0].value == 8125
            found = remembered.refusal(text)
            assert found is not None
            assert found.partial
