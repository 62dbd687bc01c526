"""Where other parts can be put into the pipeline: what turns a question into queries, and what writes the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from ragauge.core.sample import Question, RetrievedContext, Usage


@dataclass(frozen=True)
class Query:
    """One text to search for. `name` says what made it (question, rewrite, hyde …)."""

    text: str
    name: str = "question"


@dataclass(frozen=True)
class Expansion:
    """The queries that one question became, and what making them used."""

    queries: tuple[Query, ...]
    usage: Usage = field(default_factory=Usage)
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
    """An answer. `citations` are chunk ids; `abstained` whether it declined."""

    answer: str
    citations: tuple[str, ...] = ()
    abstained: bool = False
    usage: Usage = field(default_factory=Usage)
    model: str | None = None
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
