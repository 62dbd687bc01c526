"""Correctness: is the answer right, measured against the reference?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ragauge.core.judge import Judge
from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.core.tasks import CORRECTNESS
from ragauge.core.verdict import Verdict
from ragauge.errors import Reason
from ragauge.metrics.claims import reference_claims, split
from ragauge.metrics.decision import Decision, decide, decide_with
from ragauge.metrics.settle import answer_text, reference_text
from ragauge.metrics.verdicts import count, coverage, verdict_on

VALUES = {"correct": 1.0, "partial": 0.5, "wrong": 0.0}


@dataclass(frozen=True)
class Correctness:
    """Correct 1, partial 0.5, wrong 0, against the reference answer (fraction, 0 to 1, higher is better).

    With `claims`, `details` also has the agreement claim by claim, each side with its own count, never mixed:
    precision = answer claims that the reference states / all answer claims (true positives / (true + false positives));
    recall = reference claims that the answer states / all reference claims (1 - false negatives / reference claims);
    f1 = 2PR / (P + R). A side without claims has no value (None), and then there is no f1.

    Edge cases: a refusal is wrong on an answerable item and correct on an unanswerable one; an answer to an
    unanswerable item is wrong; both are settled without a reference. A blank answer is `Unscored(no_answer)`; no
    reference `Unscored(no_reference)`. Whether an unanswerable item was declined is asked of the judge when the system
    does not say and the refusal rules see no refusal.
    Cost: one judge call; with `claims` four more, three when the reference's claims are stored.
    Source: RAGAS, "factual correctness"; SimpleQA's three grades (Wei et al., 2024, arXiv:2411.04368).

    Example: 3 of 4 answer claims in the reference, 2 of 3 reference claims in the answer → precision 0.75,
    recall 0.667, f1 0.706, whatever the label says.
    """

    judge: Judge
    claims: bool = True
    info: ClassVar[MetricInfo] = MetricInfo(
        name="correctness",
        title="Correctness against the reference (judge)",
        needs=frozenset({Need.ANSWER, Need.REFERENCE, Need.JUDGE}),
        uses=frozenset({Need.ANSWERABLE, Need.CONTEXT}),
        half="both",
        source="three grades after SimpleQA, arXiv:2411.04368; claim counts after RAGAS factual correctness",
    )

    async def score(self, sample: Sample) -> Scored | Unscored:
        """Settle refusals and unanswerable items, then ask for the label and compare the claims."""
        decision = decide(sample)
        if decision is None or decision.kind == "no_answer":
            return unscored(Reason.NO_ANSWER, "the system gave no answer")
        if sample.item.answerable is False:
            if decision.kind != "declined":
                decision = await decide_with(self.judge, sample) or decision
            return _by_rule("correct" if decision.kind == "declined" else "wrong", decision)
        reference = reference_text(sample)
        if isinstance(reference, Unscored):
            return reference
        if decision.kind == "declined":
            return _by_rule("wrong", decision)
        answer = answer_text(sample)
        if isinstance(answer, Unscored):
            return answer
        verdict = await verdict_on(
            self.judge, CORRECTNESS, question=sample.item.question, answer=answer, reference=reference
        )
        details: dict[str, Any] = {"label": verdict.label, "reason": verdict.reason, "decision": decision.kind}
        verdicts: tuple[Verdict, ...] = (verdict,)
        if self.claims:
            by_claim, more = await self._by_claim(sample, answer, reference)
            details |= more
            verdicts += by_claim
        return Scored(value=VALUES[verdict.label], count=1, verdicts=verdicts, details=details)

    async def _by_claim(
        self, sample: Sample, answer: str, reference: str
    ) -> tuple[tuple[Verdict, ...], dict[str, Any]]:
        """The verdicts on both sides' claims (answer's c1 …, reference's r1 …), and the counts."""
        stated = await coverage(self.judge, await split(self.judge, answer), reference)
        claims = await reference_claims(self.judge, sample)
        covered = await coverage(self.judge, () if isinstance(claims, Unscored) else claims, answer)
        true, found = count(stated, "supported"), count(covered, "supported")
        precision = true / len(stated) if stated else None
        recall = found / len(covered) if covered else None
        details = {
            "true_positives": true,
            "false_positives": len(stated) - true,
            "false_negatives": len(covered) - found,
            "contradicted": count(stated, "contradicted") / len(stated) if stated else None,
            "precision": precision,
            "recall": recall,
            "f1": harmonic(precision, recall),
        }
        return stated + covered, details


def harmonic(precision: float | None, recall: float | None) -> float | None:
    """F1: the harmonic mean (0 to 1); 0 when both are 0, None when a side is not defined.

    >>> round(harmonic(0.75, 2 / 3), 4), harmonic(0.0, 0.0), harmonic(None, 1.0)
    (0.7059, 0.0, None)
    """
    if precision is None or recall is None:
        return None
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def _by_rule(label: str, decision: Decision) -> Scored:
    details = {"label": label, "reason": decision.said(), "decision": decision.kind}
    return Scored(value=VALUES[label], count=1, details=details)
