from __future__ import annotations

import pytest

from ragauge.core.run import Estimate, MetricResult, Summary
from ragauge.diagnose.matrix import N_ENOUGH, SIGNALS, diagnose
from ragauge.diagnose.rules import RULES
from ragauge.errors import Reason


def summary(n: int = 50, errors: int = 0, **verdicts: str) -> Summary:
    metrics = {}
    for spelled, verdict in verdicts.items():
        key = spelled.replace("__", "@5:")
        value = {"good": 0.97, "below": 0.75, "broken": 0.3}[verdict]
        metrics[key] = MetricResult(
            key=key,
            estimate=Estimate(value=value, low=value - 0.02, high=value + 0.02, n=n),
            n_asked=n + errors,
            unscored={Reason.JUDGE_UNAVAILABLE: errors} if errors else {},
            verdict=verdict,  # type: ignore[arg-type]
            worst=("q1", "q2"),
        )
    return Summary(n_rows=n, metrics=metrics)


def first(found: Summary) -> str:
    return diagnose(found)[0].rule


@pytest.mark.parametrize(
    ("verdicts", "rule", "half"),
    [
        # The four patterns of the classic matrix.
        ({"context_precision": "broken", "recall__doc": "good", "faithfulness": "good"}, "noise", "retrieval"),
        (
            {"recall__doc": "broken", "context_precision": "good", "faithfulness": "good"},
            "evidence_missing",
            "retrieval",
        ),
        (
            {"recall__doc": "good", "context_precision": "good", "faithfulness": "broken"},
            "context_ignored",
            "generation",
        ),
        (
            {"faithfulness": "good", "answer_relevance": "broken", "recall__doc": "good"},
            "question_misread",
            "generation",
        ),
        # And the others.
        ({"recall__doc": "good", "recall__chunk": "below"}, "chunk_missing", "retrieval"),
        ({"recall__doc": "broken", "faithfulness": "broken", "correctness": "good"}, "evidence_missing", "retrieval"),
        ({"recall__doc": "good", "wrong_abstention": "broken"}, "over_cautious", "generation"),
        ({"recall__doc": "good", "hallucination_on_unanswerable": "broken"}, "over_confident", "generation"),
        ({"recall__doc": "good", "faithfulness": "good", "completeness": "below"}, "incomplete", "generation"),
        ({"recall__doc": "good", "correctness": "below"}, "wrong_despite_evidence", "generation"),
        ({"citation_accuracy": "broken"}, "citations", "generation"),
        ({"faithfulness": "broken"}, "unfaithful", "generation"),
    ],
)
def test_each_pattern_gives_its_diagnosis_first(verdicts: dict[str, str], rule: str, half: str) -> None:
    finding = diagnose(summary(**verdicts))[0]
    assert (finding.rule, finding.half) == (rule, half)
    assert finding.try_first
    assert finding.check


def test_right_answers_without_their_evidence_come_from_memory() -> None:
    found = [f.rule for f in diagnose(summary(recall__doc="broken", faithfulness="broken", correctness="good"))]
    assert found == ["evidence_missing", "right_from_memory"]


def test_retrieval_is_named_before_generation() -> None:
    halves = [
        f.half for f in diagnose(summary(recall__doc="broken", faithfulness="broken", citation_accuracy="broken"))
    ]
    assert halves == ["retrieval", "generation", "generation"]


def test_what_a_specific_rule_explains_is_not_said_again() -> None:
    rules = [f.rule for f in diagnose(summary(recall__doc="good", faithfulness="broken"))]
    assert rules == ["context_ignored"]


def test_too_few_questions_are_not_enough_evidence() -> None:
    assert first(summary(n=N_ENOUGH - 1, recall__doc="broken")) == "not_enough_evidence"
    assert diagnose(summary(n=N_ENOUGH - 1, recall__doc="broken"))[0].half == "unknown"


def test_all_good_says_so_and_names_what_was_not_measured() -> None:
    finding = diagnose(summary(recall__doc="good", faithfulness="good"))[0]
    assert finding.rule == "nothing_found"
    assert "Not measured" in finding.cause
    assert "correctness" in finding.cause


def test_many_failures_are_said_before_anything_else() -> None:
    finding = diagnose(summary(errors=20, faithfulness="good"))[0]
    assert finding.rule == "not_judged"
    assert "20 of 70" in finding.diagnosis


def test_findings_carry_the_numbers_and_the_questions() -> None:
    finding = diagnose(summary(recall__doc="broken"))[0]
    assert finding.evidence == {"recall@5:doc": 0.3}
    assert finding.questions == ("q1", "q2")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_uses_known_signals_and_says_everything(rule: object) -> None:
    assert rule in RULES
    assert set(rule.low) | set(rule.high) <= set(SIGNALS)  # type: ignore[attr-defined]
    assert rule.low  # type: ignore[attr-defined]
    assert all((rule.diagnosis, rule.cause, rule.try_first, rule.check))  # type: ignore[attr-defined]
