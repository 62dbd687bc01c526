"""Context utilisation: of the useful chunks that were retrieved, how many did the answer use?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.judge import Judge
from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.errors import Reason
from ragauge.metrics.claims import split
from ragauge.metrics.settle import claimed_text, readable, retrieved
from ragauge.metrics.verdicts import support, usefulness


@dataclass(frozen=True)
class ContextUtilisation:
    """Share of the useful retrieved chunks that the answer draws on (fraction, 0 to 1, higher is better).

    Formula: useful chunks that are the evidence of at least one supported claim of the answer / useful chunks. Of two
    chunks that say the same, only the one named as evidence counts as used, so a list of copies keeps the value low.

    Edge cases: no useful chunk `Unscored(no_relevant)`; blank answer `Unscored(no_answer)`; refusal
    `Unscored(abstained)`; an answer without claims uses nothing: 0. `details` names the chunks used and unused, and
    used ones that the judge did not find useful.
    Cost: three judge calls, all shared with faithfulness and context precision when judge replies are remembered.
    Source: after RAGChecker, "context utilization" (Ru et al., 2024, arXiv:2408.08067), with chunks as the unit.

    Example: chunks a, b useful, c not; the answer's claims rest on a and c → 1/2 = 0.5.
    """

    judge: Judge
    info: ClassVar[MetricInfo] = MetricInfo(
        name="context_utilisation",
        title="Context utilisation (judge)",
        needs=frozenset({Need.ANSWER, Need.CONTEXT_TEXT, Need.JUDGE}),
        uses=frozenset({Need.REFERENCE}),
        half="generation",
        source="after RAGChecker context utilization, arXiv:2408.08067",
    )

    async def score(self, sample: Sample) -> Scored | Unscored:
        """Find the useful chunks, then those that support a claim of the answer."""
        answer = claimed_text(sample)
        if isinstance(answer, Unscored):
            return answer
        chunks = retrieved(sample)
        if isinstance(chunks, Unscored):
            return chunks
        useful = [
            verdict.id
            for verdict in await usefulness(self.judge, sample.item.question, chunks, sample.item.answer)
            if verdict.label == "useful"
        ]
        if not useful:
            return unscored(Reason.NO_RELEVANT, "no retrieved chunk is useful")
        verdicts = await support(self.judge, await split(self.judge, answer), readable(chunks))
        supported = [verdict for verdict in verdicts if verdict.label == "supported"]
        drawn_on = {verdict.evidence for verdict in supported}
        used = [id for id in useful if id in drawn_on]
        return Scored(
            value=len(used) / len(useful),
            count=len(useful),
            verdicts=verdicts,
            details={
                "used": used,
                "unused": [id for id in useful if id not in drawn_on],
                "used_not_useful": sorted(id for id in drawn_on if id is not None and id not in useful),
                "n_supported_without_evidence": sum(verdict.evidence is None for verdict in supported),
            },
        )
