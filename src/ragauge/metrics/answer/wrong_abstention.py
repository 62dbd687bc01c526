"""Wrong abstention: how often does the system decline what it could have answered?"""

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
class WrongAbstention:
    """1 when an answerable item was declined, else 0; over answerable items only (rate, lower is better).

    Decided as in `abstention`. A partial answer is no refusal; a blank one neither: 0, with `details["no_answer"]` 1.

    Edge cases: item unanswerable `Unscored(unanswerable)`; unknown `Unscored(answerable_unknown)`; no answer field
    `Unscored(no_answer)`.
    Cost: none; with a judge one call.
    Source: Rajpurkar et al. (2018), SQuAD 2.0, arXiv:1806.03822 (false abstention).

    Example: answerable item, "I could not find that." → 1.
    """

    judge: Judge | None = None
    phrases: tuple[str, ...] = ()
    info: ClassVar[MetricInfo] = MetricInfo(
        name="wrong_abstention",
        title="Answerable but declined",
        needs=frozenset({Need.ANSWER, Need.ANSWERABLE}),
        better="lower",
        kind="rate",
        half="generation",
        source="false abstention rate, SQuAD 2.0, arXiv:1806.03822",
    )

    async def score(self, sample: Sample) -> Scored | Unscored:
        """Look only at answerable items."""
        if sample.item.can_be_answered is None:
            return unscored(Reason.ANSWERABLE_UNKNOWN, "the item does not say whether it is answerable")
        if not sample.item.can_be_answered:
            return unscored(Reason.UNANSWERABLE, "declining an unanswerable item is right: see correct_abstention")
        decision = await decide_with(self.judge, sample, self.phrases)
        if decision is None:
            return unscored(Reason.NO_ANSWER, "the system gave no answer")
        return Scored(value=float(decision.kind == "declined"), count=1, details=decision.details())
