"""Finding chunks for a query: dense, lexical, both fused, re-ranked; each step recorded."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

from ragauge.core.sample import Chunk, RetrievalStep, RetrievedChunk
from ragauge.embeddings.cross_encoder import Relevance
from ragauge.systems.reference.bm25 import BM25Index, Hit, Lexicon
from ragauge.systems.reference.embed import search_text
from ragauge.systems.reference.fuse import reciprocal_rank_fusion
from ragauge.systems.reference.index import DenseIndex
from ragauge.systems.reference.rerank import shared_reranker
from ragauge.systems.reference.seams import Query
from ragauge.systems.reference.settings import ReferenceSettings
from ragauge.systems.reference.vector_cache import VectorCache


class Searcher:
    """Searches one index as the settings say. `dense` None: the settings need no vectors for retrieval."""

    def __init__(
        self,
        chunks: Sequence[Chunk],
        settings: ReferenceSettings,
        vectors: VectorCache,
        dense: DenseIndex | None,
        query_vectors: Callable[[Sequence[str]], Any],
    ) -> None:
        self._chunks, self._settings, self._vectors, self._dense = chunks, settings, vectors, dense
        self._query_vectors = query_vectors
        self._keys = [chunk.id for chunk in chunks]

    @cached_property
    def lexicon(self) -> Lexicon:
        """Terms of the corpus."""
        texts = [search_text(chunk, self._settings.prefix) for chunk in self._chunks]
        return Lexicon(texts, self._settings.language)

    @cached_property
    def bm25(self) -> BM25Index:
        """Lexical index of the corpus."""
        return BM25Index(self.lexicon, self._keys)

    @cached_property
    def cross_encoder(self) -> Relevance | None:
        """The cross-encoder that re-ranks, where the settings name one."""
        kind, _, name = self._settings.rerank.partition(":")
        if kind != "cross-encoder":
            return None
        from ragauge.embeddings.cross_encoder import load_relevance

        return load_relevance(name.strip())

    def warm(self) -> None:
        """Build what is built on first use, so that the first question is not charged for it."""
        if self._settings.retrieval != "dense":
            _ = self.bm25
        elif self._settings.generator == "extractive":
            _ = self.lexicon
        if self._settings.rerank == "minilm":
            shared_reranker()

    def search(
        self, queries: Sequence[Query], question: str
    ) -> tuple[tuple[RetrievedChunk, ...], tuple[RetrievalStep, ...]]:
        """The best `k` chunks, and the steps that led to them. Re-ranking goes by `question`, not by the queries."""
        settings = self._settings
        wide = settings.retrieval == "hybrid" or settings.rerank != "none" or len(queries) > 1
        n = settings.candidates if wide else settings.k
        steps: list[RetrievalStep] = []
        hits = self._found(queries, n, steps)
        if settings.rerank != "none":
            hits = self._timed("rerank", Query(question), partial(self._reranked, question, hits), steps)
        return self._retrieved(hits[: settings.k]), tuple(steps)

    def plain(self, text: str) -> tuple[RetrievedChunk, ...]:
        """The best `k` chunks for one text as they are found: not re-ranked, no steps kept."""
        n = self._settings.candidates if self._settings.retrieval == "hybrid" else self._settings.k
        return self._retrieved(self._found((Query(text),), n, [])[: self._settings.k])

    def _found(self, queries: Sequence[Query], n: int, steps: list[RetrievalStep]) -> list[Hit]:
        """What the searches find, fused where there are several rankings."""
        settings = self._settings
        rankings: list[list[Hit]] = []
        for query in queries:
            if self._dense is not None and query.on != "bm25":
                rankings.append(self._timed("dense", query, partial(self._search_dense, query.text, n), steps))
            if settings.retrieval != "dense" and query.on != "dense":
                rankings.append(self._timed("bm25", query, partial(self.bm25.search, query.text, n), steps))
        hits = rankings[0] if rankings else []
        if len(rankings) > 1:
            hits = self._timed("fused", None, partial(self._fused, rankings, n), steps)
        return hits

    def _search_dense(self, query: str, n: int) -> list[Hit]:
        assert self._dense is not None
        return self._dense.search(self._query_vectors([query]), n)[0]

    def _fused(self, rankings: Sequence[Sequence[Hit]], n: int) -> list[Hit]:
        orders = [[index for index, _ in ranking] for ranking in rankings]
        return reciprocal_rank_fusion(orders, self._keys, n, self._settings.rrf_k)

    def _reranked(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        texts = [search_text(self._chunks[index], self._settings.prefix) for index, _ in hits]
        if self.cross_encoder is not None:
            judged = [round(score, 6) for score in self.cross_encoder.scores(query, texts)]
            pairs = [(index, score) for (index, _), score in zip(hits, judged, strict=True)]
            return sorted(pairs, key=lambda hit: (-hit[1], self._keys[hit[0]]))
        from ragauge.embeddings.minilm import load_minilm

        embedder = load_minilm()
        if self._vectors.embedder is embedder:
            question, passages = self._query_vectors([query])[0], self._vectors.encode(texts)
        else:  # the re-ranker's vectors are its own model's
            both = embedder.encode([query, *texts])
            question, passages = both[0], both[1:]
        scores = shared_reranker().scores(query, question, texts, passages)
        scored = [(index, score) for (index, _), score in zip(hits, scores, strict=True)]
        return sorted(scored, key=lambda hit: (-hit[1], self._keys[hit[0]]))

    def _timed(
        self, name: str, query: Query | None, find: Callable[[], list[Hit]], steps: list[RetrievalStep]
    ) -> list[Hit]:
        started = time.perf_counter()
        hits = find()
        steps.append(
            RetrievalStep(
                name=name if query is None or query.name == "question" else f"{name}:{query.name}",
                query=None if query is None else query.text,
                chunks=self._retrieved(hits, with_text=False),
                latency_ms=(time.perf_counter() - started) * 1000,
            )
        )
        return hits

    def _retrieved(self, hits: Sequence[Hit], *, with_text: bool = True) -> tuple[RetrievedChunk, ...]:
        """Steps name chunks by id only; their text stands in the context or the corpus."""
        result = []
        for rank, (index, score) in enumerate(hits, start=1):
            chunk = self._chunks[index]
            metadata: dict[str, Any] = {}
            if with_text:
                metadata = dict(chunk.metadata)
                if chunk.start is not None and chunk.end is not None:
                    metadata |= {"start": chunk.start, "end": chunk.end}
            result.append(
                RetrievedChunk(
                    id=chunk.id, document=chunk.document, text=chunk.text if with_text else "", rank=rank, score=score,
                    metadata=metadata,
                )
            )  # fmt: skip
        return tuple(result)
