"""The JSON documents of `run`, `score` and `show` (shapes: docs/reference/json.md; additions allowed)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ragauge.core.run import Finding, Manifest, MetricResult, Record, Summary
from ragauge.core.score import Scored, Unscored
from ragauge.core.verdict import Verdict


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


def row_documents(records: Iterable[Record]) -> Iterable[dict[str, Any]]:
    """Each row as `{"id", "question", "answer", "contexts", "metrics", …}`, one at a time."""
    for record in records:
        yield row_document(record)


def row_document(record: Record) -> dict[str, Any]:
    """One row."""
    sample = record.sample
    context = sample.response.context
    return {
        "id": sample.item.id,
        "index": record.index,
        "repeat": sample.repeat,
        "question": sample.item.question,
        "answer": sample.response.answer,
        "reference": sample.item.answer,
        "tags": list(sample.item.tags),
        "contexts": None
        if context is None
        else [
            {"id": c.id, "document": c.document, "rank": c.rank, "score": c.score, "text": c.text}
            for c in context.chunks
        ],
        "labels": sample.labels.model_dump(mode="json", exclude_none=True),
        "metrics": {key: score_document(score) for key, score in record.scores.items()},
        "error": record.error,
        "warnings": list(record.warnings),
    }


def score_document(score: Scored | Unscored) -> dict[str, Any]:
    """`{"value", "count", "verdicts", "details"}` or `{"unscored": REASON, "kind", "detail"}`."""
    if isinstance(score, Unscored):
        return {"unscored": score.reason.value, "kind": score.kind.value, "detail": score.detail}
    return {
        "value": score.value,
        "count": score.count,
        "verdicts": [verdict_document(verdict) for verdict in score.verdicts],
        "details": score.details,
    }


def verdict_document(verdict: Verdict) -> dict[str, Any]:
    """`{"id", "claim", "label", "evidence", "quote", "reason", "probability"}`."""
    return verdict.model_dump(mode="json")
