"""The plots of the HTML report over time and money: earlier runs, what quality costs, whether slow ones are better."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from ragauge.analysis.columns import Column, RunTable
from ragauge.core.run import Manifest, MetricResult, Summary
from ragauge.diagnose.history import History, Trend, history
from ragauge.report.svg import Plot, Point, Series
from ragauge.report.words import count, duration_ms, interval, number
from ragauge.stats.intervals import mean_interval

#: Series in one plot; groups of equal size; the fewest questions in one.
N_SERIES, N_GROUPS, LEAST = 3, 4, 5
#: Ticks of the axis of runs.
N_TICKS = 6


@dataclass(frozen=True)
class CoursePlot:
    """One metric over the runs. `says`: the same in words."""

    key: str
    says: str
    plot: Plot


@dataclass(frozen=True)
class CourseLine:
    """One run, for the table behind the plots: this run's `current` is set."""

    run: str
    created: str
    current: bool
    quality: str
    cost: str
    latency: str


@dataclass(frozen=True)
class CourseView:
    """This run among the earlier ones. `quality`: the metric that cost and latency are drawn against."""

    n_runs: int
    plots: tuple[CoursePlot, ...]
    quality: str
    price: tuple[Plot, ...]
    lines: tuple[CourseLine, ...]
    notes: tuple[str, ...]


def course_view(runs: Sequence[tuple[Manifest, Summary]]) -> CourseView | None:
    """`runs`: this one and earlier ones; the newest is this one. None where there is no earlier one."""
    if len(runs) < 2:
        return None
    ordered = sorted(runs, key=lambda pair: (pair[0].created, pair[0].run))
    found = history(ordered)
    newest = ordered[-1][1]
    quality = quality_metric(newest)
    order = {"broken": 0, "below": 1, "good": 2, "none": 3}
    ranked = sorted(found.trends, key=lambda t: (t.key != quality, order[newest.metrics[t.key].verdict]))
    return CourseView(
        n_runs=len(ordered),
        plots=tuple(CoursePlot(t.key, _says(t), _trend_plot(t, found)) for t in ranked if _drawable(t)),
        quality=quality or "",
        price=tuple(_price_plots(ordered, quality)) if quality is not None else (),
        lines=tuple(_lines(ordered, quality)),
        notes=found.notes,
    )


def quality_metric(summary: Summary) -> str | None:
    """What stands for quality: correctness, the composite, completeness, faithfulness; else what has a threshold."""
    for key in ("correctness", "composite", "completeness", "faithfulness"):
        if key in summary.metrics and summary.metrics[key].estimate is not None:
            return key
    scored = [r for r in summary.metrics.values() if r.estimate is not None and r.better == "higher"]
    judged = [r for r in scored if r.threshold is not None]
    return next((result.key for result in (*judged, *scored)), None)


def quarters(table: RunTable, summary: Summary, cost_of: Mapping[str, float], what: str) -> Plot | None:
    """Quality of the fastest (cheapest) quarter of the questions, of the next, … `cost_of`: id → milliseconds or USD.

    None with fewer than 5 questions in a quarter, or where all cost the same.
    """
    chosen = _series_keys(summary)
    ids = sorted((item for item in table.ids if item in cost_of), key=lambda item: (cost_of[item], item))
    if len(ids) < N_GROUPS * LEAST or cost_of[ids[0]] == cost_of[ids[-1]] or not chosen:
        return None
    edges = [round(len(ids) * part / N_GROUPS) for part in range(N_GROUPS + 1)]
    groups = [ids[a:b] for a, b in pairwise(edges)]
    unit = "milliseconds" if what == "latency" else "US dollars"
    series = tuple(_quarter_series(table.columns[key], groups, cost_of, what) for key in chosen)
    series = tuple(one for one in series if one.points)
    if not series:
        return None
    return Plot(
        title=f"Quality by {what}",
        note=f"Means of the quarters of the questions, from the least to the greatest {what}",
        x_name=f"median {what} of the quarter in {unit}",
        y_name="mean",
        series=series,
    )


def _series_keys(summary: Summary) -> list[str]:
    first = quality_metric(summary)
    others = [r.key for r in summary.metrics.values() if r.threshold is not None and r.estimate and r.key != first]
    return ([first] if first is not None else []) + others[: N_SERIES - 1]


def _quarter_series(column: Column, groups: Sequence[Sequence[str]], cost_of: Mapping[str, float], what: str) -> Series:
    info = column.spec.info
    points = []
    for ids in groups:
        scored = [item for item in ids if item in column.values]
        if len(scored) < LEAST:
            continue
        values = [column.values[item] for item in scored]
        found = mean_interval(values, kind=info.kind, bounded=info.low == 0.0 and info.high == 1.0)
        at = median(cost_of[item] for item in scored)
        shown = duration_ms(at) if what == "latency" else f"${at:.4f}"
        said = f"{column.key} {number(found.value)} ({interval(found)}), {count(found.n, 'question')}, about {shown}"
        points.append(Point(at, found.value, found.low, found.high, said))
    return Series(column.key, tuple(points))


def _drawable(trend: Trend) -> bool:
    return sum(moment.estimate is not None for moment in trend.moments) >= 2


def _trend_plot(trend: Trend, found: History) -> Plot:
    place = {run: x for x, run in enumerate(found.runs)}
    same: list[Point] = []
    other: list[Point] = []
    for moment in trend.moments:
        if moment.estimate is None:
            continue
        e = moment.estimate
        said = f"{moment.run}: {number(e.value)} ({interval(e)}), n {e.n}"
        point = Point(place[moment.run], e.value, e.low, e.high, said, mark=moment.run == found.runs[-1])
        (same if moment.comparable else other).append(point)
    series = [Series("same questions, judge, metric", tuple(same))] if same else []
    if other:
        series.append(Series("other ones: not comparable", tuple(other), joined=False))
    limit = trend.moments[-1].threshold
    if limit is not None:
        line = tuple(Point(x, limit, tooltip=f"threshold {limit:g}") for x in (0, len(found.runs) - 1))
        series.append(Series(f"threshold {limit:g}", line))
    return Plot(
        title=trend.key + (" (lower is better)" if trend.better == "lower" else ""),
        note=_says(trend),
        x_name="run",
        y_name="mean with interval",
        series=tuple(series),
        ticks=tuple(_ticks(found, trend)),
    )


def _ticks(found: History, trend: Trend) -> Iterator[tuple[float, str]]:
    created = {moment.run: moment.created for moment in trend.moments}
    one_day = len({moment[:10] for moment in created.values()}) == 1
    step = max(1, -(-len(found.runs) // N_TICKS))
    for x, run in enumerate(found.runs):
        if (len(found.runs) - 1 - x) % step == 0:
            yield float(x), created.get(run, run)[11:16] if one_day else created.get(run, run)[5:10]


def _says(trend: Trend) -> str:
    if trend.change is None:
        return trend.says
    return f"{trend.says}: {trend.change.value:+.3f} ({interval(trend.change)})"


def _price_plots(runs: Sequence[tuple[Manifest, Summary]], quality: str) -> Iterator[Plot]:
    for what, unit in (("cost", "US dollars a question"), ("latency", "milliseconds, median")):
        points = []
        for manifest, summary in runs:
            result = summary.metrics.get(quality)
            at = _cost(summary) if what == "cost" else _latency(summary)
            if result is None or result.estimate is None or at is None:
                continue
            e = result.estimate
            said = f"{manifest.run}: {quality} {number(e.value)} ({interval(e)}), {_shown(at, what)}"
            points.append(Point(at, e.value, e.low, e.high, said, mark=manifest is runs[-1][0]))
        if len(points) >= 2 and len({point.x for point in points}) > 1:
            yield Plot(
                title=f"Quality against {what}",
                note=f"{quality} of each run; this run is ringed. Up and to the left is better",
                x_name=unit,
                y_name=quality,
                series=(Series("runs", tuple(points), joined=False),),
            )


def _lines(runs: Sequence[tuple[Manifest, Summary]], quality: str | None) -> Iterator[CourseLine]:
    for manifest, summary in reversed(runs):
        result: MetricResult | None = summary.metrics.get(quality) if quality is not None else None
        cost, latency = _cost(summary), _latency(summary)
        yield CourseLine(
            run=manifest.run,
            created=manifest.created[:16].replace("T", " "),
            current=manifest is runs[-1][0],
            quality=f"{number(result.value)} ({interval(result.estimate)})" if result is not None else "—",
            cost=_shown(cost, "cost"),
            latency=_shown(latency, "latency"),
        )


def _cost(summary: Summary) -> float | None:
    """US dollars of the system (not of judging) for each question."""
    cost = summary.system_usage.cost_usd
    return cost / summary.n_rows if cost is not None and summary.n_rows else None


def _latency(summary: Summary) -> float | None:
    """The median of the whole answer, where it was measured."""
    return summary.latency_ms.get("total_p50")


def _shown(value: float | None, what: str) -> str:
    if value is None:
        return "—"
    return f"${value:.5f}" if what == "cost" else duration_ms(value)
