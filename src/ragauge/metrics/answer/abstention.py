"""Abstention: did the system make the right decision, to answer or to decline?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.judge import Judge
from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.errors import Reason
from ragauge.metrics.decision import decide_with


@dataclass(frozen=True)
class Abstention:
    """1 when an answerable item was answered or an unanswerable one declined, else 0 (rate, higher is better).

    Whether the answer is right is not asked. A partial answer is an answer. A blank one is neither an answer nor a
    refusal: 0, with `details["no_answer"]` 1.

    The system's own word decides first; then the judge, if one is given; else the refusal rules of `ragauge.text`,
    with `phrases` as further refusal phrases.

    Edge cases: the item does not say whether it is answerable: `Unscored(answerable_unknown)`; the system gives no
    answer field at all: `Unscored(no_answer)`.
    Cost: none; with a judge one call.
    Source: Rajpurkar et al. (2018), SQuAD 2.0, arXiv:1806.03822 (answer or abstain).

    Example: unanswerable item, "I don't know." → 1; "It is 42." → 0.
    """

    judge: Judge | None = None
    phrases: tuple[str, ...] = ()
    info: ClassVar[MetricInfo] = MetricInfo(
        name="abstention",
        title="Right decision to answer or decline",
        needs=frozenset({Need.ANSWER, Need.ANSWERABLE}),
        kind="rate",
        half="generation",
        source="answer-or-abstain decision, SQuAD 2.0, arXiv:1806.03822",
    )

    async def score(self, sample: Sample) -> Scored | Unscored:
        """Compare what was done with what should have been."""
        if sample.item.can_be_answered is None:
            return unscored(Reason.ANSWERABLE_UNKNOWN, "the item does not say whether it is answerable")
        decision = await decide_with(self.judge, sample, self.phrases)
        if decision is None:
            return unscored(Reason.NO_ANSWER, "the system gave no answer")
        right = decision.answered if sample.item.can_be_answered else decision.kind == "declined"
        return Scored(value=float(right), count=1, details=decision.details())
