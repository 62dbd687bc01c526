"""Answer relevance by reverse questions: would the answer make one ask what was asked?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.judge import Judge
from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample, is_blank
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.core.tasks import ABSTENTION, REVERSE_QUESTIONS
from ragauge.errors import JudgeIncomplete, JudgeUnparseable, Reason, SettingsError
from ragauge.metrics.decision import decide
from ragauge.metrics.settle import answer_text
from ragauge.metrics.verdicts import similarities, verdict_on
from ragauge.text.refusals import find_refusal
from ragauge.text.sentences import split_sentences


@dataclass(frozen=True)
class AnswerRelevance:
    """Mean cosine between the question and `n` questions made from the answer (fraction, 0 to 1, higher is better).

    Formula: max(0, mean of n cosines) × answered share. The answered share is 1 for an answer, 0 for a noncommittal
    one, and for one that answers a part and declines the rest the share of its sentences that do not decline (one
    half where the rules find none of either). `details` has each cosine, the questions, and the share.

    Whether an answer declines is settled by the system's own word or the refusal rules; where only the judge finds it
    noncommittal, it is asked once more, with the question in sight, whether all or a part was declined.

    Edge cases: refusal 0, unless the item is unanswerable: `Unscored(abstained)`; blank answer `Unscored(no_answer)`;
    fewer or more than `n` questions from the judge is an error, never a smaller mean.
    Cost: one judge call and one embedding of n + 1 texts; one more call for a noncommittal reply.
    Source: RAGAS, "answer relevance" (Es et al., 2024, arXiv:2309.15217). Says nothing about truth.

    Example: cosines .9 .8 .7 → 0.8; the same with one of two sentences declining → 0.4.
    """

    judge: Judge
    n: int = 3
    info: ClassVar[MetricInfo] = MetricInfo(
        name="answer_relevance",
        title="Answer relevance (reverse questions)",
        needs=frozenset({Need.ANSWER, Need.JUDGE}),
        uses=frozenset({Need.ANSWERABLE, Need.CONTEXT}),
        half="generation",
        source="RAGAS answer relevance, arXiv:2309.15217",
    )

    def __post_init__(self) -> None:
        if self.n < 1:
            raise SettingsError(f"n must be a whole number from 1, not {self.n!r}")

    async def score(self, sample: Sample) -> Scored | Unscored:
        """Settle refusals, make questions from the answer, compare them with the one asked."""
        decision = decide(sample)
        if decision is not None and decision.kind == "declined":
            if sample.item.answerable is False:
                return unscored(Reason.ABSTAINED, decision.said())
            return self._declined(decision.said())
        answer = answer_text(sample)
        if isinstance(answer, Unscored):
            return answer
        reply = await self.judge.ask(REVERSE_QUESTIONS, answer=answer, n=self.n)
        partial = decision is not None and decision.kind == "partial"
        if reply.noncommittal and not partial:
            given = sample.response.answer  # as it is, so that one reply serves every metric that asks
            verdict = await verdict_on(self.judge, ABSTENTION, question=sample.item.question, answer=given)
            if verdict.label == "declined":
                if sample.item.answerable is False:
                    return unscored(Reason.ABSTAINED, "declined (by judge)")
                return self._declined("declined (by judge)")
            partial = verdict.label == "partial"
        if len(reply.questions) != self.n:
            raise JudgeIncomplete(f"{len(reply.questions)} questions instead of {self.n}", raw=reply.model_dump_json())
        if any(is_blank(question) for question in reply.questions):
            raise JudgeUnparseable("a question without words", raw=reply.model_dump_json())
        cosines = await similarities(self.judge, sample.item.question, reply.questions)
        mean = sum(cosines) / self.n
        answered = answered_share(answer) if partial else 1.0
        return Scored(
            value=max(0.0, mean) * answered,
            count=self.n,
            details={
                "mean_cosine": mean,
                "cosines": list(cosines),
                "questions": list(reply.questions),
                "noncommittal": float(reply.noncommittal),
                "partial": float(partial),
                "answered_share": answered,
                "declined_share": 1.0 - answered,
            },
        )

    def _declined(self, why: str) -> Scored:
        details = {"noncommittal": 1.0, "partial": 0.0, "answered_share": 0.0, "declined_share": 1.0, "reason": why}
        return Scored(value=0.0, count=self.n, details=details)


def answered_share(answer: str) -> float:
    """Share of the sentences of a partial answer that do not decline; one half where none or all of them do."""
    spans = split_sentences(answer)
    declining = sum(find_refusal(span.text) is not None for span in spans)
    if not 0 < declining < len(spans):
        return 0.5
    return 1.0 - declining / len(spans)
