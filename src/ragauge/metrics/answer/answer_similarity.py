"""Answer similarity: the cosine between question and answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.judge import Judge
from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored
from ragauge.metrics.settle import claimed_text
from ragauge.metrics.verdicts import similarities


@dataclass(frozen=True)
class AnswerSimilarity:
    """Cosine of the question's and the answer's embeddings (number, -1 to 1, higher is nearer in topic).

    A cheap sign of being off topic. It cannot tell a right answer from a wrong one.

    Edge cases: refusal `Unscored(abstained)`; blank answer `Unscored(no_answer)`; citation markers are not embedded.
    Cost: no judgement; one embedding of two texts by the judge's embedder.
    Source: DeepEval, TruLens and others use it as a baseline; Reimers & Gurevych (2019), arXiv:1908.10084.

    Example: question "Which port?", answer "The port is 8125." → about 0.6 with the embedded model.
    """

    judge: Judge
    info: ClassVar[MetricInfo] = MetricInfo(
        name="answer_similarity",
        title="Answer similarity (cosine to the question)",
        needs=frozenset({Need.ANSWER, Need.JUDGE}),
        uses=frozenset({Need.CONTEXT}),
        low=-1.0,
        kind="number",
        half="generation",
        source="cosine of sentence embeddings, arXiv:1908.10084",
    )

    async def score(self, sample: Sample) -> Scored | Unscored:
        """Compare the answer with the question."""
        answer = claimed_text(sample)
        if isinstance(answer, Unscored):
            return answer
        (cosine,) = await similarities(self.judge, sample.item.question, (answer,))
        return Scored(value=cosine, count=1)
