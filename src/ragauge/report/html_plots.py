"""The numbers behind the plots of the HTML report: bars of a distribution, places on an interval's axis, latencies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ragauge.analysis.columns import Column
from ragauge.core.run import Estimate
from ragauge.report.svg import Plot, Point, Series
from ragauge.report.words import count, duration_ms, number

N_BINS = 10
#: Points of a latency curve: every 5 %.
_SHARES = tuple(step / 20 for step in range(21))


@dataclass(frozen=True)
class Bar:
    """A bar of a histogram: how many values from `low` to `high`; `share` is its height (the highest is 1)."""

    low: float
    high: float
    n: int
    share: float


@dataclass(frozen=True)
class Histogram:
    """How a metric's values are spread. `words` says the same to those who do not see the bars."""

    key: str
    n: int
    low: str
    high: str
    bars: tuple[Bar, ...]
    words: str


@dataclass(frozen=True)
class Track:
    """Where an interval stands on an axis from 0 to 100: value, low and high, threshold."""

    value: float
    low: float | None
    high: float | None
    threshold: float | None = None


def histogram(column: Column) -> Histogram | None:
    """The values of a metric in bins over its range; None where nothing was scored.

    A rate has the bins 0 and 1; a bounded metric ten bins over its bounds; any other ten from its least to its
    greatest value. The last bin holds its upper edge.
    """
    values = list(column.values.values())
    if not values:
        return None
    info = column.spec.info
    low, high = (info.low, info.high) if info.kind != "number" else (min(values), max(values))
    low, high = min(low, *values), max(high, *values)
    n_bins = 1 if high <= low else (2 if info.kind == "rate" and set(values) <= {0.0, 1.0} else N_BINS)
    width = (high - low) / n_bins
    counts = [0] * n_bins
    for value in values:
        counts[min(int((value - low) / width), n_bins - 1) if width > 0 else 0] += 1
    top = max(counts)
    bars = tuple(Bar(low + i * width, low + (i + 1) * width, n, n / top) for i, n in enumerate(counts))
    n_best = sum(value == high for value in values)
    n_least = sum(value == low for value in values)
    words = f"{count(len(values), 'value')}: {n_least} at {low:g}, {n_best} at {high:g}" if high > low else (
        f"{count(len(values), 'value')}, all {number(low)}"
    )  # fmt: skip
    return Histogram(column.key, len(values), f"{low:g}", f"{high:g}", bars, words)


def track(estimate: Estimate, low: float, high: float, threshold: float | None = None) -> Track | None:
    """The interval on an axis from `low` to `high`; None where there is no such axis.

    >>> track(Estimate(value=0.5, low=0.25, high=0.75, n=9), 0, 1)
    Track(value=50.0, low=25.0, high=75.0, threshold=None)
    """
    if high <= low:
        return None

    def at(value: float) -> float:
        return round(min(100.0, max(0.0, 100 * (value - low) / (high - low))), 1)

    return Track(
        at(estimate.value),
        None if estimate.low is None else at(estimate.low),
        None if estimate.high is None else at(estimate.high),
        None if threshold is None else at(threshold),
    )


def latency_plot(latencies: Mapping[str, Sequence[float]]) -> Plot | None:
    """Share of the questions that were done within so many milliseconds; None where nobody measured.

    Each curve's points are the values at every 5 % (nearest rank), so that it is as small for 10 questions as for
    50 000.
    """
    series = []
    for name, values in latencies.items():
        if not values:
            continue
        ordered = sorted(values)
        ranks = [max(1, -(-round(share * 100) * len(ordered) // 100)) for share in _SHARES]
        words = name.removesuffix("_ms")
        points = tuple(
            Point(ordered[rank - 1], share, tooltip=f"{words}: {share:.0%} within {duration_ms(ordered[rank - 1])}")
            for rank, share in zip(ranks, _SHARES, strict=True)
        )
        series.append(Series(words, points))
    if not series:
        return None
    return Plot(
        title="Latency",
        note="Share of the questions that were done within this time",
        x_name="milliseconds",
        y_name="share of questions",
        series=tuple(series),
    )
