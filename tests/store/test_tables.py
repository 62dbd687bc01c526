from __future__ import annotations

import csv
import errno
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragauge.errors import DiskFull, InputError, StoreError
from ragauge.store import tables
from ragauge.store.tables import plain_cell, read_csv_rows, read_parquet_rows, safe_cell, write_csv, write_parquet
from ragauge.text.normalise import clean


def test_csv_rows_carry_the_line_on_which_they_start(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'\xef\xbb\xbf\n\nid,text\r\na,"two\nlines"\r\n\r\nb,\r\n')
    assert list(read_csv_rows(path)) == [(4, {"id": "a", "text": "two\nlines"}), (7, {"id": "b", "text": None})]


@pytest.mark.parametrize(
    ("name", "text"), [("a.csv", "x;y\n1;2,3\n"), ("a.tsv", "x\ty\n1\t2,3\n"), ("b.csv", "x\ty\n1\t2,3\n")]
)
def test_the_delimiter_is_found(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    assert list(read_csv_rows(tmp_path / name)) == [(2, {"x": "1", "y": "2,3"})]


def test_short_rows_are_filled_and_long_rows_are_problems_in_their_place(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y\n1\n1,2,3\n4,5\n")
    rows = list(read_csv_rows(tmp_path / "t.csv"))
    assert rows[0] == (2, {"x": "1", "y": None})
    assert isinstance(rows[1][1], InputError)
    assert rows[1][1].line == 3
    assert rows[2] == (4, {"x": "4", "y": "5"})


def test_large_cells_are_read(tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", [{"x": "y" * 1_000_000}])
    ((_, row),) = read_csv_rows(tmp_path / "t.csv")
    assert not isinstance(row, InputError)
    assert row["x"] == "y" * 1_000_000


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "=cmd|' /C calc'!A0", '=HYPERLINK("http://x")']
)
def test_no_written_cell_starts_like_a_formula_and_it_can_be_read_back(text: str, tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", [{"=col": text, "b": "plain", "c": [text]}])
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as handle:
        cells = [cell for row in csv.reader(handle) for cell in row]
    assert not [cell for cell in cells if cell.startswith(tables.FORMULA_STARTS)]
    assert cells[3] == "'" + text
    ((_, row),) = read_csv_rows(tmp_path / "t.csv", unescape=True)
    assert not isinstance(row, InputError)
    assert row["b"] == "plain"
    assert next(iter(row.values())) == text


def test_numbers_stay_numbers(tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", [{"x": -0.5, "y": 3, "z": True, "n": None}])
    assert (tmp_path / "t.csv").read_text() == "x,y,z,n\n-0.5,3,true,\n"


def test_a_later_row_with_another_column_is_refused_and_nothing_is_left_behind(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("old\n")
    with pytest.raises(StoreError, match="row 2 has columns that the table has not: y"):
        write_csv(tmp_path / "t.csv", [{"x": 1}, {"x": 1, "y": 2}])
    assert (tmp_path / "t.csv").read_text() == "old\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.csv"]


def test_a_full_disk_is_said_and_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.csv").write_text("old\n")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tables.os, "replace", full)
    with pytest.raises(DiskFull, match="the disk is full; nothing was written"):
        write_csv(tmp_path / "t.csv", [{"x": 1}])
    assert (tmp_path / "t.csv").read_text() == "old\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.csv"]


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        write_csv(tmp_path / "none" / "t.csv", [{"x": 1}])


def test_lone_surrogates_do_not_stop_a_table(tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", [{"x": "a\ud800b"}])
    assert "a\ufffdb" in (tmp_path / "t.csv").read_text(encoding="utf-8")


# many control characters in a small file make it a binary one
_cells = st.text(max_size=20).map(clean).map(lambda s: "".join(c for c in s if c >= " " or c in "\t\r\n"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(rows=st.lists(st.tuples(_cells, _cells), min_size=1, max_size=5))
def test_any_text_survives_a_round_trip(rows: list[tuple[str, str]], tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", [{"first": a, "second": b, "third": "x"} for a, b in rows])
    back = [row for _, row in read_csv_rows(tmp_path / "t.csv", unescape=True)]
    assert [(r["first"] or "", r["second"] or "") for r in back if not isinstance(r, InputError)] == rows


@given(st.text())
def test_plain_cell_undoes_safe_cell(text: str) -> None:
    assert plain_cell(safe_cell(text)) == text
    assert not safe_cell(text).startswith(tables.FORMULA_STARTS)


def test_parquet_is_written_and_read_in_batches(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    rows = [{"id": str(n), "n": n, "texts": ["a", "b"]} for n in range(1000)]
    assert write_parquet(tmp_path / "t.parquet", iter(rows), batch_size=300) == 1000
    back = list(read_parquet_rows(tmp_path / "t.parquet", batch_size=7))
    assert [number for number, _ in back] == list(range(1, 1001))
    assert [row for _, row in back] == rows
    assert [entry.name for entry in tmp_path.iterdir()] == ["t.parquet"]


def test_parquet_that_does_not_fit_or_is_none_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    with pytest.raises(StoreError, match="do not fit into one Parquet table"):
        write_parquet(tmp_path / "t.parquet", [{"x": 1}, {"x": "text"}])
    with pytest.raises(StoreError, match="no rows"):
        write_parquet(tmp_path / "t.parquet", [])
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(InputError, match="not readable as Parquet"):
        list(read_parquet_rows(tmp_path / "bad.parquet"))
    assert not (tmp_path / "t.parquet").exists()


def test_csv_is_read_in_bounded_memory(tmp_path: Path) -> None:
    write_csv(tmp_path / "t.csv", ({"id": n, "text": "word " * 100} for n in range(20_000)))
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_csv_rows(tmp_path / "t.csv")) == 20_000
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**20


def test_excels_note_on_the_delimiter_is_no_header(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("sep=;\nx;y\n1;2,3\n")
    assert list(read_csv_rows(tmp_path / "t.csv")) == [(3, {"x": "1", "y": "2,3"})]
