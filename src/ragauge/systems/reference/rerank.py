"""Re-ranking without a cross-encoder: the default embedder's token vectors, each query token matched to its best."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from typing import Any, Protocol, runtime_checkable

import numpy as np


@runtime_checkable
class HasTokenVectors(Protocol):
    """An embedder that can also give a vector for each token."""

    def encode(self, texts: Sequence[str]) -> Any:
        """Text vectors, rows of length 1."""
        ...

    def token_vectors(self, texts: Sequence[str]) -> list[Any]:
        """For each text its tokens' vectors, rows of length 1."""
        ...


@cache
def shared_reranker() -> TokenReranker:
    """The re-ranker of the default embedder: one for the process, so that the cells of a sweep share its vectors."""
    from ragauge.embeddings.minilm import load_minilm

    return TokenReranker(load_minilm())


class TokenReranker:
    """Score = (cosine of the text vectors + MaxSim) / 2, range -1 to 1.

    MaxSim: the mean over the query's tokens of the greatest cosine to a token of the passage (late interaction, after
    Khattab & Zaharia (2020), ColBERT; here with vectors that were not trained for it). Passages' token vectors are kept
    in memory as float16 up to `most_bytes`, the least recently used given up first.
    """

    def __init__(self, embedder: HasTokenVectors, most_bytes: int = 384 << 20) -> None:
        self._embedder = embedder
        self._most_bytes = most_bytes
        self._bytes = 0
        self._kept: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()

    def scores(self, query: str, query_vector: Any, passages: Sequence[str], vectors: Any) -> list[float]:
        """The score of each passage. `vectors` are the passages' text vectors, (len(passages), dimension)."""
        if not passages:
            return []
        asked = self._embedder.token_vectors([query])[0]
        cosines = np.asarray(vectors, np.float32) @ np.asarray(query_vector, np.float32)
        result = []
        for cosine, tokens in zip(cosines, self._tokens(passages), strict=True):
            matched = float(cosine)
            if len(asked) and len(tokens):
                matched = float((asked @ tokens.astype(np.float32).T).max(axis=1).mean())
            result.append(round((float(cosine) + matched) / 2, 6))
        return result

    def _tokens(self, passages: Sequence[str]) -> list[Any]:
        with self._lock:
            known = {text: self._kept[text] for text in passages if text in self._kept}
            for text in known:
                self._kept.move_to_end(text)
        missing = sorted({text for text in passages if text not in known})
        for text, tokens in zip(missing, self._embedder.token_vectors(missing), strict=True):
            known[text] = tokens.astype(np.float16)
        with self._lock:
            for text in missing:
                if text not in self._kept:
                    self._kept[text] = known[text]
                    self._bytes += known[text].nbytes
            while self._bytes > self._most_bytes and self._kept:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes
        return [known[text] for text in passages]
