"""Average precision: are the relevant ids at the top?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Level, Sample
from ragauge.core.score import Scored, Unscored
from ragauge.metrics.retrieval.judged import rank_score
from ragauge.ranking.measures import check_cutoff


@dataclass(frozen=True)
class AveragePrecision:
    """Precision at the rank of every relevant id, averaged over all of them (0 to 1, higher is better). Mean: MAP.

    Formula: Σ precision@i over relevant ranks i (up to `k`) / |relevant|; what never came back counts 0.
    Level "doc" ranks unique documents, level "chunk" the chunks. Passages that are alternatives of one another count
    once.

    Edge cases: nothing retrieved 0; unanswerable item or no id with a grade above 0 `Unscored(no_relevant)`; no labels
    at this granularity `Unscored(no_labels)`; a system that does not say what it retrieved `Unscored(not_retrieved)`;
    an id that comes twice counts at its best rank.
    Source: trec_eval map and map_cut

    Example: retrieved [B, A, D, C, E], relevant {A, C}, → (1/2 + 2/4) / 2 = 0.5.
    """

    k: int | None = None
    level: Level = "chunk"
    info: ClassVar[MetricInfo] = MetricInfo(
        name="average_precision",
        title="Average precision",
        needs=frozenset({Need.CONTEXT, Need.LABELS}),
        uses=frozenset({Need.ANSWERABLE}),
        half="retrieval",
        source="trec_eval map and map_cut",
    )

    def __post_init__(self) -> None:
        check_cutoff(self.k)

    def score(self, sample: Sample) -> Scored | Unscored:
        """Average the precision at every relevant rank."""
        return rank_score("average_precision", sample, self.k, self.level)
