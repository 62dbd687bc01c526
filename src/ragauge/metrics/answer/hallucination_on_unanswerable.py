"""Hallucination on unanswerables: how often does the system answer what cannot be answered?"""

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
class HallucinationOnUnanswerable:
    """1 when an unanswerable item was answered, at least in part; over unanswerable items only (rate, lower is better).

    Not one minus `correct_abstention`: a blank answer is neither, 0 with `details["no_answer"]` 1. Decided as in
    `abstention`.

    Edge cases: item answerable `Unscored(answerable)`; unknown `Unscored(answerable_unknown)`; no answer field
    `Unscored(no_answer)`.
    Cost: none; with a judge one call.
    Source: Chen et al. (2024), negative rejection, arXiv:2309.01431.

    Example: unanswerable item, "Her shoe size is 38." → 1.
    """

    judge: Judge | None = None
    phrases: tuple[str, ...] = ()
    info: ClassVar[MetricInfo] = MetricInfo(
        name="hallucination_on_unanswerable",
        title="Unanswerable but answered",
        needs=frozenset({Need.ANSWER, Need.ANSWERABLE}),
        better="lower",
        kind="rate",
        half="generation",
        source="failed negative rejection, arXiv:2309.01431",
    )

    async def score(self, sample: Sample) -> Scored | Unscored:
        """Look only at unanswerable items."""
        if sample.item.can_be_answered is None:
            return unscored(Reason.ANSWERABLE_UNKNOWN, "the item does not say whether it is answerable")
        if sample.item.can_be_answered:
            return unscored(Reason.ANSWERABLE, "an answerable item is meant to be answered")
        decision = await decide_with(self.judge, sample, self.phrases)
        if decision is None:
            return unscored(Reason.NO_ANSWER, "the system gave no answer")
        return Scored(value=float(decision.answered), count=1, details=decision.details())
