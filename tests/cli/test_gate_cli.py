"""`ragauge gate` and `ragauge baseline` on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from ragauge.cli import baseline as baseline_verb
from ragauge.cli import gate as gate_verb
from ragauge.errors import InputError, Reason, RunError, SettingsError, UnknownName, UsageError
from ragauge.testing.runs import a_run


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with three runs (good, bad, few), in which the commands are called."""
    for name, worse, n in (("good", 0, 60), ("bad", 15, 60), ("few", 2, 60)):
        a_run(tmp_path / "runs", {f"q{i}": {"faithfulness": float(i >= worse)} for i in range(n)}, name=name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def call(verb: Any, *args: str) -> Result:
    result = CliRunner().invoke(verb.command, list(args), standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result


def test_a_baseline_and_a_gate_against_it(place: Path) -> None:
    assert "60 questions, 1 metrics" in call(baseline_verb, "good", "--out", "baseline.json").stdout
    codes = {name: call(gate_verb, name, "--baseline", "baseline.json").return_value for name in ("good", "bad", "few")}
    assert codes == {"good": 0, "bad": 1, "few": 3}


def test_a_run_is_a_baseline_too(place: Path) -> None:
    assert call(gate_verb, "bad", "--baseline", "good").return_value == 1
    (good,) = (place / "runs").glob("*good*")
    assert call(gate_verb, "bad", "--baseline", str(good)).return_value == 1


def test_inconclusive_passes_only_on_request_and_says_so(place: Path) -> None:
    result = call(gate_verb, "few", "--baseline", "good", "--allow-inconclusive")
    assert result.return_value == 0
    assert "could not judge" in result.stderr


def test_json_is_one_document_and_files_are_written(place: Path) -> None:
    result = call(gate_verb, "bad", "--baseline", "good", "--json", "--junit", "out/j.xml", "--markdown", "out/s.md")
    assert json.loads(result.stdout)["verdict"] == "fail"
    assert (place / "out" / "j.xml").read_text().startswith("<?xml")
    assert "[!CAUTION]" in (place / "out" / "s.md").read_text()


def test_floors_from_flags(place: Path) -> None:
    assert call(gate_verb, "bad", "--floor", "faithfulness=0.9").return_value == 1
    assert call(gate_verb, "bad", "--floor", "faithfulness=0.7").return_value == 0
    assert call(gate_verb, "bad", "--floor", "faithfulnes=0.7").return_value == 3


def test_settings_come_from_the_file_and_flags_win(place: Path) -> None:
    (place / "ragauge.yaml").write_text("gate: {floors: {faithfulness: 0.9}, max_baseline_age_days: 100000}\n")
    assert call(gate_verb, "bad").return_value == 1
    assert call(gate_verb, "bad", "--floor", "faithfulness=0.5").return_value == 0


def test_a_baseline_named_in_the_settings_is_relative_to_them(place: Path, tmp_path: Path) -> None:
    call(baseline_verb, "good", "--out", "conf/baseline.json")
    (place / "conf" / "ragauge.yaml").write_text("gate: {baseline: baseline.json}\n")
    assert call(gate_verb, "bad", "--config", "conf/ragauge.yaml").return_value == 1


def test_wrong_usage_is_told(place: Path) -> None:
    with pytest.raises(UsageError, match="nothing to check"):
        call(gate_verb, "good")
    with pytest.raises(SettingsError, match="NAME=NUMBER"):
        call(gate_verb, "good", "--floor", "faithfulness")
    with pytest.raises(InputError, match="no such baseline"):
        call(gate_verb, "good", "--baseline", "nowhere.json")
    with pytest.raises(UnknownName, match="faithfulness"):
        call(baseline_verb, "good", "--metric", "faithfulnes")


def test_a_run_with_errors_is_no_baseline_unless_forced(place: Path) -> None:
    a_run(
        place / "runs", {f"q{i}": {"faithfulness": Reason.TIMED_OUT if i < 2 else 1.0} for i in range(40)}, name="flaky"
    )
    with pytest.raises(RunError, match="2 of 40"):
        call(baseline_verb, "flaky", "--out", "b.json")
    assert not (place / "b.json").exists()
    call(baseline_verb, "flaky", "--out", "b.json", "--force")
    assert (place / "b.json").exists()
