"""Context sufficiency: is what was retrieved enough to answer at all?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.judge import Judge
from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.core.tasks import SUFFICIENCY
from ragauge.errors import Reason
from ragauge.metrics.settle import check_k, readable, retrieved
from ragauge.metrics.verdicts import verdict_on


@dataclass(frozen=True)
class ContextSufficiency:
    """1 when the retrieved chunks together hold enough to answer the question, else 0 (rate, higher is better).

    Reads neither the answer nor the reference: it says whether a perfect generator could have answered.

    `k`: only the first k chunks (all by default).

    Edge cases: nothing retrieved (or chunks without text) 0 without asking; item unanswerable
    `Unscored(unanswerable)`, because there an insufficient context is right.
    Cost: one judge call.
    Source: Joren et al. (2025), Sufficient Context, arXiv:2411.06037.

    Example: question "What is the port and its default?", chunks name only the port → insufficient → 0.
    """

    judge: Judge
    k: int | None = None
    info: ClassVar[MetricInfo] = MetricInfo(
        name="context_sufficiency",
        title="Context sufficiency (judge)",
        needs=frozenset({Need.CONTEXT_TEXT, Need.JUDGE}),
        uses=frozenset({Need.ANSWERABLE}),
        kind="rate",
        half="retrieval",
        source="Sufficient Context, arXiv:2411.06037",
    )

    def __post_init__(self) -> None:
        check_k(self.k)

    async def score(self, sample: Sample) -> Scored | Unscored:
        """Ask once about all chunks together."""
        if sample.item.answerable is False:
            return unscored(Reason.UNANSWERABLE, "no context can be sufficient for an unanswerable item")
        chunks = retrieved(sample, self.k)
        if isinstance(chunks, Unscored):
            return chunks
        shown = readable(chunks)
        if not shown:
            return Scored(value=0.0, count=1, details={"label": "insufficient", "reason": "nothing was retrieved"})
        verdict = await verdict_on(self.judge, SUFFICIENCY, question=sample.item.question, chunks=shown)
        return Scored(
            value=float(verdict.label == "sufficient"),
            count=1,
            verdicts=(verdict,),
            details={"label": verdict.label, "reason": verdict.reason},
        )
