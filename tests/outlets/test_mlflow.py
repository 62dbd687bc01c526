"""Runs in a real MLflow server: nothing twice, errors as errors, the page shows it; and nobody else is told."""

from __future__ import annotations

import os
import socket
import socketserver
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ragauge.analysis.thresholds import resolve_thresholds
from ragauge.core.score import Scored
from ragauge.core.verdict import Verdict
from ragauge.errors import Reason
from ragauge.outlets.tracking_settings import MlflowSettings
from ragauge.store.rundir import RunDir
from ragauge.store.sweepdir import SweepCell, SweepDir, SweepManifest
from ragauge.testing.runs import a_metric, a_run

pytestmark = pytest.mark.slow

EVIL = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """MLflow on this machine, with SQLite; its telemetry off as well."""
    pytest.importorskip("mlflow", reason="MLflow is not installed (extra mlflow)")
    folder = tmp_path_factory.mktemp("mlflow")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
        "--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", str(folder / "artifacts"),
    ]  # fmt: skip
    env = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log, start_new_session=True)
    url = f"http://127.0.0.1:{port}"
    try:
        _until_it_answers(f"{url}/health", process, folder / "log")
        yield url
    finally:
        os.killpg(process.pid, 9)  # it takes its time with anything gentler, and its folder goes anyway
        process.wait(30)


def _until_it_answers(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """A busy machine takes minutes to import MLflow."""
    for _ in range(960):
        assert process.poll() is None, log.read_text()
        try:
            urllib.request.urlopen(url, timeout=2).close()
        except OSError:
            time.sleep(0.25)
        else:
            return
    pytest.fail(f"MLflow does not answer: {log.read_text()}")


def made(base: Path, n: int = 6, name: str = "run", **more: Any) -> RunDir:
    """Good and bad rows, claims with verdicts, an error, hostile text."""
    verdicts = (
        Verdict(id="c1", claim=f"The sky is green. {EVIL}", label="contradicted", evidence="d1", reason="it says blue"),
    )
    values: dict[str, dict[str, Any]] = {}
    for i in range(n):
        faithful = Scored(value=0.0, count=1, verdicts=verdicts) if i % 2 else Scored(value=1.0)
        values[f"q{i}"] = {"faithfulness": faithful, "recall@5:doc": float(i % 3 > 0)}
    values["late"] = {"faithfulness": Reason.TIMED_OUT, "recall@5:doc": Reason.NO_LABELS}
    items = {
        key: {"question": f"Is {key} right? {EVIL}", "answer": "Yes [1].", "reference": "Yes.", "total_ms": 250.0,
              "retrieved": [("d1", "The sky is blue.")], "gold": "d1"}
        for key in values
    }  # fmt: skip
    metrics = [a_metric("faithfulness", needs={"judge"}, half="generation"), a_metric("recall@5:doc")]
    thresholds = resolve_thresholds({}).model_dump(mode="json")
    return a_run(base, values, items=items, metrics=metrics, thresholds=thresholds, name=name, **more)


def client(server: str) -> Any:
    import mlflow

    return mlflow.MlflowClient(tracking_uri=server)


def test_a_run_is_there_once_and_whole(server: str, tmp_path: Path) -> None:
    from ragauge.outlets.mlflow import track_run

    run = made(tmp_path)
    settings = MlflowSettings(uri=server, experiment="whole", tags={"team": "search"})
    told = track_run(run, settings)
    assert (told.outcome, told.why, told.n_traces) == ("logged", "", 7)
    assert told.url == f"{server}/#/experiments/{told.experiment_id}/runs/{told.run_id}"
    logged = client(server)
    found = logged.get_run(told.run_id)
    assert found.data.params["dataset.sha256"] == run.manifest.dataset.fingerprint
    assert found.data.tags["team"] == "search"
    numbers = found.data.metrics
    assert numbers["faithfulness/mean"] == 0.5
    assert numbers["faithfulness/ci95_lo"] < 0.5 < numbers["faithfulness/ci95_hi"]
    assert (numbers["faithfulness/error"], numbers["recall_at_5:doc/not_applicable"]) == (1, 1)
    names = {file.path.partition("/")[2] for file in logged.list_artifacts(told.run_id, "ragauge")}
    assert names == {"results.json", "manifest.json", "summary.json", "diagnosis.json", "report.md", "report.html"}
    assert len(found.inputs.dataset_inputs) == len(found.inputs.model_inputs) == 1
    import mlflow
    from mlflow.genai.datasets import get_dataset, search_datasets

    mlflow.set_tracking_uri(server)
    table = logged.load_table(told.experiment_id, "ragauge/results.json", run_ids=[told.run_id])
    assert list(table["id"]) == [record.sample.id for record in run.records()]
    (dataset,) = search_datasets(experiment_ids=[told.experiment_id], filter_string="name LIKE 'golden%'")
    assert len(get_dataset(dataset_id=dataset.dataset_id).to_df()) == 7
    traces = logged.search_traces(locations=[told.experiment_id], max_results=50)
    assert {trace.info.tags["ragauge.row"] for trace in traces} == {*(f"q{i}" for i in range(6)), "late"}
    of = {trace.info.tags["ragauge.row"]: trace for trace in traces}
    assert {one.name: one.error.error_code for one in of["late"].info.assessments if one.error} == {
        "faithfulness": "TIMED_OUT"
    }
    judged = {one.name: one for one in of["q1"].info.assessments}
    assert judged["faithfulness"].feedback.value == 0.0
    assert "contradicted: The sky is green." in judged["faithfulness"].rationale
    assert judged["expected_response"].expectation.value == "Yes."
    assert of["q1"].info.execution_duration == 250
    assert [span.name for span in of["q1"].data.spans] == ["rag", "retrieve"]
    assert not any("mlflow.trace.session" in trace.info.trace_metadata for trace in traces)

    assert track_run(run, settings).outcome == "already there"
    grown = next(run.records()).model_copy(update={"index": 99})
    item = grown.sample.item.model_copy(update={"id": "new", "question": "A new one?"})
    with run.writer() as writer:
        writer.append(grown.model_copy(update={"sample": grown.sample.model_copy(update={"item": item})})
                      .model_dump_json(exclude_none=True))  # fmt: skip
    again = track_run(run, settings)
    assert (again.outcome, again.run_id, again.n_traces) == ("updated", told.run_id, 8)
    assert len(logged.search_runs([told.experiment_id])) == 1
    assert len(logged.search_traces(locations=[told.experiment_id], max_results=50)) == 8
    assert len(logged.search_logged_models([told.experiment_id])) == 1
    assert len(search_datasets(experiment_ids=[told.experiment_id], filter_string="name LIKE 'golden%'")) == 1
    assert len(logged.load_table(told.experiment_id, "ragauge/results.json", run_ids=[told.run_id])) == 8


def test_a_sweep_is_a_parent_with_its_cells(server: str, tmp_path: Path) -> None:
    from ragauge.outlets.mlflow import track_sweep

    cells = tuple(SweepCell(id=f"c0{k}", label=f"k={k}", knobs={"k": k}) for k in (1, 2))
    manifest = SweepManifest(
        sweep="sweep-1", created="2026-01-31T10:12:03+00:00", ragauge="0", knobs=("k",), cells=cells, base="c01"
    )
    sweep = SweepDir.create(tmp_path, manifest)
    for cell in cells:
        run = made(sweep.cells, 2, name=cell.id)
        mark = run.manifest.model_copy(update={"settings": {"sweep": {"cell": cell.id}}})
        (run.path / "manifest.json").write_text(mark.model_dump_json(exclude_none=True), encoding="utf-8")
    settings = MlflowSettings(uri=server, experiment="sweep", traces="none", report=False)
    told = track_sweep(sweep, settings)
    assert [one.outcome for one in told] == ["logged"] * 3
    runs = client(server).search_runs([told[0].experiment_id])
    parents = {run.info.run_name: run.data.tags.get("mlflow.parentRunId") for run in runs}
    assert parents == {"sweep-1": None, "k=1": told[0].run_id, "k=2": told[0].run_id}
    assert [one.outcome for one in track_sweep(sweep, settings)] == ["already there"] * 3


def test_a_server_that_is_down_costs_one_line_and_the_run_is_logged_later(server: str, tmp_path: Path) -> None:
    from click.testing import CliRunner

    from ragauge.cli.main import cli

    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"id": "q", "question": "Who?", "answer": "Ada.", "reference_answer": "Ada."}\n')
    config = tmp_path / "ragauge.yaml"
    config.write_text("tracking: {mlflow: {uri: 'http://ada:hunter2@127.0.0.1:9', experiment: later}}\n")
    args = ["score", str(answers), "--config", str(config), "--out", str(tmp_path / "runs"), "--metrics", "exact_match"]
    done = CliRunner().invoke(cli, [*args, "--json"], standalone_mode=False)
    assert done.return_value == 0, done.output
    assert done.stderr.count("NOT logged: nobody answers at http://ada:***@127.0.0.1:9") == 1
    assert "hunter2" not in done.output
    assert done.stdout.startswith("{\n")
    where = done.stderr.strip().splitlines()[-1]
    assert f"ragauge track {where}" in done.stderr
    assert not any("hunter2" in file.read_text("utf-8", "replace") for file in Path(where).iterdir())
    tracked = CliRunner().invoke(cli, ["track", where, "--uri", server, "--experiment", "later"], standalone_mode=False)
    assert tracked.return_value == 0, tracked.output
    assert " logged, 1 traces" in tracked.stderr


def test_nobody_else_is_told(tmp_path: Path) -> None:
    """In a process of its own, without the variables that MLflow takes for a test, behind a proxy that notes all."""
    pytest.importorskip("mlflow", reason="MLflow is not installed (extra mlflow)")
    asked: list[str] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            asked.append(self.rfile.readline(2000).decode("latin-1").strip())

    run = made(tmp_path, 2)
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as proxy:
        proxy.daemon_threads = True
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{proxy.server_address[1]}"
        named = ("PYTEST", "CI", "GITHUB", "GITLAB", "MLFLOW", "DO_NOT", "NO_PROXY", "no_proxy")
        env = {name: value for name, value in os.environ.items() if not name.startswith(named)}
        env |= dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), address)
        command = [sys.executable, "-m", "ragauge", "track", str(run.path), "--uri", f"sqlite:///{tmp_path}/m.db"]
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120)
        proxy.shutdown()
    assert done.returncode == 0, done.stderr
    assert "logged, 3 traces" in done.stderr
    assert done.stdout == ""
    assert asked == []


def test_the_page_shows_runs_metrics_table_and_report(server: str, tmp_path: Path, chromium: Any) -> None:
    from ragauge.outlets.mlflow import track_run

    told = track_run(made(tmp_path, 8), MlflowSettings(uri=server, experiment="page"))
    assert told.outcome == "logged"
    base = f"{server}/#/experiments/{told.experiment_id}"
    page = chromium.new_page(viewport={"width": 1400, "height": 900})

    def look(path: str, *texts: str, frame: bool = False) -> None:
        page.goto("about:blank")
        page.goto(f"{base}/{path}")
        place = page.frame_locator("iframe") if frame else page
        for text in texts:
            place.get_by_text(text).first.wait_for(timeout=90_000)
        shots = os.environ.get("RAGAUGE_SCREENSHOTS")
        if shots:
            page.wait_for_timeout(1500)
            page.screenshot(path=f"{shots}/mlflow-{path.rpartition('/')[2].split('.')[0][:12]}.png")

    look("evaluation-runs", "2026-01-31T10-12-03-run")
    look(f"runs/{told.run_id}", "faithfulness/mean", "faithfulness/ci95_lo")
    look(f"runs/{told.run_id}/traces", "Is q1 right? <img src=x")
    look(f"runs/{told.run_id}/artifacts/ragauge/results.json", "recall@5:doc", "Is q1 right? <img src=x")
    look(f"runs/{told.run_id}/artifacts/ragauge/report.html", "Diagnosis", "Is q1 right? <img src=x", frame=True)
    assert "owned" not in page.title()
    page.close()
