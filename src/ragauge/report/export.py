"""A run as a table of rows × metrics, as one JSON document, as Markdown for a pull request or a wiki."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from ragauge.core.run import Finding, Manifest, MetricResult, Record, Summary
from ragauge.core.score import Scored, Unscored
from ragauge.report import markdown
from ragauge.report.document import run_document
from ragauge.report.row_document import row_document
from ragauge.report.words import by_reason, count, counts, duration_ms, interval, number, threshold
from ragauge.stats.intervals import SAMPLING_ONLY

_MARK = {"good": "✓", "below": "·", "broken": "✗", "none": ""}
#: Worst rows that the Markdown names for each metric.
N_WORST = 5


def column_types(manifest: Manifest) -> dict[str, str]:
    """The columns of a table of rows, in order, each with its type: text, number, whole or texts."""
    columns = {
        "id": "text", "index": "whole", "repeat": "whole", "question": "text", "answer": "text", "reference": "text",
        "tags": "texts", "retrieved": "texts", "documents": "texts", "error": "text", "warnings": "texts",
    }  # fmt: skip
    for spec in manifest.metrics:
        columns |= {spec.key: "number", f"{spec.key}:count": "whole", f"{spec.key}:unscored": "text"}
    return columns | {
        "retrieval_ms": "number", "generation_ms": "number", "total_ms": "number", "tokens_in": "whole",
        "tokens_out": "whole", "cost_usd": "number", "judge_calls": "whole", "judge_cost_usd": "number",
    }  # fmt: skip


def table_rows(manifest: Manifest, records: Iterable[Record]) -> Iterator[dict[str, Any]]:
    """One flat row for each record. `METRIC` is the value or empty, `METRIC:count` its denominator, `METRIC:unscored`
    why it is empty; nothing is left out.
    """
    for record in records:
        yield _row(manifest, record)


def _row(manifest: Manifest, record: Record) -> dict[str, Any]:
    sample, response = record.sample, record.sample.response
    context = response.context
    row: dict[str, Any] = {
        "id": sample.item.id,
        "index": record.index,
        "repeat": sample.repeat,
        "question": sample.item.question,
        "answer": response.answer,
        "reference": sample.item.answer,
        "tags": list(sample.item.tags),
        "retrieved": None if context is None else [chunk.id for chunk in context],
        "documents": None if context is None else context.documents,
        "error": record.error,
        "warnings": list(record.warnings),
    }
    for spec in manifest.metrics:
        score = record.scores.get(spec.key)
        row[spec.key] = score.value if isinstance(score, Scored) else None
        row[f"{spec.key}:count"] = score.count if isinstance(score, Scored) else None
        row[f"{spec.key}:unscored"] = score.reason.value if isinstance(score, Unscored) else None
    judged = [used.usage for used in record.used.values()]
    costs = [usage.cost_usd for usage in judged if usage.cost_usd is not None]
    return row | {
        "retrieval_ms": response.retrieval_ms,
        "generation_ms": response.generation_ms,
        "total_ms": response.total_ms,
        "tokens_in": response.usage.tokens_in,
        "tokens_out": response.usage.tokens_out,
        "cost_usd": response.usage.cost_usd,
        "judge_calls": sum(usage.calls for usage in judged),
        "judge_cost_usd": sum(costs) if costs else None,
    }


def json_lines(records: Iterable[Record]) -> Iterator[str]:
    """Each row in full (contexts, verdicts, reasons) as one line of JSON."""
    for record in records:
        yield json.dumps(row_document(record), ensure_ascii=False, allow_nan=False) + "\n"


def json_parts(
    path: Path, manifest: Manifest, summary: Summary, findings: Sequence[Finding], records: Iterable[Record]
) -> Iterator[str]:
    """One JSON document (that of `show --json --rows`) in pieces, so that the rows need not fit in memory."""
    head = json.dumps(run_document(path, manifest, summary, findings), ensure_ascii=False, allow_nan=False, indent=2)
    yield head[: head.rindex("\n}")] + ',\n  "rows": ['
    for place, line in enumerate(json_lines(records)):
        yield ("," if place else "") + "\n    " + line.rstrip("\n")
    yield "\n  ]\n}\n"


def run_markdown(
    manifest: Manifest, summary: Summary, findings: Sequence[Finding], questions: Mapping[str, str] | None = None
) -> str:
    """The run for a pull request or a wiki: what was run, the metrics, what to do, the worst questions."""
    blocks: list[list[str]] = [[markdown.marker(f"run-{manifest.dataset.name}")], _head(manifest, summary)]
    blocks.append([*_metric_table(summary), ""])
    blocks.append([*_under(manifest, summary), ""])
    if findings:
        blocks.append(["### Diagnosis", "", *_findings(findings), ""])
    worst = list(_worst(summary, questions or {}))
    if worst:
        blocks.append(markdown.details("Worst questions by metric", worst))
    return markdown.fitted(blocks)


def _head(manifest: Manifest, summary: Summary) -> list[str]:
    t = markdown.text
    judge = manifest.judge
    failed = f", {count(summary.n_failed_rows, 'failed row')}" if summary.n_failed_rows else ""
    model = f" (model {judge.model})" if judge is not None and judge.model else ""
    return [
        f"## {t(manifest.run)}",
        "",
        f"{count(summary.n_rows, 'row')} from {t(manifest.dataset.name)}{failed}; system {t(manifest.system.name)}; "
        f"judge {t(f'{judge.name} {judge.version}{model}') if judge is not None else 'none'}.",
        *([] if summary.complete else ["", "> ⚠️ This run is not finished."]),
        "",
    ]


def _metric_table(summary: Summary) -> list[str]:
    head = ("metric", "value", "95 % interval", "n", "threshold", "not scored")
    rows = [_cells(result) for result in summary.metrics.values()]
    return markdown.table(head, rows, right=(1, 2, 3))


def _cells(result: MetricResult) -> list[str]:
    arrow = " ↓" if result.better == "lower" else ""
    return [
        f"`{result.key}`{arrow}",
        f"{_MARK[result.verdict]} {number(result.value)}".strip(),
        interval(result.estimate),
        str(result.n),
        threshold(result),
        counts(result.unscored),
    ]


def _under(manifest: Manifest, summary: Summary) -> Iterator[str]:
    t = markdown.text
    yield "✓ reaches its threshold, · below it, ✗ past the point where something is broken, ↓ lower is better."
    if manifest.judge is not None:
        yield f"Judge: {t(manifest.judge.agreement or 'its agreement with people has not been measured.', 400)}"
    if summary.share_unverified:
        yield f"{summary.share_unverified:.0%} of the golden items are not verified by a person."
    if summary.latency_ms:
        times = (f"{name.replace('_', ' ')} {duration_ms(value)}" for name, value in summary.latency_ms.items())
        yield f"Latency: {', '.join(times)}."
    for why, keys in by_reason(manifest.skipped_metrics).items():
        yield f"Not computed: {', '.join(f'`{key}`' for key in keys)}: {t(why)}."
    for note in (*manifest.notes, *summary.notes):
        yield t(note, 400)
    yield f"_{SAMPLING_ONLY}_"


def _findings(findings: Sequence[Finding]) -> Iterator[str]:
    t = markdown.text
    for place, finding in enumerate(findings, start=1):
        yield f"{place}. **{t(finding.diagnosis, 300)}** ({finding.half}). {t(finding.cause, 500)}"
        yield f"   Try first: {t(finding.try_first, 500)}"
        yield f"   Check: {t(finding.check, 500)}"


def _worst(summary: Summary, questions: Mapping[str, str]) -> Iterator[str]:
    t = markdown.text
    for key, result in summary.metrics.items():
        if result.worst:
            named = (
                t(item, 60) + (f" ({t(questions[item], 100)})" if item in questions else "")
                for item in islice(result.worst, N_WORST)
            )
            yield f"- `{key}`: " + "; ".join(named)
