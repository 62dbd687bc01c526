"""Context precision by judge: do the useful chunks stand before the useless ones?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.judge import Judge
from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.errors import Reason
from ragauge.metrics.settle import check_k, retrieved
from ragauge.metrics.verdicts import usefulness


@dataclass(frozen=True)
class ContextPrecision:
    """Average precision over the ranks of the chunks that a judge finds useful (fraction, 0 to 1, higher is better).

    Formula: sum over useful ranks i of (useful chunks among the first i) / i, divided by the number of useful chunks
    *retrieved*. So 1.0 (exactly) means that no useless chunk stands before a useful one, not that the list is clean or
    complete: `details["useful_share"]` is the plain fraction of useful chunks, recall is another metric.

    `k`: only the first k chunks (all by default). `use_reference`: the judge is shown the reference answer where the
    item has one; otherwise it judges from the question alone.

    Edge cases: no useful chunk 0.0; nothing retrieved 0.0; a chunk without text is not useful and keeps its place;
    an id retrieved twice counts at its best rank; item unanswerable `Unscored(no_relevant)`.
    Cost: one judge call (all chunks together).
    Source: RAGAS, "context precision" (Es et al., 2024, arXiv:2309.15217); Manning, Raghavan & Schütze (2008), 8.4.

    Example: verdicts [useful, not_useful, useful] → (1/1 + 2/3) / 2 = 0.833; `useful_share` 2/3.
    """

    judge: Judge
    k: int | None = None
    use_reference: bool = True
    info: ClassVar[MetricInfo] = MetricInfo(
        name="context_precision",
        title="Context precision (judge)",
        needs=frozenset({Need.CONTEXT_TEXT, Need.JUDGE}),
        uses=frozenset({Need.REFERENCE, Need.ANSWERABLE}),
        half="retrieval",
        source="RAGAS context precision, arXiv:2309.15217; average precision over the useful chunks retrieved",
    )

    def __post_init__(self) -> None:
        check_k(self.k)

    async def score(self, sample: Sample) -> Scored | Unscored:
        """Have every chunk judged, then average the precision at the useful ones."""
        if sample.item.answerable is False:
            return unscored(Reason.NO_RELEVANT, "the item is unanswerable: no chunk can be useful")
        chunks = retrieved(sample, self.k)
        if isinstance(chunks, Unscored):
            return chunks
        reference = sample.item.answer if self.use_reference else None
        verdicts = await usefulness(self.judge, sample.item.question, chunks, reference)
        useful = [verdict.label == "useful" for verdict in verdicts]
        return Scored(
            value=average_precision(useful),
            count=len(useful),
            verdicts=verdicts,
            details={
                "n_useful": sum(useful),
                "useful_share": sum(useful) / len(useful) if useful else 0.0,
                "denominator": "useful chunks retrieved",
            },
        )


def average_precision(useful: Sequence[bool]) -> float:
    """Mean of the precision at each useful rank, over the useful ones retrieved (0 to 1); 0.0 when none is.

    >>> average_precision([True, True]), average_precision([False, True, False]), average_precision([False])
    (1.0, 0.5, 0.0)
    """
    precisions = [sum(useful[:rank]) / rank for rank, hit in enumerate(useful, start=1) if hit]
    return sum(precisions) / len(precisions) if precisions else 0.0
