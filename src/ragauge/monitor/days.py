"""A day of production in figures: what charts, alerts and reports read. They never see a question."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from typing import Literal

from pydantic import Field

from ragauge.core.model import Model
from ragauge.core.run import Estimate
from ragauge.stats.intervals import wilson_bounds
from ragauge.stats.quantiles import t_quantile, two_sided_z

#: Series that a rule may name without there being a judge.
LOGGED = ("queries", "top_similarity", "zero_results", "p50_ms", "p95_ms", "p99_ms", "slow", "abstention",
          "thumbs_down", "feedback", "question_drift")  # fmt: skip


class Figure(Model):
    """One series on one day.

    `rate`: `k` of `n` (k may be a fraction when it was estimated from a sample). `mean`: `sd` is the spread of single
    values and `n` the effective number of them. `quantile`: order-statistic bounds in `low`/`high`. `n_low`: judged
    answers below the metric's threshold, of `n_judged`.
    """

    kind: Literal["rate", "mean", "quantile"]
    value: float
    n: float = Field(gt=0)
    k: float | None = None
    sd: float | None = None
    low: float | None = None
    high: float | None = None
    method: str = ""
    n_judged: int | None = None
    n_low: int | None = None
    n_unscored: int = 0

    @property
    def estimate(self) -> Estimate:
        """The value with its interval."""
        return Estimate(value=self.value, low=self.low, high=self.high, n=max(1, round(self.n)), method=self.method)


class Day(Model):
    """`day` is ISO 8601 (UTC). `figures`: series → figure, absent where there was nothing to measure. `complete` False:
    the day is not over, or its sample is not judged yet.
    """

    day: str
    n_queries: int = Field(ge=0)
    figures: dict[str, Figure] = Field(default_factory=dict)
    topics: dict[str, int] = Field(default_factory=dict)
    complete: bool = True
    notes: tuple[str, ...] = ()

    @property
    def weekday(self) -> int:
        """0 Monday … 6 Sunday."""
        return date.fromisoformat(self.day).weekday()


def rate(k: float, n: float, *, level: float = 0.95) -> Figure:
    """`k` of `n` with Wilson's interval.

    >>> figure = rate(4, 200)
    >>> round(figure.value, 3), round(figure.low, 4), round(figure.high, 4)
    (0.02, 0.0078, 0.0503)
    """
    low, high = wilson_bounds(k / n, n, two_sided_z(level))
    return Figure(kind="rate", value=k / n, n=n, k=k, low=low, high=high, method="Wilson score interval")


def mean(value: float, sd: float, n: int, *, level: float = 0.95) -> Figure:
    """The mean of `n` values with Student's t interval (none for one value)."""
    if n < 2:
        return Figure(kind="mean", value=value, n=n, sd=None, method="no interval: one value")
    half = t_quantile(0.5 + level / 2, n - 1) * sd / math.sqrt(n)
    return Figure(
        kind="mean", value=value, n=n, sd=sd, low=value - half, high=value + half, method="Student t interval"
    )


def series_of(days: Sequence[Day]) -> list[str]:
    """Every series that any day has, logged ones first in their usual order."""
    found = {name for day in days for name in day.figures}
    return [name for name in LOGGED if name in found] + sorted(found - set(LOGGED))
