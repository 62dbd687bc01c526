"""Answer relevance, yes or no: does the answer address the question?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.judge import Judge
from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored
from ragauge.core.tasks import RELEVANCE
from ragauge.errors import SettingsError
from ragauge.metrics.settle import claimed_text
from ragauge.metrics.verdicts import verdict_on


@dataclass(frozen=True)
class RelevanceBinary:
    """1 when the judge's grade (1 to 5) is at least `threshold`, else 0 (rate, higher is better).

    Edge cases: as `relevance_rubric`.
    Cost: one judge call, shared with `relevance_rubric` when judge replies are remembered.
    Source: Zheng et al. (2023), single-answer grading, arXiv:2306.05685; cut at 4 of 5.

    Example: grade 3 → 0; grade 4 → 1.
    """

    judge: Judge
    threshold: int = 4
    info: ClassVar[MetricInfo] = MetricInfo(
        name="relevance_binary",
        title="Answer relevance (yes or no)",
        needs=frozenset({Need.ANSWER, Need.JUDGE}),
        uses=frozenset({Need.CONTEXT}),
        kind="rate",
        half="generation",
        source="single-answer grading cut at 4 of 5, arXiv:2306.05685",
    )

    def __post_init__(self) -> None:
        if self.threshold not in (2, 3, 4, 5):
            raise SettingsError(f"threshold must be 2, 3, 4 or 5, not {self.threshold!r}")

    async def score(self, sample: Sample) -> Scored | Unscored:
        """Ask for a grade and cut it."""
        answer = claimed_text(sample)
        if isinstance(answer, Unscored):
            return answer
        verdict = await verdict_on(self.judge, RELEVANCE, question=sample.item.question, answer=answer)
        grade = int(verdict.label)
        return Scored(value=float(grade >= self.threshold), count=1, verdicts=(verdict,), details={"grade": grade})
