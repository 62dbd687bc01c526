"""The built-in system: chunks, an index, retrieval, and a grounded answer; every knob of a real one."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ragauge.core.model import fingerprint
from ragauge.core.provider import LanguageModel, ModelFor
from ragauge.core.sample import Chunk, Question, Response, RetrievedChunk, RetrievedContext, Usage
from ragauge.core.system import SystemInfo
from ragauge.errors import SettingsError, SystemFailed
from ragauge.systems.reference import chunk as chunking
from ragauge.systems.reference import embed
from ragauge.systems.reference.contextual import Contextualiser
from ragauge.systems.reference.corpus import Corpus, load_corpus
from ragauge.systems.reference.embedders import ApiEmbedder, load_embedder, stops_the_run
from ragauge.systems.reference.expand import make_expander, query_text
from ragauge.systems.reference.feedback import SENTENCES, FeedbackExpander
from ragauge.systems.reference.generate import ExtractiveGenerator, ExtractiveSettings
from ragauge.systems.reference.index import DenseIndex, Progress, VectorStore
from ragauge.systems.reference.llm_generate import LLMGenerator
from ragauge.systems.reference.seams import Expander, Expansion, Generated, Generator, Query
from ragauge.systems.reference.search import Searcher
from ragauge.systems.reference.settings import ReferenceSettings, read_settings
from ragauge.systems.reference.vector_cache import VectorCache, default_folder

#: Raised when the same settings can give another answer for a reason that no other version number shows.
CODE_VERSION = 1
#: From here on a faster embedder is suggested.
MANY_CHUNKS = 5000


def build(settings: Mapping[str, Any], *, model_for: ModelFor | None = None) -> ReferenceSystem:
    """The pipeline that `settings` describe (`ReferenceSettings` lists them; `corpus` is needed).

    `model_for` gives the language models that the settings name (`judges.models.model_for`); only they need it. Reads
    and cuts the corpus; the index is built by `build_index`, or when the first question comes.
    `SettingsError`, `InputError`, `MissingExtra` or `StoreError` for what cannot be used.
    """
    checked = read_settings(settings)
    writer = _model(checked.writer, "generator", model_for)
    helper = writer if checked.helper == checked.writer else _model(checked.helper, "model", model_for)
    return ReferenceSystem(
        checked,
        load_corpus(checked.corpus),
        expander=None
        if helper is None or checked.expand in ("none", "feedback")
        else make_expander(checked.expand, helper, checked.n_queries, checked.history),
        generator=None if writer is None else LLMGenerator(writer, checked.refusal, checked.history),
        contextualiser=None if helper is None or checked.prefix != "contextual" else Contextualiser(helper),
        models=tuple({id(one): one for one in (writer, helper) if one is not None}.values()),
    )


class ReferenceSystem:
    """A retrieval-augmented question answerer over one corpus: `System`, `HasCorpus`, `Closes`.

    Questions can be asked from any number of tasks, threads and event loops; what computes here works on one at a time,
    so that the latencies in its responses are those of the work and not of waiting for the processor. Calls of language
    models overlap. Latencies do not hold the time of building the index.
    """

    def __init__(
        self,
        settings: ReferenceSettings,
        corpus: Corpus,
        *,
        expander: Expander | None = None,
        generator: Generator | None = None,
        contextualiser: Contextualiser | None = None,
        models: Sequence[LanguageModel] = (),
    ) -> None:
        """`generator` takes the place of the extractive one; `expander` turns each question into queries.

        `models` are checked before a run and closed after it.
        """
        self.settings = settings
        self._corpus = corpus
        self._expander = expander
        self._contextualiser = contextualiser
        self._models = tuple(models)
        self._prefix_usage: Usage | None = None
        self._lock = threading.RLock()
        self._built = False
        self._prepared: dict[str, Any] = {}
        embedder = load_embedder(settings.embedder)
        self._api = embedder if isinstance(embedder, ApiEmbedder) else None
        self._vectors = VectorCache(embedder, _cache_folder(settings.embedding_cache))
        self._store = VectorStore(settings.store) if settings.retrieval != "bm25" else None
        self._use(tuple(_chunks(corpus, settings)))
        self._generator = generator
        if generator is None and settings.generator == "extractive":
            self._generator = self._extractive(settings.max_sentences, settings.abstain_below)
        if expander is None and settings.expand == "feedback":
            self._expander = FeedbackExpander(self._first_look, self._extractive(SENTENCES, 0.0), settings.history)

    def _extractive(self, max_sentences: int, abstain_below: float) -> ExtractiveGenerator:
        settings = self.settings
        how = ExtractiveSettings(settings.refusal, max_sentences, abstain_below, settings.prefix, settings.language)
        return ExtractiveGenerator(how, self._vectors, lambda term: self._searcher.lexicon.weight(term))

    def _first_look(self, text: str) -> Sequence[RetrievedChunk]:
        """What the question alone finds, before any re-ranking."""
        with self._lock:
            return self._searcher.plain(text)

    def _use(self, chunks: tuple[Chunk, ...]) -> None:
        """Search these chunks from now on."""
        self._chunks = chunks
        self._dense: DenseIndex | None = None
        if self._store is not None:
            self._dense = DenseIndex(self._store, self.index_fingerprint(), chunks, self._vectors)
        self._searcher = Searcher(chunks, self.settings, self._vectors, self._dense, self._query_vectors)

    def index_fingerprint(self) -> str:
        """What the vectors depend on: corpus, cutting, prefixes, embedder. Equal ones share an index in a store."""
        contextual = {} if self._contextualiser is None else {"contexts": self._contextualiser.fingerprint}
        return fingerprint(
            contextual
            | {
                "corpus": self._corpus.fingerprint,
                "chunking": _cutting(self.settings),
                "prefix": self.settings.prefix,
                "embedder": self._vectors.embedder.fingerprint,
                "code": [chunking.CODE_VERSION, embed.CODE_VERSION],
            }
        )

    def info(self) -> SystemInfo:
        """Settings as resolved; the fingerprint holds everything that can change an answer, the corpus' content too."""
        return SystemInfo(
            name="reference",
            kind="reference",
            settings=asdict(self.settings),
            fingerprint=fingerprint(
                {
                    "index": self.index_fingerprint(),
                    "settings": self.settings.answering,
                    "generator": None if self._generator is None else self._generator.fingerprint,
                    "expander": None if self._expander is None else self._expander.fingerprint,
                    **self._reranker_identity(),
                    "code": CODE_VERSION,
                }
            ),
            model=None if self._generator is None else _label(self.settings.generator),
        )

    def _reranker_identity(self) -> dict[str, str]:
        """A cross-encoder's weights: its folder's name says nothing of them."""
        encoder = self._searcher.cross_encoder
        return {} if encoder is None else {"cross_encoder": encoder.fingerprint}

    @property
    def prefix_usage(self) -> Usage:
        """What describing the chunks used, once the index is built."""
        return self._prefix_usage or Usage()

    def corpus(self) -> Iterable[Chunk]:
        """Every chunk, documents in order."""
        return iter(self._chunks)

    def warnings(self) -> tuple[str, ...]:
        """What the owner should know of this corpus and these settings; reading it tokenises every chunk."""
        found = []
        if self._corpus.skipped:
            found.append(
                f"{len(self._corpus.skipped)} files of other kinds were not read, e.g. {self._corpus.skipped[0]}"
            )
        if self._corpus.blank:
            found.append(f"{len(self._corpus.blank)} documents are blank, e.g. {self._corpus.blank[0]}")
        if self._prefix_usage is not None:
            found.append(f"{len(self._chunks)} chunk prefixes were made: {_spent(self._prefix_usage)}")
        if self._dense is not None and self.settings.embedder == "minilm" and len(self._chunks) > MANY_CHUNKS:
            found.append(
                f"{len(self._chunks)} chunks: minilm embeds some 30 to 100 a second (once; vectors are kept). For a "
                "large corpus `embedder: wordllama` is about 50 times faster and finds somewhat less"
            )
        if self._api is not None and self._api.usage.calls:
            found.append(self._api.told())
        if self._dense is not None:
            n_cut = sum(
                self._vectors.embedder.truncated([embed.search_text(one, self.settings.prefix) for one in self._chunks])
            )
            if n_cut:
                found.append(
                    f"{n_cut} of {len(self._chunks)} chunks are longer than the {self._vectors.embedder.max_tokens} "
                    f"tokens that {self._vectors.embedder.name} reads: their ends cannot be found by dense search"
                )
        return tuple(found)

    async def build_index(self, progress: Progress | None = None) -> int:
        """Build what is missing of the index; how many chunks were added. `progress(n_done, n)` from a thread."""
        if self._contextualiser is not None and self._prefix_usage is None:
            await self._describe_chunks(self._contextualiser, progress)
        return await asyncio.to_thread(self._ensure_index, progress)

    def variant(self, settings: ReferenceSettings, *, expander: Expander | None = None) -> ReferenceSystem:
        """Another pipeline over the same corpus; chunks that a model has described are not described again."""
        other = ReferenceSystem(settings, self._corpus, expander=expander, contextualiser=self._contextualiser)
        if self._prefix_usage is not None and settings.chunking == self.settings.chunking:
            other._use(self._chunks)
            other._prefix_usage = Usage()
        return other

    def hyde(self) -> Expander | None:
        """A made-up passage as the query, by the pipeline's own model; None where it has none."""
        return make_expander("hyde", self._models[-1], 1, self.settings.history) if self._models else None

    async def preflight(self) -> None:
        """Check the language models before the first question; `EndpointUnusable` says that one cannot serve."""
        for model in self._models:
            await model.preflight()
        if self._api is not None:
            await asyncio.to_thread(self._api.check)

    async def prepare(self, questions: Sequence[Question], /, *, progress: Progress | None = None) -> None:
        """Build the index, and embed the texts of all questions in one batch, which is faster than one by one.

        Their vectors' time is then not in `retrieval_ms`. Without effect on any answer.
        """
        await self.build_index(progress)
        await asyncio.to_thread(self._prepare, [self._query_text(question) for question in questions])

    async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Response:
        """Retrieve `k` chunks and answer from them; with `context` given, answer from that and retrieve nothing."""
        await self.build_index()
        if context is None:
            response = await self._retrieved(question)
        else:
            response = Response(context=context)
        assert response.context is not None
        if self._generator is not None:
            started = time.perf_counter()
            if isinstance(self._generator, ExtractiveGenerator):
                generated, generation_ms = await asyncio.to_thread(self._extracted, question, response.context)
            else:
                generated = await self._generator.generate(question, response.context)
                passed = (time.perf_counter() - started) * 1000
                generation_ms = passed if generated.latency_ms is None else generated.latency_ms
            response = response.model_copy(
                update={
                    "answer": generated.answer, "citations": generated.citations, "abstained": generated.abstained,
                    "usage": response.usage + generated.usage, "generation_ms": generation_ms, "model": generated.model,
                    "metadata": response.metadata | generated.metadata,
                }
            )  # fmt: skip
        total = (response.retrieval_ms or 0.0) + (response.generation_ms or 0.0)
        return response.model_copy(update={"total_ms": total})

    async def aclose(self) -> None:
        """Let go of the store and of connections; vectors on disk stay."""
        for model in self._models:
            await model.aclose()
        if self._api is not None:
            await asyncio.to_thread(self._api.close)
        with self._lock:
            if self._store is not None:
                await asyncio.to_thread(self._store.close)
            self._prepared.clear()

    async def _retrieved(self, question: Question) -> Response:
        started = time.perf_counter()
        if self._expander is None:
            expansion = Expansion((Query(self._query_text(question)),))
            expansion_ms = 0.0
        else:
            expansion = await self._expander.expand(question)
            passed = (time.perf_counter() - started) * 1000
            expansion_ms = passed if expansion.latency_ms is None else expansion.latency_ms
            if not expansion.queries:
                raise SystemFailed(f"the expander made no query of question {question.id!r}")
        chunks, steps, search_ms = await asyncio.to_thread(
            self._searched, expansion.queries, self._query_text(question)
        )
        return Response(
            context=RetrievedContext(chunks=chunks),
            steps=steps,
            usage=expansion.usage,
            retrieval_ms=expansion_ms + search_ms,
            metadata=expansion.metadata,
        )

    def _searched(self, queries: Sequence[Query], question: str) -> tuple[Any, Any, float]:
        with self._lock:
            started = time.perf_counter()
            chunks, steps = self._searcher.search(queries, question)
            return chunks, steps, (time.perf_counter() - started) * 1000

    def _extracted(self, question: Question, context: RetrievedContext) -> tuple[Generated, float]:
        assert isinstance(self._generator, ExtractiveGenerator)
        with self._lock:
            started = time.perf_counter()
            return self._generator.answer(question, context), (time.perf_counter() - started) * 1000

    def _ensure_index(self, progress: Progress | None) -> int:
        with self._lock:
            if self._built:
                return 0
            try:
                n_added = 0 if self._dense is None else self._dense.build(self.settings.prefix, progress)
            except SystemFailed as error:
                raise stops_the_run(error) from None
            self._searcher.warm()
            self._built = True
            return n_added

    def _prepare(self, texts: Sequence[str]) -> None:
        if self._dense is None and not isinstance(self._generator, ExtractiveGenerator):
            return
        wanted = list(dict.fromkeys(text for text in texts if text not in self._prepared))
        vectors = self._vectors.encode(wanted)
        with self._lock:
            self._prepared.update(zip(wanted, vectors, strict=True))

    def _query_vectors(self, texts: Sequence[str]) -> Any:
        held = [self._prepared.get(text) for text in texts]
        if all(vector is not None for vector in held):
            return np.stack([vector for vector in held if vector is not None])
        return self._vectors.encode(texts)

    def _query_text(self, question: Question) -> str:
        return query_text(question, self.settings.history)

    async def _describe_chunks(self, contextualiser: Contextualiser, progress: Progress | None) -> None:
        documents = {document.id: document.text for document in self._corpus.documents}
        made = await contextualiser.contexts(self._chunks, documents, progress)
        with self._lock:
            if self._prefix_usage is None:
                self._use(
                    tuple(
                        chunk.model_copy(update={"metadata": chunk.metadata | {"context": made.by_chunk[chunk.id]}})
                        for chunk in self._chunks
                    )
                )
                self._prefix_usage = made.usage


def _model(spec: Any, setting: str, model_for: ModelFor | None) -> LanguageModel | None:
    if spec is None:
        return None
    if model_for is None:
        raise SettingsError(
            f"{setting}: {_label(spec)} is a language model, and the pipeline was given no way to reach one",
            hint="Build it from settings, or pass model_for=ragauge.judges.models.model_for().",
        )
    try:
        return model_for(spec)
    except SettingsError as error:
        message = error.message.removeprefix("judge: ")
        raise SettingsError(f"system.reference.{setting}: {message}", hint=error.hint) from None


def _label(spec: Any) -> str:
    """A model's name, or what stands in its place (`extractive`); the address is left out."""
    name = spec.get("name", spec.get("model")) if isinstance(spec, Mapping) else spec
    return str(name).partition("@")[0]


def _spent(usage: Usage) -> str:
    cost = "" if usage.cost_usd is None else f", ${usage.cost_usd:.4f}"
    tokens = f"{usage.tokens_in} + {usage.tokens_out} tokens"
    return f"{usage.calls} calls (+{usage.cached_calls} from the cache), {tokens}{cost} when they were made"


def _chunks(corpus: Corpus, settings: ReferenceSettings) -> list[Chunk]:
    count_tokens: Callable[[str], int] | None = None
    if settings.chunk_unit == "tokens":
        from ragauge.embeddings.minilm import load_minilm

        count_tokens = load_minilm().count_word_tokens
    return chunking.chunk_documents(corpus.documents, settings.chunking, count_tokens)


def _cutting(settings: ReferenceSettings) -> Any:
    """What decides the chunks, as it has been hashed since before code could be kept whole."""
    if settings.splitter == "none":
        return "none"
    return {name: value for name, value in asdict(settings.chunking).items() if name != "keep_code" or value}


def _cache_folder(setting: str) -> Path | None:
    if setting == "none":
        return None
    return default_folder() if setting == "default" else Path(setting).expanduser()
