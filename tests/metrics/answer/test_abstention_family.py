from __future__ import annotations

from typing import Any

import pytest

from ragauge.core.score import Scored, Unscored
from ragauge.errors import Reason
from ragauge.metrics.answer.abstention import Abstention
from ragauge.metrics.answer.correct_abstention import CorrectAbstention
from ragauge.metrics.answer.hallucination_on_unanswerable import HallucinationOnUnanswerable
from ragauge.metrics.answer.wrong_abstention import WrongAbstention
from ragauge.metrics.proxy.refusal import Refusal
from ragauge.testing import ScriptedJudge, a_sample, score_now

DECLINED = "I'm sorry, but the provided documents do not mention this."
ANSWERED = "The agent listens on port 8125."
PARTIAL = "The warranty is two years. I could not find whether water damage is covered."
METRICS = [Abstention, WrongAbstention, CorrectAbstention, HallucinationOnUnanswerable]


def outcomes(answer: str | None, answerable: bool | None, **more: Any) -> list[float | str]:
    scores = [score_now(metric(), a_sample(answer=answer, answerable=answerable, **more)) for metric in METRICS]
    return [score.value if isinstance(score, Scored) else score.reason.value for score in scores]


@pytest.mark.parametrize(
    ("answer", "answerable", "want"),
    [
        # right decision, wrong abstention, correct abstention, hallucination
        (ANSWERED, True, [1.0, 0.0, "answerable", "answerable"]),
        (PARTIAL, True, [1.0, 0.0, "answerable", "answerable"]),
        (DECLINED, True, [0.0, 1.0, "answerable", "answerable"]),
        (" ", True, [0.0, 0.0, "answerable", "answerable"]),
        (ANSWERED, False, [0.0, "unanswerable", 0.0, 1.0]),
        (PARTIAL, False, [0.0, "unanswerable", 0.0, 1.0]),
        (DECLINED, False, [1.0, "unanswerable", 1.0, 0.0]),
        (" ", False, [0.0, "unanswerable", 0.0, 0.0]),
        (ANSWERED, None, ["answerable_unknown"] * 4),
        (None, True, ["no_answer", "no_answer", "answerable", "answerable"]),
        (None, False, ["no_answer", "unanswerable", "no_answer", "no_answer"]),
    ],
)
def test_each_rate_is_over_its_own_items(answer: str | None, answerable: bool | None, want: list[float | str]) -> None:
    assert outcomes(answer, answerable) == want


def test_the_systems_own_word_comes_first() -> None:
    assert outcomes(ANSWERED, False, abstained=True)[2] == 1.0
    assert outcomes(DECLINED, False, abstained=False)[3] == 1.0
    assert outcomes(None, False, abstained=True)[2] == 1.0


@pytest.mark.parametrize("metric", METRICS)
def test_a_judge_decides_only_what_the_system_left_open(metric: Any) -> None:
    answerable = metric is WrongAbstention or metric is Abstention
    judge = ScriptedJudge({"abstention": "declined"})
    open_sample = a_sample(answer="It depends.", answerable=answerable)
    score = score_now(metric(judge), open_sample)
    assert isinstance(score, Scored)
    assert score.details["by"] == "judge"
    assert score.details["declined"] == 1.0
    for settled in ({"abstained": False}, {"abstained": True}, {"answer": "  "}):
        silent = ScriptedJudge({})
        settled_score = score_now(metric(silent), a_sample(**{"answerable": answerable, **settled}))
        assert isinstance(settled_score, Scored)
        assert silent.count() == 0


def test_a_label_off_the_menu_is_an_error() -> None:
    score = score_now(Abstention(ScriptedJudge({"abstention": "maybe"})), a_sample())
    assert isinstance(score, Unscored)
    assert score.reason is Reason.JUDGE_UNPARSEABLE


def test_a_fixed_phrase_of_the_system_can_be_named() -> None:
    sample = a_sample(answer="Computer says no.")
    assert score_now(Refusal(), sample) != score_now(Refusal(phrases=("computer says no",)), sample)
    declined = score_now(WrongAbstention(phrases=("computer says no",)), sample)
    assert isinstance(declined, Scored)
    assert declined.value == 1.0


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        (DECLINED, 1.0),
        ("Ich weiß es nicht.", 1.0),
        (ANSWERED, 0.0),
        (PARTIAL, 0.0),
        ("", 0.0),
        ("The error message says 'I don't know this host'.", 0.0),
    ],
)
def test_refusal_describes_what_the_text_does(answer: str, want: float) -> None:
    score = score_now(Refusal(), a_sample(answer=answer))
    assert isinstance(score, Scored)
    assert score.value == want
    assert Refusal.info.better == "none"
