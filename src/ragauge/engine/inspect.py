"""Follow one question through retrieval: every list, and where the gold chunks stand in each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragauge.core.inspection import Inspection, RankedList
from ragauge.core.sample import (
    Chunk,
    Evidence,
    GoldenItem,
    Labels,
    Question,
    Response,
    RetrievalStep,
    RetrievedChunk,
)
from ragauge.core.system import Closes, HasCorpus, System
from ragauge.dataset.evidence import CorpusIndex, resolve_labels
from ragauge.dataset.gold import ANY_DOCUMENT
from ragauge.dataset.golden import load_golden
from ragauge.engine.settings import Settings
from ragauge.errors import InputError, MissingExtra, SampleError

#: How many of the nearest chunks are shown.
NEAREST = 20
#: Candidates that are re-ranked for the comparison.
RERANKED = 50
NO_MODEL = "no language model is configured for this pipeline, so HyDE was not compared with the question itself"


def gold_labels(gold: Sequence[str], corpus: CorpusIndex | None) -> Labels:
    """Each of `gold` is a chunk id, a document id, or a quote; each is a needed passage of its own."""
    groups: list[tuple[str, ...]] = []
    chunks: dict[str, int] = {}
    documents: dict[str, int] = {}
    notes: list[str] = []
    for text in gold:
        if corpus is None:
            groups.append((text,))
            chunks[text] = 1
            continue
        if text in corpus.by_id:
            ids: tuple[str, ...] = (text,)
        elif text in corpus.by_document:
            ids = tuple(chunk.id for chunk in corpus.by_document[text])
        else:
            found = corpus.resolve(Evidence(document=ANY_DOCUMENT, quote=text))
            if found.problem:
                raise InputError(
                    "the gold passage is nowhere in the corpus",
                    field="--gold",
                    found=text,
                    accepted="a chunk's id, a document's id, or words of a document",
                )
            ids = found.chunks
            notes += [found.note] if found.note else []
        groups.append(ids)
        chunks |= dict.fromkeys(ids, 1)
        documents |= {document: 1 for name in ids if (document := corpus.by_id[name].document)}
    return Labels(chunks=chunks or None, documents=documents or None, groups=tuple(groups) or None, notes=tuple(notes))


def golden_item(settings: Settings, question: str) -> GoldenItem | None:
    """The item of the golden set that asks just this, blanks and case aside; None without a set, or when several do.

    An item with turns before its question is not taken: without them the question is another one.
    """
    if settings.golden is None:
        return None
    wanted = " ".join(question.casefold().split())
    found = [
        item
        for item in load_golden(settings.path(settings.golden))
        if not item.history and " ".join(item.question.casefold().split()) == wanted
    ]
    return found[0] if len(found) == 1 else None


async def inspect_question(
    system: System, question: str, *, gold: Sequence[str] = (), item: GoldenItem | None = None, expander: Any = None
) -> Inspection:
    """What `system` does with `question`. Gold chunks come from `gold`, or from the golden `item`.

    The reference pipeline shows everything; of any other system only what it returns and the steps that it records.
    `expander`: turns the question into another query (HyDE), whose list is then compared with the direct one.
    """
    asked = item.ask() if item is not None else Question(id="inspect", text=question)
    try:
        response = await system.respond(asked)
        corpus = CorpusIndex.from_chunks(system.corpus()) if isinstance(system, HasCorpus) else None
        labels = gold_labels(gold, corpus) if gold else Labels()
        if item is not None and not gold:
            labels = resolve_labels(item, corpus, response)
        lists, not_done = await _lists(system, asked, response, corpus, expander)
        return _inspection(system, asked.text, response, corpus, labels, lists, not_done)
    finally:
        if isinstance(system, Closes):
            await system.aclose()


async def _lists(
    system: System, asked: Question, response: Response, corpus: CorpusIndex | None, expander: Any
) -> tuple[list[RankedList], dict[str, str]]:
    from ragauge.systems.reference.pipeline import ReferenceSystem

    own = _own_order(response)
    if not isinstance(system, ReferenceSystem) or corpus is None:
        lists = [*_from_steps(response.steps, 0), *([own] if own else [])]
        why = "only the built-in reference pipeline shows its lists; this is what the system itself recorded"
        return lists, {"dense, BM25 and fused lists": why, "re-ranker": why, "HyDE": NO_MODEL}
    n = len(corpus)
    expander = expander or system.hyde()
    not_done: dict[str, str] = {}
    lists = []
    try:
        wide = await _asked(system, asked, retrieval="hybrid", rerank="none", n=n)
        lists += _from_steps(wide.steps, min(n, 10_000))
    except MissingExtra as error:
        not_done["BM25 and fused lists"] = str(error)
    again = await _asked(system, asked, retrieval=system.settings.retrieval, rerank="minilm", n=min(n, RERANKED))
    lists += [step for step in _from_steps(again.steps, n) if step.name == "rerank"]
    if expander is None:
        not_done["HyDE"] = NO_MODEL
    else:
        try:
            expanded = await _asked(system, asked, retrieval="dense", rerank="none", n=n, expander=expander)
        except SampleError as error:
            not_done["HyDE"] = error.message
        else:
            lists += [one.model_copy(update={"name": "HyDE"}) for one in _from_steps(expanded.steps, n)[-1:]]
    return [*lists, *([own] if own else [])], not_done


async def _asked(
    system: Any, asked: Question, *, retrieval: str, rerank: str, n: int, expander: Any = None
) -> Response:
    """The same corpus and cutting, searched another way, `n` deep, nothing generated."""
    n = max(1, min(n, 10_000))
    settings = replace(
        system.settings, retrieval=retrieval, rerank=rerank, generator="none", k=min(n, 1000), candidates=n,
        store="memory",
    )  # fmt: skip
    other = system.variant(settings, expander=expander)
    try:
        response: Response = await other.respond(asked)
        return response
    finally:
        await other.aclose()


def _from_steps(steps: Sequence[RetrievalStep], n_all: int) -> list[RankedList]:
    return [
        RankedList(
            name=step.name,
            ids=tuple(chunk.id for chunk in step.chunks),
            scores=tuple(chunk.score for chunk in step.chunks),
            complete=bool(n_all) and (len(step.chunks) >= n_all or step.name == "bm25"),
        )
        for step in steps
    ]


def _own_order(response: Response) -> RankedList | None:
    if response.context is None:
        return None
    chunks = response.context.chunks
    return RankedList(name="retrieved", ids=tuple(c.id for c in chunks), scores=tuple(c.score for c in chunks))


def _inspection(
    system: System,
    question: str,
    response: Response,
    corpus: CorpusIndex | None,
    labels: Labels,
    lists: Sequence[RankedList],
    not_done: Mapping[str, str],
) -> Inspection:
    context = response.context
    known = corpus.by_id if corpus is not None else {chunk.id: _as_chunk(chunk) for chunk in context or ()}
    wanted = [name for name, grade in (labels.chunks or {}).items() if grade > 0]
    gold = tuple(known[name] for name in wanted if name in known)
    nearest = _nearest(system, context.chunks if context is not None else (), lists, known)
    settings = system.info().settings
    truncated, limit = _truncated(settings, [*nearest, *gold])
    return Inspection(
        question=question,
        k=len(context) if context is not None else 0,
        n_chunks=len(corpus) if corpus is not None else None,
        nearest=nearest,
        others=_others(lists, known, {*(chunk.id for chunk in nearest), *(chunk.id for chunk in gold)}),
        gold=gold,
        groups=labels.groups or ((tuple(wanted),) if wanted else ()),
        gold_notes=labels.notes,
        lists=tuple(lists),
        truncated=truncated,
        max_tokens=limit,
        settings={key: value for key, value in settings.items() if isinstance(value, str | int | float | bool)},
        not_done=dict(not_done),
    )


def _nearest(
    system: System, retrieved: Sequence[RetrievedChunk], lists: Sequence[RankedList], known: Mapping[str, Chunk]
) -> tuple[RetrievedChunk, ...]:
    """The first 20 in the system's own order: what it returned, then how its own kind of list goes on."""
    mode = str(system.info().settings.get("retrieval", ""))
    name = {"dense": "dense", "bm25": "bm25", "hybrid": "fused"}.get(mode)
    chosen = list(retrieved[:NEAREST])
    there = {chunk.id for chunk in chosen}
    more = next((one for one in lists if one.name == name), None)
    for chunk_id, score in zip(more.ids, more.scores, strict=True) if more is not None else ():
        if len(chosen) >= NEAREST:
            break
        if chunk_id not in there and chunk_id in known:
            chunk = known[chunk_id]
            chosen.append(
                RetrievedChunk(
                    id=chunk.id, document=chunk.document, text=chunk.text, rank=len(chosen) + 1, score=score,
                    metadata=chunk.metadata,
                )
            )  # fmt: skip
    return tuple(chosen)


def _others(lists: Sequence[RankedList], known: Mapping[str, Chunk], told: set[str]) -> tuple[Chunk, ...]:
    """What else stands among the first 20 of any list."""
    names = dict.fromkeys(name for one in lists for name in one.ids[:NEAREST])
    return tuple(known[name] for name in names if name in known and name not in told)


def _truncated(
    settings: Mapping[str, Any], chunks: Iterable[RetrievedChunk | Chunk]
) -> tuple[tuple[str, ...], int | None]:
    from ragauge.systems.reference.embed import search_text
    from ragauge.systems.reference.embedders import load_embedder

    if "embedder" not in settings or settings.get("retrieval") == "bm25":
        return (), None
    embedder = load_embedder(settings["embedder"])
    prefix = str(settings.get("prefix", "none"))
    unique = {chunk.id: chunk for chunk in chunks}
    texts = [search_text(Chunk(id=c.id, text=c.text, metadata=c.metadata), prefix) for c in unique.values()]
    cut = embedder.truncated(texts)
    return tuple(name for name, long in zip(unique, cut, strict=True) if long), embedder.max_tokens


def _as_chunk(chunk: RetrievedChunk) -> Chunk:
    return Chunk(id=chunk.id, document=chunk.document, text=chunk.text, metadata=chunk.metadata)
