"""Which retrieved chunks are relevant: by labels where they are known, else by a judge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from ragauge.core.judge import Judge
from ragauge.core.sample import RetrievedChunk, Sample
from ragauge.metrics.verdicts import usefulness


def relevant_by_labels(sample: Sample, chunks: Sequence[RetrievedChunk]) -> dict[str, bool] | None:
    """Chunk id → whether its grade is at least 1: at chunk level if known, else at document level; None if neither."""
    grades = sample.labels.chunks
    if grades is not None:
        return {chunk.id: grades.get(chunk.id, 0) >= 1 for chunk in chunks}
    documents = sample.labels.documents
    if documents is not None:
        return {chunk.id: documents.get(chunk.document or chunk.id, 0) >= 1 for chunk in chunks}
    return None


async def relevant(
    judge: Judge, sample: Sample, chunks: Sequence[RetrievedChunk]
) -> tuple[dict[str, bool], Literal["labels", "judge"]]:
    """Chunk id → relevant or not, and who says so."""
    known = relevant_by_labels(sample, chunks)
    if known is not None:
        return known, "labels"
    verdicts = await usefulness(judge, sample.item.question, chunks, sample.item.answer)
    return {verdict.id: verdict.label == "useful" for verdict in verdicts}, "judge"
