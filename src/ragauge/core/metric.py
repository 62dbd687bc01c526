"""What a metric is, and what it says about itself."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping
from enum import StrEnum
from functools import lru_cache
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from pydantic import Field, field_serializer

from ragauge.core.model import Model
from ragauge.core.sample import Sample
from ragauge.core.score import Scored, Unscored


class Need(StrEnum):
    """What a metric reads. Checked at plan time: what a file cannot feed is said before a cent is spent."""

    ANSWER = "answer"
    CONTEXT = "context"  # retrieved chunks, ids at least
    CONTEXT_TEXT = "context_text"  # retrieved chunks with their text
    REFERENCE = "reference"
    LABELS = "labels"  # any relevance labels, resolved
    ANSWERABLE = "answerable"
    KEYWORDS = "keywords"
    JUDGE = "judge"


class MetricInfo(Model):
    """A metric's card: it is written into the manifest, so that a run can be read without the metric installed.

    `needs` cannot be missing; `uses` is read where it is there (labels instead of a judge, a reference that helps).
    `better` says which direction is an improvement ("none": a description, never gated by default).
    `kind`: "fraction" for graded values, "rate" when each value is 0 or 1.
    """

    name: str
    title: str
    version: int = 1
    needs: frozenset[Need]
    uses: frozenset[Need] = frozenset()
    low: float = 0.0
    high: float = 1.0
    better: Literal["higher", "lower", "none"] = "higher"
    kind: Literal["fraction", "rate", "number"] = "fraction"
    half: Literal["retrieval", "generation", "both"]
    source: str = ""

    @field_serializer("needs", "uses", when_used="json")
    def _in_order(self, needs: frozenset[Need]) -> list[str]:
        return sorted(need.value for need in needs)


@runtime_checkable
class Metric(Protocol):
    """A frozen dataclass whose fields are its parameters; `judge` among them when it asks one.

    `score` may be `def` or `async def`. It raises `SampleError` when it could not be judged; never returns NaN.
    """

    info: ClassVar[MetricInfo]

    def score(self, sample: Sample, /) -> Scored | Unscored | Awaitable[Scored | Unscored]:
        """The score of one sample."""
        ...


class MetricSpec(Model):
    """One metric as it was asked for: `key` is its name everywhere (`recall@5:doc`), `params` its fields."""

    key: str
    info: MetricInfo
    params: dict[str, Any] = Field(default_factory=dict)


def metric_key(name: str, *, k: int | None = None, level: str | None = None) -> str:
    """The one spelling of a metric's name: `name[@k][:chunk|:doc]`.

    >>> metric_key("recall", k=5, level="doc")
    'recall@5:doc'
    """
    return name + (f"@{k}" if k is not None else "") + (f":{level}" if level is not None else "")


@lru_cache(maxsize=4096)
def base_name(key: str) -> str:
    """`recall@5:doc` → `recall`."""
    return key.partition("@")[0].partition(":")[0]


def names_of(key: str) -> tuple[str, str, str]:
    """What a metric may be called in settings: its key, the key without granularity, its base name.

    >>> names_of("recall@5:doc")
    ('recall@5:doc', 'recall@5', 'recall')
    """
    return key, key.partition(":")[0], base_name(key)


def parse_metric_key(key: str) -> tuple[str, int | None, str | None]:
    """`recall@5:doc` → ("recall", 5, "doc"). ValueError for a k below 1 or a wrong level.

    >>> parse_metric_key("ndcg@10")
    ('ndcg', 10, None)
    """
    rest, _, level = key.partition(":")
    name, at, k = rest.partition("@")
    if at and not (k.isascii() and k.isdigit() and int(k) > 0):
        raise ValueError(f"in {key!r}, k must be a whole number from 1, not {k!r}")
    if ":" in key and level not in ("chunk", "doc"):
        raise ValueError(f"in {key!r}, the granularity must be ':chunk' or ':doc', not ':{level}'")
    return name, int(k) if at else None, level or None


@runtime_checkable
class Derived(Protocol):
    """A metric made of other metrics' scores on the same sample (the composite); it reads nothing else."""

    info: ClassVar[MetricInfo]

    def derive(self, scores: Mapping[str, Scored | Unscored], /) -> Scored | Unscored:
        """The score that follows from `scores` (metric key → score)."""
        ...
