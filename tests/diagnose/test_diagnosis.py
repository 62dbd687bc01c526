from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from ragauge.core.counterfactual import Counterfactual
from ragauge.core.metric import MetricInfo, MetricSpec, Need
from ragauge.core.run import DatasetInfo, Estimate, Manifest, MetricResult, Record, Summary
from ragauge.core.sample import (
    GoldenItem,
    Labels,
    Response,
    RetrievalStep,
    RetrievedChunk,
    RetrievedContext,
    Sample,
)
from ragauge.core.score import Scored, unscored
from ragauge.core.system import SystemInfo
from ragauge.diagnose.counterfactuals import FILE, read_counterfactuals
from ragauge.diagnose.diagnosis import diagnose_rows
from ragauge.diagnose.distributions import distributions, drift
from ragauge.diagnose.history import bottleneck, history
from ragauge.errors import Reason, StoreError
from ragauge.report import diagnosis as report
from ragauge.report.distributions import sparkline, svg
from ragauge.report.history import terminal as show_history

INFO = MetricInfo(name="correctness", title="Correct", needs=frozenset({Need.JUDGE}), half="both")


def a_manifest(run: str = "r1", created: str = "2026-01-01T00:00:00Z", questions: str = "d") -> Manifest:
    return Manifest(
        run=run, command="run", created=created, ragauge="0", python="3", platform="x",
        dataset=DatasetInfo(name="d", fingerprint=questions), system=SystemInfo(name="s", kind="k", fingerprint="f"),
        metrics=(MetricSpec(key="correctness", info=INFO),),
    )  # fmt: skip


def chunk(name: str, rank: int, score: float, **metadata: str) -> RetrievedChunk:
    text = f"{name} says that number {rank} is settled by the committee of {name} in its yearly meeting."
    return RetrievedChunk(
        id=name, document=name.partition("#")[0], text=text, rank=rank, score=score, metadata=metadata
    )


def a_record(n: int, found: bool, correct: float, *, dense_finds: bool = True, repeat: int = 0) -> Record:
    gold = f"d{n}#1"
    context = (chunk(gold if found else f"x{n}#1", 1, 0.9 - n / 1000), chunk(f"y{n}#1", 2, 0.4 + n / 1000))
    dense = (chunk(gold if dense_finds else f"z{n}#9", 1, 0.9),)
    steps = (RetrievalStep(name="dense", chunks=dense), RetrievalStep(name="bm25", chunks=(chunk(gold, 1, 9.0),)))
    return Record(
        index=n,
        sample=Sample(
            item=GoldenItem(id=f"q{n}", question=f"Question {n}?", answer="yes", answerable=True),
            response=Response(context=RetrievedContext(chunks=context), answer="It is so.", steps=steps),
            labels=Labels(chunks={gold: 1}, documents={f"d{n}": 1}),
            repeat=repeat,
        ),
        scores={"correctness": Scored(value=correct)},
    )


def test_causes_are_counted_with_intervals_and_advice_is_ranked() -> None:
    rows = [a_record(n, found=n < 14, correct=float(n < 12)) for n in range(20)]
    found = diagnose_rows(a_manifest(), lambda: rows)
    assert (found.n_rows, found.n_failing) == (20, 8)
    counts = {cause.cause: cause.n for cause in found.causes}
    assert counts == {"retrieved_low": 6, "wrong_despite_evidence": 2}
    first = found.causes[0]
    assert first.share.value == pytest.approx(0.3)
    assert first.share.low is not None
    assert first.share.high is not None
    assert first.share.low < 0.3 < first.share.high
    assert [advice.fix for advice in found.advice] == ["larger_k", "stronger_model"]
    assert found.first_is_clear is False
    assert any("too close to tell apart" in note for note in found.notes)


def test_where_dense_search_finds_far_less_than_bm25_the_embedder_comes_first() -> None:
    rows = [a_record(n, found=False, correct=0.0, dense_finds=n % 4 == 0) for n in range(20)]
    found = diagnose_rows(a_manifest(), lambda: rows)
    assert found.advice[0].fix == "change_embedder"
    assert "dense search finds 25%" in found.advice[0].because[0]
    assert found.lists["bm25"].value == 1.0


def test_one_answer_judged_right_and_wrong_in_two_repeats_is_the_judge() -> None:
    rows = [a_record(1, True, 1.0), a_record(1, True, 0.0, repeat=1)]
    assert [row.cause for row in diagnose_rows(a_manifest(), lambda: rows).rows] == ["judge_disagreement"]


def test_rows_that_nobody_could_judge_are_counted_apart() -> None:
    lost = a_record(1, True, 1.0).model_copy(update={"scores": {"correctness": unscored(Reason.TIMED_OUT)}})
    found = diagnose_rows(a_manifest(), lambda: [lost, a_record(2, True, 0.0)])
    assert (found.n_rows, found.n_judged, found.n_failing) == (2, 1, 1)
    assert any("could not be judged" in note for note in found.notes)


def test_an_empty_run_and_a_run_without_failures_say_so() -> None:
    nothing = diagnose_rows(a_manifest(), list)
    assert nothing.failing is None
    fine = diagnose_rows(a_manifest(), lambda: [a_record(1, True, 1.0)])
    assert fine.n_failing == 0
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(report.terminal(nothing, []))
    console.print(report.terminal(fine, []))
    assert "None of 1 row fails" in console.export_text()


def test_hostile_texts_are_shown_as_text() -> None:
    row = a_record(1, False, 0.0)
    item = row.sample.item.model_copy(update={"id": "[red]\x1b[31m", "question": "\u202egnp.exe [bold]?"})
    found = diagnose_rows(
        a_manifest(), lambda: [row.model_copy(update={"sample": row.sample.model_copy(update={"item": item})})]
    )
    console = Console(width=120, record=True, markup=False, file=io.StringIO())
    console.print(report.terminal(found, [], rows=True))
    shown = console.export_text()
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "[red]" in shown


def test_counterfactuals_are_read_back_and_failed_ones_left_out(tmp_path: Path) -> None:
    lines = [
        Counterfactual(id="q1", condition="more_k", error="no k"),
        Counterfactual(id="q1", condition="gold_context", scores={"correctness": Scored(value=0.0)}),
        Counterfactual(id="q1", condition="gold_context", scores={"correctness": Scored(value=1.0)}),
    ]
    text = "".join(line.model_dump_json(exclude_defaults=True) + "\n" for line in lines)
    (tmp_path / FILE).write_text(text + '{"id": "unfinished', encoding="utf-8")
    found = read_counterfactuals(tmp_path)
    assert list(found["q1", 0]) == ["gold_context"]
    assert found["q1", 0]["gold_context"].value("correctness") == 1.0
    (tmp_path / FILE).write_text("{}\n", encoding="utf-8")
    with pytest.raises(StoreError, match="damaged"):
        read_counterfactuals(tmp_path)
    assert read_counterfactuals(tmp_path / "none") == {}


def test_scores_of_relevant_chunks_are_parted_from_the_others() -> None:
    found = distributions([a_record(n, True, 1.0) for n in range(30)], lambda texts: [len(t) > 1000 for t in texts])
    one = next(one for one in found.lists if one.name == "retrieved")
    assert one.auroc is not None
    assert one.auroc.value == 1.0
    assert one.overlap == 0.0
    assert one.modes == "several"
    assert sum(one.histogram.counts) == one.n == 60
    assert svg(one).startswith("<svg")
    checks = {check.name: check for check in found.checks}
    assert checks["truncated"].share is not None
    assert "no chunk says how old" in checks["older_first"].not_done


def test_a_reranker_that_gains_little_is_flagged() -> None:
    rows = []
    for n in range(20):
        row = a_record(n, True, 1.0)
        rerank = RetrievalStep(name="rerank", chunks=(chunk(f"d{n}#1", 1, 0.8),))
        response = row.sample.response.model_copy(update={"steps": (*row.sample.response.steps, rerank)})
        rows.append(row.model_copy(update={"sample": row.sample.model_copy(update={"response": response})}))
    gain = distributions(rows).rerank
    assert gain is not None
    assert (gain.before, gain.after, gain.relative, gain.small) == (1.0, 1.0, 0.0, True)
    assert gain.difference.low is not None
    assert gain.difference.low < 0 < (gain.difference.high or 0)


def test_an_older_copy_before_a_newer_one_is_counted_where_chunks_have_dates() -> None:
    row = a_record(1, True, 1.0)
    old, new = chunk("d1#1", 1, 0.9, updated="2024-01-01"), chunk("e1#1", 2, 0.8, updated="2026-01-01T10:00")
    new = new.model_copy(update={"text": old.text})
    response = row.sample.response.model_copy(update={"context": RetrievedContext(chunks=(old, new))})
    found = distributions([row.model_copy(update={"sample": row.sample.model_copy(update={"response": response})})])
    check = next(check for check in found.checks if check.name == "older_first")
    assert check.questions == ("q1",)


def test_drift_of_the_best_scores_is_tested_against_another_run() -> None:
    now = [a_record(n, True, 1.0) for n in range(30)]
    low = []
    for row in now:
        context = RetrievedContext(chunks=(chunk("x#1", 1, 0.2),))
        response = row.sample.response.model_copy(update={"context": context})
        low.append(row.model_copy(update={"sample": row.sample.model_copy(update={"response": response})}))
    same, moved = drift(now, now), drift(now, low)
    assert same is not None
    assert not same.drifted
    assert moved is not None
    assert moved.drifted
    assert drift(now, []) is None


def test_sparklines_show_what_is_there() -> None:
    assert sparkline([0, 1, 100]) == " ▁█"
    assert sparkline([]) == ""


def a_result(key: str, half: str, value: float, low: float, high: float, threshold: float = 0.7) -> MetricResult:
    return MetricResult(
        key=key, half=half, estimate=Estimate(value=value, low=low, high=high, n=50), threshold=threshold,
        verdict="good" if value >= threshold else "below",
    )  # type: ignore[arg-type]  # fmt: skip


def a_summary(*results: MetricResult) -> Summary:
    return Summary(n_rows=50, metrics={result.key: result for result in results})


def test_the_bottleneck_is_retrieval_when_it_is_clearly_low() -> None:
    summary = a_summary(
        a_result("recall@5:chunk", "retrieval", 0.6, 0.5, 0.68), a_result("correctness", "both", 0.2, 0.1, 0.3)
    )
    found = bottleneck(summary)
    assert found is not None
    assert (found.key, found.sure) == ("recall@5:chunk", "clear")
    undecided = a_summary(
        a_result("recall@5:chunk", "retrieval", 0.69, 0.5, 0.88), a_result("correctness", "both", 0.2, 0.1, 0.3)
    )
    assert getattr(bottleneck(undecided), "key", None) == "correctness"
    assert bottleneck(a_summary(a_result("correctness", "both", 0.9, 0.8, 0.95))) is None


def test_the_course_of_a_metric_has_an_interval_and_other_questions_are_not_compared() -> None:
    runs = [
        (a_manifest("r0", "2025-12-01T00:00:00Z", "other"), a_summary(a_result("correctness", "both", 0.1, 0.0, 0.2))),
        (a_manifest("r1"), a_summary(a_result("correctness", "both", 0.4, 0.3, 0.5))),
        (a_manifest("r2", "2026-02-01T00:00:00Z"), a_summary(a_result("correctness", "both", 0.8, 0.7, 0.88))),
    ]
    found = history(runs[::-1])
    (trend,) = found.trends
    assert found.runs == ("r0", "r1", "r2")
    assert [moment.comparable for moment in trend.moments] == [False, True, True]
    assert trend.says == "better"
    assert trend.change is not None
    assert trend.change.value == pytest.approx(0.4)
    assert any("other questions" in note for note in found.notes)
    console = Console(width=140, record=True, file=io.StringIO())
    console.print(show_history(found))
    assert "Bottleneck" in console.export_text()
    assert history([]).trends == ()
