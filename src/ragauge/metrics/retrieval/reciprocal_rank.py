"""Reciprocal rank: how far down is the first relevant id?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Level, Sample
from ragauge.core.score import Scored, Unscored
from ragauge.metrics.retrieval.judged import rank_score
from ragauge.ranking.measures import check_cutoff


@dataclass(frozen=True)
class ReciprocalRank:
    """1 / rank of the first relevant id (0 to 1, higher is better); its mean over questions is MRR.

    Formula: 1 / min rank of a relevant id; 0 when there is none, or none among the first `k` if `k` is given.
    Level "doc" ranks unique documents, level "chunk" the chunks. Passages that are alternatives of one another count
    once.

    Edge cases: nothing retrieved 0; unanswerable item or no id with a grade above 0 `Unscored(no_relevant)`; no labels
    at this granularity `Unscored(no_labels)`; a system that does not say what it retrieved `Unscored(not_retrieved)`;
    an id that comes twice counts at its best rank.
    Source: trec_eval recip_rank; Voorhees (1999), TREC-8 question answering

    Example: retrieved [B, A, D, C, E], relevant {A, C}, first at rank 2 → 1/2 = 0.5.
    """

    k: int | None = None
    level: Level = "chunk"
    info: ClassVar[MetricInfo] = MetricInfo(
        name="reciprocal_rank",
        title="Reciprocal rank",
        needs=frozenset({Need.CONTEXT, Need.LABELS}),
        uses=frozenset({Need.ANSWERABLE}),
        half="retrieval",
        source="trec_eval recip_rank; Voorhees (1999), TREC-8 question answering",
    )

    def __post_init__(self) -> None:
        check_cutoff(self.k)

    def score(self, sample: Sample) -> Scored | Unscored:
        """Find the first relevant id."""
        return rank_score("reciprocal_rank", sample, self.k, self.level)
