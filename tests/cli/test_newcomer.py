"""What a newcomer ran into, each as a test: blank answers, systems that hang or print, contradicting flags …"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ragauge
from ragauge.analysis.gate import gate
from ragauge.analysis.gate_settings import GateSettings
from ragauge.analysis.rowcheck import check_row
from ragauge.analysis.thresholds import Thresholds
from ragauge.cli.main import main
from ragauge.errors import StoreError
from ragauge.store.rundir import find_run

GOLDEN = """\
- {id: q1, question: What is the port?, answer: The port is 8080.}
- {id: q2, question: And the host?, answer: a.b}
"""


def cli(folder: Path, *args: str, timeout: float = 60, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ragauge", *args]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=timeout, env={**os.environ, **environment}
    )


def with_system(folder: Path, body: str, **run: object) -> Path:
    (folder / "golden.yaml").write_text(GOLDEN)
    (folder / "mysystem.py").write_text(f"import time\ndef answer(question):\n    {body}\n")
    settings = {"golden": "golden.yaml", "system": {"callable": {"function": "python:mysystem:answer"}}, "run": run}
    (folder / "ragauge.yaml").write_text(json.dumps(settings))
    return folder


def recorded(n: int, blank: int) -> list[dict[str, object]]:
    return [
        {
            "id": f"q{place}",
            "question": f"What is the port of service {place}?",
            "answer": "" if place < blank else f"The port of service {place} is {8000 + place}.",
            "reference": f"The port of service {place} is {8000 + place}.",
            "contexts": [f"The port of service {place} is {8000 + place}."],
        }
        for place in range(n)
    ]


def test_blank_answers_are_marked_noted_and_fail_the_gate(tmp_path: Path) -> None:
    run = ragauge.evaluate(recorded(20, blank=10), ["faithfulness", "correctness"], out=tmp_path)
    checks = [check_row(record, Thresholds()) for record in run.rows()]
    assert [check.outcome for check in checks] == ["bad"] * 10 + ["good"] * 10
    assert checks[0].problems == ("no answer at all",)
    assert any("10 of 20 questions got a blank answer" in note for note in run.summary.notes)
    result = gate(run.manifest, run.rows, GateSettings.model_validate({"floors": {"correctness": 0.9}}), None)
    assert result.verdict == "fail"
    whole = ragauge.evaluate(recorded(20, blank=0), ["faithfulness", "correctness"], out=tmp_path)
    result = gate(whole.manifest, whole.rows, GateSettings.model_validate({"floors": {"correctness": 0.7}}), None)
    assert all(check.name != "answers" for check in result.checks)


def test_a_system_that_hangs_does_not_keep_the_run_from_ending(tmp_path: Path) -> None:
    with_system(tmp_path, "time.sleep(1000)", timeout_s=0.5)
    started = time.monotonic()
    done = cli(tmp_path, "run", "--json", "--metrics", "token_f1")
    assert time.monotonic() - started < 40
    assert done.returncode == 3, done.stderr  # nothing could be scored
    assert json.loads(done.stdout)["summary"]["token_f1"]["unscored"] == {"timed_out": 2}


def test_what_a_system_prints_stays_out_of_the_json(tmp_path: Path) -> None:
    with_system(tmp_path, "print('hello'); return 'The port is 8080.'")
    done = cli(tmp_path, "run", "--json", "--metrics", "token_f1")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["totals"]["n_rows"] == 2
    assert "hello" in done.stderr


def test_questions_that_do_not_say_answerable_are_noted(tmp_path: Path) -> None:
    with_system(tmp_path, "return 'I do not know.'")
    done = cli(tmp_path, "run", "--json", "--metrics", "wrong_abstention,token_f1")
    document = json.loads(done.stdout)
    assert "wrong_abstention" in document["manifest"]["skipped_metrics"]
    golden = (tmp_path / "golden.yaml").read_text().replace("q1,", "q1, answerable: true,")
    (tmp_path / "golden.yaml").write_text(golden)
    document = json.loads(cli(tmp_path, "run", "--json", "--metrics", "wrong_abstention,token_f1").stdout)
    assert document["summary"]["wrong_abstention"]["value"] == 1.0
    assert any("1 of 2 questions do not say `answerable`" in note for note in document["totals"]["notes"])


def test_flags_that_contradict_a_resumed_run_are_refused(tmp_path: Path) -> None:
    with_system(tmp_path, "return '8080'")
    made = cli(tmp_path, "run", "--json", "--metrics", "token_f1")
    run = json.loads(made.stdout)["run"]
    done = cli(tmp_path, "run", "--resume", run, "--k", "9", "--limit", "1")
    assert done.returncode == 2
    assert "--k, --limit: a resumed run keeps the settings" in done.stderr
    assert cli(tmp_path, "run", "--resume", run, "--json").returncode == 0


def test_the_exact_name_of_a_run_wins(tmp_path: Path) -> None:
    for name in ("k2", "k2b"):
        ragauge.evaluate(recorded(1, 0), ["faithfulness"], out=tmp_path, name=name)
    assert "-k2-" in find_run("k2", tmp_path).path.name


def test_a_value_changed_by_hand_is_named_not_averaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = ragauge.evaluate(recorded(1, 0), ["faithfulness"])
    text = run.directory.rows.read_text().replace('"faithfulness":{"value":1.0', '"faithfulness":{"value":7.5')
    run.directory.rows.write_text(text)
    with pytest.raises(StoreError, match="q0"):
        ragauge.open_run(run.path)
    with pytest.raises(SystemExit) as ended:
        main(["show"])
    assert ended.value.code == 2
    assert "outside its range" in capsys.readouterr().err


def test_a_terminal_without_unicode_gets_escapes_not_a_crash(tmp_path: Path) -> None:
    ragauge.evaluate(recorded(2, 0), ["faithfulness"], out=tmp_path / "runs")
    done = cli(tmp_path, "show", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert done.returncode == 0, done.stderr
    assert "faithfulness" in done.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_the_output_is_said(tmp_path: Path) -> None:
    ragauge.evaluate(recorded(2, 0), ["faithfulness"], out=tmp_path / "runs")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "ragauge", "show"], cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 2
    assert "no space left" in done.stderr
    assert "Traceback" not in done.stderr
