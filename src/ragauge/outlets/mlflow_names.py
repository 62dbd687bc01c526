"""A run in MLflow's words: keys it accepts, params, metrics, the table of rows. Nothing here needs MLflow."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from ragauge.core.model import fingerprint
from ragauge.core.run import Estimate, Manifest, MetricResult, Summary
from ragauge.core.score import kind_of
from ragauge.report.export import column_types, table_rows
from ragauge.store.rundir import RunDir

#: MLflow cuts longer values without a word.
PARAM, TAG, KEY = 6000, 8000, 250
_REFUSED = re.compile(r"[^\w\-. :/]")


def mlflow_key(name: str) -> str:
    """A key of a param or metric: MLflow refuses `@`, `|` and others.

    >>> mlflow_key("recall@5:doc/mean"), mlflow_key("a|b")
    ('recall_at_5:doc/mean', 'a_b')
    """
    return _REFUSED.sub("_", name.replace("@", "_at_"))[:KEY]


def params(manifest: Manifest) -> dict[str, str]:
    """What could change the numbers, flat. A value that is too long is replaced by its hash (the manifest, an
    artifact, has it whole).
    """
    found: dict[str, Any] = {
        "dataset.name": manifest.dataset.name,
        "dataset.sha256": manifest.dataset.fingerprint,
        "dataset.n_items": manifest.dataset.n_items,
        "system.name": manifest.system.name,
        "system.kind": manifest.system.kind,
        "system.model": manifest.system.model,
        "system.sha256": manifest.system.fingerprint,
        "seed": manifest.seed,
        "repeats": manifest.repeats,
        "ragauge": manifest.ragauge,
        "commit": manifest.commit,
        "metrics": ", ".join(spec.key for spec in manifest.metrics),
    }
    found |= {f"system.{key}": value for key, value in _flat(manifest.system.settings)}
    judge = manifest.judge
    if judge is not None:
        found |= {"judge.name": judge.name, "judge.model": judge.model, "judge.version": judge.version}
        found |= {"judge.sha256": judge.fingerprint}
        if judge.prompts:
            found["judge.prompt_sha"] = fingerprint(dict(judge.prompts))
            found |= {f"judge.prompt_sha.{task}": mark for task, mark in judge.prompts.items()}
    return {mlflow_key(key): _param(value) for key, value in found.items() if value is not None}


def metrics(summary: Summary, outcomes: Mapping[str, int]) -> dict[str, float]:
    """Means with intervals, how many were scored and why not, cost, latency; nothing for what was not measured."""
    found: dict[str, float] = {}
    counted: dict[str, float] = {}
    total: Counter[str] = Counter()
    for key, result in summary.metrics.items():
        status = _status(result)
        total.update(status)
        counted |= {f"{key}/{name}": float(n) for name, n in status.items()}
        if result.estimate is not None:
            found |= _estimate(key, result.estimate)
    # MLflow's page shows the first ones in its table: the means.
    found = dict(sorted(found.items(), key=lambda entry: not entry[0].endswith("/mean"))) | counted
    found |= {f"items/{name}": float(n) for name, n in total.items()}
    found |= {"rows/asked": float(summary.n_rows), "rows/failed": float(summary.n_failed_rows)}
    found |= {f"rows/{name}": float(n) for name, n in outcomes.items()}
    for who, usage in (("judge", summary.usage), ("system", summary.system_usage)):
        if usage.cost_usd is not None:
            found[f"cost/{who}_usd"] = usage.cost_usd
        if usage.calls or usage.cached_calls:
            found |= {f"usage/{who}_calls": float(usage.calls), f"usage/{who}_cached_calls": float(usage.cached_calls)}
            found |= {f"usage/{who}_tokens": float(usage.tokens_in + usage.tokens_out)}
    found |= {f"latency/{name}": value for name, value in summary.latency_ms.items()}
    return {mlflow_key(key): value for key, value in found.items()}


def write_table(run: RunDir, handle: IO[str]) -> None:
    """Every row in the form of MLflow's tables (`mlflow.load_table`); lists as JSON text."""
    columns = list(column_types(run.manifest))
    handle.write('{"columns": ' + json.dumps(columns) + ', "data": [')
    for place, row in enumerate(table_rows(run.manifest, run.records())):
        cells = [json.dumps(cell, ensure_ascii=False) if isinstance(cell, list) else cell for cell in row.values()]
        handle.write(("," if place else "") + "\n" + json.dumps(cells, ensure_ascii=False, allow_nan=False))
    handle.write("\n]}\n")


def rows_sha256(file: Path) -> str:
    """What the rows are now: an upload of the same bytes is not repeated."""
    digest = hashlib.sha256()
    with file.open("rb") as handle:
        while block := handle.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _estimate(key: str, estimate: Estimate) -> dict[str, float]:
    level = f"{100 * estimate.level:g}"
    found = {f"{key}/mean": estimate.value}
    if estimate.low is not None and estimate.high is not None:
        found |= {f"{key}/ci{level}_lo": estimate.low, f"{key}/ci{level}_hi": estimate.high}
    return found


def _status(result: MetricResult) -> dict[str, int]:
    counted: Counter[str] = Counter({"scored": result.n, "error": 0, "not_applicable": 0, "skipped": 0})
    for reason, n in result.unscored.items():
        counted[kind_of(reason).value] += n
    return dict(counted)


def _flat(value: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for key, entry in value.items():
        if isinstance(entry, Mapping):
            yield from _flat(entry, f"{before}{key}.")
        else:
            yield f"{before}{key}", entry


def _param(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= PARAM else f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"
