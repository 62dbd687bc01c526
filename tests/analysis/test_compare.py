"""Runs against runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragauge.analysis.compare import Comparison, Options, Source, compare
from ragauge.core.metric import Need
from ragauge.core.score import Scored
from ragauge.core.verdict import Verdict
from ragauge.errors import Reason
from ragauge.store.rundir import RunDir
from ragauge.testing.runs import a_metric, a_run


def source(run: RunDir) -> Source:
    return Source(run.manifest.run, run.manifest, run.records)


def compared(a: RunDir, b: RunDir, **options: object) -> Comparison:
    (comparison,) = compare(source(a), [source(b)], Options(**options))
    return comparison


def rows(values: list[float], key: str = "recall@5:doc") -> dict[str, dict[str, float]]:
    return {f"q{i}": {key: value} for i, value in enumerate(values)}


def test_a_regression_is_found_with_its_questions(tmp_path: Path) -> None:
    a = a_run(tmp_path, rows([1.0] * 60), name="a")
    b = a_run(tmp_path, rows([0.0] * 12 + [1.0] * 48), name="b", items={"q3": {"retrieved": "x y"}})
    found = compared(a, b)
    assert found.metrics["recall@5:doc"].verdict == "worse"
    assert found.metrics["recall@5:doc"].difference == pytest.approx(-0.2)
    assert set(found.flips["recall@5:doc"].worse) == {f"q{i}" for i in range(12)}
    assert found.flips["recall@5:doc"].better == ()
    assert found.reasons["recall@5:doc"]["q3"].question == "What is q3?"


def test_the_reason_of_a_flip_names_what_was_not_retrieved(tmp_path: Path) -> None:
    a = a_run(tmp_path, rows([1.0] * 20, "recall@5:chunk"), name="a")
    b = a_run(tmp_path, rows([0.0] + [1.0] * 19, "recall@5:chunk"), name="b", items={"q0": {"retrieved": "x y"}})
    assert compared(a, b).reasons["recall@5:chunk"]["q0"].why == "not retrieved: a"


def test_the_reason_of_a_judged_flip_is_the_judges(tmp_path: Path) -> None:
    bad = Scored(
        value=0.0,
        verdicts=(Verdict(id="c1", claim="Port is 9.", label="contradicted", reason="the chunk says 8125"),),
    )
    a = a_run(tmp_path, {f"q{i}": {"faithfulness": 1.0} for i in range(20)}, name="a")
    b = a_run(tmp_path, {f"q{i}": {"faithfulness": bad if i == 0 else 1.0} for i in range(20)}, name="b")
    assert compared(a, b).reasons["faithfulness"]["q0"].why == "contradicted: Port is 9. (the chunk says 8125)"


def test_changed_questions_are_left_out_and_reported(tmp_path: Path) -> None:
    a = a_run(tmp_path, rows([1.0] * 10), name="a")
    b = a_run(tmp_path, rows([0.0, 0.0] + [1.0] * 8), name="b", items={"q0": {"question": "Another one?"}})
    found = compared(a, b)
    assert found.changed_items == ("q0",)
    assert found.metrics["recall@5:doc"].n_pairs == 9
    assert any("golden sets differ" in warning and "q0" in warning for warning in found.warnings)
    assert compared(a, b, include_changed=True).metrics["recall@5:doc"].n_pairs == 10


def test_questions_of_one_run_only_are_counted(tmp_path: Path) -> None:
    a = a_run(tmp_path, rows([1.0] * 10), name="a")
    b = a_run(tmp_path, rows([1.0] * 12), name="b")
    found = compared(a, b)
    assert found.only_a == ()
    assert found.only_b == ("q10", "q11")
    assert found.n_shared == 10


def test_a_metric_whose_definition_changed_is_refused(tmp_path: Path) -> None:
    a = a_run(tmp_path, rows([1.0] * 10), name="a", metrics=[a_metric("recall@5:doc")])
    b = a_run(tmp_path, rows([1.0] * 10), name="b", metrics=[a_metric("recall@5:doc", version=2)])
    found = compared(a, b)
    assert found.metrics == {}
    assert "version 1 against 2" in found.not_compared["recall@5:doc"]


def test_other_parameters_are_refused_too(tmp_path: Path) -> None:
    a = a_run(tmp_path, rows([1.0] * 5), name="a", metrics=[a_metric("recall@5:doc", params={"gain": "linear"})])
    b = a_run(tmp_path, rows([1.0] * 5), name="b", metrics=[a_metric("recall@5:doc", params={"gain": "exp"})])
    assert "gain" in compared(a, b).not_compared["recall@5:doc"]


def test_another_judge_is_warned_of_and_noted_on_judged_metrics_only(tmp_path: Path) -> None:
    metrics = [a_metric("recall@5:doc"), a_metric("faithfulness", needs={Need.JUDGE}, half="generation")]
    values = {f"q{i}": {"recall@5:doc": 1.0, "faithfulness": 0.5} for i in range(10)}
    a = a_run(tmp_path, values, name="a", metrics=metrics)
    b = a_run(tmp_path, values, name="b", metrics=metrics, judge="openai:x")
    found = compared(a, b)
    assert "the judge differs" in found.metrics["faithfulness"].notes
    assert found.metrics["recall@5:doc"].notes == ()
    assert any("judge" in warning for warning in found.warnings)


def test_what_changed_in_the_system_is_listed(tmp_path: Path) -> None:
    a = a_run(tmp_path, rows([1.0] * 5), name="a", settings={"k": 5, "chunk": {"size": 400}})
    b = a_run(tmp_path, rows([1.0] * 5), name="b", settings={"k": 10, "chunk": {"size": 400}})
    assert compared(a, b).changed == ("k: 5 → 10",)


def test_many_errors_in_one_run_are_warned_of(tmp_path: Path) -> None:
    a = a_run(tmp_path, rows([1.0] * 20), name="a")
    b = a_run(tmp_path, rows([Reason.TIMED_OUT] * 3 + [1.0] * 17), name="b")
    found = compared(a, b)
    assert found.metrics["recall@5:doc"].only_a == 3
    assert any("3 of 20" in warning for warning in found.warnings)


def test_abstentions_are_no_errors(tmp_path: Path) -> None:
    a = a_run(tmp_path, rows([1.0] * 20), name="a")
    b = a_run(tmp_path, rows([Reason.ABSTAINED] * 3 + [1.0] * 17), name="b")
    assert not any("3 of 20" in warning for warning in compared(a, b).warnings)


def test_nothing_scored_in_common_is_said(tmp_path: Path) -> None:
    a = a_run(tmp_path, rows([1.0] * 3), name="a")
    b = a_run(tmp_path, rows([Reason.TIMED_OUT] * 3), name="b")
    assert compared(a, b).not_compared["recall@5:doc"] == "no question was scored in both runs"


def test_repeats_are_averaged_before_they_are_compared(tmp_path: Path) -> None:
    a = a_run(tmp_path, {f"q{i}": {"faithfulness": [1.0, 0.0]} for i in range(20)}, name="a")
    b = a_run(tmp_path, {f"q{i}": {"faithfulness": [1.0, 1.0]} for i in range(20)}, name="b")
    found = compared(a, b).metrics["faithfulness"]
    assert found.n_pairs == 20
    assert found.a == 0.5
    assert found.verdict == "better"


def test_three_runs_are_corrected_together(tmp_path: Path) -> None:
    a, b, c = (
        a_run(tmp_path, rows([1.0] * (40 - n) + [0.0] * n), name=name) for name, n in (("a", 0), ("b", 6), ("c", 6))
    )
    two = compared(a, b).metrics["recall@5:doc"]
    three = compare(source(a), [source(b), source(c)])
    assert [one.metrics["recall@5:doc"].p_adjusted for one in three] == [pytest.approx(2 * two.p)] * 2


def test_tags_make_slices(tmp_path: Path) -> None:
    items = {f"q{i}": {"tags": ("table",) if i < 10 else ("lookup",)} for i in range(40)}
    a = a_run(tmp_path, rows([1.0] * 40), name="a", items=items)
    b = a_run(tmp_path, rows([0.0] * 10 + [1.0] * 30), name="b", items=items)
    slices = compared(a, b).slices
    assert slices["table"]["recall@5:doc"].difference == -1.0
    assert slices["lookup"]["recall@5:doc"].difference == 0.0


def test_costs_and_latencies_stand_side_by_side(tmp_path: Path) -> None:
    a = a_run(tmp_path, rows([1.0] * 4), name="a", items={f"q{i}": {"total_ms": 100.0 * (i + 1)} for i in range(4)})
    b = a_run(tmp_path, rows([1.0] * 4), name="b")
    usage = compared(a, b).usage
    assert usage["total_p95_ms"].a == 400.0
    assert usage["total_p95_ms"].b is None
