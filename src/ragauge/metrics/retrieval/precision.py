"""Precision at k: how much of what came back is relevant?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Level, Sample
from ragauge.core.score import Scored, Unscored
from ragauge.metrics.retrieval.judged import position_score
from ragauge.ranking.measures import check_cutoff


@dataclass(frozen=True)
class Precision:
    """Relevant chunks among the first `k`, divided by `k` (fraction, 0 to 1, higher is better).

    Formula: |relevant ∩ first k| / k, even when fewer than k came back; `k` None divides by what came back.
    Positions are chunks at both levels; at level "doc" a chunk is relevant if its document is.

    Edge cases: nothing retrieved 0; unanswerable item or no id with a grade above 0 `Unscored(no_relevant)`; no labels
    at this granularity `Unscored(no_labels)`; a system that does not say what it retrieved `Unscored(not_retrieved)`;
    an id that comes twice counts at its best rank.
    Source: trec_eval P

    Example: retrieved [B, A, D, C, E], relevant {A, C}, k=5 → 2/5 = 0.4.
    """

    k: int | None = 5
    level: Level = "chunk"
    info: ClassVar[MetricInfo] = MetricInfo(
        name="precision",
        title="Precision",
        needs=frozenset({Need.CONTEXT, Need.LABELS}),
        uses=frozenset({Need.ANSWERABLE}),
        half="retrieval",
        source="trec_eval P",
    )

    def __post_init__(self) -> None:
        check_cutoff(self.k)

    def score(self, sample: Sample) -> Scored | Unscored:
        """Count the relevant chunks among the first k."""
        return position_score("precision", sample, self.k, self.level)


@dataclass(frozen=True)
class PrecisionRetrieved:
    """Relevant chunks among the first `k`, divided by the chunks that came back (fraction, 0 to 1, higher is better).

    Formula: |relevant ∩ first k| / min(k, retrieved): a system is not punished for returning few chunks.
    Positions are chunks at both levels; at level "doc" a chunk is relevant if its document is.

    Edge cases: nothing retrieved 0; unanswerable item or no id with a grade above 0 `Unscored(no_relevant)`; no labels
    at this granularity `Unscored(no_labels)`; a system that does not say what it retrieved `Unscored(not_retrieved)`;
    an id that comes twice counts at its best rank.
    Source: RAGAS id-based context precision; trec_eval set_P

    Example: retrieved [A, B], relevant {A, C}, k=5 → 1/2 = 0.5, where precision@5 is 1/5 = 0.2.
    """

    k: int | None = 5
    level: Level = "chunk"
    info: ClassVar[MetricInfo] = MetricInfo(
        name="precision_retrieved",
        title="Precision of what came back",
        needs=frozenset({Need.CONTEXT, Need.LABELS}),
        uses=frozenset({Need.ANSWERABLE}),
        half="retrieval",
        source="RAGAS id-based context precision; trec_eval set_P",
    )

    def __post_init__(self) -> None:
        check_cutoff(self.k)

    def score(self, sample: Sample) -> Scored | Unscored:
        """Count the relevant chunks among those that came back."""
        return position_score("precision_retrieved", sample, self.k, self.level)
