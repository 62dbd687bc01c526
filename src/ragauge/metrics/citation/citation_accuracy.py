"""Citation accuracy: do the cited chunks say what they are cited for?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from ragauge.core.judge import Judge
from ragauge.core.metric import MetricInfo, Need
from ragauge.core.sample import RetrievedChunk, RetrievedContext, Sample, is_blank
from ragauge.core.score import Scored, Unscored, unscored
from ragauge.core.tasks import CITATION_SUPPORT
from ragauge.core.verdict import Claim, Verdict
from ragauge.errors import Reason
from ragauge.metrics.remembered import cited_sentences
from ragauge.metrics.settle import claimed_text, readable, retrieved
from ragauge.metrics.verdicts import count, shares, verdicts_on
from ragauge.text.citations import Citation, resolve


@dataclass(frozen=True)
class CitationAccuracy:
    """Share of the citations that hold (fraction, 0 to 1, higher is better).

    The unit is a cited sentence with all the chunks that it cites: they must support it together. A citation of a chunk
    that does not exist is a unit of its own, and wrong. Formula: supported units / all units. Ids: s1, s2 … are cited
    sentences, `s1!1` … the citations of s1 that point nowhere.

    Where the answer has no markers but the system names the chunks it cites (`response.citations`), every sentence is
    held against all of them.

    Edge cases: no citations `Unscored(no_citations)`; blank answer `Unscored(no_answer)`; refusal
    `Unscored(abstained)`; nothing retrieved: every citation points nowhere, 0; a trailing `[1]` belongs to the sentence
    before it; a cited chunk without text supports nothing.
    Cost: one judge call.
    Source: ALCE (Gao et al., 2023, arXiv:2305.14627), with the sentence as the unit.

    Example: "A is 1 [1]. B is 2 [2][9]." with [1] and [2] right and no chunk 9 → 2/3 = 0.667.
    """

    judge: Judge
    info: ClassVar[MetricInfo] = MetricInfo(
        name="citation_accuracy",
        title="Citation accuracy (judge)",
        needs=frozenset({Need.ANSWER, Need.CONTEXT_TEXT, Need.JUDGE}),
        half="generation",
        source="after ALCE, arXiv:2305.14627",
    )

    async def score(self, sample: Sample) -> Scored | Unscored:
        """Find who cites what, then have each cited sentence judged against its chunks."""
        answer = claimed_text(sample)
        if isinstance(answer, Unscored):
            return answer
        chunks = retrieved(sample)
        if isinstance(chunks, Unscored):
            return chunks
        units = _units(sample)
        if not units:
            return unscored(Reason.NO_CITATIONS, "the answer cites nothing")
        verdicts = await self._judge(units, {chunk.id: chunk for chunk in readable(chunks)})
        return Scored(
            value=count(verdicts, "supported") / len(verdicts),
            count=len(verdicts),
            verdicts=verdicts,
            details={
                **shares(verdicts, CITATION_SUPPORT.labels),
                "n_cited_sentences": sum(bool(unit.cited) for unit in units),
                "n_pointing_nowhere": sum(len(unit.nowhere) for unit in units),
            },
        )

    async def _judge(self, units: Sequence[_Unit], chunks: dict[str, RetrievedChunk]) -> tuple[Verdict, ...]:
        """One verdict on each cited sentence and on each citation that points nowhere, in the answer's order."""
        cited = {unit.claim.id: tuple(id for id in unit.cited if id in chunks) for unit in units}
        judged = [unit.claim for unit in units if cited[unit.claim.id]]
        shown = tuple(chunk for chunk in chunks.values() if any(chunk.id in ids for ids in cited.values()))
        given = await verdicts_on(
            self.judge,
            CITATION_SUPPORT,
            judged,
            lambda owed: {"claims": owed, "chunks": shown, "cited": {claim.id: cited[claim.id] for claim in owed}},
            {chunk.id for chunk in shown},
        )
        by_id = {verdict.id: verdict for verdict in given}
        verdicts = []
        for unit in units:
            if unit.cited:
                verdicts.append(by_id.get(unit.claim.id) or unit.unsupported("the cited chunk shows no text"))
            verdicts.extend(
                unit.unsupported(f"{marker} points at no retrieved chunk", f"!{number}")
                for number, marker in enumerate(unit.nowhere, start=1)
            )
        return tuple(verdicts)


@dataclass(frozen=True)
class _Unit:
    """A sentence, the retrieved chunks that it cites, and its citations that point nowhere."""

    claim: Claim
    cited: tuple[str, ...] = ()
    nowhere: tuple[str, ...] = field(default=())

    def unsupported(self, reason: str, suffix: str = "") -> Verdict:
        return Verdict(id=self.claim.id + suffix, claim=self.claim.text, label="not_mentioned", reason=reason)


def _units(sample: Sample) -> list[_Unit]:
    context = sample.response.context or RetrievedContext()
    sentences = cited_sentences(sample.response.answer or "", tuple(context.ids))
    units = []
    for number, sentence in enumerate(sentences, start=1):
        ids = [resolve(citation, context) for citation in sentence.citations]
        named = tuple(dict.fromkeys(id for id in ids if id is not None))
        markers = tuple(
            f"the citation {citation.marker!r}"
            for citation, id in zip(sentence.citations, ids, strict=True)
            if id is None
        )
        text = sentence.text if not is_blank(sentence.text) else sentence.span.text
        if named or markers:
            units.append(_Unit(Claim(id=f"s{number}", text=text), named, markers))
    return units or _units_of_the_whole(sample, context)


def _place(name: str, context: RetrievedContext) -> str | None:
    """The chunk that a listed citation means: a chunk's or document's id, else a place in the context."""
    by_name = resolve(Citation(name, name, 0, 0), context)
    if by_name is None and name.isascii() and name.isdigit() and len(name) < 5:
        return resolve(Citation(name, int(name), 0, 0), context)
    return by_name


def _units_of_the_whole(sample: Sample, context: RetrievedContext) -> list[_Unit]:
    """The answer names its sources as a whole: every sentence is held against all of them."""
    listed = {name: _place(name, context) for name in sample.response.citations or ()}
    known = tuple(dict.fromkeys(id for id in listed.values() if id is not None))
    nowhere = tuple(f"the citation {name!r}" for name, id in listed.items() if id is None)
    if not listed:
        return []
    sentences = [s for s in cited_sentences(sample.response.answer or "", ()) if not is_blank(s.text)]
    return [
        _Unit(Claim(id=f"s{number}", text=sentence.text), known, nowhere if number == 1 else ())
        for number, sentence in enumerate(sentences, start=1)
    ]
