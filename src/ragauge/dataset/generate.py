"""Synthetic questions from a corpus, written by a language model, checked, and never taken for verified.

What the model writes is kept only if it stands up: its quotes stand in the passages that it was shown, it copies no
long run of words, it repeats no question, and (with a judge) its passages are enough to answer it, each single one of a
multi-hop question is not, and the nearest passages of an unanswerable one are not either.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import BaseModel, ConfigDict, ValidationError

from ragauge.core.judge import Judge
from ragauge.core.provider import Provider, Request, Sampling, Shape
from ragauge.core.sample import Chunk, Evidence, EvidenceGroup, GoldenItem, RetrievedChunk, is_blank
from ragauge.core.tasks import SUFFICIENCY
from ragauge.dataset.duplicates import Encode, duplicates
from ragauge.dataset.evidence import CorpusIndex
from ragauge.dataset.golden_checks import TAGS
from ragauge.dataset.golden_validate import copied_run
from ragauge.dataset.lexical import Lexical
from ragauge.errors import SampleError, UsageError
from ragauge.prompts.fences import Fenced, Piece
from ragauge.prompts.loader import Prompt, load
from ragauge.text.tokens import content_words

#: How often each kind is asked for, unless somebody says otherwise; unanswerable within the advised 10 to 15 %.
MIX: dict[str, float] = {
    "lookup": 0.30, "numeric": 0.15, "table": 0.10, "multi_hop": 0.15, "conflict": 0.05, "ambiguous": 0.12,
    "unanswerable": 0.13,
}  # fmt: skip
#: A passage with fewer content words than this gives no question.
SHORTEST = 12
#: How many passages nearest to an unanswerable question are looked at.
NEAREST = 5
_PAIRS = frozenset(("multi_hop", "conflict"))


class _Quote(BaseModel):
    model_config = ConfigDict(extra="ignore")
    passage: str
    quote: str


class _Draft(BaseModel):
    """What the model sends back."""

    model_config = ConfigDict(extra="ignore")
    id: str = ""
    skip: bool = False
    question: str = ""
    answer: str = ""
    keywords: list[str] = []
    quotes: list[_Quote] = []


@dataclass(frozen=True)
class Wanted:
    """One question to be written: its kind and the passages that it is about."""

    kind: str
    chunks: tuple[Chunk, ...]


@dataclass
class Generated:
    """The items that were kept, and why others were not."""

    items: list[GoldenItem] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    n_asked: int = 0


@dataclass(frozen=True)
class Generator:
    """Writes questions about `corpus` with the model behind `provider`. `judge` checks them; None: only rules do."""

    provider: Provider
    corpus: CorpusIndex
    judge: Judge | None = None
    encode: Encode | None = None
    sampling: Sampling = field(default_factory=lambda: Sampling(temperature=0.7))
    seed: int = 0
    max_reasks: int = 1
    prompts: str | None = None

    async def write(
        self,
        n: int,
        *,
        kinds: Mapping[str, float] | None = None,
        known: Sequence[str] = (),
        concurrency: int = 4,
        progress: Callable[[int], None] | None = None,
    ) -> Generated:
        """About `n` new questions, none of which repeats one of `known`; fewer where too many fall through.

        At most 2 n + 5 are asked for. The order and the ids depend on the seed and the corpus only.
        """
        prompt = load("golden_question", folder=self.prompts)
        lexical = Lexical(self.corpus.chunks)
        wanted = self.plan(2 * n + 5, kinds or MIX, lexical)
        done = Generated()
        questions = list(known)
        gate = asyncio.Semaphore(concurrency)

        async def one(place: int) -> GoldenItem | str:
            async with gate:
                return await self._one(wanted[place], place, prompt, lexical)

        for start in range(0, len(wanted), max(1, concurrency * 2)):
            missing = n - len(done.items)
            if missing <= 0:
                break
            batch = range(start, min(len(wanted), start + max(1, concurrency * 2)))
            for found in await asyncio.gather(*(one(place) for place in batch)):
                done.n_asked += 1
                if isinstance(found, str):
                    done.dropped[found] += 1
                elif len(done.items) >= n:
                    done.dropped["more than were asked for"] += 1
                elif any(
                    index == len(questions) for index, _, _ in duplicates([*questions, found.question], self.encode)
                ):
                    done.dropped["repeats a question"] += 1
                else:
                    questions.append(found.question)
                    done.items.append(found)
            if progress is not None:
                progress(len(done.items))
        return done

    def plan(self, n: int, kinds: Mapping[str, float], lexical: Lexical) -> list[Wanted]:
        """What to ask for: kinds by their shares, passages spread over the documents, pairs that belong together."""
        unknown = sorted(set(kinds) - set(TAGS))
        if unknown or not kinds or min(kinds.values()) < 0 or sum(kinds.values()) <= 0:
            raise UsageError(f"kinds of questions are {', '.join(TAGS)}, each with a share", hint=f"Not: {unknown}.")
        usable = [chunk for chunk in self.corpus.chunks if len(content_words(chunk.text)) >= SHORTEST]
        if not usable:
            raise UsageError(f"no chunk of the corpus has {SHORTEST} words that carry meaning: nothing to ask about")
        rng = random.Random(f"{self.seed}:golden")
        by_document: dict[str, list[Chunk]] = {}
        for chunk in usable:
            by_document.setdefault(chunk.document or chunk.id, []).append(chunk)
        names = sorted(by_document)
        for name in names:
            rng.shuffle(by_document[name])
        rng.shuffle(names)
        total = sum(kinds.values())
        owed = dict.fromkeys(kinds, 0.0)
        wanted: list[Wanted] = []
        for place in range(n):
            for kind, share in kinds.items():
                owed[kind] += share / total
            kind = max(owed, key=lambda kind: (owed[kind], kind))
            owed[kind] -= 1.0
            group = by_document[names[place % len(names)]]
            chunk = self._for(kind, group, place // len(names))
            wanted.append(Wanted(kind, (chunk, *self._partner(kind, chunk, lexical))))
        return wanted

    def _for(self, kind: str, group: Sequence[Chunk], turn: int) -> Chunk:
        """A chunk of the document that suits the kind, else the one whose turn it is."""
        if kind == "table":
            suited = [chunk for chunk in group if chunk.text.count("|") > 6 or chunk.text.count("\n- ") > 2]
        elif kind == "numeric":
            suited = [chunk for chunk in group if any(c.isdigit() for c in chunk.text)]
        else:
            suited = list(group)
        pool = suited or list(group)
        return pool[turn % len(pool)]

    def _partner(self, kind: str, chunk: Chunk, lexical: Lexical) -> tuple[Chunk, ...]:
        """For questions over two passages: the most alike one of another document, else of another place."""
        if kind not in _PAIRS:
            return ()
        near = [found for found, _ in lexical.search(chunk.text, 8) if found.id != chunk.id]
        others = [found for found in near if found.document != chunk.document] or near
        return tuple(others[:1])

    async def _one(self, wanted: Wanted, place: int, prompt: Prompt, lexical: Lexical) -> GoldenItem | str:
        """One question, or why there is none."""
        if wanted.kind in _PAIRS and len(wanted.chunks) < 2:
            return "no two passages belong together"
        try:
            draft = await self._draft(wanted, place, prompt)
        except SampleError as problem:
            return f"the model: {problem.reason.value}"
        if isinstance(draft, str):
            return draft
        item = self._item(draft, wanted, place, prompt)
        if isinstance(item, str) or self.judge is None:
            return item
        try:
            return await self._checked(item, wanted, lexical)
        except SampleError as problem:
            return f"the judge: {problem.reason.value}"

    async def _draft(self, wanted: Wanted, place: int, prompt: Prompt) -> _Draft | str:
        names = [f"P{number}" for number in range(1, len(wanted.chunks) + 1)]
        item = f"G{hashlib.sha256(f'{self.seed}:{place}'.encode()).hexdigest()[:6]}"
        pieces = tuple(Piece("passage", chunk.text, name) for name, chunk in zip(names, wanted.chunks, strict=True))
        rendered = prompt.render(item=item, kind=wanted.kind, passages=Fenced(pieces))
        for attempt in range(self.max_reasks + 1):
            again = (
                "\nYour last reply was not the JSON asked for. Reply with the JSON and nothing else." if attempt else ""
            )
            reply = await self.provider.complete(
                Request(
                    task="golden_question",
                    system=rendered.system,
                    user=rendered.user + again,
                    prompt_sha256=prompt.sha256,
                    shape=SHAPE,
                    sampling=self.sampling,
                    sample=place,
                    attempt=attempt,
                    ids=(item,),
                    labels=(wanted.kind,),
                )
            )
            draft = _read(reply.text) if reply.stop == "complete" else None
            if draft is not None and draft.id == item:
                return "the model saw no good question" if draft.skip else draft
        return "the reply could not be read"

    def _item(self, draft: _Draft, wanted: Wanted, place: int, prompt: Prompt) -> GoldenItem | str:
        """The golden item that a draft makes, or the rule that it breaks."""
        names = {f"P{number}": chunk for number, chunk in enumerate(wanted.chunks, 1)}
        if is_blank(draft.question) or len(content_words(draft.question)) < 2:
            return "no question"
        unanswerable = wanted.kind == "unanswerable"
        groups: list[EvidenceGroup] = []
        documents: dict[str, None] = {}
        if not unanswerable:
            if is_blank(draft.answer):
                return "no answer"
            for quote in draft.quotes:
                chunk = names.get(quote.passage.strip())
                if chunk is None or is_blank(quote.quote):
                    return "a quote of a passage that was not shown"
                evidence = Evidence(document=chunk.document or chunk.id, quote=quote.quote.strip())
                if chunk.id not in self.corpus.resolve(evidence).chunks:
                    return "a quote that does not stand in its passage"
                groups.append(EvidenceGroup(any=(evidence,)))
                documents[evidence.document] = None
            if not groups:
                return "no quote"
            if wanted.kind in _PAIRS and len({quote.passage.strip() for quote in draft.quotes}) < 2:
                return "one passage is enough"
        if any(copied_run(draft.question, chunk.text) for chunk in wanted.chunks):
            return "copies its passage"
        answer = None if unanswerable else draft.answer.strip()
        keywords = (
            [] if answer is None else [w for w in draft.keywords if w.strip() and w.casefold() in answer.casefold()]
        )
        mark = hashlib.sha256(draft.question.strip().encode("utf-8", "replace")).hexdigest()[:8]
        return GoldenItem(
            id=f"synthetic-{wanted.kind.replace('_', '-')}-{mark}",
            question=draft.question.strip(),
            answer=answer,
            answerable=not unanswerable,
            sources=tuple(documents) or None,
            evidence=tuple(groups) or None,
            keywords=tuple(keywords) or None,
            tags=(wanted.kind, "synthetic"),
            verified=False,
            metadata={
                "generated_by": self.provider.endpoint.label,
                "prompt": prompt.sha256[:16],
                "seed": self.seed,
                "place": place,
                "passages": [chunk.id for chunk in wanted.chunks],
            },
        )

    async def _checked(self, item: GoldenItem, wanted: Wanted, lexical: Lexical) -> GoldenItem | str:
        """The item if the judge agrees that it can (or cannot) be answered, else why not."""
        if not item.answerable:
            near = [chunk for chunk, _ in lexical.search(item.question, NEAREST)]
            return "answerable after all" if await self._enough(item.question, near) else item
        if not await self._enough(item.question, wanted.chunks):
            return "its passages are not enough to answer it"
        if wanted.kind == "multi_hop":
            for chunk in wanted.chunks:
                if await self._enough(item.question, (chunk,)):
                    return "one passage is enough"
        return item

    async def _enough(self, question: str, chunks: Sequence[Chunk]) -> bool:
        assert self.judge is not None
        shown = tuple(
            RetrievedChunk(id=chunk.id, document=chunk.document, text=chunk.text, rank=rank)
            for rank, chunk in enumerate(chunks, 1)
        )
        if not shown:
            return False
        reply = await self.judge.ask(SUFFICIENCY, question=question, chunks=shown)
        return reply.verdict.label == "sufficient"


def _shape() -> Shape:
    text = {"type": "string"}
    quote = {
        "type": "object", "properties": {"passage": text, "quote": text}, "required": ["passage", "quote"],
        "additionalProperties": False,
    }  # fmt: skip
    fields = {
        "id": text, "skip": {"type": "boolean"}, "question": text, "answer": text,
        "keywords": {"type": "array", "items": text}, "quotes": {"type": "array", "items": quote},
    }  # fmt: skip
    schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
    return Shape("golden_question", schema, hashlib.sha256(json.dumps(schema, sort_keys=True).encode()).hexdigest())


SHAPE = _shape()


def _read(text: str) -> _Draft | None:
    """The draft in a reply, which may stand in a code fence; None when it cannot be read."""
    plain = text.strip()
    if plain.startswith("```"):
        plain = plain.partition("\n")[2].rpartition("```")[0]
    start, end = plain.find("{"), plain.rfind("}")
    try:
        return _Draft.model_validate(json.loads(plain[start : end + 1], parse_constant=_no_constant))
    except (ValueError, ValidationError, RecursionError):
        return None


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")
