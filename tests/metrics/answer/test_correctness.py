from __future__ import annotations

from typing import Any

import pytest

from ragauge.core.score import Scored, Unscored
from ragauge.errors import Reason
from ragauge.metrics.answer.correctness import Correctness
from ragauge.testing import ScriptedJudge, a_sample, score_now

DECLINED = "I'm sorry, but the provided documents do not mention this."


def judge(label: str = "correct", **more: Any) -> ScriptedJudge:
    return ScriptedJudge({"correctness": label, "split_claims": ["One.", "Two."], "coverage": "supported", **more})


def coverage(claims: Any, text: str) -> list[str]:
    """Three of the answer's four claims are in the reference, two of the reference's three in the answer."""
    return ["supported"] * (len(claims) - 1) + ["not_mentioned"]


@pytest.mark.parametrize(("label", "want"), [("correct", 1.0), ("partial", 0.5), ("wrong", 0.0)])
def test_the_label_is_the_value(label: str, want: float) -> None:
    scored = score_now(Correctness(judge(label)), a_sample())
    assert isinstance(scored, Scored)
    assert scored.value == want
    assert scored.count == 1


def test_precision_and_recall_each_count_their_own_claims() -> None:
    scripted = judge("partial", split_claims=["1", "2", "3", "4"], coverage=coverage)
    scored = score_now(Correctness(scripted), a_sample(claims=("r", "s", "t")))
    assert isinstance(scored, Scored)
    assert scored.details["precision"] == 0.75
    assert scored.details["recall"] == 2 / 3
    assert scored.details["f1"] == pytest.approx(12 / 17)
    counts = [scored.details[name] for name in ("true_positives", "false_positives", "false_negatives")]
    assert counts == [3, 1, 1]
    assert [verdict.id for verdict in scored.verdicts] == ["answer", "c1", "c2", "c3", "c4", "r1", "r2", "r3"]


def test_a_verbose_answer_does_not_buy_recall() -> None:
    scripted = judge(split_claims=[str(n) for n in range(10)], coverage=lambda claims, text: (
        ["supported"] * 10 if len(claims) == 10 else ["supported", "not_mentioned"]
    ))  # fmt: skip
    scored = score_now(Correctness(scripted), a_sample(claims=("r", "s")))
    assert isinstance(scored, Scored)
    assert (scored.details["precision"], scored.details["recall"]) == (1.0, 0.5)


def test_an_answer_without_claims_has_no_precision_and_no_f1() -> None:
    scored = score_now(Correctness(judge(split_claims=[])), a_sample(claims=("r",)))
    assert isinstance(scored, Scored)
    assert scored.details["precision"] is None
    assert scored.details["f1"] is None
    assert scored.details["recall"] == 1.0


def test_claims_can_be_left_out_for_one_call() -> None:
    scripted = judge()
    scored = score_now(Correctness(scripted, claims=False), a_sample())
    assert isinstance(scored, Scored)
    assert scripted.count() == 1


def test_a_judge_that_skips_a_claim_does_not_shrink_a_denominator() -> None:
    unscored = score_now(Correctness(judge(coverage={"c1": "supported"})), a_sample())
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.JUDGE_INCOMPLETE


@pytest.mark.parametrize(
    ("sample", "want", "n_calls"),
    [
        ({"answer": DECLINED}, 0.0, 0),
        ({"answer": DECLINED, "answerable": None}, 0.0, 0),
        ({"answer": DECLINED, "answerable": False}, 1.0, 1),
        ({"abstained": True, "answerable": False}, 1.0, 0),
        ({"abstained": False, "answerable": False}, 0.0, 0),
    ],
)
def test_refusals_are_settled_by_whether_the_item_can_be_answered(
    sample: dict[str, Any], want: float, n_calls: int
) -> None:
    scripted = judge(abstention="declined")
    scored = score_now(Correctness(scripted), a_sample(**sample))
    assert isinstance(scored, Scored)
    assert scored.value == want
    assert scripted.count() <= n_calls


@pytest.mark.parametrize(("label", "want"), [("declined", 1.0), ("partial", 0.0), ("answered", 0.0)])
def test_an_unanswerable_item_whose_answer_no_rule_knows_is_asked_about(label: str, want: float) -> None:
    scripted = ScriptedJudge({"abstention": label})
    scored = score_now(Correctness(scripted), a_sample(answerable=False, answer="Her shoe size is 38."))
    assert isinstance(scored, Scored)
    assert scored.value == want


def test_without_a_reference_there_is_nothing_to_be_right_against() -> None:
    unscored = score_now(Correctness(judge()), a_sample(reference=None))
    assert isinstance(unscored, Unscored)
    assert unscored.reason is Reason.NO_REFERENCE
