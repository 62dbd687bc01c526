"""Context recall by judge: does what was retrieved hold what the reference says?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.judge import Judge
from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.core.tasks import SUPPORT
from ragauge.errors import Reason
from ragauge.metrics.claims import reference_claims
from ragauge.metrics.settle import check_k, readable, retrieved
from ragauge.metrics.verdicts import count, shares, support


@dataclass(frozen=True)
class ContextRecall:
    """Share of the reference's claims that the retrieved chunks support (fraction, 0 to 1, higher is better).

    Formula: supported reference claims / all reference claims. The claims stored with the golden item are used where it
    has them, so that the denominator is the same in every run; `details` has the share of each label.

    `k`: only the first k chunks (all by default).

    Edge cases: nothing retrieved (or chunks without text) 0.0 without asking for verdicts; no reference
    `Unscored(no_reference)`; reference without claims `Unscored(no_claims)`; item unanswerable `Unscored(no_relevant)`.
    Cost: one judge call, and one more when the reference's claims are not stored.
    Source: RAGAS, "context recall" (Es et al., 2024, arXiv:2309.15217).

    Example: four reference claims, one of them in the chunks → 1/4 = 0.25.
    """

    judge: Judge
    k: int | None = None
    info: ClassVar[MetricInfo] = MetricInfo(
        name="context_recall",
        title="Context recall (judge)",
        needs=frozenset({Need.CONTEXT_TEXT, Need.REFERENCE, Need.JUDGE}),
        uses=frozenset({Need.ANSWERABLE}),
        half="retrieval",
        source="RAGAS context recall, arXiv:2309.15217; denominator: the stored reference claims",
    )

    def __post_init__(self) -> None:
        check_k(self.k)

    async def score(self, sample: Sample) -> Scored | Unscored:
        """Have every reference claim judged against the chunks."""
        if sample.item.answerable is False:
            return unscored(Reason.NO_RELEVANT, "the item is unanswerable: there is nothing to recall")
        chunks = retrieved(sample, self.k)
        if isinstance(chunks, Unscored):
            return chunks
        claims = await reference_claims(self.judge, sample)
        if isinstance(claims, Unscored):
            return claims
        verdicts = await support(self.judge, claims, readable(chunks))
        return Scored(
            value=count(verdicts, "supported") / len(claims),
            count=len(claims),
            verdicts=verdicts,
            details=shares(verdicts, SUPPORT.labels),
        )
