"""Hit rate at k: did anything relevant come back?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Level, Sample
from ragauge.core.score import Scored, Unscored
from ragauge.metrics.retrieval.judged import rank_score
from ragauge.ranking.measures import check_cutoff


@dataclass(frozen=True)
class HitRate:
    """Whether any relevant id is among the first `k` (0 or 1, higher is better); trec_eval's success.

    Formula: 1 if relevant ∩ first k is not empty, else 0.
    Level "doc" ranks unique documents, level "chunk" the chunks. Passages that are alternatives of one another count
    once.

    Edge cases: nothing retrieved 0; unanswerable item or no id with a grade above 0 `Unscored(no_relevant)`; no labels
    at this granularity `Unscored(no_labels)`; a system that does not say what it retrieved `Unscored(not_retrieved)`;
    an id that comes twice counts at its best rank.
    Source: trec_eval success

    Example: retrieved [B, A, D, C, E], relevant {A, C}, k=5 → A at rank 2 → 1.
    """

    k: int | None = 5
    level: Level = "chunk"
    info: ClassVar[MetricInfo] = MetricInfo(
        name="hit_rate",
        title="Hit rate",
        needs=frozenset({Need.CONTEXT, Need.LABELS}),
        uses=frozenset({Need.ANSWERABLE}),
        kind="rate",
        half="retrieval",
        source="trec_eval success",
    )

    def __post_init__(self) -> None:
        check_cutoff(self.k)

    def score(self, sample: Sample) -> Scored | Unscored:
        """Look for any relevant id among the first k."""
        return rank_score("hit_rate", sample, self.k, self.level)
