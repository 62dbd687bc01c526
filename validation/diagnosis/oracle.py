"""A world in which the truth is known: answers are gold quotes, and the judge sees whether they stand there.

Golden items are those of the shipped example whose evidence is quoted; their reference answer is replaced by the quotes
themselves. So a seeded fault is the only thing that can be wrong, and no judge's error hides it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import ragauge.examples_data
from ragauge.core.judge import JudgeInfo
from ragauge.core.sample import GoldenItem, Question, RetrievedContext
from ragauge.core.tasks import ClaimsReply, VerdictReply, VerdictsReply
from ragauge.core.verdict import Claim, Verdict
from ragauge.dataset.golden import GoldenSet, load_golden
from ragauge.systems.reference.seams import Generated
from ragauge.text.normalise import normalise

EXAMPLE = Path(ragauge.examples_data.__path__[0])
REFUSAL = "I could not find this in the documentation."
INVENTED = "As everybody knows, number"
DENIED = "It is not the case that "


@lru_cache(maxsize=100_000)
def plain(text: str) -> str:
    return "".join(character for character in normalise(text) if character.isalnum())


def quotes_of(item: GoldenItem) -> list[list[str]]:
    """For each needed passage, the quotes that are alternatives."""
    return [[part.quote for part in group.any if part.quote] for group in item.evidence or ()]


def golden() -> GoldenSet:
    """The example's items whose evidence is quoted throughout, and the unanswerable ones."""
    known = load_golden(EXAMPLE / "golden.yaml")
    items = []
    for item in known:
        quotes = quotes_of(item)
        if item.answerable is False:
            items.append(item)
        elif quotes and all(quotes):
            first = tuple(alternatives[0] for alternatives in quotes)
            items.append(
                item.model_copy(
                    update={"answer": "\n".join(first), "claims": first, "keywords": None,
                            "faithfulness_threshold": None, "history": ()}
                )
            )  # fmt: skip
    return GoldenSet("seeded", None, items=tuple(items))


@dataclass
class Truth:
    """Which quotes answer which question."""

    by_id: dict[str, GoldenItem] = field(default_factory=dict)
    by_question: dict[str, GoldenItem] = field(default_factory=dict)
    canonical: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, items: Sequence[GoldenItem]) -> Truth:
        truth = cls()
        for item in items:
            truth.by_id[item.id] = item
            truth.by_question[item.question] = item
            for alternatives in quotes_of(item):
                for quote in alternatives:
                    truth.canonical.setdefault(plain(quote), plain(alternatives[0]))
        return truth

    def same(self, a: str, b: str) -> bool:
        return self.canonical.get(plain(a), plain(a)) == self.canonical.get(plain(b), plain(b))


def holder(quotes: Sequence[str], context: RetrievedContext | Sequence[Any]) -> tuple[str, Any] | None:
    """(quote, chunk) of the first chunk that holds one of the quotes."""
    for chunk in context:
        text = plain(chunk.text)
        for quote in quotes:
            if plain(quote) in text:
                return quote, chunk
    return None


@dataclass
class QuotingGenerator:
    """Quotes the gold passages that stand in its context, each with its citation; declines when none does."""

    truth: Truth

    @property
    def fingerprint(self) -> str:
        return type(self).__name__

    async def generate(self, question: Question, context: RetrievedContext, /) -> Generated:
        item = self.truth.by_id.get(question.id)
        found = [holder(quotes, context) for quotes in quotes_of(item)] if item is not None else []
        return self.written(question, [one for one in found if one is not None], context)

    def written(self, question: Question, found: list[tuple[str, Any]], context: RetrievedContext) -> Generated:
        if not found:
            return Generated(REFUSAL, abstained=True)
        return said([(quote, chunk.rank) for quote, chunk in found])


def said(lines: Sequence[tuple[str, int | None]]) -> Generated:
    """One statement per line, each with its marker."""
    return Generated("\n".join(f"{text} [{rank}]" if rank else text for text, rank in lines), abstained=False)


@dataclass
class OracleJudge:
    """Knows the truth: a claim is supported by the chunk that holds its words, and by no other."""

    truth: Truth

    def info(self) -> JudgeInfo:
        return JudgeInfo(name="oracle", kind="scripted", version="1", fingerprint="oracle-1")

    async def ask(self, task: Any, /, **inputs: Any) -> Any:
        return getattr(self, task.name)(**inputs)

    def split_claims(self, text: str) -> ClaimsReply:
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        return ClaimsReply(claims=tuple(Claim(id=f"c{n}", text=line) for n, line in enumerate(lines, start=1)))

    def support(self, claims: Sequence[Claim], chunks: Sequence[Any]) -> VerdictsReply:
        return VerdictsReply(verdicts=tuple(self._one(claim, chunks) for claim in claims))

    def citation_support(
        self, claims: Sequence[Claim], chunks: Sequence[Any], cited: Mapping[str, Sequence[str]]
    ) -> VerdictsReply:
        return VerdictsReply(
            verdicts=tuple(self._one(claim, [c for c in chunks if c.id in cited[claim.id]]) for claim in claims)
        )

    def _one(self, claim: Claim, chunks: Sequence[Any]) -> Verdict:
        text, denied = claim.text, claim.text.startswith(DENIED)
        found = holder([text.removeprefix(DENIED)], chunks)
        if found is None:
            return Verdict(id=claim.id, claim=text, label="not_mentioned")
        return Verdict(id=claim.id, claim=text, label="contradicted" if denied else "supported", evidence=found[1].id)

    def coverage(self, claims: Sequence[Claim], text: str) -> VerdictsReply:
        lines = [line for line in text.split("\n") if line.strip()]
        return VerdictsReply(
            verdicts=tuple(
                Verdict(
                    id=c.id, label="supported" if any(self.truth.same(c.text, x) for x in lines) else "not_mentioned"
                )
                for c in claims
            )
        )

    def correctness(self, question: str, answer: str, reference: str) -> VerdictReply:
        wanted = [line for line in reference.split("\n") if line.strip()]
        given = [line for line in answer.split("\n") if line.strip()]
        n = sum(any(self.truth.same(line, one) for one in given) for line in wanted)
        false = sum(line.startswith((INVENTED, DENIED)) for line in given)
        label = "wrong" if n == 0 else "correct" if n == len(wanted) and not false else "partial"
        return VerdictReply(verdict=Verdict(id="answer", label=label))

    def sufficiency(self, question: str, chunks: Sequence[Any]) -> VerdictReply:
        item = self.truth.by_question[question]
        enough = all(holder(quotes, chunks) is not None for quotes in quotes_of(item))
        return VerdictReply(verdict=Verdict(id="context", label="sufficient" if enough else "insufficient"))

    def usefulness(self, question: str, chunks: Sequence[Any], reference: str | None) -> VerdictsReply:
        item = self.truth.by_question[question]
        labels = {c.id: any(holder(quotes, [c]) is not None for quotes in quotes_of(item)) for c in chunks}
        return VerdictsReply(
            verdicts=tuple(Verdict(id=c.id, label="useful" if labels[c.id] else "not_useful") for c in chunks)
        )

    def abstention(self, question: str, answer: str) -> VerdictReply:
        return VerdictReply(verdict=Verdict(id="answer", label="declined" if REFUSAL in answer else "answered"))

    def needs_citation(self, claims: Sequence[Claim]) -> VerdictsReply:
        return VerdictsReply(verdicts=tuple(Verdict(id=c.id, label="needed") for c in claims))
