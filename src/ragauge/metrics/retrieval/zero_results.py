"""Zero results: did the retriever come back with nothing?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.errors import Reason


@dataclass(frozen=True)
class ZeroResults:
    """1 when nothing was retrieved, else 0 (rate, lower is better); labels are not needed.

    Formula: 1 if the list of retrieved chunks is empty. In production its mean should stay below 0.05.

    Edge cases: a system that does not say what it retrieved `Unscored(not_retrieved)`; unanswerable items count too.
    Source: zero-result rate of site search

    Example: retrieved [] → 1; retrieved [B] → 0.
    """

    info: ClassVar[MetricInfo] = MetricInfo(
        name="zero_results",
        title="Zero results",
        needs=frozenset({Need.CONTEXT}),
        better="lower",
        kind="rate",
        half="retrieval",
        source="zero-result rate of site search",
    )

    def score(self, sample: Sample) -> Scored | Unscored:
        """See whether anything came back."""
        context = sample.response.context
        if context is None:
            return unscored(Reason.NOT_RETRIEVED, "the system does not say what it retrieved")
        return Scored(value=float(len(context) == 0), count=1, details={"n_retrieved": len(context.ids)})
