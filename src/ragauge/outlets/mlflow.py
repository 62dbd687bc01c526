"""A run on disk as a run in MLflow: params, metrics with intervals, every row, the golden set, the report, traces.

    track_run(run, settings)         # Tracked(outcome="logged" | "already there" | "updated" | "failed", …)
    track_sweep(sweep, settings)     # a parent with every cell under it

What is logged carries the run's name and a hash of its rows: an upload that was interrupted goes on, a run that grew is
updated, one that is there is left alone. A configuration is one LoggedModel and a golden set one EvaluationDataset,
shared by their runs. Whatever goes wrong is an outcome: the run on disk is the truth, and can be logged later.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from ragauge.analysis.summarise import summarise
from ragauge.analysis.thresholds import Thresholds
from ragauge.core.model import Model
from ragauge.core.run import Manifest, Record, Summary
from ragauge.diagnose.counterfactuals import read_counterfactuals
from ragauge.diagnose.diagnosis import diagnose_rows
from ragauge.diagnose.matrix import diagnose
from ragauge.errors import MissingExtra, RagaugeError
from ragauge.outlets.http import without_secrets
from ragauge.outlets.mlflow_artifacts import ARTIFACTS, TABLE, write_artifacts
from ragauge.outlets.mlflow_names import TAG, metrics, mlflow_key, params, rows_sha256
from ragauge.outlets.mlflow_session import Session, session
from ragauge.outlets.mlflow_traces import Target, log_traces, wanted
from ragauge.outlets.tracking_settings import MlflowSettings
from ragauge.report.export import run_markdown
from ragauge.report.html_view import row_check
from ragauge.store.rundir import RunDir
from ragauge.store.sweepdir import SweepDir

RUN, ROWS, SWEEP = "ragauge.run", "ragauge.rows_sha256", "ragauge.sweep"
#: Golden sets beyond this are not copied into MLflow; their hash is in the params.
MOST_ITEMS = 5000
_BATCH = 100
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Tracked:
    """What became of an upload. `why` holds no secret. `url`: where to look, where a server is."""

    run: str
    outcome: Literal["logged", "already there", "updated", "failed"]
    why: str = ""
    experiment_id: str | None = None
    run_id: str | None = None
    url: str | None = None
    n_traces: int = 0


class TrackDocument(Model):
    """What `ragauge track --json` prints, in the order of the uploads; the schema in the documentation is this one."""

    tracked: tuple[Tracked, ...]


def track_run(run: RunDir, settings: MlflowSettings, progress: Progress | None = None) -> Tracked:
    """Log one run. Raises `MissingExtra` only."""
    return _guarded(run.manifest.run, settings, lambda open_: _track(open_, run, settings, progress=progress))


def track_sweep(sweep: SweepDir, settings: MlflowSettings, progress: Progress | None = None) -> list[Tracked]:
    """Log a sweep's parent, then every cell under it."""
    name = sweep.manifest.sweep
    parent = _guarded(name, settings, lambda open_: _parent(open_, sweep, settings))
    found = [parent]
    if parent.run_id is None:
        return found
    for cell, run in sorted(sweep.runs().items()):
        extra = {"mlflow.parentRunId": parent.run_id, SWEEP: name, "ragauge.cell": cell}
        label = sweep.manifest.cell(cell).label

        def one(open_: Session, run: RunDir = run, extra: Mapping[str, str] = extra, label: str = label) -> Tracked:
            return _track(open_, run, settings, tags=extra, name=label, progress=progress)

        found.append(_guarded(run.manifest.run, settings, one))
    return found


def _guarded(name: str, settings: MlflowSettings, work: Callable[[Session], Tracked]) -> Tracked:
    """MLflow, its database and its server can fail in any way: none of them may take a finished run down with it."""
    try:
        with session(settings) as open_:
            return work(open_)
    except MissingExtra:
        raise
    except RagaugeError as error:
        return Tracked(name, "failed", error.message)
    except Exception as error:
        return Tracked(name, "failed", without_secrets(f"{type(error).__name__}: {error}", settings.uri))


def _track(
    open_: Session,
    run: RunDir,
    settings: MlflowSettings,
    *,
    tags: Mapping[str, str] | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> Tracked:
    with _alone(run.path):
        mark = rows_sha256(run.rows) if run.rows.exists() else "none"
        before = _find(open_, RUN, run.manifest.run)
        if before is not None and before.data.tags.get(ROWS) == mark:
            n_traces = int(before.data.tags.get("ragauge.n_traces", "0"))
            return _tracked(open_, run.manifest.run, "already there", before.info.run_id, n_traces)
        tell = progress or (lambda _: None)
        summary = summarise(run.manifest, run.records())
        outcomes = _outcomes(run)
        model = _model(open_, run.manifest)
        made = before or _create(open_, run, settings, tags or {}, name)
        run_id = made.info.run_id
        _numbers(open_, made, run, summary, _counted(outcomes), model)
        tell("rows and report")
        _artifacts(open_, run_id, run, summary, settings)
        _dataset(open_, made, run)
        _input(open_, made, model)
        keys = wanted(settings.traces, outcomes)
        tell(f"{len(keys)} traces")
        chosen = ((record, outcomes[record.key]) for record in run.records() if record.key in keys)
        n_traces = log_traces(open_, Target(run_id, model, run.manifest), chosen, lambda n: tell(f"{n} traces written"))
        open_.client.set_terminated(run_id, "FINISHED" if summary.complete else "KILLED", _ended(run))
        if n_traces < len(keys):
            why = f"MLflow took {n_traces} of {len(keys)} traces; `ragauge track` tries the others again"
            return Tracked(run.manifest.run, "failed", why, open_.experiment, run_id, open_.address(run_id), n_traces)
        open_.client.set_tag(run_id, "ragauge.n_traces", str(n_traces))
        open_.client.set_tag(run_id, ROWS, mark)  # last: only what is whole counts as there
        return _tracked(open_, run.manifest.run, "updated" if before is not None else "logged", run_id, n_traces)


def _tracked(open_: Session, name: str, outcome: Any, run_id: str, n_traces: int = 0) -> Tracked:
    return Tracked(name, outcome, "", open_.experiment, run_id, open_.address(run_id), n_traces)


def _find(open_: Session, tag: str, value: str) -> Any:
    quoted = value.replace("'", "")
    found = open_.client.search_runs([open_.experiment], filter_string=f"tags.`{tag}` = '{quoted}'", max_results=1)
    return found[0] if found else None


def _create(open_: Session, run: RunDir, settings: MlflowSettings, tags: Mapping[str, str], name: str | None) -> Any:
    manifest = run.manifest
    given = {RUN: manifest.run, "mlflow.source.name": f"ragauge {manifest.command}", "mlflow.source.type": "JOB"}
    if manifest.commit:
        given["mlflow.source.git.commit"] = manifest.commit
    given |= {mlflow_key(key): value[:TAG] for key, value in settings.tags.items()}
    return open_.client.create_run(
        open_.experiment, start_time=_ms(manifest.created), tags={**given, **tags}, run_name=name or manifest.run
    )


def _numbers(
    open_: Session, made: Any, run: RunDir, summary: Summary, counted: Mapping[str, int], model: str | None
) -> None:
    from mlflow.entities import Metric, Param, RunTag

    run_id, now = made.info.run_id, _ended(run)
    known = made.data.params
    new = [Param(key, value) for key, value in params(run.manifest).items() if key not in known]
    for start in range(0, len(new), _BATCH):
        open_.client.log_batch(run_id, params=new[start : start + _BATCH])
    values = [
        Metric(key, value, now, 0, model_id=model) if model is not None else Metric(key, value, now, 0)
        for key, value in metrics(summary, counted).items()
    ]
    for start in range(0, len(values), _BATCH):
        open_.client.log_batch(run_id, metrics=values[start : start + _BATCH])
    note = run_markdown(run.manifest, summary, diagnose(summary))
    open_.client.log_batch(run_id, tags=[RunTag("mlflow.note.content", note[:TAG]), _table_tag()])


def _table_tag() -> Any:
    """MLflow's page and `load_table` find tables by this."""
    import json

    from mlflow.entities import RunTag

    return RunTag("mlflow.loggedArtifacts", json.dumps([{"path": f"{ARTIFACTS}/{TABLE}", "type": "table"}]))


def _artifacts(open_: Session, run_id: str, run: RunDir, summary: Summary, settings: MlflowSettings) -> None:
    with tempfile.TemporaryDirectory(prefix="ragauge-mlflow-") as folder:
        write_artifacts(run, summary, Path(folder), report=settings.report)
        open_.client.log_artifacts(run_id, folder, ARTIFACTS)


def _model(open_: Session, manifest: Manifest) -> str | None:
    """One LoggedModel for each configuration: the system's settings, whichever runs it was in."""
    client, tag = open_.client, "ragauge.system_sha256"
    if not hasattr(client, "create_logged_model"):
        return None
    mark = manifest.system.fingerprint
    found = client.search_logged_models([open_.experiment], filter_string=f"tags.`{tag}` = '{mark}'", max_results=1)
    if found:
        return str(found[0].model_id)
    given = {key: value for key, value in params(manifest).items() if key.startswith("system.")}
    tags = {tag: mark} | ({"git_sha": manifest.commit} if manifest.commit else {})
    name = mlflow_key(manifest.system.name).replace("/", "-").replace(":", "-").replace(".", "-") or "system"
    made = client.create_logged_model(open_.experiment, name=name, tags=tags, params=given, model_type="rag")
    client.finalize_logged_model(made.model_id, "READY")
    return str(made.model_id)


def _input(open_: Session, made: Any, model: str | None) -> None:
    """The run is one of this model's."""
    if model is None or any(one.model_id == model for one in made.inputs.model_inputs):
        return
    from mlflow.entities import LoggedModelInput

    open_.client.log_inputs(made.info.run_id, models=[LoggedModelInput(model_id=model)])


def _dataset(open_: Session, made: Any, run: RunDir) -> None:
    """The golden set as an EvaluationDataset, one for each fingerprint; MLflow marks all of this as experimental."""
    try:
        from mlflow.entities import DatasetInput, InputTag
        from mlflow.genai.datasets import create_dataset, search_datasets
    except ImportError:
        return
    info = run.manifest.dataset
    items = {record.sample.item.id: record.sample.item for record in run.records()}
    if not items or len(items) > MOST_ITEMS:
        return
    name, mark = f"{info.name[:120]} {info.fingerprint}", info.fingerprint
    quoted = name.replace("'", "")
    found = search_datasets(experiment_ids=[open_.experiment], filter_string=f"name = '{quoted}'")
    dataset = next((one for one in found if one.tags.get("ragauge.sha256") == mark), None)
    if dataset is None:
        tags = {"ragauge.sha256": mark, "schema": "1"}
        dataset = create_dataset(name=quoted, experiment_id=open_.experiment, tags=tags)
    dataset.merge_records([_golden(item) for item in items.values()])  # by question: nothing twice
    if not any(one.dataset.name == quoted for one in made.inputs.dataset_inputs):
        entity = dataset._to_mlflow_entity()
        open_.client.log_inputs(made.info.run_id, [DatasetInput(entity, [InputTag("mlflow.data.context", "eval")])])


def _golden(item: Any) -> dict[str, Any]:
    expected: dict[str, Any] = {}
    if item.answer is not None:
        expected["expected_response"] = item.answer
    if item.claims:
        expected["expected_facts"] = list(item.claims)
    documents = item.sources or tuple({e.document: None for group in item.evidence or () for e in group.any})
    if documents:
        expected["expected_retrieved_context"] = [{"doc_uri": document} for document in documents]
    return {"inputs": {"question": item.question}, "expectations": expected, "tags": {"ragauge.item_id": item.id[:200]}}


def _parent(open_: Session, sweep: SweepDir, settings: MlflowSettings) -> Tracked:
    manifest = sweep.manifest
    with _alone(sweep.path):
        before = _find(open_, SWEEP + ".parent", manifest.sweep)
        tags = {SWEEP + ".parent": manifest.sweep, "mlflow.source.name": "ragauge sweep", "mlflow.source.type": "JOB"}
        tags |= {mlflow_key(key): value[:TAG] for key, value in settings.tags.items()}
        made = before or open_.client.create_run(
            open_.experiment, start_time=_ms(manifest.created), tags=tags, run_name=manifest.sweep
        )
        run_id = made.info.run_id
        if before is None:
            given = {"knobs": ", ".join(manifest.knobs), "n_cells": str(len(manifest.cells)), "base": manifest.base}
            for key, value in given.items():
                open_.client.log_param(run_id, key, value[:6000])
        for file in sorted(path for path in sweep.path.iterdir() if path.is_file() and path.name[0] != "."):
            if file.suffix in (".json", ".csv", ".md", ".svg"):
                open_.client.log_artifact(run_id, str(file), ARTIFACTS)
        table = sweep.path / "table.md"
        if table.is_file():
            open_.client.set_tag(run_id, "mlflow.note.content", table.read_text(encoding="utf-8")[:TAG])
        open_.client.set_terminated(run_id, "FINISHED")
        return _tracked(open_, manifest.sweep, "already there" if before is not None else "logged", run_id)


def _outcomes(run: RunDir) -> dict[tuple[str, int], str]:
    """Every row's outcome, as the page counts it."""
    manifest = run.manifest
    thresholds = Thresholds.model_validate(manifest.thresholds) if manifest.thresholds else Thresholds()
    found = diagnose_rows(manifest, run.records, read_counterfactuals(run.path))
    causes = {(row.id, row.repeat): row for row in found.rows}

    def outcome(record: Record) -> str:
        return row_check(record, thresholds, causes.get(record.key)).outcome

    return {record.key: outcome(record) for record in run.records()}


def _counted(outcomes: Mapping[tuple[str, int], str]) -> dict[str, int]:
    found = {"good": 0, "bad": 0, "unknown": 0}
    for outcome in outcomes.values():
        found[outcome] += 1
    return found


def _ms(moment: str) -> int:
    return int(datetime.fromisoformat(moment).timestamp() * 1000)


def _ended(run: RunDir) -> int:
    """When the last row was written: uploading is not part of the run."""
    last = run.rows.stat().st_mtime if run.rows.exists() else run.path.stat().st_mtime
    return max(int(last * 1000), _ms(run.manifest.created))


@contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One upload of a run at a time on this machine, so that two at once do not both find nothing there."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)
