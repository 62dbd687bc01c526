"""Clusters, sweeps, golden sets, monitoring: what the command line says, as pages."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from tests.web.workbench import client, copied, csrf

from ragauge.analysis.sweep_files import list_sweeps, saved_table
from ragauge.review import open_queue
from ragauge.store.sweepdir import SweepCell, SweepDir, SweepManifest
from ragauge.testing.runs import a_metric, a_run


def a_sweep(runs: Path, *, cells: int = 3, finished: int = 3) -> SweepDir:
    """A sweep over k whose later cells are better; the last ones are not run."""
    manifest = SweepManifest(
        sweep="2026-03-01T10-00-00-k-0001", created="2026-03-01T10:00:00+00:00", ragauge="0.1.0",
        knobs=("system.reference.k",), base="c01", n_questions=40,
        cells=tuple(
            SweepCell(id=f"c0{n}", label=f"k={n}", knobs={"system.reference.k": n}) for n in range(1, cells + 1)
        ),
    )  # fmt: skip
    made = SweepDir.create(runs, manifest)
    for n in range(1, finished + 1):
        values = {f"q{i}": {"correctness": float(i % 4 < n)} for i in range(40)}
        a_run(
            made.cells, values, name=f"c0{n}", metrics=[a_metric("correctness", half="generation")],
            settings={"k": n}, created=f"2026-03-01T10:0{n}:00+00:00",
        )  # fmt: skip
    for path in made.cells.iterdir():
        file = path / "manifest.json"
        data = json.loads(file.read_text())
        data["settings"] = {"sweep": {"cell": path.name.split("-")[-2]}}
        file.write_text(json.dumps(data))
    return made


def test_a_sweep_without_its_table_is_read_from_its_cells(tmp_path: Path, read_html: Any) -> None:
    made = a_sweep(tmp_path / "runs", cells=4)
    table, confirmation = saved_table(made)
    assert confirmation is None
    assert table.winner == "c03"
    pages = client(tmp_path)
    assert "2026-03-01T10-00-00-k-0001" in pages.get("/sweeps").text
    answer = pages.get("/sweeps/2026-03-01T10-00-00-k-0001")
    text = read_html(answer.text)
    assert "Take c03 (k=3)" in text
    assert "not run" in text
    assert "3 of 4 cells finished, 40 questions" in text
    assert answer.text.count('<div class="plot"><svg') == 1
    assert "<style" not in answer.text


def test_a_sweep_that_is_not_there_or_damaged_is_told(tmp_path: Path) -> None:
    made = a_sweep(tmp_path / "runs")
    (made.path / "table.json").write_text("{broken")
    pages = client(tmp_path)
    assert "cannot be read as a sweep" in pages.get(f"/sweeps/{made.path.name}").text
    assert pages.get("/sweeps/..%2f..%2fetc").status_code == 404
    assert pages.get("/sweeps/nothing").status_code == 404
    (made.path / "sweep.json").write_text("{}")
    assert "no format number" in pages.get("/sweeps").text
    assert len(list_sweeps(tmp_path / "runs")) == 1
    assert "There are no sweeps here" in client(tmp_path / "elsewhere").get("/sweeps").text


def golden(folder: Path) -> Path:
    file = folder / "golden.jsonl"
    items = [
        {"id": "a", "question": "Which <b>port</b> is it?", "answer": "8125", "sources": ["x.md"]},
        {"id": "b", "question": "Which <b>port</b> is it?", "answer": "8125", "sources": ["x.md"]},
        {"id": "c", "question": "Where?", "answerable": False, "answer": "here", "sources": ["x.md"]},
    ]
    file.write_text("\n".join(map(json.dumps, items)))
    return file


def test_what_is_wrong_with_a_golden_set_is_listed_with_its_line(tmp_path: Path, read_html: Any) -> None:
    from ragauge.dataset.golden_validate import validate_golden

    file = golden(tmp_path)
    found = validate_golden(file)
    pages = client(tmp_path, golden=file)
    answer = pages.get("/golden")
    text = read_html(answer.text)
    for one in found.complaints:
        assert one.message[:60] in text, one
    assert "no corpus is configured" in text
    assert "&lt;b&gt;" in answer.text or "<b>port" not in answer.text
    kind = found.complaints[0].kind
    shown = pages.get("/golden", params={"kind": kind}).text
    assert shown.count("<tr><td>") == sum(one.kind == kind for one in found.complaints)
    assert pages.get("/golden", params={"set": "7"}).status_code == 404
    file.write_text(json.dumps({"id": "a", "question": "Which port is it?", "answer": "8125", "sources": ["x.md"]}))
    assert "<b>1</b>questions" in pages.get("/golden").text  # read again, because it changed
    assert "No golden set is known" in client(tmp_path / "elsewhere").get("/golden").text


def waited(pages: Any, path: str) -> str:
    """A page that is worked out in the background."""
    for _ in range(240):
        answer = pages.get(path)
        if answer.status_code != 202:
            assert answer.status_code == 200, answer.text
            return str(answer.text)
        time.sleep(0.25)
    raise AssertionError("it was never ready")


@pytest.mark.slow
def test_failures_are_grouped_and_their_examples_sent_to_people(two: Any, tmp_path: Path) -> None:
    from ragauge.diagnose.diagnosis import diagnose_rows
    from ragauge.diagnose.failures import group_failures

    old, new = copied(two, tmp_path)
    pages = client(tmp_path)
    path = f"/runs/{new.path.name}/clusters"
    text = waited(pages, path)
    expected = group_failures(diagnose_rows(new.manifest, new.records))
    assert f"{expected.n} failing questions" in text
    for one in expected.clusters:
        assert f"<b>{one.n}</b> of {expected.n}" in text
    waited(pages, f"/runs/{old.path.name}/clusters")
    assert "was" in waited(pages, f"{path}?against={old.path.name}") or expected.clusters == ()
    form = {"csrf": csrf(pages, path), "metric": "faithfulness", "id": list(expected.clusters[0].representatives)}
    assert pages.post(path, data=form).status_code == 303
    with open_queue(str(tmp_path / "queue.sqlite")) as queue:
        assert {item.item for item in queue.items()} == set(expected.clusters[0].representatives)
    assert pages.post(path, data=form | {"metric": "nothing"}).status_code == 400


def test_without_a_log_the_monitor_says_how_to_name_one(tmp_path: Path) -> None:
    pages = client(tmp_path)
    assert "No production log is configured" in pages.get("/monitor").text
    assert pages.get("/monitor/days/2026-01-01").status_code == 404


@pytest.mark.slow
def test_production_day_by_day(tmp_path: Path, read_html: Any) -> None:
    pytest.importorskip("duckdb", reason="duckdb, which reads the log, is not installed (extra monitor)")
    from tests.monitor.test_monitor_cli import write_log

    from ragauge.monitor.report import build_report

    log = str(write_log(tmp_path, lambda back: 0.72 if back <= 5 else 0.8))
    pages = client(tmp_path, log=log)
    answer = pages.get("/monitor")
    assert answer.status_code == 200
    text = read_html(answer.text)
    report = build_report(log, 30)
    assert f"{report.n_queries:,}" in text
    (alert,) = [one for one in report.standing.alerts if one.series == "top_similarity" and one.status == "firing"]
    assert alert.says in text
    assert 'class="ribbon"' in answer.text
    assert f'href="/monitor/days/{alert.day}"' in answer.text
    assert 'href="#plot-top_similarity"' in answer.text
    assert 'id="plot-top_similarity"' in answer.text
    assert "Nothing was drawn of this day" in pages.get(f"/monitor/days/{alert.day}").text
    for wrong in ("2026-13-01", "..%2fetc", "x"):
        assert pages.get(f"/monitor/days/{wrong}").status_code == 404
