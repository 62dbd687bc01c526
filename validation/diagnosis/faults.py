"""The seeded faults: each changes one thing of a healthy pipeline, and says which cause and which fix are right."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
from oracle import DENIED, EXAMPLE, INVENTED, QuotingGenerator, Truth, holder, plain, quotes_of, said

from ragauge.core.sample import Chunk, GoldenItem, Question, Response, RetrievedChunk, RetrievedContext
from ragauge.core.system import SystemInfo
from ragauge.dataset.golden import GoldenSet
from ragauge.errors import SystemFailed
from ragauge.systems.reference import pipeline
from ragauge.systems.reference.corpus import load_corpus
from ragauge.systems.reference.seams import Generated
from ragauge.systems.reference.settings import read_settings

K = 8
Chunks = list[Chunk]
Keep = Callable[[Question, Any], bool]


@dataclass
class World:
    """What a fault may change: the golden set, the chunks, the settings, the generator, what the retriever keeps."""

    golden: GoldenSet
    truth: Truth
    chunks: Chunks
    settings: dict[str, Any]
    generator: Any
    keep: Keep | None = None
    neighbours: bool = False
    embedder: Any = None
    show_corpus: bool = True
    fails: Callable[[Question], bool] | None = None


@dataclass(frozen=True)
class Fault:
    """`expected`: for a row that the fault broke, the causes that are right; None: the fault is not in this row."""

    name: str
    seed: Callable[[World], None]
    expected: Callable[[World, GoldenItem], set[str] | None]
    fix: str
    settled_by: str = ""


class Seeded:
    """The reference pipeline with something taken out of what it finds, and another generator."""

    def __init__(self, world: World, k: int | None = None) -> None:
        settings = world.settings | ({"k": k, "candidates": max(k, 20)} if k is not None else {})
        checked = read_settings(settings | {"generator": "none"})
        load = (lambda _: world.embedder) if world.embedder is not None else pipeline.load_embedder
        with (
            patch.object(pipeline, "_chunks", lambda corpus, chosen: list(world.chunks)),
            patch.object(pipeline, "load_embedder", load),
        ):
            self.inner = pipeline.ReferenceSystem(checked, load_corpus(checked.corpus))
        self.world = world
        if world.show_corpus:
            self.corpus = self.inner.corpus

    def info(self) -> SystemInfo:
        return self.inner.info()

    async def prepare(self, questions: Sequence[Question]) -> None:
        await self.inner.prepare(questions)

    async def aclose(self) -> None:
        await self.inner.aclose()

    async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Response:
        if self.world.fails is not None and self.world.fails(question):
            raise SystemFailed("the service did not answer")
        if context is None:
            response = await self.inner.respond(question)
            context = response.context or RetrievedContext()
            if self.world.keep is not None:
                context = RetrievedContext(chunks=self._kept(question, context.chunks))
                steps = tuple(
                    step.model_copy(update={"chunks": self._kept(question, step.chunks)}) for step in response.steps
                )
                response = response.model_copy(update={"steps": steps, "context": context})
        else:
            response = Response(context=context)
        generated: Generated = await self.world.generator.generate(question, context)
        abstained = None if getattr(self.world.generator, "silent", False) else generated.abstained
        return response.model_copy(update={"answer": generated.answer, "abstained": abstained})

    def _kept(self, question: Question, chunks: Sequence[RetrievedChunk]) -> tuple[RetrievedChunk, ...]:
        assert self.world.keep is not None
        known = {chunk.id: chunk for chunk in self.world.chunks}
        kept: list[RetrievedChunk] = []
        for chunk in chunks:
            if self.world.keep(question, known[chunk.id]):
                kept.append(chunk)
            elif self.world.neighbours:
                there = {one.id for one in (*chunks, *kept)}
                beside = [c for c in self.world.chunks if c.document == chunk.document and c.id not in there]
                beside = [c for c in beside if self.world.keep(question, c)]
                if beside:
                    changed = {"id": beside[0].id, "text": beside[0].text if chunk.text else ""}
                    kept.append(chunk.model_copy(update=changed))
        return tuple(chunk.model_copy(update={"rank": rank}) for rank, chunk in enumerate(kept, start=1))


def healthy(golden: GoldenSet, cache: str) -> World:
    """Hybrid search, k = 8, a generator that quotes what it is given."""
    settings = {
        "corpus": str(EXAMPLE / "corpus"), "retrieval": "hybrid", "k": K, "candidates": 20, "store": "memory",
        "embedding_cache": cache, "chunk_size": 800, "chunk_overlap": 100,
    }  # fmt: skip
    checked = read_settings(settings)
    chunks = pipeline._chunks(load_corpus(checked.corpus), checked)
    truth = Truth.of(golden.items)
    return World(golden, truth, list(chunks), settings, QuotingGenerator(truth))


# --- faults of data and retrieval ---------------------------------------------------------------------------------


def cut_answers(world: World) -> None:
    """Every chunk is cut in the middle of each gold quote that it holds."""
    quotes = [quote for item in world.golden for alternatives in quotes_of(item) for quote in alternatives]
    out: Chunks = []
    for chunk in world.chunks:
        cuts = sorted({chunk.text.find(q) + len(q) // 2 for q in quotes if q in chunk.text and len(q.split()) > 5})
        cuts = [chunk.text.rfind(" ", 0, cut) for cut in cuts]
        edges = [0, *[cut for cut in cuts if cut > 0], len(chunk.text)]
        pieces = [chunk.text[a:b] for a, b in pairwise(edges) if chunk.text[a:b].strip()]
        if len(pieces) < 2:
            out.append(chunk)
            continue
        start = chunk.start or 0
        for number, piece in enumerate(pieces):
            at = start + chunk.text.index(piece)
            out.append(
                chunk.model_copy(
                    update={"id": f"{chunk.id}.{number}", "text": piece, "start": at, "end": at + len(piece)}
                )
            )
    world.chunks = out


def is_cut(world: World, item: GoldenItem) -> set[str] | None:
    lost = [quotes for quotes in quotes_of(item) if holder(quotes, world.chunks) is None]
    return {"answer_cut"} if lost else None


def drop_documents(world: World) -> None:
    asked = Counter(document for item in world.golden for document in item.sources or ())
    dropped = {document for document, _ in asked.most_common(4)}
    world.chunks = [chunk for chunk in world.chunks if chunk.document not in dropped]
    world.show_corpus = False


def needs_dropped(world: World, item: GoldenItem) -> set[str] | None:
    there = {chunk.document for chunk in world.chunks}
    gone = [group for group in item.evidence or () if all(part.document not in there for part in group.any)]
    return {"not_in_index"} if gone else None


@dataclass(frozen=True)
class HashEmbedder:
    """Vectors that have nothing to do with meaning: what a wrong model on one of the two sides amounts to."""

    name: str = "hash"
    dimension: int = 64
    max_tokens: int | None = None
    fingerprint: str = "hash-1"

    def encode(self, texts: Sequence[str]) -> Any:
        rows = [
            np.random.default_rng(int(hashlib.sha256(t.encode()).hexdigest()[:8], 16)).normal(size=64) for t in texts
        ]
        matrix = np.asarray(rows, np.float32).reshape(len(texts), 64)
        return matrix / np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)

    def truncated(self, texts: Sequence[str]) -> list[bool]:
        return [False] * len(texts)


def swap_embedder(world: World) -> None:
    world.embedder = HashEmbedder()
    world.settings = world.settings | {"retrieval": "dense", "embedding_cache": "none"}


def swap_embedder_hybrid(world: World) -> None:
    """Hybrid search whose fusion is dragged down by the bad half: k of 3."""
    world.embedder = HashEmbedder()
    world.settings = world.settings | {"embedding_cache": "none", "k": 3}


def small_k(world: World) -> None:
    world.settings = world.settings | {"k": 1}


def junk(world: World) -> None:
    """Nine stubs for each question that repeat it and say nothing."""
    for item in world.golden:
        if item.answerable is False:
            continue
        for number in range(9):
            text = f"{item.question} {item.question} See the menu. Back to top. Page {number}."
            world.chunks.append(Chunk(id=f"stub/{item.id}#{number}", document=f"stub/{item.id}-{number}.md", text=text))


def outdated(quote: str) -> str:
    """Nearly the same: one digit is another, or one word is."""
    digits = [place for place, character in enumerate(quote) if character.isdigit()]
    if digits:
        place = digits[len(digits) // 2]
        return quote[:place] + str((int(quote[place]) + 1) % 10) + quote[place + 1 :]
    words = quote.split(" ")
    words[-1] = "formerly"
    return " ".join(words)


def stale(world: World) -> None:
    """An archive copy of each gold quote, outdated, with the question above it; the generator trusts it."""
    for item in world.golden:
        for number, quotes in enumerate(quotes_of(item)):
            found = holder(quotes, world.chunks)
            if found is None:
                continue
            quote, _ = found
            text = f"{item.question}\n{outdated(quote)}"
            name = f"archive/{item.id}-{number}"
            world.chunks.append(Chunk(id=f"{name}#0", document=f"{name}.md", text=text))
    world.generator = StaleGenerator(world.truth)


class StaleGenerator(QuotingGenerator):
    async def generate(self, question: Question, context: RetrievedContext, /) -> Generated:
        item = self.truth.by_id.get(question.id)
        lines: list[tuple[str, int | None]] = []
        for quotes in quotes_of(item) if item is not None else ():
            found = holder([outdated(quote) for quote in quotes], context) or holder(quotes, context)
            if found is not None:
                lines.append((found[0], found[1].rank))
        return said(lines) if lines else self.written(question, [], context)


def drop_second_part(world: World) -> None:
    first: dict[str, list[str]] = {}
    second: dict[str, list[str]] = {}
    for item in world.golden:
        quotes = quotes_of(item)
        if len(quotes) > 1:
            first[item.id] = [quote for ones in quotes[:-1] for quote in ones]
            second[item.id] = [quote for quote in quotes[-1] if quote not in first[item.id]]

    def keep(question: Question, chunk: Any) -> bool:
        lost = holder(second.get(question.id, []), [chunk]) is not None
        return not lost or holder(first[question.id], [chunk]) is not None

    world.keep = keep


def drop_answering_chunk(world: World) -> None:
    """The search brings a neighbour of the same document where it should bring the chunk that answers."""

    def keep(question: Question, chunk: Any) -> bool:
        item = world.truth.by_id.get(question.id)
        return item is None or all(holder(quotes, [chunk]) is None for quotes in quotes_of(item))

    world.keep, world.neighbours = keep, True


def coarse_labels(world: World) -> None:
    drop_answering_chunk(world)
    items = [
        item.model_copy(update={"evidence": None, "tags": tuple(tag for tag in item.tags if tag != "multi_hop")})
        for item in world.golden
    ]
    world.golden = GoldenSet("coarse", None, items=tuple(items))


# --- faults of the generator --------------------------------------------------------------------------------------


@dataclass
class Memory(QuotingGenerator):
    """Does not look at its context."""

    async def generate(self, question: Question, context: RetrievedContext, /) -> Generated:
        return said([(f"{INVENTED} {sum(map(ord, question.id)) % 997} is the answer.", None)])


@dataclass
class Cautious(QuotingGenerator):
    async def generate(self, question: Question, context: RetrievedContext, /) -> Generated:
        return self.written(question, [], context)


@dataclass
class Embroidering(QuotingGenerator):
    """Right, and then it goes on."""

    def written(self, question: Question, found: list[tuple[str, Any]], context: RetrievedContext) -> Generated:
        if not found:
            return super().written(question, found, context)
        lines: list[tuple[str, int | None]] = [(quote, chunk.rank) for quote, chunk in found]
        return said([*lines, (f"{INVENTED} one.", None), (f"{INVENTED} two.", None)])


@dataclass
class Contrary(QuotingGenerator):
    def written(self, question: Question, found: list[tuple[str, Any]], context: RetrievedContext) -> Generated:
        if not found:
            return super().written(question, found, context)
        return said([(DENIED + quote, chunk.rank) for quote, chunk in found])


@dataclass
class Miscounting(QuotingGenerator):
    """Cites the next chunk that does not say it."""

    def written(self, question: Question, found: list[tuple[str, Any]], context: RetrievedContext) -> Generated:
        if not found:
            return super().written(question, found, context)
        lines: list[tuple[str, int | None]] = []
        for quote, _ in found:
            others = [chunk.rank for chunk in context if plain(quote) not in plain(chunk.text)]
            lines.append((quote, others[0] if others else 99))
        return said(lines)


@dataclass
class Eager(QuotingGenerator):
    """Never declines."""

    def written(self, question: Question, found: list[tuple[str, Any]], context: RetrievedContext) -> Generated:
        return super().written(question, found, context) if found else said([(f"{INVENTED} three.", None)])


@dataclass
class Hasty(QuotingGenerator):
    """Stops after the first fact."""

    def written(self, question: Question, found: list[tuple[str, Any]], context: RetrievedContext) -> Generated:
        return super().written(question, found[:1], context)


@dataclass
class Distractible(QuotingGenerator):
    """Right as long as nothing else stands in the context."""

    def written(self, question: Question, found: list[tuple[str, Any]], context: RetrievedContext) -> Generated:
        if found and len(context) > len(found):
            return said([(f"{INVENTED} four.", None)])
        return super().written(question, found, context)


def generator(kind: type[QuotingGenerator]) -> Callable[[World], None]:
    def seed(world: World) -> None:
        world.generator = kind(world.truth)

    return seed


# --- faults of the golden set -------------------------------------------------------------------------------------


def wrong_references(world: World) -> None:
    """Every third item has the reference of another one."""
    items = list(world.golden)
    answerable = [item for item in items if item.answerable is not False]
    other = dict(zip([i.id for i in answerable], [*answerable[7:], *answerable[:7]], strict=True))
    chosen = {item.id for item in answerable[::3]}
    world.golden = GoldenSet(
        name="wrong references",
        path=None,
        items=tuple(
            item.model_copy(update={"answer": other[item.id].answer, "claims": other[item.id].claims})
            if item.id in chosen
            else item
            for item in items
        ),
    )


def wrong_evidence(world: World) -> None:
    """Every third item has the evidence of another one."""
    items = list(world.golden)
    answerable = [item for item in items if item.answerable is not False]
    other = dict(zip([i.id for i in answerable], [*answerable[7:], *answerable[:7]], strict=True))
    chosen = {item.id for item in answerable[::3]}
    world.golden = GoldenSet(
        name="wrong evidence",
        path=None,
        items=tuple(
            item.model_copy(update={"evidence": other[item.id].evidence, "sources": other[item.id].sources})
            if item.id in chosen
            else item
            for item in items
        ),
    )


def third(world: World, item: GoldenItem) -> set[str] | None:
    answerable = [one.id for one in world.golden if one.answerable is not False]
    return {"wrong_label"} if item.id in answerable[::3] else None


def failing(world: World) -> None:
    world.fails = lambda question: random.Random(question.id).random() < 0.3


def answerable(*causes: str) -> Callable[[World, GoldenItem], set[str] | None]:
    return lambda world, item: set(causes) if item.answerable is not False else None


def unanswerable(*causes: str) -> Callable[[World, GoldenItem], set[str] | None]:
    return lambda world, item: set(causes) if item.answerable is False else None


def has_neighbours(*causes: str) -> Callable[[World, GoldenItem], set[str] | None]:
    """Only where each gold document has a chunk that does not answer, which can be found in its place."""

    def expected(world: World, item: GoldenItem) -> set[str] | None:
        quotes = [quote for alternatives in quotes_of(item) for quote in alternatives]
        others = {chunk.document for chunk in world.chunks if holder(quotes, [chunk]) is None}
        documents = {part.document for group in item.evidence or () for part in group.any}
        return set(causes) if documents and documents <= others else None

    return expected


def several(*causes: str) -> Callable[[World, GoldenItem], set[str] | None]:
    return lambda world, item: set(causes) if len(item.evidence or ()) > 1 else None


def memory(world: World, item: GoldenItem) -> set[str]:
    return {"answered_unanswerable"} if item.answerable is False else {"retrieved_unused"}


FAULTS: tuple[Fault, ...] = (
    Fault("answer chunk cut in two", cut_answers, is_cut, "rechunk"),
    Fault("gold documents missing", drop_documents, needs_dropped, "add_document"),
    Fault(
        "embedder swapped (dense)", swap_embedder,
        answerable("not_retrieved", "retrieved_low", "chunk_missing", "multi_hop_part_missing"), "change_embedder",
    ),
    Fault("k too small", small_k, answerable("retrieved_low"), "larger_k"),
    Fault("junk chunks", junk, answerable("crowded_out"), "clean_corpus"),
    Fault("stale duplicates outrank", stale, answerable("stale_duplicate"), "remove_stale"),
    Fault("multi-hop part missing", drop_second_part, several("multi_hop_part_missing"), "split_question"),
    Fault("answering chunk missing", drop_answering_chunk, has_neighbours("chunk_missing"), "rechunk"),
    Fault("labels too coarse", coarse_labels, has_neighbours("label_too_coarse"), "label_chunks"),
    Fault("generator ignores its context", generator(Memory), memory, "grounding_prompt"),
    Fault("over-cautious generator", generator(Cautious), answerable("wrong_abstention"), "soften_refusal"),
    Fault("hallucinating generator", generator(Embroidering), answerable("unsupported"), "grounding_prompt"),
    Fault("generator contradicts", generator(Contrary), answerable("contradicted"), "grounding_prompt"),
    Fault("wrong citations", generator(Miscounting), answerable("miscited"), "cite_each_statement"),
    Fault("never declines", generator(Eager), unanswerable("answered_unanswerable"), "decline_when_absent"),
    Fault("stops after the first fact", generator(Hasty), several("incomplete"), "ask_for_all_parts"),
    Fault(
        "distracted by other chunks", generator(Distractible), answerable("distracted"), "fewer_chunks",
        settled_by="gold_context",
    ),
    Fault("wrong reference answers", wrong_references, third, "fix_labels"),
    Fault("wrong evidence labels", wrong_evidence, third, "fix_labels"),
    Fault("service fails", failing, lambda world, item: {"system_failed"}, "mend_failures"),
)  # fmt: skip
