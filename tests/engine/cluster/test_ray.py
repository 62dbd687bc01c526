"""Runs on a real Ray: the rows of a local run, whoever dies meanwhile; limits and budgets that hold for all workers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ragauge.testing.fake_llm import FakeLLMServer

pytest.importorskip("ray", reason="Ray is not installed (extra ray)")
pytestmark = pytest.mark.slow

METRICS = "faithfulness,context_precision,answer_relevance"
_started: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def nothing_goes_on() -> Iterator[None]:
    """A test that fails leaves no Ray behind that slows down all others."""
    yield
    while _started:
        process = _started.pop()
        if process.poll() is None:
            process.terminate()
            process.communicate(timeout=120)


def triples(folder: Path, n: int) -> Path:
    file = folder / f"triples{n}.jsonl"
    with file.open("w") as out:
        for number in range(n):
            fact = f"The agent of case {number} listens on port {8000 + number}."
            chunks = [{"id": f"{number}-{place}", "text": f"{fact} Rule {place} holds."} for place in range(3)]
            sample = {"id": f"q{number}", "question": f"Which port has the agent of case {number}?"}
            out.write(json.dumps(sample | {"answer": f"{fact} It sings at night.", "contexts": chunks}) + "\n")
    return file


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "ragauge", *arguments]
    variables = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    variables.pop("RAY_ADDRESS", None)
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command, cwd=folder, stdout=pipe, stderr=pipe, text=True, start_new_session=True, env=variables
    )
    _started.append(process)
    return process


def finished(process: subprocess.Popen[str], code: int = 0) -> dict[str, Any]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == code, err
    document: dict[str, Any] = json.loads(out)
    assert "ray" not in err.lower().replace("starting workers on ray", "").replace("ray_run", ""), err
    return document


def rows(folder: Path, document: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows without what differs from run to run: how long things took, and what came from the cache."""
    found = [json.loads(line) for line in (folder / document["run"] / "rows.jsonl").read_text().splitlines()]
    for row in found:
        row.pop("used", None)
        for name in ("total_ms", "generation_ms", "retrieval_ms"):
            row["sample"]["response"].pop(name, None)
    return sorted(found, key=lambda row: row["index"])


def descendants(pid: int) -> list[int]:
    """Every process below `pid`, from /proc."""
    below: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
            below.setdefault(parent, []).append(int(entry.name))
    found, todo = [], [pid]
    while todo:
        todo += (children := below.get(todo.pop(), []))
        found += children
    return found


def workers(pid: int) -> list[int]:
    """The actors that make rows."""
    found = []
    for one in descendants(pid):
        try:
            if b"ray::Worker" in Path(f"/proc/{one}/cmdline").read_bytes():
                found.append(one)
        except OSError:
            continue
    return sorted(found)


def wait_for(what: Callable[[], Any], seconds: float = 180) -> Any:
    until = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < until, "it did not come in time"
        time.sleep(0.05)
    return found


def gone(pids: list[int]) -> bool:
    return not any(Path(f"/proc/{pid}").exists() and "Z" not in state(pid) for pid in pids)


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


@pytest.fixture
def server() -> Iterator[FakeLLMServer]:
    with FakeLLMServer(latency_ms=250) as running:
        yield running


def settings(server: FakeLLMServer, **judge: Any) -> str:
    return json.dumps({"name": f"compatible:fake@{server.openai_url}", "client": "raw", **judge})


def score(folder: Path, file: Path, server: FakeLLMServer, *more: str, **judge: Any) -> subprocess.Popen[str]:
    (folder / "ragauge.yaml").write_text(json.dumps({"judge": json.loads(settings(server, **judge))}))
    return start(folder, "score", str(file), "--metrics", METRICS, "--json", "--quiet", *more)


def test_two_workers_are_killed_and_the_rows_are_those_of_a_local_run_within_the_limits(
    tmp_path: Path, server: FakeLLMServer
) -> None:
    file = triples(tmp_path, 30)
    local = finished(score(tmp_path, file, server, "--out", "local", cache=False, concurrency=64))
    server.reset()
    limits = {"requests_per_minute": 600, "concurrency": 64, "cache": "replies.sqlite"}
    process = score(tmp_path, file, server, "--out", "ray_run", "--executor", "ray", "--workers", "4", **limits)
    for n_rows in (5, 15):
        wait_for(lambda: sum(len(f.read_text().splitlines()) for f in tmp_path.glob("ray_run/*/rows.jsonl")) >= n_rows)  # noqa: B023
        os.kill(workers(process.pid)[0], signal.SIGKILL)
    everybody = descendants(process.pid)
    on_ray = finished(process)
    assert rows(tmp_path, on_ray) == rows(tmp_path, local)
    for key, found in local["summary"].items():
        for name in ("value", "low", "high", "n", "unscored"):
            assert on_ray["summary"][key][name] == found[name], (key, name)
    # A full bucket (one second's worth) and what flows in during the window; this server may note arrivals late.
    arrivals = [seen.at for seen in server.seen]
    for place, at in enumerate(arrivals):
        assert sum(at <= other < at + 4 for other in arrivals[place:]) <= 10 + 10 * (4 + 1)
    assert len(arrivals) <= 10 + 10 * (arrivals[-1] - arrivals[0] + 1)
    assert server.counts.busiest_minute <= 600
    assert len(arrivals) >= 90
    wait_for(lambda: gone(everybody))


def test_a_budget_is_one_for_all_workers_and_the_run_goes_on_locally(tmp_path: Path, server: FakeLLMServer) -> None:
    file = triples(tmp_path, 20)
    process = score(tmp_path, file, server, "--executor", "ray", "--workers", "3", "--budget-calls", "30")
    ended = finished(process, code=3)
    n_asked = server.counts.requests
    assert n_asked <= 30
    assert 0 < ended["totals"]["n_rows"] < 20
    whole = finished(
        start(tmp_path, "score", "--resume", ended["run"], "--budget-calls", "1000", "--executor", "local", "--json")
    )
    assert whole["totals"]["n_rows"] == 20
    assert whole["totals"]["complete"]
    assert server.counts.requests < n_asked + 20 * 4  # nothing that had been paid for was paid for again


def test_a_429_on_one_worker_slows_all(tmp_path: Path) -> None:
    with FakeLLMServer(latency_ms=50, max_concurrent=4, retry_after_s=0.3) as strict:
        file = triples(tmp_path, 12)
        document = finished(score(tmp_path, file, strict, "--executor", "ray", "--workers", "2", cache=False))
        assert document["totals"]["n_failed_rows"] == 0
        assert document["summary"]["faithfulness"]["n"] == 12
        assert 0 < strict.counts.by_status[429] < 40


POISON = """
import os, signal, time

def answer(question):
    time.sleep(0.02)
    if question.endswith(" 13") and os.environ.get("RAGAUGE_TEST_POISON"):
        os.kill(os.getpid(), signal.SIGKILL)
    return {"answer": f"It is {question.split()[-1]} MB [1].", "contexts": [f"It is {question.split()[-1]} MB."]}
"""


def test_a_question_that_kills_every_worker_is_an_error_row_and_no_other_is_lost(tmp_path: Path) -> None:
    (tmp_path / "mysystem.py").write_text(POISON)
    items = [{"id": f"q{n}", "question": f"What is option {n}", "answer": f"{n} MB"} for n in range(40)]
    (tmp_path / "golden.json").write_text(json.dumps(items))
    written = {"golden": "golden.json", "system": {"callable": {"function": "python:mysystem:answer"}}}
    run = {"executor": "ray", "workers": 2, "concurrency": 2}
    metrics = ["faithfulness", "token_f1"]
    (tmp_path / "ragauge.yaml").write_text(json.dumps(written | {"metrics": metrics, "run": run}))
    os.environ["RAGAUGE_TEST_POISON"] = "1"
    try:
        process = start(tmp_path, "run", "--json", "--quiet")
    finally:
        del os.environ["RAGAUGE_TEST_POISON"]
    document = finished(process)
    assert document["totals"]["n_rows"] == 40
    assert document["totals"]["n_failed_rows"] == 1
    lost = [row for row in rows(tmp_path, document) if row.get("error")]
    assert [row["sample"]["item"]["id"] for row in lost] == ["q13"]
    assert document["summary"]["faithfulness"]["unscored"] == {"worker_lost": 1}
    again = start(
        tmp_path, "run", "--json", "--quiet", "--resume", document["run"], "--retry-errors", "--executor", "local"
    )
    assert finished(again)["totals"]["n_failed_rows"] == 0


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_nothing_of_ray_is_left_when_the_driver_is_stopped(
    tmp_path: Path, server: FakeLLMServer, how: signal.Signals
) -> None:
    process = score(tmp_path, triples(tmp_path, 200), server, "--executor", "ray", "--workers", "2")
    wait_for(lambda: sum(len(f.read_text().splitlines()) for f in tmp_path.glob("runs/*/rows.jsonl")) > 2)
    everybody = descendants(process.pid)
    assert len(workers(process.pid)) == 2
    if how is signal.SIGINT:
        os.killpg(process.pid, how)  # as a terminal does: the whole group gets it
    else:
        os.kill(process.pid, how)
    process.communicate(timeout=120)
    assert process.returncode != 0
    wait_for(lambda: gone(everybody))


def test_an_address_that_nobody_listens_at_is_one_line_and_no_run(tmp_path: Path, server: FakeLLMServer) -> None:
    process = score(tmp_path, triples(tmp_path, 2), server, "--executor", "ray://127.0.0.1:9", "--out", "none")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 3
    assert "Ray at ray://127.0.0.1:9 cannot be reached: Connection refused" in err
    assert "Traceback" not in err
    assert not (tmp_path / "none").exists()


def test_the_cells_of_a_sweep_use_one_ray_one_after_the_other(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    for number in range(4):
        (tmp_path / "docs" / f"d{number}.md").write_text(f"# Option {number}\n\nOption {number} is {number} MB.\n")
    items = [{"id": f"q{n}", "question": f"What is option {n}?", "sources": [f"d{n}.md"]} for n in range(4)]
    (tmp_path / "golden.json").write_text(json.dumps(items))
    base = {"golden": "golden.json", "corpus": "docs", "judge": "none", "run": {"executor": "ray", "workers": 2}}
    base["system"] = {"reference": {"retrieval": "bm25", "generator": "none"}}
    base["metrics"] = ["recall@1:doc"]
    grid = {"grid": {"system.reference.k": [1, 2]}, "quality": "recall@1:doc"}
    (tmp_path / "ragauge.yaml").write_text(json.dumps(base | {"sweep": grid}))
    finished(start(tmp_path, "sweep", "ragauge.yaml", "--json", "--quiet"))
    found = [len(file.read_text().splitlines()) for file in tmp_path.rglob("rows.jsonl")]
    assert found == [4, 4]
