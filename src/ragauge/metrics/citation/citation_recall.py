"""Citation recall: does every sentence that needs a source name one?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragauge.core.judge import Judge
from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import Sample, is_blank
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.core.tasks import NEEDS_CITATION
from ragauge.core.verdict import Claim
from ragauge.errors import Reason
from ragauge.metrics.remembered import cited_sentences
from ragauge.metrics.settle import claimed_text
from ragauge.metrics.verdicts import verdicts_on
from ragauge.text.citations import CitedSentence, resolve


@dataclass(frozen=True)
class CitationRecall:
    """Share of the sentences that need a citation and have one (fraction, 0 to 1, higher is better).

    Formula: sentences that need a citation and have one / sentences that need one. The judge says for every sentence
    whether it needs one (greetings, headings, questions and hedges do not). A citation that points at no retrieved
    chunk is none, where the retrieved chunks are known. Whether a citation is right is `citation_accuracy`.

    Edge cases: no sentence needs one `Unscored(no_claims)`; blank answer `Unscored(no_answer)`; refusal
    `Unscored(abstained)`; no citations at all 0, if any sentence needs one. `details["without"]` has the ids of the
    sentences that lack one (s1, s2 …, their words are in the verdicts).
    Cost: one judge call.
    Source: ALCE (Gao et al., 2023, arXiv:2305.14627); missing citations counted apart from wrong ones.

    Example: "Hello. A is 1 [1]. B is 2." → two sentences need one, one has it → 0.5.
    """

    judge: Judge
    info: ClassVar[MetricInfo] = MetricInfo(
        name="citation_recall",
        title="Citation recall (judge)",
        needs=frozenset({Need.ANSWER, Need.JUDGE}),
        uses=frozenset({Need.CONTEXT}),
        half="generation",
        source="after ALCE, arXiv:2305.14627",
    )

    async def score(self, sample: Sample) -> Scored | Unscored:
        """Have every sentence judged, then count those that need a citation and have one."""
        answer = claimed_text(sample)
        if isinstance(answer, Unscored):
            return answer
        context = sample.response.context
        known = tuple(context.ids) if context is not None else ()
        sentences = {
            f"s{number}": sentence
            for number, sentence in enumerate(cited_sentences(sample.response.answer or "", known), start=1)
            if not is_blank(sentence.text)
        }
        claims = [Claim(id=id, text=sentence.text) for id, sentence in sentences.items()]
        verdicts = await verdicts_on(self.judge, NEEDS_CITATION, claims, lambda owed: {"claims": owed})
        needing = [verdict.id for verdict in verdicts if verdict.label == "needed"]
        if not needing:
            return unscored(Reason.NO_CLAIMS, "no sentence needs a citation")
        without = [id for id in needing if not _cites(sentences[id], sample)]
        return Scored(
            value=1.0 - len(without) / len(needing),
            count=len(needing),
            verdicts=verdicts,
            details={"without": without, "n_sentences": len(sentences)},
        )


def _cites(sentence: CitedSentence, sample: Sample) -> bool:
    context = sample.response.context
    if context is None:
        return bool(sentence.citations)
    return any(resolve(citation, context) is not None for citation in sentence.citations)
