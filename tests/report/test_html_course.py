"""The course over earlier runs, and what quality costs, on the page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from ragauge.analysis.summarise import summarise
from ragauge.analysis.thresholds import resolve_thresholds
from ragauge.cli.report import command
from ragauge.core.run import Manifest, Summary
from ragauge.report.html import html_parts
from ragauge.report.html_course import course_view, quality_metric
from ragauge.store.rundir import RunDir
from ragauge.testing.runs import a_run

EVIL = "<script>alert(1)</script>"


def run(base: Path, day: int, value: float, n: int = 24, **more: Any) -> RunDir:
    """Slower answers are better ones."""
    values = {f"q{i}": {"correctness": min(1.0, value + 0.02 * i), "faithfulness": 0.9} for i in range(n)}
    items = {key: {"total_ms": 100.0 * (i + 1)} for i, key in enumerate(values)}
    thresholds = resolve_thresholds({}).model_dump(mode="json")
    created = f"2026-01-{day:02d}T10:00:00+00:00"
    return a_run(base, values, items=items, thresholds=thresholds, created=created, **more)


def pair(made: RunDir) -> tuple[Manifest, Summary]:
    return made.manifest, summarise(made.manifest, made.records())


def test_one_run_has_no_course(tmp_path: Path) -> None:
    assert course_view([pair(run(tmp_path, 1, 0.5))]) is None


def test_the_course_puts_quality_first_and_tells_what_cannot_be_compared(tmp_path: Path) -> None:
    runs = [run(tmp_path, 1, 0.1, 5), run(tmp_path, 2, 0.2), run(tmp_path, 3, 0.5)]
    found = course_view([pair(one) for one in reversed(runs)])
    assert found is not None
    assert [plot.key for plot in found.plots] == ["correctness", "faithfulness"]
    first = found.plots[0]
    assert first.says.startswith("better: +0.300 (")
    same, other, limit = first.plot.series
    assert [point.x for point in same.points] == [1.0, 2.0]
    assert [point.x for point in other.points] == [0.0]
    assert same.points[-1].mark
    assert limit.name == "threshold 0.8"
    assert [line.current for line in found.lines] == [True, False, False]
    assert found.notes == ("1 of 3 runs asked other questions: they are shown, not compared",)
    (price,) = found.price
    assert price.title == "Quality against latency"
    assert quality_metric(pair(runs[0])[1]) == "correctness"


def test_the_page_draws_quality_by_latency_and_the_course(tmp_path: Path) -> None:
    made = run(tmp_path, 3, 0.2)
    earlier = [pair(run(tmp_path, 1, 0.1)), pair(made)]
    page = "".join(html_parts(made.manifest, made.records, runs=earlier))
    assert "Quality by latency" in page
    assert '<h2 id="course">Course over 2 runs</h2>' in page
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert "Quality by latency" not in "".join(html_parts(*_few(tmp_path)))


def _few(base: Path) -> tuple[Any, Any]:
    made = run(base, 9, 0.1, 8)
    return made.manifest, made.records


def test_names_of_runs_and_metrics_are_shown_as_text(tmp_path: Path) -> None:
    values = {f"q{i}": {f"m{EVIL}": 0.5} for i in range(24)}
    runs = [a_run(tmp_path, values, created=f"2026-01-0{day}T10:00:00+00:00", name=EVIL) for day in (1, 2)]
    page = "".join(html_parts(runs[1].manifest, runs[1].records, runs=[pair(one) for one in runs]))
    assert EVIL not in page
    assert "Course over 2 runs" in page


def test_the_command_finds_the_runs_before_this_one(tmp_path: Path) -> None:
    for day in (1, 2, 4):
        run(tmp_path, day, 0.2)
    made = run(tmp_path, 3, 0.2)
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "manifest.json").write_text("{}")
    run(tmp_path, 2, 0.2, name="other", dataset=made.manifest.dataset.model_copy(update={"name": "other"}))

    def page(*args: str) -> str:
        done = CliRunner().invoke(command, [str(made.path), *args], standalone_mode=False)
        assert done.return_value == 0, done.output
        return (made.path / "report.html").read_text(encoding="utf-8")

    assert "Course over 3 runs" in page()
    assert "Course over 2 runs" in page("--earlier", "1")
    assert "Course over" not in page("--earlier", "0")


def test_the_course_of_twenty_runs_counts_towards_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragauge.report.html.LIMIT_BYTES", 400_000)
    words = "word " * 800
    values = {f"q{i}": {f"metric{k}": 0.5 for k in range(12)} for i in range(80)}
    items = {
        key: {"question": words, "answer": words, "retrieved": [(f"c{k}", words) for k in range(5)]} for key in values
    }
    made = a_run(tmp_path, values, items=items)
    page = "".join(html_parts(made.manifest, made.records, runs=[pair(made)] * 20))
    assert "Course over 20 runs" in page
    assert 200_000 < len(page.encode()) <= 400_000
