"""`ragauge compare` on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ragauge.cli.compare import command
from ragauge.errors import StoreError, UnknownName, UsageError
from ragauge.testing.runs import a_run


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    for name, good in (("first", 60), ("second", 45), ("third", 60)):
        a_run(tmp_path, {f"q{i}": {"recall@5:doc": float(i < good)} for i in range(60)}, name=name)
    return tmp_path


def invoke(*args: str, runs: Path) -> str:
    result = CliRunner().invoke(command, [*args, "--runs", str(runs)], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    assert result.return_value == 0
    return result.stdout


def test_runs_are_found_by_a_part_of_their_name(runs: Path) -> None:
    assert "Worse: recall@5:doc" in invoke("first", "second", runs=runs)


def test_json_is_one_document(runs: Path) -> None:
    assert json.loads(invoke("first", "second", "--json", runs=runs))["metrics"]["recall@5:doc"]["verdict"] == "worse"


def test_three_runs_give_two_comparisons(runs: Path) -> None:
    document = json.loads(invoke("first", "second", "third", "--json", runs=runs))
    verdicts = [one["metrics"]["recall@5:doc"]["verdict"] for one in document["comparisons"]]
    assert verdicts == ["worse", "no measurable difference"]


def test_markdown_is_markdown(runs: Path) -> None:
    assert invoke("first", "second", "--markdown", runs=runs).startswith("<!-- ragauge:compare -->")


def test_one_run_is_no_comparison(runs: Path) -> None:
    with pytest.raises(UsageError, match="two runs"):
        invoke("first", runs=runs)


def test_unknown_runs_and_metrics_are_named(runs: Path) -> None:
    with pytest.raises(StoreError, match="no run 'zzz'"):
        invoke("first", "zzz", runs=runs)
    with pytest.raises(UnknownName, match=r"recall@5:doc"):
        invoke("first", "second", "--metric", "recall@5:dok", runs=runs)
