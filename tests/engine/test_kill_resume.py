"""A run that is killed at any moment goes on where it stopped: the rows are those of an undisturbed run."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

N_QUESTIONS = 60
SYSTEM = """
import time
CALLS = open("calls.log", "a", buffering=1)

def answer(question):
    CALLS.write(question + "\\n")
    time.sleep(0.01)
    number = question.split()[-1]
    texts = [f"Option {number} has the value {int(number) * 7} MB.", "Nothing else matters."]
    return {"answer": f"The value is {int(number) * 7} MB [1].", "contexts": texts}
"""


def set_up(folder: Path) -> None:
    (folder / "mysystem.py").write_text(SYSTEM)
    items = [
        {
            "id": f"q{n}",
            "question": f"What is the value of option {n}",
            "answer": f"{n * 7} MB",
            "keywords": [f"{n * 7}"],
        }
        for n in range(N_QUESTIONS)
    ]
    (folder / "golden.json").write_text(json.dumps(items))
    settings = {
        "golden": "golden.json",
        "system": {"callable": {"function": "python:mysystem:answer"}},
        "metrics": ["faithfulness", "correctness", "keyword_hits", "token_f1", "abstention"],
        "run": {"concurrency": 4},
    }
    (folder / "ragauge.yaml").write_text(json.dumps(settings))


def start(folder: Path, *args: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ragauge", "run", "--quiet", "--json", *args]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


def rows(run: Path) -> list[dict[str, Any]]:
    """The rows without what differs from run to run: how long things took."""
    found = [json.loads(line) for line in (run / "rows.jsonl").read_text().splitlines()]
    for row in found:
        row.pop("used", None)
        row.pop("attempt", None)
        response = row["sample"]["response"]
        for name in ("total_ms", "generation_ms", "retrieval_ms"):
            response.pop(name, None)
    return sorted(found, key=lambda row: row["index"])


def undisturbed(folder: Path) -> list[dict[str, Any]]:
    process = start(folder, "--out", "whole")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return rows(
        Path(json.loads(out)["run"]) if Path(json.loads(out)["run"]).is_absolute() else folder / json.loads(out)["run"]
    )


def kill_and_resume(folder: Path, out: str, seed: int, n_kills: int) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    for attempt in range(n_kills):
        there = sorted((folder / out).glob("*/manifest.json")) if (folder / out).exists() else []
        process = start(folder, "--resume", str(there[0].parent)) if there else start(folder, "--out", out)
        # Anywhere from before the directory exists to the middle of the rows.
        time.sleep(draw.uniform(0.3, 2.0) if attempt else draw.uniform(0.8, 2.0))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    there = sorted((folder / out).glob("*/manifest.json"))
    process = start(folder, "--resume", str(there[0].parent)) if there else start(folder, "--out", out)
    printed, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    document = json.loads(printed)
    assert document["totals"]["n_rows"] == N_QUESTIONS
    assert document["totals"]["complete"]
    return rows(folder / document["run"])


def test_killed_three_times_the_rows_equal_those_of_an_undisturbed_run(tmp_path: Path) -> None:
    set_up(tmp_path)
    expected = undisturbed(tmp_path)
    assert len(expected) == N_QUESTIONS
    assert kill_and_resume(tmp_path, "killed", seed=1, n_kills=3) == expected


@pytest.mark.slow
def test_killed_twenty_times_at_random_moments_no_row_is_lost_and_none_is_there_twice(tmp_path: Path) -> None:
    set_up(tmp_path)
    expected = undisturbed(tmp_path)
    n_kills = 0
    for seed in range(5):
        assert kill_and_resume(tmp_path, f"killed{seed}", seed=seed, n_kills=4) == expected
        n_kills += 4
    assert n_kills == 20


def test_a_finished_run_that_is_resumed_asks_nothing_again(tmp_path: Path) -> None:
    set_up(tmp_path)
    process = start(tmp_path, "--limit", "5", "--out", "once")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    n_calls = len((tmp_path / "calls.log").read_text().splitlines())
    again = start(tmp_path, "--resume", json.loads(out)["run"])
    printed, err = again.communicate(timeout=120)
    assert again.returncode == 0, err
    assert json.loads(printed)["summary"] == json.loads(out)["summary"]
    assert len((tmp_path / "calls.log").read_text().splitlines()) == n_calls == 5


def test_a_resumed_run_whose_golden_set_changed_is_refused(tmp_path: Path) -> None:
    set_up(tmp_path)
    process = start(tmp_path, "--limit", "3", "--out", "once")
    out, _ = process.communicate(timeout=120)
    golden = json.loads((tmp_path / "golden.json").read_text())
    golden[0]["answer"] = "something else"
    (tmp_path / "golden.json").write_text(json.dumps(golden))
    again = start(tmp_path, "--resume", json.loads(out)["run"])
    _, err = again.communicate(timeout=120)
    assert again.returncode == 2
    assert "cannot resume" in err
    assert "the golden set" in err


def test_errors_are_asked_again_only_when_told_to(tmp_path: Path) -> None:
    set_up(tmp_path)
    down = "    if question.endswith(' 2') and not os.path.exists('mended'): raise OSError('down')\n"
    (tmp_path / "mysystem.py").write_text(
        SYSTEM.replace("import time", "import os, time").replace("    number =", down + "    number =")
    )
    process = start(tmp_path, "--limit", "4", "--out", "once")
    out, err = process.communicate(timeout=120)
    run = json.loads(out)["run"]
    assert process.returncode == 0, err
    assert json.loads(out)["totals"]["n_failed_rows"] == 1
    assert json.loads(out)["summary"]["faithfulness"]["unscored"] == {"system_failed": 1}
    (tmp_path / "mended").touch()
    plain, _ = start(tmp_path, "--resume", run).communicate(timeout=120)
    assert json.loads(plain)["totals"]["n_failed_rows"] == 1
    retried, _ = start(tmp_path, "--resume", run, "--retry-errors").communicate(timeout=120)
    assert json.loads(retried)["totals"]["n_failed_rows"] == 0
    assert json.loads(retried)["totals"]["n_rows"] == 4
    assert len((tmp_path / "calls.log").read_text().splitlines()) == 5
