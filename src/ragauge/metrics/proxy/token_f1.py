"""Token F1: how many words do answer and reference share?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored
from ragauge.metrics.proxy.squad import squad_f1
from ragauge.metrics.settle import answer_text, reference_text


@dataclass(frozen=True)
class TokenF1:
    """F1 of the words of answer and reference after SQuAD's normalisation (fraction, 0 to 1; higher is better).

    Formula: 2PR / (P + R) with P = shared words / words of the answer, R = shared words / words of the reference, a
    word counted as often as both have it. Citation markers are taken off first. Long answers score low even when right.

    Edge cases: blank answer `Unscored(no_answer)`; no reference `Unscored(no_reference)`; one side empty after
    normalisation 0, both 1 (SQuAD 2.0).
    Cost: none.
    Source: Rajpurkar et al. (2016), SQuAD, arXiv:1606.05250.

    Example: "the port is 8125" against "port 8125": P 2/3, R 1 → 0.8.
    """

    info: ClassVar[MetricInfo] = MetricInfo(
        name="token_f1",
        title="Token F1",
        needs=frozenset({Need.ANSWER, Need.REFERENCE}),
        uses=frozenset({Need.CONTEXT}),
        half="both",
        source="SQuAD F1, arXiv:1606.05250",
    )

    def score(self, sample: Sample) -> Scored | Unscored:
        """Compare the bags of words."""
        answer, reference = answer_text(sample), reference_text(sample)
        if isinstance(answer, Unscored):
            return answer
        if isinstance(reference, Unscored):
            return reference
        precision, recall, f1 = squad_f1(answer, reference)
        return Scored(value=f1, count=1, details={"precision": precision, "recall": recall})
