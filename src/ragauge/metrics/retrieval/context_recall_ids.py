"""Context recall by ids: is everything relevant in the context, wherever it stands?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Level, Sample
from ragauge.core.score import Scored, Unscored
from ragauge.metrics.retrieval.judged import rank_score


@dataclass(frozen=True)
class ContextRecallIds:
    """Share of the relevant ids that were retrieved at all (fraction, 0 to 1, higher is better).

    Formula: |relevant ∩ retrieved| / |relevant|, on sets: rank does not matter.
    Level "doc" ranks unique documents, level "chunk" the chunks. Passages that are alternatives of one another count
    once.

    Edge cases: nothing retrieved 0; unanswerable item or no id with a grade above 0 `Unscored(no_relevant)`; no labels
    at this granularity `Unscored(no_labels)`; a system that does not say what it retrieved `Unscored(not_retrieved)`;
    an id that comes twice counts at its best rank.
    Source: RAGAS id-based context recall

    Example: retrieved [B, A, D, C, E], relevant {A, C}, → 2/2 = 1.
    """

    level: Level = "chunk"
    info: ClassVar[MetricInfo] = MetricInfo(
        name="context_recall_ids",
        title="Context recall (ids)",
        needs=frozenset({Need.CONTEXT, Need.LABELS}),
        uses=frozenset({Need.ANSWERABLE}),
        half="retrieval",
        source="RAGAS id-based context recall",
    )

    def score(self, sample: Sample) -> Scored | Unscored:
        """Count the relevant ids in the whole list."""
        return rank_score("context_recall_ids", sample, None, self.level)
