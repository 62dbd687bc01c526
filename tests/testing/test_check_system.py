"""Every law of `check_system` refuses a system that breaks it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from ragauge.core.sample import Chunk, Question, Response, RetrievedChunk, RetrievedContext
from ragauge.core.system import SystemInfo
from ragauge.errors import SystemFailed
from ragauge.testing import LawBroken, check_system

CHUNKS = RetrievedContext(chunks=(RetrievedChunk(id="a", rank=1), RetrievedChunk(id="b", rank=2)))


class Good:
    n_info = 0

    def info(self) -> SystemInfo:
        return SystemInfo(name="good", kind="callable", fingerprint="1")

    async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Any:
        return Response(context=context or CHUNKS, answer="Port 8125.")

    def corpus(self) -> Iterable[Chunk]:
        return [Chunk(id="a"), Chunk(id="b"), Chunk(id="c")]


class ChangingCard(Good):
    def info(self) -> SystemInfo:
        self.n_info += 1
        return SystemInfo(name="good", kind="callable", fingerprint=str(self.n_info))


class NoResponse(Good):
    async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Any:
        return "Port 8125."


class Raises(Good):
    async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Any:
        raise KeyError("answer")


class AlwaysFails(Good):
    async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Any:
        raise SystemFailed("down")


class WrongRanks(Good):
    async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Any:
        chunks = (RetrievedChunk(id="b", rank=2), RetrievedChunk(id="a", rank=1))
        return Response.model_construct(context=RetrievedContext.model_construct(chunks=chunks), answer="x")


class NoJson(Good):
    async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Any:
        return Response(context=context or CHUNKS, answer="x", metadata={"pair": (1, 2)})


class RetrievesAnyway(Good):
    async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Any:
        return Response(context=CHUNKS, answer="x")


class DoubledCorpus(Good):
    def corpus(self) -> Iterable[Chunk]:
        return [Chunk(id="a"), Chunk(id="a")]


class RestlessCorpus(Good):
    def corpus(self) -> Iterable[Chunk]:
        self.n_info += 1
        return [Chunk(id="a"), Chunk(id="b")][:: 1 if self.n_info % 2 else -1]


class ForeignChunks(Good):
    def corpus(self) -> Iterable[Chunk]:
        return [Chunk(id="a")]


@pytest.mark.parametrize(
    ("system", "why"),
    [
        (ChangingCard(), "changed while answering"),
        (NoResponse(), "no Response"),
        (Raises(), "not SystemFailed"),
        (AlwaysFails(), "answered none"),
        (WrongRanks(), "not 1, 2, 3"),
        (NoJson(), "written as JSON and read back"),
        (RetrievesAnyway(), "was given"),
        (DoubledCorpus(), "an id twice"),
        (RestlessCorpus(), "changes its order"),
        (ForeignChunks(), "its corpus does not have"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_system_that_breaks_a_law_is_refused(system: Any, why: str) -> None:
    with pytest.raises(LawBroken, match=why):
        check_system(system)


def test_a_system_that_keeps_the_laws_is_accepted() -> None:
    check_system(Good())


def test_a_system_that_cannot_take_a_context_may_say_so() -> None:
    check_system(RetrievesAnyway(), takes_context=False)
