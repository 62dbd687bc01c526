from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragauge.core.metric import MetricInfo, MetricSpec, Need
from ragauge.core.run import FORMAT, DatasetInfo, Manifest, Record
from ragauge.core.sample import GoldenItem, Response, Sample
from ragauge.core.score import Scored, unscored
from ragauge.core.system import SystemInfo
from ragauge.errors import NewerVersion, Reason, StoreError
from ragauge.store.rundir import RunDir, find_run, list_runs, run_name

INFO = MetricInfo(name="m", title="M", needs=frozenset({Need.ANSWER}), half="generation")


def manifest(run: str = "2026-01-31T10-12-03-test-3f9c") -> Manifest:
    return Manifest(
        run=run,
        command="run",
        created="2026-01-31T10:12:03Z",
        ragauge="0",
        python="3",
        platform="p",
        dataset=DatasetInfo(name="d", fingerprint="f"),
        system=SystemInfo(name="s", kind="callable", fingerprint="f"),
        metrics=(MetricSpec(key="m", info=INFO),),
    )


def record(index: int, item: str, value: float | None = 1.0, repeat: int = 0) -> Record:
    sample = Sample(item=GoldenItem(id=item, question="q"), response=Response(answer="a"), repeat=repeat)
    score = Scored(value=value) if value is not None else unscored(Reason.JUDGE_UNAVAILABLE, "down")
    return Record(index=index, sample=sample, scores={"m": score})


def write(run: RunDir, *records: Record) -> None:
    with run.writer() as writer:
        for entry in records:
            writer.append(entry.model_dump_json(exclude_defaults=True))


def test_records_come_back_in_input_order_equal_to_what_was_written(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path, manifest())
    rows = [record(2, "c"), record(0, "a"), record(1, "b", None), record(1, "b", 0.5, repeat=1)]
    write(run, *rows)
    again = RunDir.open(run.path)
    assert again.manifest == manifest()
    assert list(again.records()) == [rows[1], rows[2], rows[3], rows[0]]


def test_the_later_of_two_rows_counts(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path, manifest())
    write(run, record(0, "a", None), record(0, "a", 0.25))
    assert [entry.scores["m"] for entry in run.records()] == [Scored(value=0.25)]
    assert run.index().failed == frozenset()


def test_rows_with_errors_are_known_as_failed(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path, manifest())
    write(run, record(0, "a", None), record(1, "b"))
    assert run.index().failed == {("a", 0)}


def test_a_newer_format_is_refused_with_what_to_do(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path, manifest())
    data = json.loads((run.path / "manifest.json").read_text())
    data["format"] = FORMAT + 1
    (run.path / "manifest.json").write_text(json.dumps(data))
    with pytest.raises(NewerVersion, match="Upgrade ragauge") as caught:
        RunDir.open(run.path)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [("", "cannot be read"), ("[]", "not a ragauge manifest"), ('{"format": 1}', "damaged"), ("{", "cannot be read")],
)
def test_a_damaged_manifest_is_named(tmp_path: Path, text: str, expected: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(StoreError, match=expected):
        RunDir.open(tmp_path)


def test_a_damaged_row_names_its_line(tmp_path: Path) -> None:
    run = RunDir.create(tmp_path, manifest())
    run.rows.write_bytes(b'{"index": 0}\n')
    with pytest.raises(StoreError, match=r"rows\.jsonl:1: the row is damaged"):
        run.index()


def test_a_run_that_exists_is_not_overwritten(tmp_path: Path) -> None:
    RunDir.create(tmp_path, manifest())
    with pytest.raises(StoreError, match="exists already"):
        RunDir.create(tmp_path, manifest())


def test_find_run_by_path_name_part_and_newest(tmp_path: Path) -> None:
    older = RunDir.create(tmp_path, manifest("2026-01-01T00-00-00-old-aaaa"))
    newer = RunDir.create(tmp_path, manifest("2026-02-01T00-00-00-new-bbbb"))
    assert find_run(str(older.path), Path("elsewhere")).path == older.path
    assert find_run("old", tmp_path).path == older.path
    assert find_run(newer.path.name, tmp_path).path == newer.path
    assert find_run(None, tmp_path).path == newer.path
    with pytest.raises(StoreError, match="fits 2 runs"):
        find_run("2026", tmp_path)
    with pytest.raises(StoreError, match=r"no run 'x'\n  Newest in .*new-bbbb"):
        find_run("x", tmp_path)
    with pytest.raises(StoreError, match="there are no runs"):
        find_run(None, tmp_path / "empty")
    assert list_runs(tmp_path) == [older.path, newer.path]


def test_run_names_are_safe_file_names() -> None:
    assert run_name("2026-01-31T10:12:03Z", "../Größe v2", "3f9c") == "2026-01-31T10-12-03-Gr-e-v2-3f9c"
    assert run_name("2026-01-31T10:12:03Z", "…", "3f9c") == "2026-01-31T10-12-03-run-3f9c"
