"""A run on disk and a run read back: manifest, records, summary."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ragauge.core.judge import JudgeInfo
from ragauge.core.metric import MetricSpec
from ragauge.core.model import Model
from ragauge.core.sample import Sample, Usage
from ragauge.core.score import Score
from ragauge.core.system import SystemInfo
from ragauge.errors import Reason

#: Version of the run directory's format. A directory from a newer one is refused, from an older one migrated.
FORMAT = 1


class MetricUsage(Model):
    """What one metric of one sample used, and how long it took."""

    usage: Usage = Usage()
    latency_ms: float = Field(default=0.0, ge=0)


class Record(Model):
    """One line of `rows.jsonl`, appended as it finishes. `index` is the sample's place in the input, from 0.

    `scores` holds each metric that was asked for: Scored or Unscored, never absent. `error` says why the system gave
    no response at all. Of two records with the same (id, repeat), the later one counts (retried errors).
    """

    index: int = Field(ge=0)
    sample: Sample
    scores: dict[str, Score]
    used: dict[str, MetricUsage] = Field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    error: str | None = None
    attempt: int = Field(default=1, ge=1)

    @property
    def key(self) -> tuple[str, int]:
        """(item id, repeat number)."""
        return self.sample.item.id, self.sample.repeat


class DatasetInfo(Model):
    """The golden set or file of recorded outputs that a run used."""

    name: str
    path: str | None = None
    fingerprint: str
    n_items: int | None = None
    n_verified: int | None = None
    items: dict[str, str] = Field(default_factory=dict)  # item id → fingerprint


class Manifest(Model):
    """Everything that could change the numbers. Written first; never changed."""

    format: int = FORMAT
    run: str
    command: Literal["run", "score", "evaluate"]
    created: str  # ISO 8601, UTC
    ragauge: str
    python: str
    platform: str
    packages: dict[str, str] = Field(default_factory=dict)
    commit: str | None = None
    seed: int = 0
    repeats: int = 1
    dataset: DatasetInfo
    system: SystemInfo
    judge: JudgeInfo | None = None
    metrics: tuple[MetricSpec, ...]
    skipped_metrics: dict[str, str] = Field(default_factory=dict)  # key → why it cannot be fed
    thresholds: dict[str, Any] = Field(default_factory=dict)
    settings: dict[str, Any] = Field(default_factory=dict)  # as given, secrets never resolved into it
    notes: tuple[str, ...] = ()


class Estimate(Model):
    """A value with its interval. `level` is the confidence (0.95), `n` the number of questions behind it.

    `low`/`high` None means that no interval can be given (n = 1); `method` says how it was made.
    """

    value: float
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    n: int = Field(ge=1)
    method: str = ""


class MetricResult(Model):
    """One metric over one run. `estimate` None: nothing could be scored, `unscored` says why.

    `n_asked` = `n` + everything in `unscored`: denominators are what was asked. `usage`: what judging it used. `noise`:
    how much of the values' variance is the judge's, where things were judged more than once (`analysis.judge_votes`).
    `n_verdicts`: verdicts that carry a probability; `n_uncertain`: those that the judge is not sure of.
    """

    key: str
    estimate: Estimate | None = None
    n_asked: int = 0
    unscored: dict[Reason, int] = Field(default_factory=dict)
    parts: dict[str, float] = Field(default_factory=dict)
    worst: tuple[str, ...] = ()
    better: Literal["higher", "lower", "none"] = "higher"
    half: Literal["retrieval", "generation", "both"] = "both"
    threshold: float | None = None
    verdict: Literal["good", "below", "broken", "none"] = "none"
    usage: Usage = Usage()
    noise: dict[str, float] = Field(default_factory=dict)
    n_verdicts: int = Field(default=0, ge=0)
    n_uncertain: int = Field(default=0, ge=0)
    notes: tuple[str, ...] = ()

    @property
    def n_errors(self) -> int:
        """How many should have been scored and were not."""
        from ragauge.core.score import Kind, kind_of

        return sum(n for reason, n in self.unscored.items() if kind_of(reason) is Kind.ERROR)

    @property
    def value(self) -> float | None:
        """The estimate's value, or None."""
        return self.estimate.value if self.estimate else None

    @property
    def low(self) -> float | None:
        """Lower end of the interval, or None."""
        return self.estimate.low if self.estimate else None

    @property
    def high(self) -> float | None:
        """Upper end of the interval, or None."""
        return self.estimate.high if self.estimate else None

    @property
    def n(self) -> int:
        """How many were scored."""
        return self.estimate.n if self.estimate else 0


class Summary(Model):
    """What a run amounts to: a pure function of manifest and records; rebuilt by `ragauge show`.

    `judging`: how far the judges of a jury, or the draws of one, agree over all verdicts (`analysis.judge_votes`).
    """

    n_rows: int
    n_failed_rows: int = 0
    metrics: dict[str, MetricResult]
    usage: Usage = Usage()
    system_usage: Usage = Usage()
    latency_ms: dict[str, float] = Field(default_factory=dict)
    share_unverified: float | None = None
    judging: dict[str, float] = Field(default_factory=dict)
    complete: bool = True
    notes: tuple[str, ...] = ()


class Finding(Model):
    """One diagnosis: which half, what it is, why we think so, what to try first and how to check it.

    `certainty`: clear when every interval keeps to its side of the threshold, likely when one reaches over it.
    """

    rule: str
    half: Literal["retrieval", "generation", "both", "unknown"]
    diagnosis: str
    cause: str
    try_first: str
    check: str
    evidence: dict[str, float] = Field(default_factory=dict)
    questions: tuple[str, ...] = ()
    certainty: Literal["clear", "likely", "unknown"] = "clear"
