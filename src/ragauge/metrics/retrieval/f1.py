"""F1 at k: precision and recall in one number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Level, Sample
from ragauge.core.score import Scored, Unscored
from ragauge.metrics.retrieval.judged import explained, judged
from ragauge.ranking.measures import Measure, check_cutoff
from ragauge.ranking.single import find_hits, value


@dataclass(frozen=True)
class F1:
    """Harmonic mean of precision at `k` and recall at `k` (fraction, 0 to 1, higher is better).

    Formula: 2 P R / (P + R) with P = |relevant ∩ first k| / k and R = recall@k; 0 when both are 0.
    Level "doc" ranks unique documents, level "chunk" the chunks. Recall counts passages that are alternatives of one
    another once, precision counts each of them.

    Edge cases: nothing retrieved 0; unanswerable item or no id with a grade above 0 `Unscored(no_relevant)`; no labels
    at this granularity `Unscored(no_labels)`; a system that does not say what it retrieved `Unscored(not_retrieved)`;
    an id that comes twice counts at its best rank.
    Source: van Rijsbergen (1979); ranx f1

    Example: retrieved [B, A, D, C, E], relevant {A, C}, k=5 → P = 0.4, R = 1 → 0.8/1.4 = 0.571.
    """

    k: int | None = 5
    level: Level = "chunk"
    info: ClassVar[MetricInfo] = MetricInfo(
        name="f1",
        title="F1",
        needs=frozenset({Need.CONTEXT, Need.LABELS}),
        uses=frozenset({Need.ANSWERABLE}),
        half="retrieval",
        source="van Rijsbergen (1979); ranx f1",
    )

    def __post_init__(self) -> None:
        check_cutoff(self.k)

    def score(self, sample: Sample) -> Scored | Unscored:
        """Precision over every relevant id, recall over what is needed."""
        found = judged(sample, self.level)
        if isinstance(found, Unscored):
            return found
        needed = find_hits(found.ranked, found.needed)
        precision = value(Measure("precision", self.k), find_hits(found.ranked, found.grades))
        recall = value(Measure("recall", self.k), needed)
        return Scored(
            value=2.0 * precision * recall / (precision + recall) if precision and recall else 0.0,
            count=needed.n_relevant,
            details={"precision": precision, "recall": recall, **explained(found, needed)},
        )
