"""Exact match: is the answer the reference, word for word?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored
from ragauge.metrics.proxy.squad import squad_normal
from ragauge.metrics.settle import answer_text, reference_text


@dataclass(frozen=True)
class ExactMatch:
    """1 when answer and reference are equal after SQuAD's normalisation, else 0 (rate, higher is better).

    Normalisation: lower case, no ASCII punctuation, no English articles, white space collapsed; citation markers are
    taken off first. Made for answers of a few words; a right answer in other words scores 0.

    Edge cases: blank answer `Unscored(no_answer)`; no reference `Unscored(no_reference)`.
    Cost: none.
    Source: Rajpurkar et al. (2016), SQuAD, arXiv:1606.05250.

    Example: "The port 8125." against "port 8125" → 1.
    """

    info: ClassVar[MetricInfo] = MetricInfo(
        name="exact_match",
        title="Exact match",
        needs=frozenset({Need.ANSWER, Need.REFERENCE}),
        uses=frozenset({Need.CONTEXT}),
        kind="rate",
        half="both",
        source="SQuAD exact match, arXiv:1606.05250",
    )

    def score(self, sample: Sample) -> Scored | Unscored:
        """Compare the normal forms."""
        answer, reference = answer_text(sample), reference_text(sample)
        if isinstance(answer, Unscored):
            return answer
        if isinstance(reference, Unscored):
            return reference
        return Scored(value=float(squad_normal(answer) == squad_normal(reference)), count=1)
