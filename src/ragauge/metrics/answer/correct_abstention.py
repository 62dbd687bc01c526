"""Correct abstention: how often does the system decline what it cannot answer?"""

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
class CorrectAbstention:
    """1 when an unanswerable item was declined, else 0; over unanswerable items only (rate, higher is better).

    Decided as in `abstention`. A partial answer is no refusal; a blank one neither: 0, with `details["no_answer"]` 1.

    Edge cases: item answerable `Unscored(answerable)`; unknown `Unscored(answerable_unknown)`; no answer field
    `Unscored(no_answer)`.
    Cost: none; with a judge one call.
    Source: Rajpurkar et al. (2018), SQuAD 2.0, arXiv:1806.03822 (NoAns accuracy).

    Example: unanswerable item, "The documents do not say." → 1.
    """

    judge: Judge | None = None
    phrases: tuple[str, ...] = ()
    info: ClassVar[MetricInfo] = MetricInfo(
        name="correct_abstention",
        title="Unanswerable and declined",
        needs=frozenset({Need.ANSWER, Need.ANSWERABLE}),
        kind="rate",
        half="generation",
        source="NoAns accuracy, SQuAD 2.0, arXiv:1806.03822",
    )

    async def score(self, sample: Sample) -> Scored | Unscored:
        """Look only at unanswerable items."""
        if sample.item.can_be_answered is None:
            return unscored(Reason.ANSWERABLE_UNKNOWN, "the item does not say whether it is answerable")
        if sample.item.can_be_answered:
            return unscored(Reason.ANSWERABLE, "declining an answerable item is wrong: see wrong_abstention")
        decision = await decide_with(self.judge, sample, self.phrases)
        if decision is None:
            return unscored(Reason.NO_ANSWER, "the system gave no answer")
        return Scored(value=float(decision.kind == "declined"), count=1, details=decision.details())
