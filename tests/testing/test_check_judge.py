"""Every law of `check_judge` refuses a judge that breaks it."""

from __future__ import annotations

from typing import Any

import pytest

from ragauge.core.judge import JudgeInfo
from ragauge.core.tasks import ClaimsReply, QuestionsReply
from ragauge.core.verdict import Claim
from ragauge.errors import JudgeUnsupported
from ragauge.testing import LawBroken, Rounds, ScriptedJudge, agreeable_judge, check_judge

UNABLE: dict[str, Any] = dict.fromkeys(agreeable_judge().script, JudgeUnsupported)
TWICE = ClaimsReply(claims=(Claim(id="c1", text="One."), Claim(id="c1", text="Two.")))


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ({"support": ["supported"]}, "gave verdicts on \\['k-9'\\]"),
        ({"support": {"c1": "supported", "c2": "supported", "c3": "supported"}}, "was asked about"),
        ({"support": {"2": "supported", "c2": "supported", "k-9": "supported"}}, "was asked about"),
        ({"coverage": "maybe"}, "gave the label 'maybe'"),
        ({"support": ("supported", "nowhere")}, "which was not shown"),
        ({"correctness": "4 of 5"}, "gave the label '4 of 5'"),
        ({"split_claims": []}, "found no claims"),
        ({"split_claims": TWICE}, "two claims one id"),
        ({"split_claims": QuestionsReply(questions=())}, "no ClaimsReply"),
        ({"reverse_questions": ["Why?"]}, "1 questions instead of 3"),
        ({"reverse_questions": ["Why?", " ", "How?"]}, "without words"),
        ({"similarity": [1.0]}, "1 similarities for 3"),
        ({"similarity": [0.1, 0.2, 7.0]}, "outside -1 to 1"),
        ({"similarity": [0.9, 0.2, 0.3]}, "nearest to itself"),
        ({"relevance": Rounds("5", "1")}, "different replies"),
        ({"needs_citation": ValueError("bug")}, "raised ValueError"),
        (UNABLE, "none of the tasks"),
    ],
)
def test_a_judge_that_breaks_a_law_is_refused(script: dict[str, Any], why: str) -> None:
    judge = ScriptedJudge({**agreeable_judge().script, **script})
    with pytest.raises(LawBroken, match=why):
        check_judge(judge)


def test_a_judge_that_can_do_only_some_tasks_is_a_judge() -> None:
    judge = ScriptedJudge({**UNABLE, "correctness": "wrong"})
    assert check_judge(judge) == ["correctness"]


def test_a_language_model_may_vary() -> None:
    judge = ScriptedJudge({**agreeable_judge().script, "relevance": Rounds("5", "1")})
    assert "relevance" in check_judge(judge, deterministic=False)


def test_a_card_that_changes_is_refused() -> None:
    class Changing(ScriptedJudge):
        def info(self) -> JudgeInfo:
            return JudgeInfo(name="x", kind="scripted", version="1", fingerprint=str(len(self.calls)))

    with pytest.raises(LawBroken, match="changed while judging"):
        check_judge(Changing(agreeable_judge().script))
