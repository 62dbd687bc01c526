from __future__ import annotations

from typing import Any

import pytest

from ragauge.core.score import Scored, Unscored
from ragauge.core.tasks import QuestionsReply
from ragauge.errors import Reason, SettingsError
from ragauge.metrics.answer.answer_relevance import AnswerRelevance, answered_share
from ragauge.testing import ScriptedJudge, a_sample, score_now

QUESTIONS = ("Which port?", "What port is it?", "Where does it listen?")
DECLINED = "I'm sorry, but the provided documents do not mention this."
PARTIAL = "The warranty is two years. I could not find whether water damage is covered."


def judge(questions: Any = QUESTIONS, similarity: Any = (0.9, 0.8, 0.7), **more: Any) -> ScriptedJudge:
    return ScriptedJudge({"reverse_questions": questions, "similarity": similarity, **more})


def test_is_the_mean_cosine_of_the_questions() -> None:
    scored = score_now(AnswerRelevance(judge()), a_sample())
    assert isinstance(scored, Scored)
    assert scored.value == pytest.approx(0.8)
    assert scored.count == 3
    assert scored.details["questions"] == list(QUESTIONS)


def test_a_mean_below_zero_is_zero_and_is_shown() -> None:
    scored = score_now(AnswerRelevance(judge(similarity=(-0.5, -0.1, 0.0))), a_sample())
    assert isinstance(scored, Scored)
    assert scored.value == 0.0
    assert scored.details["mean_cosine"] == pytest.approx(-0.2)


@pytest.mark.parametrize("questions", [(), QUESTIONS[:2], (*QUESTIONS, "More?")])
def test_another_number_of_questions_is_an_error_not_another_mean(questions: Any) -> None:
    unscored = score_now(AnswerRelevance(judge(questions)), a_sample())
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_INCOMPLETE


def test_another_number_of_similarities_is_an_error() -> None:
    unscored = score_now(AnswerRelevance(judge(similarity=(0.9,))), a_sample())
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_INCOMPLETE


def test_a_cosine_out_of_range_is_an_error() -> None:
    unscored = score_now(AnswerRelevance(judge(similarity=(0.9, 1.5, 0.1))), a_sample())
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_UNPARSEABLE


def test_a_refusal_scores_zero_and_costs_nothing() -> None:
    scripted = judge()
    scored = score_now(AnswerRelevance(scripted), a_sample(answer=DECLINED))
    assert isinstance(scored, Scored)
    assert scored.value == 0.0
    assert scored.details["noncommittal"] == 1.0
    assert scripted.count() == 0


def test_a_right_refusal_is_not_punished() -> None:
    unscored = score_now(AnswerRelevance(judge()), a_sample(answer=DECLINED, answerable=False))
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.ABSTAINED


def test_a_partial_answer_gets_partial_credit() -> None:
    scored = score_now(AnswerRelevance(judge()), a_sample(answer=PARTIAL))
    assert isinstance(scored, Scored)
    assert scored.value == pytest.approx(0.4)
    assert scored.details["answered_share"] == 0.5
    assert scored.details["declined_share"] == 0.5


EVASIVE = QuestionsReply(questions=QUESTIONS, noncommittal=True)


@pytest.mark.parametrize(("label", "want"), [("declined", 0.0), ("partial", 0.4), ("answered", 0.8)])
def test_what_only_the_judge_finds_evasive_is_asked_again_with_the_question(label: str, want: float) -> None:
    scripted = judge(EVASIVE, abstention=label)
    scored = score_now(AnswerRelevance(scripted), a_sample(question="Is it on?", answer="It depends on many things."))
    assert isinstance(scored, Scored)
    assert scored.value == pytest.approx(want)
    asked = next(call for call in scripted.calls if call.task == "abstention")
    assert asked.inputs["question"] == "Is it on?"


def test_an_evasion_without_questions_needs_none() -> None:
    scripted = judge(QuestionsReply(questions=(), noncommittal=True), abstention="declined")
    scored = score_now(AnswerRelevance(scripted), a_sample(answer="It depends on many things."))
    assert isinstance(scored, Scored)
    assert scored.value == 0.0


def test_n_is_what_the_judge_is_asked_for() -> None:
    scripted = judge(("One?",), similarity=(0.5,))
    scored = score_now(AnswerRelevance(scripted, n=1), a_sample())
    assert isinstance(scored, Scored)
    assert (scored.value, scored.count) == (0.5, 1)
    assert scripted.calls[0].inputs["n"] == 1
    with pytest.raises(SettingsError, match="n must be"):
        AnswerRelevance(scripted, n=0)


def test_the_answered_share_counts_sentences() -> None:
    assert answered_share("One is 1. Two is 2. I could not find the third.") == pytest.approx(2 / 3)
    assert answered_share("It depends.") == 0.5
