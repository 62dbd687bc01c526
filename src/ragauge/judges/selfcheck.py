"""Does a judge judge at all? Cases with known verdicts, run through any judge."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragauge.core.judge import Judge
from ragauge.core.model import Model
from ragauge.core.sample import RetrievedChunk
from ragauge.core.selfcheck import CaseResult
from ragauge.core.tasks import ABSTENTION, CITATION_SUPPORT, SPLIT_CLAIMS, SUPPORT
from ragauge.core.verdict import Claim
from ragauge.errors import JudgeUnsupported, SampleError
from ragauge.judges.selfcheck_cases import CASES, Case
from ragauge.text.citations import parse_citations


class SelfCheckReport(Model):
    """All cases, in order; `passed` when none failed and at least one could be judged."""

    judge: str
    results: tuple[CaseResult, ...]

    @property
    def n_failed(self) -> int:
        """Cases that the judge got wrong."""
        return sum(result.passed is False for result in self.results)

    @property
    def n_passed(self) -> int:
        """Cases that the judge got right."""
        return sum(result.passed is True for result in self.results)

    @property
    def passed(self) -> bool:
        """Whether the judge may be used."""
        return self.n_failed == 0 and self.n_passed > 0


async def self_check(judge: Judge, cases: Sequence[Case] = CASES) -> SelfCheckReport:
    """Run `judge` over the cases. What it cannot do is reported as such; any other failure is a failed case."""
    results = []
    for case in cases:
        try:
            expected, got, passed = await _run(judge, case)
        except JudgeUnsupported as error:
            expected, got, passed = case.said(), str(error.message), None
        except SampleError as error:
            expected, got, passed = case.said(), f"{error.reason.value}: {error.message}", False
        results.append(CaseResult(name=case.name, kind=case.kind, passed=passed, expected=expected, got=got))
    return SelfCheckReport(judge=judge.info().name, results=tuple(results))


async def _run(judge: Judge, case: Case) -> tuple[str, str, bool]:
    if case.kind == "abstention":
        reply = await judge.ask(ABSTENTION, question=case.question, answer=case.answer)
        got = reply.verdict.label
        return case.said(), got, got == case.abstention
    if case.kind == "sentences":
        n = len([s for s in parse_citations(case.answer) if s.span.kind != "heading"])
        claims = (await judge.ask(SPLIT_CLAIMS, text=case.answer)).claims
        bare = [claim.text for claim in claims if not any(letter.isalpha() for letter in claim.text)]
        return case.said(), f"{n} sentences, {len(claims)} claims", n == case.n_sentences and not bare and bool(claims)
    if case.kind == "citations":
        return await _citations(judge, case)
    claims = (await judge.ask(SPLIT_CLAIMS, text=case.answer)).claims
    if not claims:
        return case.said(), "no claims", False
    verdicts = (await judge.ask(SUPPORT, claims=claims, chunks=case.chunks)).verdicts
    labels = [verdict.label for verdict in verdicts]
    ids = sorted(verdict.id for verdict in verdicts) == sorted(claim.id for claim in claims)
    got = ", ".join(labels)
    return case.said(), got, ids and _EXPECTED[case.kind](labels)


async def _citations(judge: Judge, case: Case) -> tuple[str, str, bool]:
    """Each cited sentence against the chunks that it cites; `cited_ok` says which ought to hold."""
    by_place: list[RetrievedChunk] = list(case.chunks)
    claims, cited = [], {}
    for number, sentence in enumerate(parse_citations(case.answer), start=1):
        places = [c.target for c in sentence.citations if isinstance(c.target, int) and c.target <= len(by_place)]
        if places:
            claims.append(Claim(id=f"s{number}", text=sentence.text))
            cited[f"s{number}"] = tuple(by_place[place - 1].id for place in places)
    reply = await judge.ask(CITATION_SUPPORT, claims=tuple(claims), chunks=case.chunks, cited=cited)
    got = tuple(verdict.label == "supported" for verdict in reply.verdicts)
    return case.said(), ", ".join(verdict.label for verdict in reply.verdicts), got == case.cited_ok


_EXPECTED: dict[str, Callable[[list[str]], bool]] = {
    "good": lambda labels: all(label == "supported" for label in labels),
    "hallucinated": lambda labels: not any(label == "supported" for label in labels),
    "contradicted": lambda labels: any(label != "supported" for label in labels),
    "partly": lambda labels: "supported" in labels and any(label != "supported" for label in labels),
}
