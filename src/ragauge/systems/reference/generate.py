"""The answer without a language model: the best-matching sentences of the context, cited, or a refusal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragauge.core.model import fingerprint
from ragauge.core.sample import Chunk, Question, RetrievedChunk, RetrievedContext
from ragauge.systems.reference.embed import search_text
from ragauge.systems.reference.evidence import Evidence, probability, weigh
from ragauge.systems.reference.passages import Passage, passages
from ragauge.systems.reference.seams import Generated
from ragauge.systems.reference.vector_cache import VectorCache

REFUSAL = "I could not find this in the documentation."
#: Raised when the same context gives another answer.
CODE_VERSION = 1
#: Chunks and passages of one context that are looked at, whatever a recorded context holds.
MAX_CHUNKS, MAX_PASSAGES = 50, 600
#: A further sentence is written when its match is at least this share of the best one's.
NEARLY_AS_GOOD = 0.9

#: Declines 2 in 100 questions whose answer is in the context, 90 in 100 about something else, 45 in 100 whose document
#: is missing, and few that are written to look answerable; validation/retrieval/RESULTS.md has the whole trade-off.
ABSTAIN_BELOW = 0.2

#: Fitted by validation/retrieval/fit_abstention.py on the development folds of SQuAD 2.0 (CC BY-SA 4.0), CLAPNQ and
#: MTRAG (Apache-2.0): questions with their retrieved context, answered by it or not.
HOLDS_ANSWER = {"intercept": -4.902, "sentence_cosine": 4.808, "chunk_cosine": 2.235, "pairs": 1.381, "margin": 3.027}


@dataclass(frozen=True)
class ExtractiveSettings:
    """`abstain_below`: decline when the probability that the context holds the answer is lower (0 never declines)."""

    refusal: str = REFUSAL
    max_sentences: int = 3
    abstain_below: float = ABSTAIN_BELOW
    prefix: str = "headings"
    language: str = "en"


@dataclass(frozen=True)
class Extract:
    """The passages in the order written, and the probability that the context holds the answer."""

    answer: str
    passages: tuple[Passage, ...]
    probability: float
    evidence: Evidence
    abstained: bool


class ExtractiveGenerator:
    """Quotes up to `max_sentences` sentences, table rows (with their header) or pieces of code, each followed by `[n]`.

    n is the rank of the chunk that it stands in. It says nothing that does not stand in the context, and the fixed
    `refusal` when the context does not seem to hold the answer. Deterministic.
    """

    def __init__(self, settings: ExtractiveSettings, vectors: VectorCache, weight: Callable[[str], float]) -> None:
        self._settings, self._vectors, self._weight = settings, vectors, weight

    @property
    def fingerprint(self) -> str:
        """Settings, model of abstention and embedder."""
        return fingerprint(
            {
                "settings": vars(self._settings), "model": HOLDS_ANSWER, "code": CODE_VERSION,
                "embedder": self._vectors.embedder.fingerprint,
            }
        )  # fmt: skip

    async def generate(self, question: Question, context: RetrievedContext, /) -> Generated:
        """The quotes, or the refusal."""
        return await asyncio.to_thread(self.answer, question, context)

    def answer(self, question: Question, context: RetrievedContext) -> Generated:
        """As `generate`, in this thread."""
        extract = self.extract(question.text, context)
        ids = {chunk.rank: chunk.id for chunk in context}
        return Generated(
            answer=extract.answer,
            citations=tuple(dict.fromkeys(ids[passage.rank] for passage in extract.passages)),
            abstained=extract.abstained,
            model="extractive",
            metadata={"holds_answer": round(extract.probability, 4)},
        )

    def extract(self, question: str, context: RetrievedContext) -> Extract:
        """As `generate`, with the reasons."""
        evidence, found = self.evidence(question, context)
        chance = probability(evidence.signals, HOLDS_ANSWER) if found else 0.0
        if not found or chance < self._settings.abstain_below:
            return Extract(self._settings.refusal, (), chance, evidence, True)
        chosen = self._chosen(found, evidence.matches)
        return Extract(_written(chosen), tuple(chosen), chance, evidence, False)

    def evidence(self, question: str, context: RetrievedContext) -> tuple[Evidence, list[Passage]]:
        """The passages of the context and how they match the question."""
        chunks = context.with_text[:MAX_CHUNKS]
        found = [passage for chunk in chunks for passage in passages(chunk)][:MAX_PASSAGES]
        texts = [
            question,
            *(_search_text(chunk, self._settings.prefix) for chunk in chunks),
            *(one.search for one in found),
        ]
        vectors = self._vectors.encode(texts)
        evidence = weigh(
            question,
            chunks,
            found,
            question_vector=vectors[0],
            chunk_vectors=vectors[1 : 1 + len(chunks)],
            passage_vectors=vectors[1 + len(chunks) :],
            weight=self._weight,
            language=self._settings.language,
        )
        return evidence, found

    def _chosen(self, found: Sequence[Passage], matches: Sequence[float]) -> list[Passage]:
        """The best passages, repeated words left out, in the order of their chunks."""
        order = sorted(
            range(len(found)), key=lambda index: (-round(matches[index], 6), found[index].rank, found[index].place)
        )
        least = NEARLY_AS_GOOD * matches[order[0]]
        chosen: list[Passage] = []
        seen: set[str] = set()
        for index in order:
            words = " ".join(found[index].text.split()).casefold()
            if len(chosen) >= self._settings.max_sentences or (chosen and matches[index] < least):
                break
            if words not in seen:
                seen.add(words)
                chosen.append(found[index])
        return sorted(chosen, key=lambda passage: (passage.rank, passage.place))


def _search_text(chunk: RetrievedChunk, prefix: str) -> str:
    return search_text(Chunk(id=chunk.id, text=chunk.text, metadata=chunk.metadata), prefix)


def _written(chosen: Sequence[Passage]) -> str:
    """Sentences after one another, code and table rows on lines of their own, each with its citation."""
    parts: list[str] = []
    for passage in chosen:
        apart = passage.kind in ("code", "row")
        text = passage.text if apart else " ".join(passage.text.split())
        cited = f"{text}\n[{passage.rank}]" if passage.kind == "code" else f"{text} [{passage.rank}]"
        if parts:
            parts.append("\n" if apart or parts[-1] == "\n" else " ")
        parts.append(cited)
    return "".join(parts)
