"""What verbs that follow a service in production print fits its schema."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cli.documents import said
from tests.monitor.test_monitor_cli import write_log

from ragauge.monitor.documents import DayForecast, JudgedDay


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of 34 days whose best chunks have been less similar for five days."""
    return write_log(tmp_path_factory.mktemp("log"), lambda back: 0.72 if back <= 5 else 0.8)


@pytest.fixture
def log(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    monkeypatch.chdir(tmp_path)
    for name in ("RAGAUGE_LOG", "RAGAUGE_REVIEW"):
        monkeypatch.delenv(name, raising=False)
    shutil.copytree(written, tmp_path / written.name)
    return "--log", written.name


def test_a_day_of_production_is_printed_as_the_schemas_say(
    log: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    day = (*log, "--days", 1)
    (sampled,) = said(capsys, "monitor-sample", "monitor", "sample", *day, "--n", 8, "--no-questions").days
    assert (sampled.n_queries, sampled.n_drawn) == (80, 8)
    judge = ("monitor", "judge", *day, "--judge", "embedded", "--metrics", "faithfulness")
    (cost,) = said(capsys, "monitor-judge", *judge, "--dry-run").days
    assert isinstance(cost, DayForecast)
    assert (cost.left, cost.forecast.n_samples) == (8, 8)
    judged = said(capsys, "monitor-judge", *judge)
    assert judged.ended_early is None
    assert isinstance(judged.days[0], JudgedDay)
    assert judged.days[0].left == 0
    assert Path(judged.days[0].runs[0]).is_dir()
    rows = said(capsys, "monitor-rows", "monitor", "rows", *log).rows
    assert len(rows) == 8
    assert "down" in {row.feedback for row in rows}
    assert all("faithfulness" in row.scores for row in rows)


def test_what_production_feeds_is_printed_as_the_schemas_say(
    log: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = said(capsys, "golden-from-logs", "monitor", "candidates", *log, "--days", 2, "--budget", 3)
    assert (found.log, found.added) == ("production", 3)
    assert found.reasons["thumbs_down"] >= 1
    wrote = said(capsys, "monitor-outcomes", "monitor", "outcomes", *log, "--days", 2, "--out", "outcomes.csv")
    assert (wrote.table, wrote.rows) == ("outcomes.csv", sum(wrote.variants.values()))


def test_figures_and_alerts_are_printed_as_the_schemas_say(
    log: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    report = said(capsys, "monitor-report", "monitor", "report", *log, "--days", 7)
    assert len(report.days) == 7
    found = said(capsys, "monitor-check", "monitor", "check", *log, code=1)
    assert "top_similarity_drop" in {alert.rule for alert in found.alerts}


def test_an_alert_that_is_accepted_is_printed_as_the_schema_says(
    log: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    done = said(capsys, "monitor-accept", "monitor", "accept", "top_similarity_drop", *log, "--from", "2026-01-31")
    assert set(done.accepted.values()) == {"2026-01-31"}
    assert all(key.startswith("top_similarity_drop/") for key in done.accepted)


def test_what_could_not_be_tracked_is_printed_as_the_schema_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "broken").mkdir(parents=True)
    (tmp_path / "runs" / "broken" / "manifest.json").write_text("{")
    (told,) = said(capsys, "track", "track", "--all", code=3).tracked
    assert (told.run, told.outcome, told.run_id) == ("broken", "failed", None)
    assert told.why
