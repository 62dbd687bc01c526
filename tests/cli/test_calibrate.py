"""`ragauge calibrate`: from a file of labels to figures that are kept with the run."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ragauge.cli.main import main
from ragauge.core.judge import JudgeInfo
from ragauge.review.calibrating import calibration_note, read_draws, stored
from ragauge.review.labels import read_labels
from ragauge.store.rundir import RunDir
from ragauge.testing.runs import a_metric, a_run

CARD = a_metric("faithfulness", needs={"judge"}, half="generation")


def ragauge(*args: str | Path) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(arg) for arg in args])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def a_judged_run(base: Path, n: int = 100, **more: Any) -> RunDir:
    rows = {f"q{i:03}": {"faithfulness": float(i % 5 > 0)} for i in range(n)}
    return a_run(base, rows, metrics=[CARD], **more)


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    return a_judged_run(tmp_path / "runs")


def write_csv(path: Path, rows: list[dict[str, Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def some_labels(path: Path, n: int = 60, step: int = 1) -> Path:
    return write_csv(
        path,
        [{"id": f"q{i:03}", "label": "unfaithful" if i % 10 == 0 else "faithful"} for i in range(0, n * step, step)],
    )


def test_labels_from_a_spreadsheet_give_a_corrected_rate(
    run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = some_labels(tmp_path / "labels.csv")
    assert ragauge("calibrate", run.path, "--labels", labels) == 0
    out = capsys.readouterr().out
    assert "of answers contain an unsupported claim; the judge alone said 20 %" in out
    assert "mostly fails what people let pass" in out
    assert ragauge("calibrate", run.path, "--labels", labels, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["metric"] == "faithfulness"
    for name in ("agreement", "kappa", "sensitivity", "specificity", "raw_rate", "corrected_rate"):
        assert {"value", "low", "high", "n"} <= document[name].keys()
    assert document["corrected_rate"]["value"] == pytest.approx(0.1)
    assert document["corrected_rate"]["method"]
    assert document["stale"] is False
    assert document["verdict"] in ("reliable", "provisional", "retune")
    assert document["metrics"]["faithfulness"]["table"] == {
        "both_fail": 6, "judge_lenient": 0, "judge_strict": 6, "both_pass": 48,
    }  # fmt: skip


def test_the_figures_stay_with_the_run_and_show_can_mention_them(run: RunDir, tmp_path: Path) -> None:
    assert calibration_note(run.path) is None
    ragauge("calibrate", run.path, "--labels", some_labels(tmp_path / "labels.csv"))
    note = calibration_note(run.path)
    assert note is not None
    assert "agreement 90 %" in note
    assert stored(run)["faithfulness"].n_labels == 60
    assert ragauge("calibrate", run.path) == 0  # the labels were kept


def test_a_later_run_leans_on_the_calibration_until_the_judge_changes(
    run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ragauge("calibrate", run.path, "--labels", some_labels(tmp_path / "labels.csv"))
    same = a_judged_run(tmp_path / "runs", name="same", items={f"q{i:03}": {"answer": "other"} for i in range(100)})
    note = calibration_note(same.path)
    assert note is not None
    assert "STALE" not in note
    capsys.readouterr()
    assert ragauge("calibrate", same.path, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["labels_of"] == run.manifest.run
    assert "Lang" in document["corrected_rate"]["method"]
    new_judge = JudgeInfo(name="embedded", kind="scripted", version="1", fingerprint="changed")
    other = a_run(
        tmp_path / "runs",
        {f"q{i:03}": {"faithfulness": 1.0} for i in range(40)},
        metrics=[CARD],
        name="new",
        judge=None,
    )
    manifest = other.manifest.model_copy(update={"judge": new_judge})
    (other.path / "manifest.json").write_text(manifest.model_dump_json(exclude_none=True), encoding="utf-8")
    stale = calibration_note(other.path)
    assert stale is not None
    assert stale.startswith("STALE")
    assert ragauge("calibrate", other.path) == 2
    assert "stale" in capsys.readouterr().err


def test_the_same_answers_under_a_new_judge_are_checked_again_with_the_old_labels(
    run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    labels = some_labels(tmp_path / "labels.csv")
    ragauge("calibrate", run.path, "--labels", labels)
    rows = {f"q{i:03}": {"faithfulness": float(i % 10 > 0)} for i in range(100)}
    better = a_run(tmp_path / "runs", rows, metrics=[CARD], name="better", judge="better")
    capsys.readouterr()
    assert ragauge("calibrate", better.path, "--labels", run.path / "calibration" / "labels.jsonl", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["agreement"]["value"] == 1.0
    assert document["recheck"]["n_shared"] == 60
    assert document["recheck"]["earlier_agreement"] == pytest.approx(0.9)


def test_what_to_label_next_is_drawn_noted_and_written_as_a_sheet(
    run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sheet = tmp_path / "sheet.csv"
    assert ragauge("calibrate", run.path, "--next", "40", "--to", sheet, "--seed", "3", "--json") == 0
    drawn = json.loads(capsys.readouterr().out)["next"]
    assert len(drawn) == 40
    assert all(0 < one["probability"] <= 1 and one["seed"] == 3 for one in drawn)
    assert [one.item for one in read_draws(run)] == [one["item"] for one in drawn]
    with sheet.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert "verdict" not in rows[0]
    for row in rows:
        row["label"] = "unfaithful" if int(row["item"][1:]) % 10 == 0 else "faithful"
    filled = write_csv(sheet, rows)
    assert ragauge("calibrate", run.path, "--labels", filled, "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["n_labels"] == 40
    assert document["corrected_rate"]["low"] <= 0.1 <= document["corrected_rate"]["high"]
    assert "stratified" in document["corrected_rate"]["method"]


def test_labels_beside_the_draw_do_not_enter_the_rate(
    run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ragauge("calibrate", run.path, "--next", "40")
    capsys.readouterr()
    assert ragauge("calibrate", run.path, "--labels", some_labels(tmp_path / "all.csv", 100), "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["n_labels"] == 40
    assert document["excluded"] == {"not a random draw: used to find mistakes only": 60}


def test_wide_files_and_json_lines_are_read(run: RunDir, tmp_path: Path) -> None:
    wide = write_csv(tmp_path / "wide.csv", [{"id": f"q{i:03}", "faithful": i % 2} for i in range(40)])
    assert [label.value for label in read_labels(wide, metrics={"faithfulness"})][:2] == [0.0, 1.0]
    lines = tmp_path / "labels.jsonl"
    lines.write_text('{"item": "q000", "label": false, "note": "=1+1"}\n{"item": "q001", "label": "unsure"}\n')
    read = read_labels(lines)
    assert [(label.item, label.value, label.note) for label in read] == [("q000", 0.0, "=1+1")]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,label\nq000,maybe\nq001,perhaps\n", ":2: 'maybe' is not a label"),
        ("id,verdicts\nq000,faithful\n", "no label column"),
        ("name,label\nq000,faithful\n", "no item"),
        ("id,label\nq000,\n", "none of the 1 rows has a label"),
        ("id,label\nother,faithful\n", "unknown item of this run"),
        ("id,label,metric\nq000,faithful,fidelity\n", "a label for a metric that the run has not"),
        ("id,label,repeat\nq000,faithful,x\n", "no count"),
    ],
)
def test_bad_label_files_are_refused_with_line_and_way_out(
    run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text)
    assert ragauge("calibrate", run.path, "--labels", path) == 2
    assert said in capsys.readouterr().err


def test_few_labels_say_how_many_are_missing(run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert ragauge("calibrate", run.path, "--labels", some_labels(tmp_path / "few.csv", 12)) == 0
    out = capsys.readouterr().out
    assert "No corrected rate: 12 labels are too few to correct the judge: 18 more" in out
    assert "By the labels alone" in out


def test_a_damaged_calibration_file_is_said_in_the_note(run: RunDir, tmp_path: Path) -> None:
    (run.path.parent / "calibration.json").write_text("{")
    note = calibration_note(run.path)
    assert note is not None
    assert "cannot be read" in note


def test_the_same_labels_calibrate_several_judges(
    run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = {f"q{i:03}": {"faithfulness": float(i % 10 > 0)} for i in range(100)}
    other = a_run(tmp_path / "runs", rows, metrics=[CARD], name="other", judge="another")
    labels = some_labels(tmp_path / "labels.csv")
    assert ragauge("calibrate", run.path, other.path, "--labels", labels, "--json") == 0
    both = json.loads(capsys.readouterr().out)["runs"]
    assert [(one["judge"], one["agreement"]["value"]) for one in both] == [("embedded", 0.9), ("another", 1.0)]


def test_labels_of_another_fair_draw_count_when_they_say_so(
    run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ragauge("calibrate", run.path, "--next", "10", "--simple")
    capsys.readouterr()
    plain = some_labels(tmp_path / "plain.csv")
    assert ragauge("calibrate", run.path, "--labels", plain) == 0
    assert "for_estimation" in capsys.readouterr().out
    rows = [
        {"id": f"q{i:03}", "label": "faithful" if i % 10 else "unfaithful", "for_estimation": "true"} for i in range(60)
    ]
    assert ragauge("calibrate", run.path, "--labels", write_csv(tmp_path / "said.csv", rows), "--json") == 0
    assert json.loads(capsys.readouterr().out)["n_labels"] == 60


def test_calibrating_needs_no_database_and_reviewing_says_what_to_install(run: RunDir, tmp_path: Path) -> None:
    labels = some_labels(tmp_path / "labels.csv")
    start = "import sys; sys.modules['sqlalchemy'] = None; from ragauge.cli.main import main; "
    done = subprocess.run(
        [sys.executable, "-c", f"{start}main(['calibrate', {str(run.path)!r}, '--labels', {str(labels)!r}])"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    done = subprocess.run(
        [sys.executable, "-c", f"{start}main(['review', 'stats', '--queue', {str(tmp_path / 'q.sqlite')!r}])"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "ragauge[review]" in done.stderr
