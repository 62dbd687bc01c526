"""Faithfulness: does every claim of the answer stand in what was retrieved?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ragauge.core.judge import Judge
from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.core.tasks import SUPPORT
from ragauge.errors import Reason
from ragauge.metrics.claims import split
from ragauge.metrics.settle import claimed_text, readable, retrieved
from ragauge.metrics.verdicts import count, shares, support


@dataclass(frozen=True)
class Faithfulness:
    """Share of the answer's claims that the retrieved chunks support (fraction, 0 to 1, higher is better).

    Formula: supported / all claims. A claim that the chunks do not mention is as little supported as one that they
    contradict; `details` has the share of each label, the verdicts have evidence and reason for each claim. The judge
    sees neither question nor reference. `details["passed"]` compares with the item's own threshold, where it has one.

    Edge cases: refusal `Unscored(abstained)`; blank answer `Unscored(no_answer)`; answer without claims
    `Unscored(no_claims)`; nothing retrieved (or chunks without text) 0, every claim not_mentioned, without asking for
    verdicts; a system that does not say what it retrieved `Unscored(no_contexts)`.
    Cost: two judge calls, splitting shared with every metric on claims when judge replies are remembered.
    Source: RAGAS, "faithfulness" (Es et al., 2024, arXiv:2309.15217); labels after FEVER (Thorne et al., 2018).

    Example: claims [supported, not_mentioned, not_mentioned] → 1/3 = 0.333; not_mentioned 0.667.
    """

    judge: Judge
    info: ClassVar[MetricInfo] = MetricInfo(
        name="faithfulness",
        title="Faithfulness (judge)",
        needs=frozenset({Need.ANSWER, Need.CONTEXT_TEXT, Need.JUDGE}),
        half="generation",
        source="RAGAS faithfulness, arXiv:2309.15217; denominator: the claims asked",
    )

    async def score(self, sample: Sample) -> Scored | Unscored:
        """Split the answer into claims, then have every claim judged against the chunks."""
        answer = claimed_text(sample)
        if isinstance(answer, Unscored):
            return answer
        chunks = retrieved(sample)
        if isinstance(chunks, Unscored):
            return chunks
        claims = await split(self.judge, answer)
        if not claims:
            return unscored(Reason.NO_CLAIMS, "the answer makes no claims")
        verdicts = await support(self.judge, claims, readable(chunks))
        value = count(verdicts, "supported") / len(claims)
        details: dict[str, Any] = shares(verdicts, SUPPORT.labels)
        if not readable(chunks):
            details["no_context"] = True
        threshold = sample.item.faithfulness_threshold
        if threshold is not None:
            details |= {"threshold": threshold, "passed": value >= threshold}
        return Scored(value=value, count=len(claims), verdicts=verdicts, details=details)
