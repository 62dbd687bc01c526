"""One query of production as it is logged, what people said of it afterwards, and how a log of them is read."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from typing import Any, Literal, Protocol

from pydantic import Field, field_validator, model_validator

from ragauge.core.model import Model
from ragauge.core.sample import GoldenItem, Response, RetrievedChunk, RetrievedContext, Sample, Usage

Thumb = Literal["up", "down"]

_NAME = Field(default=None, max_length=400)
_MS = Field(default=None, ge=0)


class LoggedChunk(Model):
    """A chunk as it was retrieved. `text` None: not captured. `rank` counts from 1. `score`: the retriever's own."""

    id: str = Field(min_length=1, max_length=2_000)
    document: str | None = Field(default=None, max_length=2_000)
    text: str | None = None
    score: float | None = None
    rank: int = Field(ge=1)


class LoggedQuery(Model):
    """One question that a service was asked, and what it did.

    `at` is UTC. `chunks` None: not logged; empty: nothing was retrieved. `top_score` is the score of the chunk at
    rank 1, `mean_score` the mean of the scores known, `n_chunks` their number: taken from `chunks` where those were
    given. `abstained` is the system's own word (None: not said). `error`: the kind of failure, when there was one.
    `outcome` is a number that people's behaviour gave (1 solved, 0 not, an amount), `variant` the arm of an A/B test.
    """

    id: str = Field(min_length=1, max_length=200)
    at: datetime
    project: str = Field(default="default", min_length=1, max_length=200)
    question: str = Field(min_length=1)
    answer: str | None = None
    chunks: tuple[LoggedChunk, ...] | None = None
    top_score: float | None = None
    mean_score: float | None = None
    n_chunks: int | None = Field(default=None, ge=0)
    retrieval_ms: float | None = _MS
    generation_ms: float | None = _MS
    total_ms: float | None = _MS
    abstained: bool | None = None
    error: str | None = None
    feedback: Thumb | None = None
    note: str | None = None
    variant: str | None = _NAME
    outcome: float | None = None
    session: str | None = _NAME
    model: str | None = _NAME
    tags: tuple[str, ...] = ()
    tokens_in: int | None = Field(default=None, ge=0, le=2**53)
    tokens_out: int | None = Field(default=None, ge=0, le=2**53)
    cost_usd: float | None = Field(default=None, ge=0)
    redacted: bool = False
    source: str = Field(default="logger", max_length=200)
    metadata: dict[str, Any] = Field(default_factory=dict)

    @field_validator("at", mode="after")
    @classmethod
    def _in_utc(cls, at: datetime) -> datetime:
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)

    @model_validator(mode="after")
    def _figures_of_chunks(self) -> LoggedQuery:
        if self.chunks is None:
            return self
        scores = [chunk.score for chunk in self.chunks if chunk.score is not None]
        top = self.chunks[0].score if self.chunks else None
        figures = (("n_chunks", len(self.chunks)), ("top_score", top if top is not None else self.top_score),
                   ("mean_score", sum(scores) / len(scores) if scores else self.mean_score))  # fmt: skip
        for name, value in figures:
            object.__setattr__(self, name, value)
        return self

    @property
    def day(self) -> str:
        """The partition: the UTC day, ISO 8601."""
        return self.at.date().isoformat()

    def response(self) -> Response:
        """What the system returned, as metrics read it. Chunks whose text was not captured have a blank one."""
        context = None
        if self.chunks is not None:
            context = RetrievedContext(chunks=tuple(
                RetrievedChunk(id=c.id, document=c.document, text=c.text or "", rank=place, score=c.score)
                for place, c in enumerate(self.chunks, start=1)
            ))  # fmt: skip
        return Response(
            context=context, answer=self.answer, abstained=self.abstained, retrieval_ms=self.retrieval_ms,
            generation_ms=self.generation_ms, total_ms=self.total_ms, model=self.model,
            usage=Usage(tokens_in=self.tokens_in or 0, tokens_out=self.tokens_out or 0, cost_usd=self.cost_usd),
        )  # fmt: skip

    def sample(self) -> Sample:
        """What a metric scores: nobody knows a reference answer."""
        return Sample(item=GoldenItem(id=self.id, question=self.question, tags=self.tags), response=self.response())


class Feedback(Model):
    """What became known of a query after it was logged. For each field the latest event that has it counts."""

    query_id: str = Field(min_length=1, max_length=200)
    at: datetime
    feedback: Thumb | None = None
    note: str | None = Field(default=None, max_length=20_000)
    outcome: float | None = None

    @field_validator("at", mode="after")
    @classmethod
    def _in_utc(cls, at: datetime) -> datetime:
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)

    @model_validator(mode="after")
    def _says_something(self) -> Feedback:
        if self.feedback is None and self.note is None and self.outcome is None:
            raise ValueError("give at least one of feedback (up or down), note, outcome")
        return self


class Brief(Model):
    """What the draw of a sample looks at in a query, feedback joined in; no text is read for it."""

    id: str
    feedback: Thumb | None = None
    abstained: bool | None = None
    top_score: float | None = None
    n_chunks: int | None = None
    answered: bool = True
    error: bool = False


class Spread(Model):
    """Mean and standard deviation (n − 1; None for one value) of the n values that a day has."""

    n: int = Field(ge=1)
    mean: float
    sd: float | None = None


class Quantile(Model):
    """An order statistic with distribution-free bounds at 95 % (None: too few values for them)."""

    q: float
    n: int = Field(ge=1)
    value: float
    low: float | None = None
    high: float | None = None


class DailyLog(Model):
    """A day's log in figures. A count that ends in `_known` is the denominator of the one before it.

    `n_slow` counts `total_ms` above the limit that was asked for.
    """

    day: str
    n: int
    n_answered: int
    n_errors: int
    n_zero_results: int
    n_chunks_known: int
    n_abstained: int
    n_abstained_known: int
    n_up: int
    n_down: int
    n_slow: int
    n_latency_known: int
    top_score: Spread | None = None
    mean_score: Spread | None = None
    outcome: Spread | None = None
    total_ms: tuple[Quantile, ...] = ()
    retrieval_ms: tuple[Quantile, ...] = ()
    generation_ms: tuple[Quantile, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None


class QueryLog(Protocol):
    """A log of production, read. `monitor.store.open_log(path_or_url)` gives one. Days are UTC, both ends included."""

    def days(self) -> list[date]:
        """The days that have queries, oldest first."""

    def daily(
        self, since: date, until: date, *, project: str | None = None, slow_ms: float = 500.0,
        quantiles: Sequence[float] = (0.5, 0.95, 0.99),
    ) -> list[DailyLog]:  # fmt: skip
        """Every day's figures, aggregated in DuckDB; days without queries are absent. No text is read."""

    def brief(self, day: date, *, project: str | None = None) -> list[Brief]:
        """Every query of a day without its texts, by id."""

    def questions(self, day: date, *, project: str | None = None, limit: int | None = None) -> list[tuple[str, str]]:
        """(id, question); with `limit` those with the smallest hash of their id: the same ones every time."""

    def queries(
        self, day: date, *, project: str | None = None, ids: Iterable[str] | None = None
    ) -> Iterator[LoggedQuery]:
        """The day's queries whole, feedback joined in; only `ids` when given."""

    def find(self, query_id: str) -> LoggedQuery | None:
        """One query, whatever its day."""

    def sql(self, query: str, parameters: Sequence[Any] = (), *, since: date, until: date) -> list[tuple[Any, ...]]:
        """DuckDB SQL over the view `queries` (columns of LoggedQuery and `day`; feedback joined in) of those days."""


_random = random.Random()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_random.seed)


def new_id(at: float | None = None) -> str:
    """A new id for a query: 12 hex digits of time in ms and 20 at random, so that ids sort by time."""
    return f"{int((time.time() if at is None else at) * 1000):012x}{_random.getrandbits(80):020x}"
