"""The JSON document of `run`, `score`, `demo` and `show` (shapes: docs/reference/json.md; additions allowed)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from ragauge.core.model import Model
from ragauge.core.run import Finding, Manifest, MetricResult, Summary
from ragauge.core.sample import Usage
from ragauge.errors import Reason
from ragauge.report.row_document import RowDocument


class MetricDocument(Model):
    """One metric over the run. `value` null: nothing could be scored, `unscored` says why (reason → how many rows).

    `low`/`high`: the interval at the confidence `level`, made by `method`; `n` rows were scored of `n_asked`, which is
    `n` and everything in `unscored`. `parts`: means of named parts; `worst`: ids of the worst rows; `usage`: what
    judging it used; `noise`: how much of the values' variance is the judge's, where things were judged more than once;
    `n_verdicts` carry a probability, of `n_uncertain` of them the judge is not sure.
    """

    value: float | None
    low: float | None
    high: float | None
    level: float | None
    n: int
    method: str | None
    n_asked: int
    unscored: dict[Reason, int]
    parts: dict[str, float]
    better: Literal["higher", "lower", "none"]
    half: Literal["retrieval", "generation", "both"]
    threshold: float | None
    verdict: Literal["good", "below", "broken", "none"]
    worst: tuple[str, ...]
    usage: Usage
    noise: dict[str, float]
    n_verdicts: int
    n_uncertain: int
    notes: tuple[str, ...]


class RunTotals(Summary):
    """The run as a whole: its summary without the metrics, which stand apart. Keys without a value are left out."""

    metrics: dict[str, MetricResult] = Field(default_factory=dict, exclude=True)


class RunDocument(Model):
    """What `run`, `score`, `demo` and `show` print with --json; the schema in the documentation is this one.

    `run`: its directory; `manifest`: everything that could change the numbers (keys without a value are left out);
    `summary`: metric key (name[@k][:chunk|:doc]) → its result. `calibration`: what people's labels say of the judge,
    there only where they were compared with it. `rows`: there only with --rows.
    """

    run: str
    manifest: Manifest
    summary: dict[str, MetricDocument]
    totals: RunTotals
    diagnosis: tuple[Finding, ...]
    calibration: str | None = None
    rows: tuple[RowDocument, ...] = ()


def run_document(path: Path, manifest: Manifest, summary: Summary, findings: Sequence[Finding]) -> dict[str, Any]:
    """One run as plain data: where it is, what was run, what it amounts to, what to do; without rows."""
    made = RunDocument(
        run=str(path),
        manifest=manifest,
        summary={key: metric_of(result) for key, result in summary.metrics.items()},
        totals=RunTotals(**dict(summary) | {"metrics": {}}),
        diagnosis=tuple(findings),
    )
    data = made.model_dump(mode="json", exclude={"calibration", "rows"})
    sparse = {name: getattr(made, name).model_dump(mode="json", exclude_none=True) for name in ("manifest", "totals")}
    return data | sparse


def metric_of(result: MetricResult) -> MetricDocument:
    """One metric."""
    estimate = result.estimate
    return MetricDocument(
        value=result.value,
        low=result.low,
        high=result.high,
        level=estimate.level if estimate else None,
        n=result.n,
        method=estimate.method if estimate else None,
        n_asked=result.n_asked,
        unscored=result.unscored,
        parts=result.parts,
        better=result.better,
        half=result.half,
        threshold=result.threshold,
        verdict=result.verdict,
        worst=result.worst,
        usage=result.usage,
        noise=result.noise,
        n_verdicts=result.n_verdicts,
        n_uncertain=result.n_uncertain,
        notes=result.notes,
    )
