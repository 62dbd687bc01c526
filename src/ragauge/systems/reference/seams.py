"""Where other parts can be put into the pipeline: what turns a question into queries, and what writes the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from ragauge.core.sample import Question, RetrievedContext, Usage


@dataclass(frozen=True)
class Query:
    """One text to search for. `name` says what made it (question, rewrite, hyde …), `on` which search it is for."""

    text: str
    name: str = "question"
    on: Literal["both", "dense", "bm25"] = "both"


@dataclass(frozen=True)
class Expansion:
    """The queries that one question became, and what making them used.

    `latency_ms`: how long the model took, where that is not the time that passed (a reply from the cache).
    """

    queries: tuple[Query, ...]
    usage: Usage = field(default_factory=Usage)
    latency_ms: float | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@runtime_checkable
class Expander(Protocol):
    """Rewrites a question into one query or several, whose results are fused by reciprocal rank."""

    @property
    def fingerprint(self) -> str:
        """Changes with anything that can change the queries."""
        ...

    async def expand(self, question: Question, /) -> Expansion:
        """At least one query."""
        ...


@dataclass(frozen=True)
class Generated:
    """An answer. `citations` are chunk ids; `abstained` whether it declined; `latency_ms` as in `Expansion`."""

    answer: str
    citations: tuple[str, ...] = ()
    abstained: bool = False
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
    latency_ms: float | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@runtime_checkable
class Generator(Protocol):
    """Answers from a context, and from nothing else."""

    @property
    def fingerprint(self) -> str:
        """Changes with anything that can change an answer."""
        ...

    async def generate(self, question: Question, context: RetrievedContext, /) -> Generated:
        """The answer, grounded in `context`."""
        ...
