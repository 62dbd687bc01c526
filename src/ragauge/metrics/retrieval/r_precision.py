"""R-precision: precision at the number of relevant ids."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Level, Sample
from ragauge.core.score import Scored, Unscored
from ragauge.metrics.retrieval.judged import rank_score


@dataclass(frozen=True)
class RPrecision:
    """Precision at R, where R is the number of relevant ids (fraction, 0 to 1, higher is better).

    Formula: |relevant ∩ first R| / R, even when fewer than R came back.
    Level "doc" ranks unique documents, level "chunk" the chunks. Passages that are alternatives of one another count
    once.

    Edge cases: nothing retrieved 0; unanswerable item or no id with a grade above 0 `Unscored(no_relevant)`; no labels
    at this granularity `Unscored(no_labels)`; a system that does not say what it retrieved `Unscored(not_retrieved)`;
    an id that comes twice counts at its best rank.
    Source: trec_eval Rprec

    Example: retrieved [B, A, D, C, E], relevant {A, C}, R = 2 → A among [B, A] → 1/2 = 0.5.
    """

    level: Level = "chunk"
    info: ClassVar[MetricInfo] = MetricInfo(
        name="r_precision",
        title="R-precision",
        needs=frozenset({Need.CONTEXT, Need.LABELS}),
        uses=frozenset({Need.ANSWERABLE}),
        half="retrieval",
        source="trec_eval Rprec",
    )

    def score(self, sample: Sample) -> Scored | Unscored:
        """Count the relevant ids among the first R."""
        return rank_score("r_precision", sample, None, self.level)
