"""Answered without relevant context: nothing relevant was retrieved, and the system answered all the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.judge import Judge
from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.errors import Reason
from ragauge.metrics.context.relevance import relevant, relevant_by_labels
from ragauge.metrics.decision import decide
from ragauge.metrics.settle import retrieved


@dataclass(frozen=True)
class AnsweredWithoutContext:
    """1 when no retrieved chunk is relevant and the system still answered, else 0 (rate, lower is better).

    Such an answer comes from the model's memory or from nowhere, even when it happens to be right. A chunk is relevant
    by its label (grade 1 or more; chunk labels first, else document labels). Without labels: nothing is relevant for an
    unanswerable item or where nothing was retrieved; otherwise the judge is asked about usefulness, if there is one.

    Edge cases: refusal 0; a partial answer counts as answered; blank answer `Unscored(no_answer)`; neither labels nor
    judge `Unscored(no_labels)`.
    Cost: none with labels; else one judge call, shared with context precision when judge replies are remembered.
    Source: the "right answer from memory" case of RAG error analysis.

    Example: gold {a}, retrieved [x, y], answer "It is 42." → 1; answer "I don't know." → 0.
    """

    judge: Judge | None = None
    info: ClassVar[MetricInfo] = MetricInfo(
        name="answered_without_context",
        title="Answered without relevant context",
        needs=frozenset({Need.ANSWER, Need.CONTEXT}),
        uses=frozenset({Need.LABELS, Need.ANSWERABLE, Need.JUDGE, Need.CONTEXT_TEXT, Need.REFERENCE}),
        better="lower",
        kind="rate",
        half="both",
        source="answered questions whose retrieved chunks are all irrelevant",
    )

    async def score(self, sample: Sample) -> Scored | Unscored:
        """See whether anything relevant came back, then whether the system answered."""
        decision = decide(sample)
        if decision is None or decision.kind == "no_answer":
            return unscored(Reason.NO_ANSWER, "the system gave no answer")
        chunks = retrieved(sample)
        if isinstance(chunks, Unscored):
            return chunks
        by = "labels"
        found = relevant_by_labels(sample, chunks)
        if found is None and (not chunks or sample.item.answerable is False):
            found, by = dict.fromkeys((chunk.id for chunk in chunks), False), "rule"
        if found is None and self.judge is None:
            return unscored(Reason.NO_LABELS, "no relevance labels, and no judge to ask instead")
        if found is None and self.judge is not None:
            found, by = await relevant(self.judge, sample, chunks)
        n_relevant = sum((found or {}).values())
        return Scored(
            value=float(n_relevant == 0 and decision.answered),
            count=1,
            details={"n_relevant": n_relevant, "relevant_by": by, "decision": decision.kind},
        )
