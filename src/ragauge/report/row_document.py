"""One row of a run as JSON: what was asked, answered and retrieved, and every score."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ragauge.core.model import Model
from ragauge.core.run import Record
from ragauge.core.sample import Labels
from ragauge.core.score import Kind, Scored, Unscored
from ragauge.core.verdict import Verdict
from ragauge.errors import Reason


class RowChunk(Model):
    """One retrieved chunk. `rank` counts from 1; `score` is the retriever's own, higher is better."""

    id: str
    document: str | None
    rank: int
    score: float | None
    text: str


class RowScore(Model):
    """A metric's value on this row. `count`: of how many claims, chunks or labels; `verdicts`: one for each of them."""

    value: float
    count: int
    verdicts: tuple[Verdict, ...]
    details: dict[str, Any]


class RowUnscored(Model):
    """Why a metric has no value on this row. `kind`: not_applicable, error or skipped; `detail` in words."""

    unscored: Reason
    kind: Kind
    detail: str


class RowDocument(Model):
    """One row. `index`: its place in the input, from 0; `repeat` counts from 0; `reference`: the golden answer.

    `contexts` null: the system does not say what it retrieved. `labels`: gold ids with grades, those levels of which
    something is known. `error`: why the system gave no response at all.
    """

    id: str
    index: int
    repeat: int
    question: str
    answer: str | None
    reference: str | None
    tags: tuple[str, ...]
    contexts: tuple[RowChunk, ...] | None
    labels: Labels
    metrics: dict[str, RowScore | RowUnscored]
    error: str | None
    warnings: tuple[str, ...]


class RowsDocument(Model):
    """What `ragauge show --row ID --json` prints; the schema in the documentation is this one.

    `run`: the run's directory; `rows`: every repeat of that row.
    """

    run: str
    rows: tuple[RowDocument, ...]


def row_documents(records: Iterable[Record]) -> Iterable[dict[str, Any]]:
    """Each row as `{"id", "question", "answer", "contexts", "metrics", …}`, one at a time."""
    for record in records:
        yield row_document(record)


def row_document(record: Record) -> dict[str, Any]:
    """One row as plain data; levels of which nothing is known are left out of its labels."""
    row = row_of(record)
    return row.model_dump(mode="json", exclude={"labels": _unknown(row)})


def rows_document(run: Path, records: Iterable[Record]) -> dict[str, Any]:
    """A `RowsDocument` as plain data."""
    made = RowsDocument(run=str(run), rows=tuple(row_of(record) for record in records))
    unknown = {place: {"labels": _unknown(row)} for place, row in enumerate(made.rows)}
    return made.model_dump(mode="json", exclude={"rows": unknown})


def _unknown(row: RowDocument) -> set[str]:
    return {name for name in Labels.model_fields if getattr(row.labels, name) is None}


def row_of(record: Record) -> RowDocument:
    """One row."""
    sample = record.sample
    context = sample.response.context
    return RowDocument(
        id=sample.item.id,
        index=record.index,
        repeat=sample.repeat,
        question=sample.item.question,
        answer=sample.response.answer,
        reference=sample.item.answer,
        tags=sample.item.tags,
        contexts=None
        if context is None
        else tuple(
            RowChunk(id=c.id, document=c.document, rank=c.rank, score=c.score, text=c.text) for c in context.chunks
        ),
        labels=sample.labels,
        metrics={key: score_of(score) for key, score in record.scores.items()},
        error=record.error,
        warnings=record.warnings,
    )


def score_of(score: Scored | Unscored) -> RowScore | RowUnscored:
    """One score."""
    if isinstance(score, Unscored):
        return RowUnscored(unscored=score.reason, kind=score.kind, detail=score.detail)
    return RowScore(value=score.value, count=score.count, verdicts=score.verdicts, details=score.details)
