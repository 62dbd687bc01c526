from __future__ import annotations

import pytest

from ragauge.core.score import Scored, Unscored
from ragauge.errors import Reason
from ragauge.metrics.context.context_sufficiency import ContextSufficiency
from ragauge.testing import Rounds, ScriptedJudge, a_sample, score_now


@pytest.mark.parametrize(("label", "want"), [("sufficient", 1.0), ("insufficient", 0.0)])
def test_the_judge_decides(label: str, want: float) -> None:
    scored = score_now(ContextSufficiency(ScriptedJudge({"sufficiency": label})), a_sample())
    assert isinstance(scored, Scored)
    assert scored.value == want


def test_a_label_off_the_menu_is_asked_once_more_and_then_an_error() -> None:
    judge = ScriptedJudge({"sufficiency": Rounds("mostly", "sufficient")})
    assert score_now(ContextSufficiency(judge), a_sample()) == score_now(
        ContextSufficiency(ScriptedJudge({"sufficiency": "sufficient"})), a_sample()
    )
    unscored = score_now(ContextSufficiency(ScriptedJudge({"sufficiency": "mostly"})), a_sample())
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_UNPARSEABLE
    assert unscored.raw is not None
    assert "mostly" in unscored.raw


def test_an_insufficient_context_is_right_for_an_unanswerable_item() -> None:
    unscored = score_now(ContextSufficiency(ScriptedJudge({})), a_sample(answerable=False))
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.UNANSWERABLE
