"""Slices at one look: every tag against every metric, darker where it is better, grey where it says nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ragauge.analysis.columns import RunTable
from ragauge.analysis.slices import MIN_SLICE
from ragauge.core.metric import MetricInfo
from ragauge.core.run import Estimate, Summary
from ragauge.report.words import interval, number

#: Steps of the colour, from 0 (worst) to this (best).
STEPS = 9


@dataclass(frozen=True)
class HeatField:
    """One metric within one tag. `step`: 0 (worst) to `STEPS` (best), None without a direction; `grey`: too few."""

    text: str
    n: int
    step: int | None
    grey: bool
    below: bool
    says: str


@dataclass(frozen=True)
class HeatRow:
    """One tag; `fields` None where nothing was scored."""

    tag: str
    fields: tuple[HeatField | None, ...]


@dataclass(frozen=True)
class Heat:
    """Tags in rows, metrics in columns; metrics whose tags are all alike empty are left out."""

    metrics: tuple[str, ...]
    rows: tuple[HeatRow, ...]


def heat(table: RunTable, summary: Summary, found: Mapping[str, Mapping[str, Estimate]]) -> Heat | None:
    """The map of what `by_tag(table, min_n=1)` found; None without tags."""
    keys = tuple(key for key in summary.metrics if any(key in cells for cells in found.values()))
    if not keys:
        return None
    rows = tuple(
        HeatRow(tag, tuple(_field(cells.get(key), table.columns[key].spec.info, summary, key) for key in keys))
        for tag, cells in found.items()
    )
    return Heat(keys, rows)


def _field(estimate: Estimate | None, info: MetricInfo, summary: Summary, key: str) -> HeatField | None:
    if estimate is None:
        return None
    result = summary.metrics[key]
    grey = estimate.n < MIN_SLICE
    limit = result.threshold
    below = (
        limit is not None
        and not grey
        and (estimate.value < limit if info.better == "higher" else estimate.value > limit)
    )
    says = f"{estimate.n} scored, 95 % interval {interval(estimate)}"
    if grey:
        says = f"only {estimate.n} scored: fewer than {MIN_SLICE} say nothing"
    return HeatField(number(estimate.value, 2), estimate.n, None if grey else _step(estimate, info), grey, below, says)


def _step(estimate: Estimate, info: MetricInfo) -> int | None:
    """The value's place on its metric's range, best last.

    >>> from ragauge.core.metric import MetricInfo
    >>> info = MetricInfo(name="x", title="x", needs=frozenset(), half="both", better="lower")
    >>> _step(Estimate(value=0.25, n=9), info)
    7
    """
    if info.better == "none" or info.kind == "number" or info.high <= info.low:
        return None
    share = min(1.0, max(0.0, (estimate.value - info.low) / (info.high - info.low)))
    return round(STEPS * (share if info.better == "higher" else 1.0 - share))
