"""Context precision at k by ids: do the relevant chunks come before the others?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Level, Sample
from ragauge.core.score import Scored, Unscored
from ragauge.metrics.retrieval.judged import position_score
from ragauge.ranking.measures import check_cutoff


@dataclass(frozen=True)
class ContextPrecisionIds:
    """Precision at the rank of every relevant chunk that came back, averaged over these (0 to 1, higher is better).

    Formula: Σ precision@i over relevant ranks i up to `k` / |relevant among the first k|; 0 when there are none.
    It looks only at the order of what came back: 1 for one relevant chunk on top of nine that are not, with others
    never retrieved. Read it beside recall and precision.
    Positions are chunks at both levels; at level "doc" a chunk is relevant if its document is.

    Edge cases: nothing retrieved 0; unanswerable item or no id with a grade above 0 `Unscored(no_relevant)`; no labels
    at this granularity `Unscored(no_labels)`; a system that does not say what it retrieved `Unscored(not_retrieved)`;
    an id that comes twice counts at its best rank.
    Source: RAGAS context precision, on ids instead of verdicts

    Example: retrieved [B, A, D, C, E], relevant {A, C}, k=5 → (1/2 + 2/4) / 2 = 0.5.
    """

    k: int | None = 5
    level: Level = "chunk"
    info: ClassVar[MetricInfo] = MetricInfo(
        name="context_precision_ids",
        title="Context precision (ids)",
        needs=frozenset({Need.CONTEXT, Need.LABELS}),
        uses=frozenset({Need.ANSWERABLE}),
        half="retrieval",
        source="RAGAS context precision, on ids instead of verdicts",
    )

    def __post_init__(self) -> None:
        check_cutoff(self.k)

    def score(self, sample: Sample) -> Scored | Unscored:
        """Average the precision at the relevant ranks that came back."""
        return position_score("context_precision_ids", sample, self.k, self.level)
