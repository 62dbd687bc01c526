"""The system under test."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol, runtime_checkable

from pydantic import Field

from ragauge.core.model import Model
from ragauge.core.sample import Chunk, Question, Response, RetrievedContext


class SystemInfo(Model):
    """A system's card, for manifests: kind, settings, and a fingerprint of whatever could change its answers."""

    name: str
    kind: str  # reference, callable, http, replay, langchain …
    settings: dict[str, Any] = Field(default_factory=dict)
    fingerprint: str
    model: str | None = None


@runtime_checkable
class System(Protocol):
    """The thing under test. With `context` given, it answers from that context and retrieves nothing."""

    def info(self) -> SystemInfo:
        """Who this is."""
        ...

    async def respond(self, question: Question, /, *, context: RetrievedContext | None = None) -> Response:
        """Retrieve and answer; raises `SystemFailed` when it cannot."""
        ...


@runtime_checkable
class HasCorpus(Protocol):
    """A system that can show its chunks, so that evidence can be resolved and labels checked."""

    def corpus(self) -> Iterable[Chunk]:
        """Every chunk of the index, in a stable order; `start`/`end`/`document` set where known."""
        ...


@runtime_checkable
class Prepares(Protocol):
    """A system that does better when it knows the questions beforehand (builds its index, embeds them in one batch)."""

    async def prepare(
        self, questions: Sequence[Question], /, *, progress: Callable[[int, int], None] | None = None
    ) -> None:
        """Get ready for these questions; changes no answer. `progress(n_done, n)` may be called from another thread."""
        ...


@runtime_checkable
class Closes(Protocol):
    """A system or judge that holds a client, an index or a file open."""

    async def aclose(self) -> None:
        """Let go of it."""
        ...


_REPEAT: ContextVar[int] = ContextVar("ragauge_repeat", default=0)


@contextmanager
def repeating(repeat: int) -> Iterator[None]:
    """Inside this block a system is asked for the `repeat`-th time (from 0): it draws anew, whatever it keeps."""
    token = _REPEAT.set(repeat)
    try:
        yield
    finally:
        _REPEAT.reset(token)


def current_repeat() -> int:
    """How often the running question has been asked before in this run."""
    return _REPEAT.get()
