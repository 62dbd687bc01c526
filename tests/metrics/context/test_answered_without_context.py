from __future__ import annotations

from typing import Any

import pytest

from ragauge.core.score import Scored, Unscored
from ragauge.errors import Reason
from ragauge.metrics.context.answered_without_context import AnsweredWithoutContext
from ragauge.testing import ScriptedJudge, a_sample, score_now

DECLINED = "I'm sorry, but the provided documents do not mention this."


@pytest.mark.parametrize(
    ("sample", "want"),
    [
        ({"retrieved": "x y", "gold": "a"}, 1.0),
        ({"retrieved": "x a", "gold": "a"}, 0.0),
        ({"retrieved": "x y", "gold": "a", "answer": DECLINED}, 0.0),
        ({"retrieved": "", "gold": "a"}, 1.0),
        ({"retrieved": "", "gold": ""}, 1.0),
        ({"retrieved": "x", "answerable": False}, 1.0),
        ({"retrieved": "x", "answerable": False, "answer": DECLINED}, 0.0),
        ({"retrieved": "x a", "grades": {"a": 0, "b": 2}}, 1.0),
    ],
)
def test_labels_decide_what_is_relevant(sample: dict[str, Any], want: float) -> None:
    scored = score_now(AnsweredWithoutContext(), a_sample(**sample))
    assert isinstance(scored, Scored)
    assert scored.value == want


def test_document_labels_serve_where_chunk_labels_are_unknown() -> None:
    sample = a_sample("a x", gold="a", documents={"a": "guide", "x": "faq"})
    sample = sample.model_copy(update={"labels": sample.labels.model_copy(update={"chunks": None})})
    scored = score_now(AnsweredWithoutContext(), sample)
    assert isinstance(scored, Scored)
    assert scored.value == 0.0


@pytest.mark.parametrize(("label", "want"), [("useful", 0.0), ("not_useful", 1.0)])
def test_without_labels_the_judge_decides(label: str, want: float) -> None:
    judge = ScriptedJudge({"usefulness": label})
    scored = score_now(AnsweredWithoutContext(judge), a_sample(gold=""))
    assert isinstance(scored, Scored)
    assert scored.value == want
    assert scored.details["relevant_by"] == "judge"


def test_with_labels_no_judge_is_asked() -> None:
    judge = ScriptedJudge({})
    assert isinstance(score_now(AnsweredWithoutContext(judge), a_sample()), Scored)
    assert judge.count() == 0


def test_neither_labels_nor_judge_is_no_number() -> None:
    unscored = score_now(AnsweredWithoutContext(), a_sample(gold=""))
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.NO_LABELS


def test_a_judge_that_skips_a_chunk_is_an_error() -> None:
    unscored = score_now(AnsweredWithoutContext(ScriptedJudge({"usefulness": {"a": "not_useful"}})), a_sample(gold=""))
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_INCOMPLETE
