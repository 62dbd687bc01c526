from __future__ import annotations

import pytest

from ragauge.core.score import Scored, Unscored
from ragauge.errors import Reason, SettingsError
from ragauge.metrics.answer.answer_similarity import AnswerSimilarity
from ragauge.metrics.answer.relevance_binary import RelevanceBinary
from ragauge.metrics.answer.relevance_rubric import RelevanceRubric
from ragauge.testing import ScriptedJudge, a_sample, score_now


@pytest.mark.parametrize(
    ("grade", "value", "relevant"), [("1", 0.0, 0.0), ("3", 0.5, 0.0), ("4", 0.75, 1.0), ("5", 1.0, 1.0)]
)
def test_grades_become_fractions_and_yes_or_no(grade: str, value: float, relevant: float) -> None:
    judge = ScriptedJudge({"relevance": grade})
    rubric, binary = score_now(RelevanceRubric(judge), a_sample()), score_now(RelevanceBinary(judge), a_sample())
    assert isinstance(rubric, Scored)
    assert isinstance(binary, Scored)
    assert (rubric.value, binary.value) == (value, relevant)
    assert rubric.details["grade"] == binary.details["grade"] == int(grade)


@pytest.mark.parametrize("grade", ["0", "6", "4.0", "4 out of 10", "good"])
def test_a_grade_off_the_scale_is_an_error(grade: str) -> None:
    unscored = score_now(RelevanceRubric(ScriptedJudge({"relevance": grade})), a_sample())
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_UNPARSEABLE


def test_the_cut_can_be_chosen() -> None:
    judge = ScriptedJudge({"relevance": "3"})
    scored = score_now(RelevanceBinary(judge, threshold=3), a_sample())
    assert isinstance(scored, Scored)
    assert scored.value == 1.0
    with pytest.raises(SettingsError, match="threshold must be"):
        RelevanceBinary(judge, threshold=1)


def test_both_ask_the_same_so_that_one_reply_serves_both() -> None:
    judge = ScriptedJudge({"relevance": "5"})
    score_now(RelevanceRubric(judge), a_sample())
    score_now(RelevanceBinary(judge), a_sample())
    assert judge.calls[0] == judge.calls[1]


@pytest.mark.parametrize("cosine", [-1.0, -0.25, 0.0, 0.6, 1.0])
def test_similarity_is_the_cosine_of_question_and_answer(cosine: float) -> None:
    judge = ScriptedJudge({"similarity": cosine})
    scored = score_now(AnswerSimilarity(judge), a_sample(question="Which port?", answer="Port 8125 [1]."))
    assert isinstance(scored, Scored)
    assert scored.value == cosine
    assert judge.calls[0].inputs == {"text": "Which port?", "others": ("Port 8125.",)}


@pytest.mark.parametrize("cosine", [1.2, -7.0])
def test_no_cosine_is_outside_minus_one_to_one(cosine: float) -> None:
    unscored = score_now(AnswerSimilarity(ScriptedJudge({"similarity": cosine})), a_sample())
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_UNPARSEABLE
