"""The JSON document of `run`, `score` and `show` (shapes: docs/reference/json.md; additions allowed)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragauge.core.run import Finding, Manifest, MetricResult, Summary


def run_document(path: Path, manifest: Manifest, summary: Summary, findings: Sequence[Finding]) -> dict[str, Any]:
    """One run: where it is, what was run, what it amounts to, what to do."""
    totals = summary.model_dump(mode="json", exclude={"metrics"}, exclude_none=True)
    return {
        "run": str(path),
        "manifest": manifest.model_dump(mode="json", exclude_none=True),
        "summary": {key: metric_document(result) for key, result in summary.metrics.items()},
        "totals": totals,
        "diagnosis": [finding.model_dump(mode="json") for finding in findings],
    }


def metric_document(result: MetricResult) -> dict[str, Any]:
    """`{"value", "low", "high", "level", "n", "method", "unscored": {REASON: n}, …}`; value None: none scored."""
    estimate = result.estimate
    return {
        "value": result.value,
        "low": result.low,
        "high": result.high,
        "level": estimate.level if estimate else None,
        "n": result.n,
        "method": estimate.method if estimate else None,
        "n_asked": result.n_asked,
        "unscored": {reason.value: n for reason, n in result.unscored.items()},
        "parts": result.parts,
        "better": result.better,
        "half": result.half,
        "threshold": result.threshold,
        "verdict": result.verdict,
        "worst": list(result.worst),
        "usage": result.usage.model_dump(mode="json"),
        "noise": result.noise,
        "n_verdicts": result.n_verdicts,
        "n_uncertain": result.n_uncertain,
        "notes": list(result.notes),
    }
