"""One run that cannot be read is told of; the others are listed, followed and logged all the same."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragauge.analysis.summarise import summarise
from ragauge.cli.main import main
from ragauge.testing.runs import a_run

DAMAGED = "2026-01-01T00-00-00-half-0001"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for day in (1, 2):
        created = f"2026-02-0{day}T10:00:00+00:00"
        run = a_run(tmp_path / "runs", {"q1": {"token_f1": 1.0}}, name=f"good{day}", created=created)
        run.save_summary(summarise(run.manifest, run.records()))
    (tmp_path / "runs" / DAMAGED).mkdir()
    (tmp_path / "runs" / DAMAGED / "manifest.json").write_text('{"format": 1, "run": "x')
    return tmp_path


def call(*args: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(args))
    return int(ended.value.code or 0)


def test_lists_and_histories_go_on(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("show", "--list", "--json") == 0
    said = capsys.readouterr()
    assert len(json.loads(said.out)["runs"]) == 2
    assert DAMAGED in said.err
    assert call("history", "--json") == 0
    said = capsys.readouterr()
    json.loads(said.out)
    assert DAMAGED in said.err


def test_everything_else_is_logged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mlflow", reason="MLflow is not installed (extra mlflow)")
    assert call("track", "--all", "--uri", "http://127.0.0.1:9", "--json") == 3
    tracked = {one["run"]: one["why"] for one in json.loads(capsys.readouterr().out)["tracked"]}
    assert len(tracked) == 3
    assert "cannot be read" in tracked[DAMAGED]
    assert all("nobody answers" in why for run, why in tracked.items() if run != DAMAGED)
