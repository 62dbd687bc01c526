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
from ragauge.core.sample import Chunk, Question, Response, RetrievedContext
from ragauge.core.system import SystemInfo
from ragauge.embeddings import load
from ragauge.errors import SettingsError, SystemFailed, UnknownName
from ragauge.systems.reference import chunk as chunking
from ragauge.systems.reference import embed
from ragauge.systems.reference.corpus import Corpus, load_corpus
from ragauge.systems.reference.generate import ExtractiveGenerator, ExtractiveSettings
from ragauge.systems.reference.index import DenseIndex, Progress, VectorStore
from ragauge.systems.reference.seams import Expander, Expansion, Generated, Generator, Query
from ragauge.systems.reference.search import Searcher
from ragauge.systems.reference.settings import ReferenceSettings, read_settings
from ragauge.systems.reference.vector_cache import VectorCache, default_folder

#: Raised when the same settings can give another answer for a reason that no other version number shows.
CODE_VERSION = 1
#: From here on a faster embedder is suggested.
MANY_CHUNKS = 5000


def build(settings: Mapping[str, Any]) -> ReferenceSystem:
    """The pipeline that `settings` describe (`ReferenceSettings` lists them; `corpus` is needed).

    Reads and cuts the corpus; the index is built by `build_index`, or when the first question comes.
    `SettingsError`, `InputError`, `MissingExtra` or `StoreError` for what cannot be used.
    """
    checked = read_settings(settings)
    return ReferenceSystem(checked, load_corpus(checked.corpus))


class ReferenceSystem:
    """A retrieval-augmented question answerer over one corpus: `System`, `HasCorpus`, `Closes`.

    Questions can be asked from any number of tasks, threads and event loops; one is worked on at a time, so that the
    latencies in its responses are those of the work and not of waiting for the processor. They do not hold the time of
    building the index.
    """

    def __init__(
        self,
        settings: ReferenceSettings,
        corpus: Corpus,
        *,
        expander: Expander | None = None,
        generator: Generator | None = None,
    ) -> None:
        """`generator` takes the place of the extractive one; `expander` turns each question into queries."""
        self.settings = settings
        self._corpus = corpus
        self._expander = expander
        self._lock = threading.RLock()
        self._built = False
        self._prepared: dict[str, Any] = {}
        try:
            embedder = load(settings.embedder)
        except UnknownName as error:
            raise SettingsError(f"embedder: {error.message}", hint=error.hint) from error
        self._vectors = VectorCache(embedder, _cache_folder(settings.embedding_cache))
        self._chunks = tuple(_chunks(corpus, settings))
        self._store: VectorStore | None = None
        self._dense: DenseIndex | None = None
        if settings.retrieval != "bm25":
            self._store = VectorStore(settings.store)
            self._dense = DenseIndex(self._store, self.index_fingerprint(), self._chunks, self._vectors)
        self._searcher = Searcher(self._chunks, settings, self._vectors, self._dense, self._query_vectors)
        self._generator = generator
        if generator is None and settings.generator == "extractive":
            extractive = ExtractiveSettings(
                settings.refusal, settings.max_sentences, settings.abstain_below, settings.prefix, settings.language
            )
            self._generator = ExtractiveGenerator(
                extractive, self._vectors, lambda term: self._searcher.lexicon.weight(term)
            )

    def index_fingerprint(self) -> str:
        """What the vectors depend on: corpus, cutting, prefixes, embedder. Equal ones share an index in a store."""
        return fingerprint(
            {
                "corpus": self._corpus.fingerprint,
                "chunking": asdict(self.settings.chunking) if self.settings.splitter != "none" else "none",
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
                    "code": CODE_VERSION,
                }
            ),
            model=None if self._generator is None else self.settings.generator,
        )

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
        if self._dense is not None and self.settings.embedder == "minilm" and len(self._chunks) > MANY_CHUNKS:
            found.append(
                f"{len(self._chunks)} chunks: minilm embeds some 30 to 100 a second (once; vectors are kept). For a "
                "large corpus `embedder: wordllama` is about 50 times faster and finds somewhat less"
            )
        if self._dense is not None:
            n_cut = sum(
                self._vectors.embedder.truncated([embed.search_text(one, self.settings.prefix) for one in self._chunks])
            )
            if n_cut:
                found.append(
                    f"{n_cut} of {len(self._chunks)} chunks are longer than the {self._vectors.embedder.max_tokens} "
                    f"tokens that {self.settings.embedder} reads: their ends cannot be found by dense search"
                )
        return tuple(found)

    async def build_index(self, progress: Progress | None = None) -> int:
        """Build what is missing of the index; how many chunks were added. `progress(n_done, n)` from a thread."""
        return await asyncio.to_thread(self._ensure_index, progress)

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
                generation_ms = (time.perf_counter() - started) * 1000
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
        """Let go of the store; vectors on disk stay."""
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
            expansion_ms = (time.perf_counter() - started) * 1000
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
            n_added = 0 if self._dense is None else self._dense.build(self.settings.prefix, progress)
            self._searcher.warm()
            self._built = True
            return n_added

    def _prepare(self, texts: Sequence[str]) -> None:
        if self._dense is None and self._generator is None:
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
        """The question; what the user said before it comes first: all of it ("append"), or the last turn ("last")."""
        said = [message.content for message in question.history if message.role == "user"]
        kept = {"ignore": [], "last": said[-1:], "append": said}[self.settings.history]
        return "\n".join([*kept, question.text])


def _chunks(corpus: Corpus, settings: ReferenceSettings) -> list[Chunk]:
    count_tokens: Callable[[str], int] | None = None
    if settings.chunk_unit == "tokens":
        from ragauge.embeddings.minilm import load_minilm

        count_tokens = load_minilm().count_word_tokens
    return chunking.chunk_documents(corpus.documents, settings.chunking, count_tokens)


def _cache_folder(setting: str) -> Path | None:
    if setting == "none":
        return None
    return default_folder() if setting == "default" else Path(setting).expanduser()
