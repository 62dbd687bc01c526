"""`ragauge export`: a run as a file, whole or not at all."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from ragauge.cli.export import command
from ragauge.core.score import Scored
from ragauge.core.verdict import Verdict
from ragauge.errors import Reason, StoreError, UsageError
from ragauge.store.rundir import RunDir
from ragauge.testing.runs import a_run

EVIL = '=HYPERLINK("http://x","y")'


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    verdict = Verdict(id="c1", claim="Port is 9.", label="contradicted", reason="the chunk says 8125")
    values = {
        f"q{n}": {
            "faithfulness": Scored(value=0.25, count=4, verdicts=(verdict,)) if n == 0 else 1.0,
            "correctness": Reason.NO_REFERENCE if n < 3 else Reason.JUDGE_UNPARSEABLE,
            "recall@5:doc": float(n % 2),
        }
        for n in range(5)
    }
    items = {
        "q1": {"question": EVIL, "answer": "-5 is | the <b>answer</b> @all"},
        "q2": {"answer": "a\x00b 🙂"},
    }
    return a_run(tmp_path / "runs", values, items=items)


def export(*args: str) -> Result:
    result = CliRunner().invoke(command, list(args), standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result


def test_csv_has_a_row_for_each_record_and_a_column_for_each_metric(run: RunDir, tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    export(str(run.path), "--out", str(out))
    with out.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [line["id"] for line in lines] == ["q0", "q1", "q2", "q3", "q4"]
    assert [line["faithfulness"] for line in lines] == ["0.25", "1.0", "1.0", "1.0", "1.0"]
    assert lines[0]["faithfulness:count"] == "4"
    assert {line["correctness"] for line in lines} == {""}
    assert [line["correctness:unscored"] for line in lines] == ["no_reference"] * 3 + ["judge_unparseable"] * 2


def test_formulas_in_texts_are_not_run_by_a_spreadsheet(run: RunDir, tmp_path: Path) -> None:
    out = tmp_path / "rows.csv"
    export(str(run.path), "--format", "csv", "--out", str(out))
    with out.open(newline="") as file:
        cells = [cell for line in csv.reader(file) for cell in line]
    assert "'" + EVIL in cells
    numbers = {cell for cell in cells if cell.lstrip("-").replace(".", "", 1).isdigit()}
    assert not [cell for cell in cells if cell[:1] in "=+-@\t\r" and cell and cell not in numbers]


def test_parquet_keeps_types_even_of_columns_without_any_value(run: RunDir, tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = tmp_path / "rows.parquet"
    export(str(run.path), "--out", str(out))
    table = pq.read_table(out)
    assert table.num_rows == 5
    assert table.schema.field("correctness").type == pa.float64()
    assert table.schema.field("retrieved").type == pa.list_(pa.string())
    assert table.column("faithfulness").to_pylist()[:2] == [0.25, 1.0]
    assert table.column("question").to_pylist()[1] == EVIL


def test_json_is_the_document_of_show_with_every_row(run: RunDir, tmp_path: Path) -> None:
    out = tmp_path / "run.json"
    export(str(run.path), "--out", str(out))
    document = json.loads(out.read_text())
    assert set(document["summary"]) == {"faithfulness", "correctness", "recall@5:doc"}
    assert len(document["rows"]) == 5
    assert document["rows"][0]["metrics"]["faithfulness"]["verdicts"][0]["reason"] == "the chunk says 8125"


def test_json_lines_are_one_whole_row_each(run: RunDir) -> None:
    lines = [json.loads(line) for line in export(str(run.path), "--format", "jsonl").stdout.splitlines()]
    assert [line["id"] for line in lines] == ["q0", "q1", "q2", "q3", "q4"]


def test_markdown_holds_the_metrics_and_nobody_breaks_out_of_it(run: RunDir) -> None:
    text = export(str(run.path), "--format", "markdown").stdout
    assert "| `faithfulness` |" in text
    assert "2 judge unparseable" in text
    assert "`recall@5:doc`: " in text
    assert "<b>" not in text
    assert "=HYPERLINK(" not in text


def test_csv_goes_to_stdout_too(run: RunDir) -> None:
    result = export(str(run.path), "--format", "csv")
    assert len(list(csv.reader(io.StringIO(result.stdout)))) == 6


def test_the_newest_run_is_meant_when_none_is_named(run: RunDir, tmp_path: Path) -> None:
    assert json.loads(export("--runs", str(tmp_path / "runs")).stdout)["run"] == str(run.path)


def test_a_file_that_is_there_is_kept_when_writing_fails(run: RunDir, tmp_path: Path) -> None:
    out = tmp_path / "rows.jsonl"
    out.write_text("old")
    rows = (run.path / "rows.jsonl").read_bytes().splitlines(keepends=True)
    (run.path / "rows.jsonl").write_bytes(b"".join(rows[:2]) + b'{"broken": \n' + b"".join(rows[2:]))
    with pytest.raises(StoreError, match="damaged"):
        export(str(run.path), "--out", str(out))
    assert out.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["rows.jsonl"]


def test_what_cannot_be_is_told(run: RunDir, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"\.xlsx"):
        export(str(run.path), "--out", str(tmp_path / "a.xlsx"))
    with pytest.raises(UsageError, match="Parquet is no text"):
        export(str(run.path), "--format", "parquet")
    with pytest.raises(StoreError, match="nowhere"):
        export(str(run.path), "--out", str(tmp_path / "nowhere" / "a.csv"))
    with pytest.raises(StoreError, match="no run"):
        export("absent", "--runs", str(tmp_path / "runs"))
