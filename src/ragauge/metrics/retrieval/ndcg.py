"""Normalised discounted cumulative gain at k: are the best ids first?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Level, Sample
from ragauge.core.score import Scored, Unscored
from ragauge.metrics.retrieval.judged import rank_score
from ragauge.ranking.measures import check_cutoff
from ragauge.ranking.options import Options


@dataclass(frozen=True)
class NDCG:
    """Discounted gain of the first `k` divided by that of the best possible order (0 to 1, higher is better).

    Formula: DCG@k / ideal DCG@k; DCG = Σ gain(grade) / log2(rank + 1); the ideal order sorts all relevant ids by grade.
    `gain`: linear (the grade itself, trec_eval), exp (2^grade - 1), binary (1 for any relevant id).
    Level "doc" ranks unique documents, level "chunk" the chunks. Passages that are alternatives of one another count
    once.

    Edge cases: nothing retrieved 0; unanswerable item or no id with a grade above 0 `Unscored(no_relevant)`; no labels
    at this granularity `Unscored(no_labels)`; a system that does not say what it retrieved `Unscored(not_retrieved)`;
    an id that comes twice counts at its best rank.
    Source: Järvelin and Kekäläinen (2002); trec_eval ndcg_cut

    Example: retrieved [B, A, D, C, E], relevant {A, C}, k=5 → (1/log2 3 + 1/log2 5) / (1 + 1/log2 3) = 0.651.
    """

    k: int | None = 5
    level: Level = "chunk"
    gain: Literal["linear", "exp", "binary"] = "linear"
    info: ClassVar[MetricInfo] = MetricInfo(
        name="ndcg",
        title="nDCG",
        needs=frozenset({Need.CONTEXT, Need.LABELS}),
        uses=frozenset({Need.ANSWERABLE}),
        half="retrieval",
        source="Järvelin and Kekäläinen (2002); trec_eval ndcg_cut",
    )

    def __post_init__(self) -> None:
        check_cutoff(self.k)
        Options(gain=self.gain)  # refuses an unknown gain, with the nearest known one

    def score(self, sample: Sample) -> Scored | Unscored:
        """Compare the discounted gain with the best possible one."""
        return rank_score("ndcg", sample, self.k, self.level, gain=self.gain)
