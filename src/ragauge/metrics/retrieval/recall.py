"""Recall at k: how much of what is relevant came back?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Level, Sample
from ragauge.core.score import Scored, Unscored
from ragauge.metrics.retrieval.judged import rank_score
from ragauge.ranking.measures import check_cutoff


@dataclass(frozen=True)
class Recall:
    """Share of the relevant ids that are among the first `k` (fraction, 0 to 1, higher is better).

    Formula: |relevant ∩ first k| / |relevant|; `k` None looks at the whole list.
    Level "doc" ranks unique documents, level "chunk" the chunks. Passages that are alternatives of one another count
    once.

    Edge cases: nothing retrieved 0; unanswerable item or no id with a grade above 0 `Unscored(no_relevant)`; no labels
    at this granularity `Unscored(no_labels)`; a system that does not say what it retrieved `Unscored(not_retrieved)`;
    an id that comes twice counts at its best rank.
    Source: trec_eval recall; Manning, Raghavan and Schütze (2008), chapter 8

    Example: retrieved [B, A, D, C, E], relevant {A, C}, k=3 → 1/2 = 0.5; k=5 → 2/2 = 1.
    """

    k: int | None = 5
    level: Level = "chunk"
    info: ClassVar[MetricInfo] = MetricInfo(
        name="recall",
        title="Recall",
        needs=frozenset({Need.CONTEXT, Need.LABELS}),
        uses=frozenset({Need.ANSWERABLE}),
        half="retrieval",
        source="trec_eval recall; Manning, Raghavan and Schütze (2008), chapter 8",
    )

    def __post_init__(self) -> None:
        check_cutoff(self.k)

    def score(self, sample: Sample) -> Scored | Unscored:
        """Count the relevant ids among the first k."""
        return rank_score("recall", sample, self.k, self.level)
