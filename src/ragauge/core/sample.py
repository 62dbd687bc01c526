"""What a metric sees: a golden item, what the system returned for it, and the labels that apply."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from pydantic import Field, model_validator

from ragauge.core.model import Model, fingerprint

Level = Literal["chunk", "doc"]


class Message(Model):
    """One turn before the question, oldest first."""

    role: str
    content: str


class Question(Model):
    """What the system under test is asked."""

    id: str
    text: str
    history: tuple[Message, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)


class Evidence(Model):
    """One passage that holds the answer: a quote from a document, or characters `start` to `end` of it.

    `document` alone (no quote, no span) means the whole document.
    """

    document: str
    quote: str | None = None
    start: int | None = Field(default=None, ge=0)
    end: int | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _quote_or_span(self) -> Evidence:
        if (self.start is None) != (self.end is None):
            raise ValueError("give both `start` and `end`, or neither")
        if self.quote is not None and self.start is not None:
            raise ValueError("give `quote` or `start`/`end`, not both")
        if self.quote is not None and not self.quote.strip():
            raise ValueError("`quote` is blank")
        if self.start is not None and self.end is not None and self.end <= self.start:
            raise ValueError("`end` must be greater than `start`")
        return self


class EvidenceGroup(Model):
    """Alternatives: any one of these passages is enough. An item's groups are a conjunction: all are needed (hops)."""

    any: tuple[Evidence, ...] = Field(min_length=1)


class GoldenItem(Model):
    """One golden question. Optional fields are absent (None or empty), never empty strings.

    `answer` is the reference answer. `sources` are document ids, `chunks` chunk ids, `relevance` grades either of
    them 0 to 3 (0 = judged and not relevant). `answerable` None means that nothing is said: see `can_be_answered`.
    `claims` are the reference's atomic claims, split once and stored.
    """

    id: str = Field(min_length=1)
    question: str = Field(min_length=1)
    answer: str | None = None
    sources: tuple[str, ...] | None = None
    chunks: tuple[str, ...] | None = None
    relevance: dict[str, int] | None = None
    evidence: tuple[EvidenceGroup, ...] | None = None
    answerable: bool | None = None
    keywords: tuple[str, ...] | None = None
    tags: tuple[str, ...] = ()
    faithfulness_threshold: float | None = Field(default=None, ge=0, le=1)
    verified: bool = False
    language: str | None = None
    claims: tuple[str, ...] | None = None
    history: tuple[Message, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)

    def fingerprint(self) -> str:
        """Content hash of the item (every field but `metadata`)."""
        return fingerprint(self.model_dump(mode="json", exclude={"metadata"}, exclude_none=True))

    @property
    def can_be_answered(self) -> bool | None:
        """Whether the corpus answers the question. `answerable` where it is said; evidence of the answer is a yes."""
        if self.answerable is not None:
            return self.answerable
        graded = any(grade > 0 for grade in (self.relevance or {}).values())
        return True if graded or self.sources or self.chunks or self.evidence else None

    def ask(self) -> Question:
        """The question as the system under test sees it: no labels."""
        return Question(id=self.id, text=self.question, history=self.history)


class Chunk(Model):
    """A passage of the corpus. `start` and `end` are character offsets in the document's text, when known."""

    id: str = Field(min_length=1)
    document: str | None = None
    text: str = ""
    start: int | None = None
    end: int | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class RetrievedChunk(Model):
    """A chunk as retrieved: `rank` counts from 1; `score` is the retriever's own, higher is better."""

    id: str = Field(min_length=1)
    document: str | None = None
    text: str = ""
    rank: int = Field(ge=1)
    score: float | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class RetrievedContext(Model):
    """Retrieved chunks, best first. The order given is the order the generator saw; it is never re-sorted."""

    chunks: tuple[RetrievedChunk, ...] = ()

    @model_validator(mode="after")
    def _ranks_count_up(self) -> RetrievedContext:
        for index, chunk in enumerate(self.chunks):
            if chunk.rank != index + 1:
                raise ValueError(f"chunk {chunk.id!r} stands at place {index + 1} but says rank {chunk.rank}")
        return self

    def __iter__(self) -> Iterator[RetrievedChunk]:  # type: ignore[override]
        return iter(self.chunks)

    def __len__(self) -> int:
        return len(self.chunks)

    @property
    def ids(self) -> list[str]:
        """Chunk ids in order, duplicates counted once at their best rank."""
        return list(dict.fromkeys(chunk.id for chunk in self.chunks))

    @property
    def documents(self) -> list[str]:
        """Unique document ids in the order of their best chunk (R2). A chunk without a document is its own."""
        return list(dict.fromkeys(chunk.document or chunk.id for chunk in self.chunks))

    @property
    def with_text(self) -> tuple[RetrievedChunk, ...]:
        """The chunks that have any visible text, duplicates (same id) only once."""
        first = {chunk.id: chunk for chunk in reversed(self.chunks)}
        return tuple(c for c in self.chunks if first[c.id] is c and c.text.strip(BLANKS))


#: Characters that show nothing: Unicode white space plus the zero-width ones.
BLANKS = (
    " \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\u200b\u200c\u200d\u2060\ufeff\x00"
)


def is_blank(text: str | None) -> bool:
    """Whether `text` shows nothing: None, empty, white space, zero-width characters or NULs only."""
    return text is None or not text.strip(BLANKS)


class Usage(Model):
    """What models used: calls made, calls answered from the cache, tokens, US dollars (None = price unknown)."""

    calls: int = 0
    cached_calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None

    def __add__(self, other: Usage) -> Usage:
        """The two together; a price unknown on one side stays what the other says."""
        costs = [cost for cost in (self.cost_usd, other.cost_usd) if cost is not None]
        return Usage(
            calls=self.calls + other.calls,
            cached_calls=self.cached_calls + other.cached_calls,
            tokens_in=self.tokens_in + other.tokens_in,
            tokens_out=self.tokens_out + other.tokens_out,
            cost_usd=sum(costs) if costs else None,
        )


class RetrievalStep(Model):
    """One retrieval step when there are several (rewrite, hop, re-rank): what was asked, what came back."""

    name: str
    query: str | None = None
    chunks: tuple[RetrievedChunk, ...] = ()
    latency_ms: float | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class Response(Model):
    """What a system returns for one question. A bare retriever leaves `answer` None.

    `context` None means that the system says nothing of what it retrieved; an empty one that it retrieved nothing.
    `abstained` is the system's own word on whether it declined (None: not said; the text decides).
    """

    context: RetrievedContext | None = None
    answer: str | None = None
    citations: tuple[str, ...] | None = None
    abstained: bool | None = None
    usage: Usage = Usage()
    retrieval_ms: float | None = Field(default=None, ge=0)
    generation_ms: float | None = Field(default=None, ge=0)
    total_ms: float | None = Field(default=None, ge=0)
    steps: tuple[RetrievalStep, ...] = ()
    model: str | None = None
    metadata: dict[str, Any] = Field(default_factory=dict)


class Labels(Model):
    """Gold labels of one item, resolved for one corpus: id → grade (0 = judged and not relevant).

    None means that nothing is known at that level; an empty dict is not used. `groups` (of chunk ids) are the
    evidence groups in which any one id is enough and all groups are needed; ids of a group have grades in `chunks`.
    `notes` say what could not be resolved (a quote that stands in no chunk).
    """

    chunks: dict[str, int] | None = None
    documents: dict[str, int] | None = None
    groups: tuple[tuple[str, ...], ...] | None = None
    notes: tuple[str, ...] = ()

    def at(self, level: Level) -> dict[str, int] | None:
        """The grades at chunk or at document level."""
        return self.chunks if level == "chunk" else self.documents


class Sample(Model):
    """The only input of a metric: a golden item, a response to it, the labels that apply. `repeat` counts from 0."""

    item: GoldenItem
    response: Response
    labels: Labels = Labels()
    repeat: int = Field(default=0, ge=0)

    @property
    def id(self) -> str:
        """The item's id."""
        return self.item.id
