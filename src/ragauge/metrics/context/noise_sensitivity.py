"""Noise sensitivity: which wrong claims of the answer come from the retrieved chunks, and from which of them?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from ragauge.core.judge import Judge
from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import RetrievedChunk, Sample
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.core.verdict import Claim
from ragauge.errors import Reason, SettingsError
from ragauge.metrics.claims import split
from ragauge.metrics.context.relevance import relevant
from ragauge.metrics.settle import claimed_text, readable, reference_text, retrieved
from ragauge.metrics.verdicts import coverage, support

Mode = Literal["all", "relevant", "irrelevant"]


@dataclass(frozen=True)
class NoiseSensitivity:
    """Share of the answer's claims that are wrong and stand in a retrieved chunk (fraction, 0 to 1, lower is better).

    A claim is wrong when the reference does not state it. A wrong claim is traced to a chunk that supports it; when
    relevant and irrelevant ones do, to the relevant. Formula: traced wrong claims / all claims of the answer. `mode`
    picks which count: `relevant` (signal misread or padded), `irrelevant` (noise swallowed), `all` (their sum). Wrong
    claims that no chunk supports are inventions: `details["untraced"]`, which faithfulness counts.

    Only wrong claims are traced, each against each chunk alone; `details["traced"]` has claim id → chunk ids.
    A chunk is relevant by its label where labels are known, else by the judge.

    Edge cases: blank answer `Unscored(no_answer)`; refusal `Unscored(abstained)`; no reference
    `Unscored(no_reference)`; no claims `Unscored(no_claims)`; item unanswerable `Unscored(unanswerable)`; nothing
    retrieved 0, all wrong claims untraced.
    Cost: two judge calls, one more for each retrieved chunk when a claim is wrong, one more without labels.
    Source: RAGChecker, "noise sensitivity" (Ru et al., 2024, arXiv:2408.08067); RAGAS 0.2 noise sensitivity.

    Example: claims [right, wrong in an irrelevant chunk, wrong in no chunk, right] → 1/4 = 0.25; untraced 0.25.
    """

    judge: Judge
    mode: Mode = "all"
    info: ClassVar[MetricInfo] = MetricInfo(
        name="noise_sensitivity",
        title="Noise sensitivity (judge)",
        needs=frozenset({Need.ANSWER, Need.CONTEXT_TEXT, Need.REFERENCE, Need.JUDGE}),
        uses=frozenset({Need.LABELS, Need.ANSWERABLE}),
        better="lower",
        half="generation",
        source="RAGChecker noise sensitivity, arXiv:2408.08067",
    )

    def __post_init__(self) -> None:
        if self.mode not in ("all", "relevant", "irrelevant"):
            raise SettingsError(f"mode must be 'all', 'relevant' or 'irrelevant', not {self.mode!r}")

    async def score(self, sample: Sample) -> Scored | Unscored:
        """Find the wrong claims, then the chunks that each of them stands in."""
        if sample.item.answerable is False:
            return unscored(Reason.UNANSWERABLE, "an unanswerable item has no reference to be wrong against")
        answer, reference, chunks = claimed_text(sample), reference_text(sample), retrieved(sample)
        if isinstance(answer, Unscored):
            return answer
        if isinstance(reference, Unscored):
            return reference
        if isinstance(chunks, Unscored):
            return chunks
        claims = await split(self.judge, answer)
        if not claims:
            return unscored(Reason.NO_CLAIMS, "the answer makes no claims")
        verdicts = await coverage(self.judge, claims, reference)
        wrong = [claim for claim, verdict in zip(claims, verdicts, strict=True) if verdict.label != "supported"]
        shown = readable(chunks)
        matrix = await self._matrix(wrong, shown)
        is_relevant, by = await relevant(self.judge, sample, shown) if wrong and shown else ({}, "nobody")
        traced = {
            claim.id: {chunk.id: is_relevant[chunk.id] for chunk in shown if matrix[claim.id, chunk.id] == "supported"}
            for claim in wrong
        }
        n_relevant = sum(any(holders.values()) for holders in traced.values())
        n_irrelevant = sum(bool(holders) and not any(holders.values()) for holders in traced.values())
        counted = {"all": n_relevant + n_irrelevant, "relevant": n_relevant, "irrelevant": n_irrelevant}[self.mode]
        return Scored(
            value=counted / len(claims),
            count=len(claims),
            verdicts=verdicts,
            details={
                "wrong": len(wrong) / len(claims),
                "relevant": n_relevant / len(claims),
                "irrelevant": n_irrelevant / len(claims),
                "untraced": (len(wrong) - n_relevant - n_irrelevant) / len(claims),
                "traced": {claim: list(holders) for claim, holders in traced.items()},
                "relevant_by": by,
            },
        )

    async def _matrix(self, wrong: Sequence[Claim], chunks: Sequence[RetrievedChunk]) -> dict[tuple[str, str], str]:
        """(claim id, chunk id) → label: every pair is there, or the judge's lapse is raised."""
        matrix = {}
        if wrong:
            for chunk in chunks:
                for verdict in await support(self.judge, wrong, (chunk,)):
                    matrix[verdict.id, chunk.id] = verdict.label
        return matrix
