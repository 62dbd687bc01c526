"""`ragauge sweep`: cells, shared indexes, resume, the table."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner
from tests.cli.documents import said

from ragauge.cli.sweep import command
from ragauge.errors import RunError, SettingsError, StoreError
from ragauge.store.sweepdir import SweepDir
from ragauge.testing import FakeLLMServer

TOPICS = ("retention", "replication", "backup", "quota", "timeout")


def write_example(folder: Path, **sweep: object) -> Path:
    """Corpus, golden set, settings and sweep.yaml (JSON is YAML) in `folder`; the path of sweep.yaml."""
    corpus = folder / "corpus"
    corpus.mkdir(parents=True)
    for place, topic in enumerate(TOPICS):
        sections = "\n\n".join(
            f"## {topic.title()} {part}\n\nThe {topic} {part} setting is {place * 10 + n} seconds. "
            f"Change it in the {topic} file, then restart the agent so that the {part} value is read again."
            for n, part in enumerate(("limit", "delay", "window"))
        )
        (corpus / f"{topic}.md").write_text(f"# {topic.title()}\n\n{sections}\n")
    golden = [
        {
            "id": f"{topic}-{part}",
            "question": f"What is the {topic} {part} setting?",
            "answer": f"{place * 10 + n} seconds",
            "evidence": [
                {"document": f"{topic}.md", "quote": f"The {topic} {part} setting is {place * 10 + n} seconds."}
            ],
            "keywords": [str(place * 10 + n)],
            "answerable": True,
            "tags": ["lookup"],
        }
        for place, topic in enumerate(TOPICS)
        for n, part in enumerate(("limit", "delay", "window"))
    ]
    (folder / "golden.json").write_text(json.dumps(golden))
    settings = {
        "golden": "golden.json",
        "corpus": "corpus",
        "system": {"reference": {"chunk_overlap": 0, "retrieval": "dense", "embedding_cache": str(folder / "vectors")}},
        "judge": "none",
        "metrics": ["recall@1", "ndcg@5", "keyword_hits"],
        "run": {"concurrency": 4},
    }
    (folder / "ragauge.yaml").write_text(json.dumps(settings))
    section = {
        "base": "ragauge.yaml",
        "grid": {"system.reference.k": [1, 3, 5], "system.reference.chunk_size": [120, 400]},
        "quality": "ndcg@5:chunk",
    }
    file = folder / "sweep.yaml"
    file.write_text(json.dumps(section | sweep))
    return file


def sweep(*args: str) -> dict[str, Any]:
    result = CliRunner().invoke(command, [*args, "--quiet", "--json"], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return json.loads(result.stdout) | {"exit_code": result.return_value}


def test_the_table_is_printed_as_the_schema_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_example(tmp_path, grid={"system.reference.k": [1, 3]})
    printed = said(capsys, "sweep", "sweep", file, "--out", tmp_path / "runs", "--quiet")
    assert [cell.state for cell in printed.cells] == ["complete", "complete"]
    assert Path(printed.path).is_dir()


def numbers(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The table without what differs from sweep to sweep: paths, and how long things took."""
    return [
        {
            "id": cell["id"],
            "label": cell["label"],
            "state": cell["state"],
            "metrics": cell["metrics"],
            "rank": cell["rank"],
            "p_shortlist": cell["p_shortlist"],
        }
        for cell in document["cells"]
    ]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("sweep")
    file = write_example(folder)
    return file, sweep(str(file), "--out", str(folder / "runs"), "--executor", "tasks", "--workers", "1")


def test_every_cell_is_a_run_and_every_index_is_built_once(undisturbed: tuple[Path, dict[str, Any]]) -> None:
    _, document = undisturbed
    assert document["exit_code"] == 0
    assert document["n_complete"] == 6
    assert {cell["state"] for cell in document["cells"]} == {"complete"}
    assert len({cell["index"] for cell in document["cells"]}) == 2
    assert document["n_indexes"] == document["n_index_builds"] == 2
    for cell in document["cells"]:
        assert (Path(cell["run"]) / "summary.json").is_file()
        manifest = json.loads((Path(cell["run"]) / "manifest.json").read_text())
        assert manifest["system"]["settings"]["store"] == "memory"
        assert manifest["settings"]["sweep"]["cell"] == cell["id"]


def test_the_table_lies_beside_the_cells_as_csv_markdown_json_and_pictures(
    undisturbed: tuple[Path, dict[str, Any]],
) -> None:
    _, document = undisturbed
    path = Path(document["path"])
    with (path / "table.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 6
    best = next(cell for cell in document["cells"] if cell["rank"] == 1)
    assert lines[0]["cell"] == best["id"]
    assert float(lines[0]["ndcg@5:chunk"]) == pytest.approx(best["metrics"]["ndcg@5:chunk"]["estimate"]["value"])
    assert (path / "table.md").read_text().startswith("## ")
    assert json.loads((path / "table.json").read_text())["cells"] == document["cells"]
    pictures = sorted(path.glob("*.svg"))
    assert any(picture.name.startswith("heatmap-ndcg-5-chunk") for picture in pictures)
    for picture in pictures:
        ElementTree.parse(picture)
        assert picture.name in (path / "table.md").read_text()


def test_larger_k_finds_more_and_it_says_so(undisturbed: tuple[Path, dict[str, Any]]) -> None:
    _, document = undisturbed
    values = {cell["label"]: cell["metrics"]["ndcg@5:chunk"]["estimate"]["value"] for cell in document["cells"]}
    assert values["k=5, chunk_size=400"] >= values["k=1, chunk_size=400"]
    assert document["recommendation"]


def test_a_finished_sweep_is_only_read_again(undisturbed: tuple[Path, dict[str, Any]]) -> None:
    _, document = undisturbed
    again = sweep("--resume", document["path"])
    assert numbers(again) == numbers(document)
    assert again["n_index_builds"] == 2


def test_the_quality_metric_can_be_chosen_afterwards(undisturbed: tuple[Path, dict[str, Any]]) -> None:
    _, document = undisturbed
    assert sweep("--resume", document["path"], "--quality", "keyword_hits")["quality"] == "keyword_hits"


def test_killed_half_way_and_resumed_it_gives_the_same_table(
    undisturbed: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    file, document = undisturbed
    out = tmp_path / "runs"
    arguments = [sys.executable, "-m", "ragauge", "sweep", str(file), "--out", str(out), "--executor", "processes"]
    process = subprocess.Popen(
        [*arguments, "--workers", "2"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    directory = kill_when(process, out, n_rows=25)
    assert 0 < count_rows(directory) < 6 * 15
    done = sweep("--resume", str(directory), "--executor", "tasks")
    assert done["exit_code"] == 0
    assert numbers(done) == numbers(document)
    assert done["n_index_builds"] == done["n_indexes"] == 2
    assert sum(1 for _ in (directory / "cells").glob("*/manifest.json")) == 6


def kill_when(process: subprocess.Popen[bytes], out: Path, *, n_rows: int) -> Path:
    """Kill the sweep (not its workers: they must notice) as soon as there are so many rows; its directory."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        found = list(out.glob("*/sweep.json"))
        if found and count_rows(found[0].parent) >= n_rows:
            process.send_signal(signal.SIGKILL)
            process.wait()
            wait_for_workers(process.pid)
            return found[0].parent
        time.sleep(0.01)
    pytest.fail(f"the sweep ended (exit code {process.poll()}) before it could be killed")


def wait_for_workers(group: int) -> None:
    """Until nobody of the killed sweep's session is left."""
    for _ in range(500):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.02)
    pytest.fail("worker processes outlive the sweep that started them")


def count_rows(directory: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in directory.glob("cells/*/rows.jsonl"))


def test_a_changed_golden_set_is_not_mixed_in(undisturbed: tuple[Path, dict[str, Any]], tmp_path: Path) -> None:
    file = write_example(
        tmp_path / "x", grid={"system.reference.k": [1, 3]}, set={"system.reference.retrieval": "bm25"}
    )
    first = sweep(str(file), "--out", str(tmp_path / "runs"))
    golden = file.parent / "golden.json"
    items = json.loads(golden.read_text())
    golden.write_text(json.dumps(items[:-1]))
    run = Path(first["cells"][1]["run"])
    rows = (run / "rows.jsonl").read_bytes().splitlines(keepends=True)
    (run / "rows.jsonl").write_bytes(b"".join(rows[:3]))
    with pytest.raises(StoreError, match=r"golden.json.* changed since"):
        sweep("--resume", first["path"])


def test_a_cell_that_cannot_be_made_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(
        "def answer(question):\n    return {'answer': '20 seconds', 'contexts': ['20']}\n"
    )
    file = write_example(
        tmp_path / "x",
        grid=None,
        cells=[{"system": {"callable": {"function": f"python:{name}:answer"}}} for name in ("good", "absent_module")],
        metrics=["keyword_hits"],
        quality="keyword_hits",
    )
    sys.path.insert(0, str(tmp_path))
    try:
        document = sweep(str(file), "--out", str(tmp_path / "runs"))
    finally:
        sys.path.remove(str(tmp_path))
    assert document["exit_code"] == 2
    assert [cell["state"] for cell in document["cells"]] == ["complete", "missing"]
    assert "absent_module" in document["cells"][1]["problem"]


def test_a_system_that_only_raises_leaves_failed_rows_and_exit_code_3(tmp_path: Path) -> None:
    (tmp_path / "raising.py").write_text("def answer(question):\n    raise KeyError('boom')\n")
    file = write_example(
        tmp_path / "x",
        grid={"run.seed": [0, 1]},
        set={"system": {"callable": {"function": "python:raising:answer"}}},
        metrics=["keyword_hits"],
        quality="keyword_hits",
    )
    sys.path.insert(0, str(tmp_path))
    try:
        document = sweep(str(file), "--out", str(tmp_path / "runs"), "--executor", "tasks")
    finally:
        sys.path.remove(str(tmp_path))
    assert document["exit_code"] == 3
    assert document["best"] is None
    assert document["cells"][0]["metrics"]["keyword_hits"]["unscored"] == {"system_failed": 15}


def test_the_winner_is_confirmed_on_questions_that_did_not_choose_it(tmp_path: Path) -> None:
    code = (
        "def right(question):\n    return {'answer': '0 1 2 10 11 12 20 21 22 30 31 32 40 41 42', 'contexts': ['x']}\n"
    )
    code += "def wrong(question):\n    return {'answer': 'none', 'contexts': ['x']}\n"
    (tmp_path / "both.py").write_text(code)
    cells = [{"system": {"callable": {"function": f"python:both:{name}"}}} for name in ("wrong", "right")]
    file = write_example(
        tmp_path / "x", grid=None, cells=cells, base_cell="c01", metrics=["keyword_hits"], quality="keyword_hits"
    )
    sys.path.insert(0, str(tmp_path))
    try:
        out = ("--out", str(tmp_path / "runs"))
        document = sweep(str(file), *out, "--confirm-split", "test", "--executor", "tasks")
    finally:
        sys.path.remove(str(tmp_path))
    confirmation = document["confirmation"]
    assert document["part"] == "dev"
    assert (confirmation["part"], confirmation["base"], confirmation["cell"]) == ("test", "c01", "c02")
    assert confirmation["verdict"] == "confirmed"
    assert document["n_questions"] + confirmation["n_questions"] == 15
    directory = SweepDir.open(document["path"])
    chosen_on = {item for run in directory.runs().values() for item in run.manifest.dataset.items}
    confirmed_on = {item for run in directory.runs(directory.confirm).values() for item in run.manifest.dataset.items}
    assert not chosen_on & confirmed_on
    assert any("Held-out questions" in line for line in document["recommendation"])
    assert sweep("--resume", document["path"])["confirmation"] == confirmation


def test_a_judge_behind_an_api_is_shared_and_asked_once_for_equal_answers(tmp_path: Path) -> None:
    """Cells that answer alike from the same chunks cost one cell's calls; the limit of the server holds for all."""
    told = "The retention limit setting is 0 seconds [1]."
    (tmp_path / "judged.py").write_text(
        f"def answer(question):\n    return {{'answer': {told!r} + question, 'contexts': [{told!r}]}}\n"
    )
    more = {
        "set": {"system": {"callable": {"function": "python:judged:answer"}}, "run.limit": 4},
        "metrics": ["faithfulness"],
        "quality": "faithfulness",
    }
    sys.path.insert(0, str(tmp_path))
    calls = []
    try:
        for name, seeds in (("one", [0]), ("three", [0, 1, 2])):
            with FakeLLMServer(max_concurrent=8) as server:
                judge = {"name": f"compatible:fake@{server.openai_url}", "concurrency": 4}
                cells = [{"system.callable.version": str(seed)} for seed in seeds]
                file = write_example(tmp_path / name, grid=None, cells=cells, judge=judge, **more)
                document = sweep(str(file), "--out", str(tmp_path / name / "runs"))
                assert document["n_complete"] == len(seeds)
                assert all(cell["metrics"]["faithfulness"]["estimate"]["n"] == 4 for cell in document["cells"])
                calls.append(server.counts.requests)
    finally:
        sys.path.remove(str(tmp_path))
    assert calls[0] == calls[1] > 0


def test_a_worker_that_dies_stops_the_sweep_which_can_be_resumed(tmp_path: Path) -> None:
    (tmp_path / "dying.py").write_text(
        "import os, pathlib\n"
        "def answer(question):\n"
        "    if not pathlib.Path(__file__).with_name('mended').exists():\n"
        "        os._exit(7)\n"
        "    return {'answer': '0', 'contexts': ['x']}\n"
    )
    more = {"set": {"system": {"callable": {"function": "python:dying:answer"}}}, "metrics": ["keyword_hits"]}
    file = write_example(tmp_path / "x", grid={"run.concurrency": [1, 2]}, quality="keyword_hits", **more)
    out = ("--out", str(tmp_path / "runs"))
    sys.path.insert(0, str(tmp_path))
    try:
        with pytest.raises(RunError, match=r"worker process ended \(exit code 7\)"):
            sweep(str(file), *out, "--executor", "processes", "--workers", "2")
        (tmp_path / "mended").touch()
        (directory,) = (tmp_path / "runs").iterdir()
        document = sweep("--resume", str(directory), "--executor", "processes", "--workers", "2")
    finally:
        sys.path.remove(str(tmp_path))
    assert (document["exit_code"], document["n_complete"]) == (0, 2)


def test_nothing_is_confirmed_on_the_questions_that_chose(undisturbed: tuple[Path, dict[str, Any]]) -> None:
    _, document = undisturbed
    with pytest.raises(SettingsError, match="held-out"):
        sweep("--resume", document["path"], "--confirm-split", "test")


def test_a_resumed_sweep_cannot_be_changed(undisturbed: tuple[Path, dict[str, Any]]) -> None:
    _, document = undisturbed
    with pytest.raises(SettingsError, match="--limit"):
        sweep("--resume", document["path"], "--limit", "3")


def test_secrets_are_struck_out_of_what_is_written(tmp_path: Path) -> None:
    file = write_example(
        tmp_path / "x",
        grid={"run.seed": [0, 1]},
        set={
            "system.reference.retrieval": "bm25",
            "alerts": {"channels": [{"webhook": "http://127.0.0.1:9/hook", "secret": "sk-very-secret"}]},
        },
    )
    document = sweep(str(file), "--out", str(tmp_path / "runs"), "--limit", "2", "--executor", "tasks")
    for path in Path(document["path"]).rglob("*.json"):
        assert "sk-very-secret" not in path.read_text()


@pytest.mark.slow
def test_45_cells_killed_half_way_and_resumed_give_the_same_table(tmp_path: Path) -> None:
    from ragauge.cli.demo import example_folder

    (tmp_path / "sweep.yaml").write_text(
        json.dumps(
            {
                "base": str(example_folder() / "ragauge.yaml"),
                "grid": {
                    "system.reference.k": [3, 4, 5, 8, 10],
                    "system.reference.retrieval": ["dense", "bm25", "hybrid"],
                    "system.reference.chunk_size": [400, 800, 1200],
                },
                "run": {"limit": 30},
            }
        )
    )
    arguments = [sys.executable, "-m", "ragauge", "sweep", "sweep.yaml", "--quiet", "--json"]
    whole = subprocess.run([*arguments, "--out", "whole"], cwd=tmp_path, capture_output=True, text=True)
    assert whole.returncode == 0, whole.stderr
    process = subprocess.Popen(
        [*arguments, "--out", "killed"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    directory = kill_when(process, tmp_path / "killed", n_rows=45 * 30 // 2)
    arguments = [sys.executable, "-m", "ragauge", "sweep", "--resume", str(directory), "--quiet", "--json"]
    resumed = subprocess.run(arguments, cwd=tmp_path, capture_output=True, text=True)
    assert resumed.returncode == 0, resumed.stderr
    expected, found = json.loads(whole.stdout), json.loads(resumed.stdout)
    assert len(found["cells"]) == found["n_complete"] == 45
    assert numbers(found) == numbers(expected)
    for document in (expected, found):
        assert document["n_indexes"] == document["n_index_builds"] == 3
