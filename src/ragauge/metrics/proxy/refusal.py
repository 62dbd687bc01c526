"""Refusal: did the system decline? A description, not a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.errors import Reason
from ragauge.metrics.decision import decide


@dataclass(frozen=True)
class Refusal:
    """1 when the answer as a whole declines, else 0 (rate; neither direction is better).

    The system's own word first, else the refusal rules of `ragauge.text` in several languages, with `phrases` as
    further refusal phrases. Whether declining was right is `abstention`.

    Edge cases: a partial answer 0, with `details["partial"]` 1; a blank answer 0, with `details["no_answer"]` 1; no
    answer field at all `Unscored(no_answer)`.
    Cost: none.

    Example: "The documents do not mention this." → 1.
    """

    phrases: tuple[str, ...] = ()
    info: ClassVar[MetricInfo] = MetricInfo(
        name="refusal",
        title="Declined to answer",
        needs=frozenset({Need.ANSWER}),
        better="none",
        kind="rate",
        half="generation",
        source="refusal phrases",
    )

    def score(self, sample: Sample) -> Scored | Unscored:
        """Look for a refusal."""
        decision = decide(sample, self.phrases)
        if decision is None:
            return unscored(Reason.NO_ANSWER, "the system gave no answer")
        return Scored(value=float(decision.kind == "declined"), count=1, details=decision.details())
