"""One question's way through retrieval: what every list holds, and where the gold chunks stand in it."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from ragauge.core.model import Model
from ragauge.core.sample import Chunk, RetrievedChunk


class RankedList(Model):
    """One ranking, best first, without texts. `complete`: it ranks the whole corpus: who is not in it has no rank."""

    name: str
    ids: tuple[str, ...]
    scores: tuple[float | None, ...]
    complete: bool = False

    def rank(self, chunk_id: str) -> int | None:
        """The chunk's rank from 1, or None."""
        return self.ids.index(chunk_id) + 1 if chunk_id in self.ids else None


class Inspection(Model):
    """What `ragauge inspect` measured. `nearest` are the first 20 of the system's own order, with their texts.
    `others` are those among the first 20 of any list that are neither in `nearest` nor in `gold`.

    `gold` are the chunks that hold the answer (from a quote, ids, or the run's labels), in groups of alternatives.
    `truncated` are ids of chunks (of `nearest` and `gold`) whose end the embedder does not read. `not_done` says what
    could not be looked at, and why.
    """

    question: str
    k: int
    n_chunks: int | None = None
    nearest: tuple[RetrievedChunk, ...] = ()
    others: tuple[Chunk, ...] = ()
    gold: tuple[Chunk, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    gold_notes: tuple[str, ...] = ()
    lists: tuple[RankedList, ...] = ()
    truncated: tuple[str, ...] = ()
    max_tokens: int | None = None
    settings: dict[str, Any] = Field(default_factory=dict)
    not_done: dict[str, str] = Field(default_factory=dict)
