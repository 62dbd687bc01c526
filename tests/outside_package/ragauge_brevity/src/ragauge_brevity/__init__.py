"""A metric from outside ragauge: one class, one entry point, nothing registered by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample, is_blank
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.errors import Reason


@dataclass(frozen=True)
class Brevity:
    """1 when the answer has at most `words` words, else 0 (rate, higher is better).

    Edge cases: blank answer `Unscored(no_answer)`. Example: "Port 8125." → 1.
    """

    words: int = 40
    info: ClassVar[MetricInfo] = MetricInfo(
        name="brevity",
        title="Brevity",
        needs=frozenset({Need.ANSWER}),
        kind="rate",
        half="generation",
        source="house rule",
    )

    def score(self, sample: Sample) -> Scored | Unscored:
        """Count the words."""
        answer = sample.response.answer
        if answer is None or is_blank(answer):
            return unscored(Reason.NO_ANSWER)
        return Scored(value=float(len(answer.split()) <= self.words), count=1)
