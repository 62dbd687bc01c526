"""Production as one HTML file: fetches nothing, reads without a script, shows hostile text as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragauge.monitor.report import MonitorReport
from ragauge.monitor.report_terminal import shown
from ragauge.monitor.series import SeriesInfo
from ragauge.report.html import whole_page
from ragauge.report.svg import Plot, Point, Series, inline_plot

#: Series that are drawn together.
_TOGETHER = {"p50_ms": "latency", "p95_ms": "latency", "p99_ms": "latency"}


def html_page(report: MonitorReport) -> str:
    """The whole page."""
    from markupsafe import Markup

    plots = [
        {"title": plot.title, "name": name, "svg": Markup(inline_plot(plot, f"plot-{name}", 640, 260))}
        for name, plot in plots_of(report)
    ]
    return whole_page(
        "monitor.html.jinja",
        report=report,
        plots=plots,
        rows=list(newest_rows(report)),
        bottleneck=bottleneck_sentence(report),
    )


def plots_of(report: MonitorReport) -> Iterator[tuple[str, Plot]]:
    """(name, plot) of every series over the days, with intervals; latencies in one plot."""
    groups: dict[str, list[SeriesInfo]] = {}
    for info in report.series:
        groups.setdefault(_TOGETHER.get(info.name, info.name), []).append(info)
    place = {day.day: i for i, day in enumerate(report.days)}
    step = max(1, len(report.days) // 8)
    ticks = tuple((float(i), day.day[5:]) for i, day in enumerate(report.days) if i % step == 0)
    for name, infos in groups.items():
        series = tuple(Series(info.title, tuple(_points(report, info, place))) for info in infos)
        if any(one.points for one in series):
            title = "Latency" if name == "latency" else infos[0].title
            yield name, Plot(title, _note(infos[0]), "day", infos[0].unit, series, ticks)


def _points(report: MonitorReport, info: SeriesInfo, place: dict[str, int]) -> Iterator[Point]:
    raised = {alert.raised for alert in report.standing.alerts if alert.series == info.name}
    for day in report.days:
        figure = day.figures.get(info.name)
        if figure is None:
            continue
        low, high = (shown(v, info.unit) if v is not None else "…" for v in (figure.low, figure.high))
        tip = f"{day.day}: {shown(figure.value, info.unit)} ({low} – {high}), n = {figure.n:.0f}"
        tip += "" if day.complete else ", the day is not over"
        yield Point(float(place[day.day]), figure.value, figure.low, figure.high, tip, mark=day.day in raised)


def _note(info: SeriesInfo) -> str:
    said = "95 % interval of each day; a ring marks the day of an alert"
    return said if info.threshold is None else f"{said}; threshold {shown(info.threshold, info.unit)}"


def newest_rows(report: MonitorReport) -> Iterator[dict[str, Any]]:
    """Every series on its newest complete day, in words."""
    for info in report.series:
        known = [(d, d.figures[info.name]) for d in report.days if info.name in d.figures]
        day, figure = next(((d, f) for d, f in reversed(known) if d.complete), known[-1])
        low, high = (shown(v, info.unit) if v is not None else "…" for v in (figure.low, figure.high))
        yield {
            "title": info.title,
            "name": info.name,
            "value": shown(figure.value, info.unit),
            "interval": f"{low} – {high}",
            "n": f"{figure.n_judged} judged" if figure.n_judged is not None else f"{figure.n:,.0f}",
            "low": f"{figure.n_low}" if figure.n_low is not None else "",
            "day": day.day,
            "threshold": "" if info.threshold is None else shown(info.threshold, info.unit),
        }


def bottleneck_sentence(report: MonitorReport) -> str:
    """Which metric to work on now, and why."""
    worst = report.bottleneck
    if worst is None:
        return "Nothing is clearly below its threshold." if report.now else "Nothing is judged yet."
    return f"{worst.key} is {worst.value:.3f}, threshold {worst.threshold:g} ({worst.sure}): {worst.why}."
