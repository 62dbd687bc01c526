"""Completeness: how much of the reference does the answer say?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.judge import Judge
from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.core.tasks import COVERAGE
from ragauge.errors import Reason
from ragauge.metrics.claims import reference_claims
from ragauge.metrics.settle import claimed_text
from ragauge.metrics.verdicts import count, coverage, shares


@dataclass(frozen=True)
class Completeness:
    """Share of the reference's claims that the answer states (fraction, 0 to 1, higher is better).

    Formula: covered reference claims / all reference claims (claim recall). A longer answer cannot raise it except by
    saying more of what the reference says; `details` has the share of each label.

    Edge cases: refusal `Unscored(abstained)` (correctness counts it wrong); blank answer `Unscored(no_answer)`; no
    reference `Unscored(no_reference)`; reference without claims `Unscored(no_claims)`; item unanswerable
    `Unscored(unanswerable)`.
    Cost: one judge call, and one more when the reference's claims are not stored; shared with correctness.
    Source: RAGAS, "factual correctness" in mode recall; Min et al. (2023), FActScore, arXiv:2305.14251, turned round.

    Example: three reference claims, two of them in the answer → 0.667.
    """

    judge: Judge
    info: ClassVar[MetricInfo] = MetricInfo(
        name="completeness",
        title="Completeness against the reference (judge)",
        needs=frozenset({Need.ANSWER, Need.REFERENCE, Need.JUDGE}),
        uses=frozenset({Need.ANSWERABLE, Need.CONTEXT}),
        half="both",
        source="claim recall, after RAGAS factual correctness",
    )

    async def score(self, sample: Sample) -> Scored | Unscored:
        """Have every reference claim looked for in the answer."""
        if sample.item.answerable is False:
            return unscored(Reason.UNANSWERABLE, "an unanswerable item has nothing to be complete about")
        answer = claimed_text(sample)
        if isinstance(answer, Unscored):
            return answer
        claims = await reference_claims(self.judge, sample)
        if isinstance(claims, Unscored):
            return claims
        verdicts = await coverage(self.judge, claims, answer)
        return Scored(
            value=count(verdicts, "supported") / len(claims),
            count=len(claims),
            verdicts=verdicts,
            details=shares(verdicts, COVERAGE.labels),
        )
