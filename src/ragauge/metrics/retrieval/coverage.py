"""Coverage: did the retriever bring back anything relevant at all?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Level, Sample
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.errors import Reason, SettingsError
from ragauge.metrics.retrieval.judged import judged, relevant_chunks
from ragauge.ranking.measures import check_cutoff


@dataclass(frozen=True)
class Coverage:
    """Whether at least one relevant chunk was retrieved (0 or 1, higher is better); its mean is the share of questions.

    Formula: 1 if any retrieved chunk (of the first `k`, if given) is relevant and, with `min_score`, has a retriever
    score of at least that; else 0. At level "doc" a chunk is relevant if its document is.

    Edge cases: nothing retrieved 0; unanswerable item `Unscored(no_relevant)`; no labels at this granularity
    `Unscored(no_labels)`; a system that does not say what it retrieved `Unscored(not_retrieved)`; `min_score` given and
    a relevant chunk without a score `Unscored(missing_input)`.
    Source: REQUIREMENTS R4; hit rate without a cut-off

    Example: retrieved [B 0.9, A 0.4], relevant {A} → 1; with min_score=0.5 → 0.
    """

    k: int | None = None
    level: Level = "chunk"
    min_score: float | None = None
    info: ClassVar[MetricInfo] = MetricInfo(
        name="coverage",
        title="Coverage",
        needs=frozenset({Need.CONTEXT, Need.LABELS}),
        uses=frozenset({Need.ANSWERABLE}),
        kind="rate",
        half="retrieval",
        source="share of questions with at least one relevant retrieved chunk",
    )

    def __post_init__(self) -> None:
        check_cutoff(self.k)
        if self.min_score is not None and not math.isfinite(self.min_score):
            raise SettingsError(f"min_score must be a finite number, not {self.min_score!r}")

    def score(self, sample: Sample) -> Scored | Unscored:
        """Look for one relevant chunk above the threshold."""
        found = judged(sample, self.level)
        if isinstance(found, Unscored):
            return found
        context = sample.response.context
        assert context is not None  # judged() has seen to it
        allowed = set(context.ids[: self.k])
        ranks = {id: rank for id, rank in relevant_chunks(context, found.grades, self.level).items() if id in allowed}
        details: dict[str, object] = {"ranks": ranks, "n_retrieved": len(context.ids)}
        if self.min_score is not None:
            scores = {id: context.chunks[rank - 1].score for id, rank in ranks.items()}
            if any(score is None for score in scores.values()):
                return unscored(Reason.MISSING_INPUT, "min_score is set, and a relevant chunk has no retriever score")
            details["scores"] = scores
            ranks = {id: rank for id, rank in ranks.items() if (scores[id] or 0.0) >= self.min_score}
        return Scored(value=float(bool(ranks)), count=1, details=details)
