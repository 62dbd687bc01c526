"""The gate: pass, fail, or could not be judged."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ragauge.analysis.baseline import Baseline, make_baseline
from ragauge.analysis.gate import gate
from ragauge.analysis.gate_result import Check, GateResult
from ragauge.analysis.gate_settings import gate_settings
from ragauge.core.metric import Need
from ragauge.core.sample import Usage
from ragauge.errors import Reason, SettingsError, UsageError
from ragauge.store.rundir import RunDir
from ragauge.testing.runs import Value, a_metric, a_run

NOW = datetime(2026, 2, 10, tzinfo=UTC)


def rows(values: list[Any], key: str = "faithfulness") -> dict[str, dict[str, Value]]:
    return {f"q{i:03}": {key: value} for i, value in enumerate(values)}


def baseline_of(run: RunDir) -> Baseline:
    return make_baseline(run.manifest, run.records())


def judged(run: RunDir, baseline: Baseline | None = None, **settings: Any) -> GateResult:
    return gate(run.manifest, run.records, gate_settings(settings), baseline, now=NOW)


def against(tmp_path: Path, before: list[Any], after: list[Any], **settings: Any) -> GateResult:
    old = a_run(tmp_path, rows(before), name="old")
    new = a_run(tmp_path, rows(after), name="new")
    return judged(new, baseline_of(old), **settings)


def check(result: GateResult, name: str) -> Check:
    return next(one for one in result.checks if one.name == name)


# --- drops


def test_the_same_run_passes(tmp_path: Path) -> None:
    result = against(tmp_path, [1.0, 0.0] * 20, [1.0, 0.0] * 20)
    assert result.verdict == "pass"
    assert check(result, "drop faithfulness").reason == "the same on all 40 questions"


def test_a_real_drop_fails_and_names_metric_size_and_questions(tmp_path: Path) -> None:
    result = against(tmp_path, [1.0] * 60, [0.0] * 15 + [1.0] * 45)
    drop = check(result, "drop faithfulness")
    assert result.verdict == "fail"
    assert drop.observed == pytest.approx(0.25)
    assert drop.limit == 0.03
    assert drop.high is not None
    assert drop.high > 0.25
    assert [question.id for question in drop.questions] == [f"q{i:03}" for i in range(10)]
    assert "worse by 0.250" in drop.reason
    assert "15 worse, 0 better of 60" in drop.reason


def test_a_small_change_on_few_questions_is_inconclusive_and_says_how_many_would_decide(tmp_path: Path) -> None:
    result = against(tmp_path, [1.0] * 50, [0.0, 0.0] + [1.0] * 48)
    drop = check(result, "drop faithfulness")
    assert result.verdict == "inconclusive"
    assert drop.n_needed is not None
    assert drop.n_needed > 50


def test_no_change_worth_the_margin_passes_with_many_questions(tmp_path: Path) -> None:
    result = against(tmp_path, [1.0] * 900 + [0.0] * 5, [0.0] * 4 + [1.0] * 901)
    assert result.verdict == "pass"
    assert "no more than" in check(result, "drop faithfulness").reason


def test_graded_scores_that_fell_fail_too(tmp_path: Path) -> None:
    before = [0.8, 0.9, 1.0, 0.7] * 20
    result = against(tmp_path, before, [value - 0.2 for value in before])
    assert result.verdict == "fail"


def test_a_metric_where_lower_is_better_fails_when_it_rises(tmp_path: Path) -> None:
    metrics = [a_metric("zero_results", better="lower", kind="rate")]
    old = a_run(tmp_path, rows([0.0] * 60, "zero_results"), name="old", metrics=metrics)
    new = a_run(tmp_path, rows([1.0] * 15 + [0.0] * 45, "zero_results"), name="new", metrics=metrics)
    assert judged(new, baseline_of(old)).verdict == "fail"
    assert judged(old, baseline_of(new)).verdict == "pass"


def test_a_metric_without_a_direction_is_not_gated(tmp_path: Path) -> None:
    metrics = [a_metric("refusal", better="none")]
    old = a_run(tmp_path, rows([0.0] * 60, "refusal"), name="old", metrics=metrics)
    new = a_run(tmp_path, rows([1.0] * 60, "refusal"), name="new", metrics=metrics)
    assert not any(one.kind == "drop" for one in judged(new, baseline_of(old)).checks)


def test_the_point_rule_fails_on_what_it_sees_and_prints_its_false_alarms(tmp_path: Path) -> None:
    before = [1.0, 0.0] * 50
    after = [0.0, 1.0] * 5 + [0.0, 0.0] * 4 + [1.0, 0.0] * 41
    drop = check(against(tmp_path, before, after, drop={"rule": "point"}), "drop faithfulness")
    assert drop.verdict == "fail"
    assert drop.false_alarm is not None
    assert 0.1 < drop.false_alarm < 0.5
    assert "although nothing changed" in drop.reason


def test_margins_can_be_given_by_metric(tmp_path: Path) -> None:
    values = [1.0] * 60, [0.0] * 15 + [1.0] * 45
    assert against(tmp_path, *values, drop={"margins": {"faithfulness": 0.5}}).verdict == "pass"


def test_metrics_can_be_skipped_or_chosen(tmp_path: Path) -> None:
    old = a_run(tmp_path, {f"q{i}": {"recall@5:doc": 1.0, "ndcg@5:doc": 1.0} for i in range(40)}, name="old")
    new = a_run(tmp_path, {f"q{i}": {"recall@5:doc": 0.0, "ndcg@5:doc": 1.0} for i in range(40)}, name="new")
    assert judged(new, baseline_of(old), drop={"skip": ["recall"]}).verdict == "pass"
    assert judged(new, baseline_of(old), drop={"metrics": ["ndcg"]}).verdict == "pass"
    assert judged(new, baseline_of(old), drop={"metrics": ["recall"]}).verdict == "fail"


# --- fails closed


def test_a_metric_missing_from_the_run_is_inconclusive(tmp_path: Path) -> None:
    old = a_run(tmp_path, {f"q{i}": {"recall@5:doc": 1.0, "faithfulness": 1.0} for i in range(40)}, name="old")
    new = a_run(tmp_path, {f"q{i}": {"recall@5:doc": 1.0} for i in range(40)}, name="new")
    result = judged(new, baseline_of(old))
    assert result.verdict == "inconclusive"
    assert "no such metric" in check(result, "drop faithfulness").reason


def test_another_metric_version_or_judge_is_inconclusive(tmp_path: Path) -> None:
    card = {"needs": {Need.JUDGE}}
    old = a_run(tmp_path, rows([1.0] * 40), name="old", metrics=[a_metric("faithfulness", **card)])
    newer = a_run(tmp_path, rows([1.0] * 40), name="newer", metrics=[a_metric("faithfulness", version=2, **card)])
    other = a_run(tmp_path, rows([1.0] * 40), name="other", metrics=[a_metric("faithfulness", **card)], judge="gpt")
    assert "version 1 against 2" in check(judged(newer, baseline_of(old)), "drop faithfulness").reason
    assert judged(other, baseline_of(old)).verdict == "inconclusive"
    assert "another judge" in check(judged(other, baseline_of(old)), "drop faithfulness").reason


def test_another_golden_set_is_inconclusive_and_a_few_changed_items_are_only_reported(tmp_path: Path) -> None:
    old = a_run(tmp_path, rows([1.0] * 40), name="old")
    items = {f"q{i:03}": {"question": "rewritten"} for i in range(20)}
    other = a_run(tmp_path, rows([1.0] * 40), name="other", items=items)
    few = a_run(tmp_path, rows([1.0] * 40), name="few", items={"q000": {"question": "rewritten"}})
    assert judged(other, baseline_of(old)).verdict == "inconclusive"
    assert "20 of the baseline's 40" in check(judged(other, baseline_of(old)), "baseline").reason
    result = judged(few, baseline_of(old))
    assert result.verdict == "pass"
    assert "1 changed" in result.warnings[0]


def test_an_old_baseline_is_stale_when_an_age_is_set(tmp_path: Path) -> None:
    run = a_run(tmp_path, rows([1.0] * 40))
    assert judged(run, baseline_of(run)).verdict == "pass"
    result = judged(run, baseline_of(run), max_baseline_age_days=3)
    assert result.verdict == "inconclusive"
    assert "10 days old" in check(result, "baseline").reason or "9 days old" in check(result, "baseline").reason


def test_too_many_errors_are_never_green(tmp_path: Path) -> None:
    result = against(tmp_path, [1.0] * 40, [Reason.TIMED_OUT] * 4 + [1.0] * 36)
    assert result.verdict == "inconclusive"
    assert "faithfulness 4 of 40" in check(result, "errors").reason
    assert against(tmp_path / "b", [1.0] * 40, [Reason.TIMED_OUT] + [1.0] * 39).verdict == "pass"


def test_what_does_not_apply_is_no_error(tmp_path: Path) -> None:
    assert against(tmp_path, [1.0] * 40, [Reason.ABSTAINED] * 10 + [1.0] * 30).verdict == "pass"


def test_an_unfinished_run_is_never_green(tmp_path: Path) -> None:
    run = a_run(tmp_path, rows([1.0] * 40))
    manifest = run.manifest.model_copy(update={"dataset": run.manifest.dataset.model_copy(update={"n_items": 50})})
    result = gate(manifest, run.records, gate_settings({}), baseline_of(run), now=NOW)
    assert result.verdict == "inconclusive"
    assert "40 rows of 50" in check(result, "complete").reason


def test_a_handful_of_questions_is_never_green(tmp_path: Path) -> None:
    assert against(tmp_path, [1.0] * 5, [1.0] * 5).verdict == "inconclusive"


def test_an_empty_run_is_never_green(tmp_path: Path) -> None:
    run = a_run(tmp_path, {}, metrics=[a_metric("faithfulness")])
    assert judged(run, floors={"faithfulness": 0.5}).verdict == "inconclusive"


def test_nothing_to_check_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to check"):
        judged(a_run(tmp_path, rows([1.0] * 40)))


# --- floors, pass rate, ceilings


@pytest.mark.parametrize("good, verdict", [(36, "pass"), (35, "fail")])
def test_a_floor_is_kept_at_the_floor(tmp_path: Path, good: int, verdict: str) -> None:
    run = a_run(tmp_path, rows([1.0] * good + [0.0] * (40 - good)))
    result = judged(run, floors={"faithfulness": 0.9})
    assert result.verdict == verdict
    assert (check(result, "floor faithfulness").questions != ()) == (verdict == "fail")


def test_a_floor_with_confidence_has_three_answers(tmp_path: Path) -> None:
    run = a_run(tmp_path, rows([1.0] * 36 + [0.0] * 4))
    verdicts = {
        limit: judged(run, floors={"faithfulness": limit}, floor_rule="confidence").verdict
        for limit in (0.7, 0.88, 0.99)
    }
    assert verdicts == {0.7: "pass", 0.88: "inconclusive", 0.99: "fail"}


def test_a_floor_for_a_base_name_holds_at_every_k_and_one_for_nothing_is_inconclusive(tmp_path: Path) -> None:
    run = a_run(tmp_path, {f"q{i}": {"recall@3:doc": 0.5, "recall@5:doc": 1.0} for i in range(40)})
    result = judged(run, floors={"recall": 0.9})
    assert [one.verdict for one in result.checks if one.kind == "floor"] == ["fail", "pass"]
    assert judged(run, floors={"recal": 0.9}).verdict == "inconclusive"


def test_for_a_metric_where_lower_is_better_a_floor_is_a_ceiling(tmp_path: Path) -> None:
    metrics = [a_metric("zero_results", better="lower")]
    run = a_run(tmp_path, rows([1.0] * 4 + [0.0] * 36, "zero_results"), metrics=metrics)
    assert judged(run, floors={"zero_results": 0.1}).verdict == "pass"
    assert judged(run, floors={"zero_results": 0.05}).verdict == "fail"


def test_the_runs_thresholds_can_be_the_floors(tmp_path: Path) -> None:
    thresholds = {"profile": "general", "metrics": {"faithfulness": {"good": 0.95}}}
    run = a_run(tmp_path, rows([1.0] * 36 + [0.0] * 4), thresholds=thresholds)
    assert check(judged(run, floors="thresholds"), "floor faithfulness").limit == 0.95


QUESTION: Mapping[str, Value] = {"recall@5:chunk": 1.0, "faithfulness": 1.0, "keyword_hits": 1.0}


def test_a_question_passes_only_with_all_its_checks(tmp_path: Path) -> None:
    values: dict[str, dict[str, Value]] = {f"q{i:02}": dict(QUESTION) for i in range(40)}
    values["q00"]["recall@5:chunk"] = 0.0
    values["q01"]["faithfulness"] = 0.5
    values["q02"]["keyword_hits"] = 0.5
    values["q03"]["faithfulness"] = 0.8
    items = {"q03": {"faithfulness_threshold": 0.75}}
    result = judged(a_run(tmp_path, values, items=items), pass_rate=0.95)
    rate = check(result, "pass rate")
    assert rate.observed == pytest.approx(37 / 40)
    assert rate.verdict == "fail"
    assert {question.id: question.why for question in rate.questions} == {
        "q00": "recall 0.00 < 1",
        "q01": "faithfulness 0.50 < 1",
        "q02": "required strings 0.50 < 1",
    }
    assert judged(a_run(tmp_path / "b", values, items=items), pass_rate=0.9).verdict == "pass"


def test_a_pass_rate_that_hangs_on_questions_that_could_not_be_judged_is_inconclusive(tmp_path: Path) -> None:
    values: dict[str, dict[str, Value]] = {f"q{i:02}": dict(QUESTION) for i in range(40)}
    for i in range(2):
        values[f"q{i:02}"]["faithfulness"] = Reason.JUDGE_UNPARSEABLE
    values["q10"]["faithfulness"] = 0.0
    result = judged(a_run(tmp_path, values), pass_rate=0.95)
    assert check(result, "pass rate").verdict == "inconclusive"
    assert result.outcomes["q00"] == "unknown"


def test_unanswerable_questions_have_no_recall_to_fail(tmp_path: Path) -> None:
    values: dict[str, dict[str, Value]] = {f"q{i:02}": dict(QUESTION) for i in range(40)}
    for i in range(5):
        values[f"q{i:02}"] = {
            "recall@5:chunk": Reason.NO_RELEVANT,
            "faithfulness": Reason.ABSTAINED,
            "keyword_hits": Reason.NO_KEYWORDS,
        }
    assert check(judged(a_run(tmp_path, values), pass_rate=1.0), "pass rate").n == 35


def test_cost_and_latency_ceilings_fail_and_what_is_unknown_is_not_kept(tmp_path: Path) -> None:
    items = {f"q{i:03}": {"total_ms": 100.0 + i, "usage": Usage(calls=1, cost_usd=0.01)} for i in range(40)}
    run = a_run(tmp_path, rows([1.0] * 40), items=items)
    assert judged(run, max_cost_usd=0.5).verdict == "pass"
    assert judged(run, max_cost_usd=0.3).verdict == "fail"
    assert judged(run, max_cost_per_question_usd=0.02).verdict == "pass"
    assert judged(run, max_latency_ms={"total_p95": 120}).verdict == "fail"
    assert judged(run, max_latency_ms={"total_p95": 200}).verdict == "pass"
    assert judged(run, max_latency_ms={"total_p96": 200}).verdict == "inconclusive"
    unknown = {f"q{i:03}": {"usage": Usage(calls=1)} for i in range(40)}
    assert judged(a_run(tmp_path / "b", rows([1.0] * 40), items=unknown), max_cost_usd=5).verdict == "inconclusive"


def test_a_failure_outweighs_what_could_not_be_judged(tmp_path: Path) -> None:
    run = a_run(tmp_path, rows([Reason.TIMED_OUT] * 10 + [0.0] * 30))
    assert judged(run, floors={"faithfulness": 0.9}).verdict == "fail"


# --- noise


def test_an_unchanged_run_with_a_noisy_judge_rarely_fails(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    keys = ["faithfulness", "correctness", "context_precision", "citation_accuracy", "completeness", "answer_relevance"]
    truth = rng.random((64, len(keys))) < 0.85
    failed = 0
    for trial in range(40):
        noisy = [truth ^ (rng.random(truth.shape) < 0.08) for _ in range(2)]
        old, new = (
            a_run(
                tmp_path / f"{trial}-{side}",
                {f"q{i}": {key: float(row[j]) for j, key in enumerate(keys)} for i, row in enumerate(values)},
            )
            for side, values in enumerate(noisy)
        )
        result = judged(new, baseline_of(old))
        failed += result.verdict == "fail"
        assert all(one.n_needed for one in result.checks if one.kind == "drop" and one.verdict == "inconclusive")
    assert failed <= 1


def test_a_metric_that_applies_to_no_question_before_and_now_is_told_and_not_judged(tmp_path: Path) -> None:
    """A system that cites nothing has no citation accuracy: an unchanged run of it passes."""

    def run(name: str, cited: Any) -> RunDir:
        return a_run(
            tmp_path, {f"q{i:03}": {"faithfulness": 1.0, "citation_accuracy": cited} for i in range(20)}, name=name
        )

    old = baseline_of(run("old", Reason.NO_CITATIONS))
    result = judged(run("new", Reason.NO_CITATIONS), old)
    assert result.verdict == "pass"
    assert any("not compared: citation_accuracy" in warning for warning in result.warnings)
    failed = judged(run("failed", Reason.JUDGE_UNAVAILABLE), old, max_error_share=1)
    assert check(failed, "drop citation_accuracy").verdict == "inconclusive"
    now = check(judged(run("cites", 1.0), old), "drop citation_accuracy")
    assert now.verdict == "inconclusive"
    assert "write the baseline anew" in now.reason


def test_a_floor_may_leave_out_the_granularity_and_must_lie_in_the_range(tmp_path: Path) -> None:
    new = a_run(tmp_path, rows([1.0] * 20, "zero_results"), metrics=[a_metric("zero_results", better="lower")])
    with pytest.raises(SettingsError, match=r"gate\.floors\.zero_results: 5 is outside"):
        judged(new, floors={"zero_results": 5})  # per cent: a ceiling that everything stays under
    recall = a_run(tmp_path, rows([1.0] * 20, "recall@5:doc"), name="recall")
    assert check(judged(recall, floors={"recall@5": 0.9}), "floor recall@5:doc").verdict == "pass"
    assert check(judged(recall, floors={"recall@3": 0.9}), "floor recall@3").verdict == "inconclusive"


# --- settings


def test_settings_are_checked_and_the_nearest_name_is_offered() -> None:
    with pytest.raises(SettingsError, match="Did you mean 'floors'"):
        gate_settings({"floor": {}})
    with pytest.raises(SettingsError, match=r"gate\.drop\.marg"):
        gate_settings({"drop": {"marg": 0.1}})
    with pytest.raises(SettingsError, match=r"gate\.drop\.margin"):
        gate_settings({"drop": {"margin": 2}})
    with pytest.raises(SettingsError, match=r"gate\.drop\.margins\.recall"):
        gate_settings({"drop": {"margins": {"recall": 5}}})
    assert gate_settings({"drop": {"margins": {"recall@5": 0.1}}}).drop.margin_of("recall@5:doc") == 0.1
    assert gate_settings({"drop": 0.05}).drop.margin == 0.05
    assert gate_settings({"drop": {"margin": 0.05}}, {"drop": {"rule": "point"}}).drop.margin == 0.05
    assert gate_settings({"pass_rate": 0.8}).pass_rate.min == 0.8
