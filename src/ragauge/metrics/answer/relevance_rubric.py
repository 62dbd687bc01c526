"""Answer relevance by rubric: how well does the answer address the question, from 1 to 5?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.judge import Judge
from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored
from ragauge.core.tasks import RELEVANCE
from ragauge.metrics.settle import claimed_text
from ragauge.metrics.verdicts import verdict_on


@dataclass(frozen=True)
class RelevanceRubric:
    """The judge's grade from 1 to 5 as (grade - 1) / 4 (fraction, 0 to 1, higher is better).

    `details["grade"]` is the grade itself. Five steps are no interval scale: compare shares of grades as well as means.

    Edge cases: refusal `Unscored(abstained)`; blank answer `Unscored(no_answer)`; a grade outside 1 to 5 is an error.
    Cost: one judge call, shared with `relevance_binary` when judge replies are remembered.
    Source: Zheng et al. (2023), single-answer grading, arXiv:2306.05685.

    Example: grade 4 → 0.75.
    """

    judge: Judge
    info: ClassVar[MetricInfo] = MetricInfo(
        name="relevance_rubric",
        title="Answer relevance (rubric 1 to 5)",
        needs=frozenset({Need.ANSWER, Need.JUDGE}),
        uses=frozenset({Need.CONTEXT}),
        half="generation",
        source="single-answer grading, arXiv:2306.05685",
    )

    async def score(self, sample: Sample) -> Scored | Unscored:
        """Ask for a grade."""
        answer = claimed_text(sample)
        if isinstance(answer, Unscored):
            return answer
        verdict = await verdict_on(self.judge, RELEVANCE, question=sample.item.question, answer=answer)
        grade = int(verdict.label)
        return Scored(
            value=(grade - 1) / 4, count=1, verdicts=(verdict,), details={"grade": grade, "reason": verdict.reason}
        )
