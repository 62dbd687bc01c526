"""Production for a terminal: a line per series with its course, the alerts, the bottleneck, the topics."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ragauge.monitor.alerts import Alert, Standing
from ragauge.monitor.days import Day
from ragauge.monitor.report import MonitorReport
from ragauge.monitor.series import SeriesInfo
from ragauge.report.distributions import sparkline
from ragauge.report.words import count
from ragauge.text.normalise import clean, display

_BOLD = "bold"


def terminal(report: MonitorReport) -> Group:
    """The whole report."""
    head = f"{display(report.log)}: {report.n_queries:,} queries, {report.since} to {report.until}"
    parts: list[Any] = [Text(head, style=_BOLD), series_table(report)]
    worst = report.bottleneck
    if worst is not None:
        figures = f"{worst.key} = {worst.value:.3f}, threshold {worst.threshold:g}"
        said = f"Bottleneck now ({worst.sure}): {figures}: {worst.why}."
        parts.append(Text(said, style=_BOLD))
    elif report.now:
        parts.append(Text("Bottleneck now: none; nothing is clearly below its threshold.", style=_BOLD))
    parts += [Text(""), *alert_lines(report.standing)]
    if report.topics:
        parts += [Text(""), topics_table(report)]
    if report.untested:
        parts.append(Text(""))
        parts.append(Text("Asked, and unlike anything in the golden set:", style=_BOLD))
        for one in report.untested:
            parts.append(Text(f"  {one.n:>4}  {_line(one.name, 50)}  e.g. {_line(one.examples[0], 90)}"))
    parts += [Text(""), *(Text(f"Note: {note}", style="dim") for note in report.notes)]
    return Group(*parts)


def series_table(report: MonitorReport) -> Table:
    """A line per series: its course, the last complete day with its interval, how many days have it."""
    table = Table(box=None, pad_edge=False, header_style=_BOLD, padding=(0, 2, 0, 0))
    for name, justify in (("series", "left"), ("course", "left"), ("newest", "right"), ("95 % interval", "left"),
                          ("n", "right"), ("day", "left"), ("threshold", "right")):  # fmt: skip
        table.add_column(name, justify=justify, no_wrap=True)  # type: ignore[arg-type]
    queries = [day.n_queries for day in report.days]
    if queries:
        table.add_row(Text("queries"), Text(sparkline(queries)), Text(f"{queries[-1]:,}"), Text(""), Text(""),
                      Text(report.days[-1].day), Text(""))  # fmt: skip
    for info in report.series:
        table.add_row(*_cells(info, report.days))
    return table


def _cells(info: SeriesInfo, days: tuple[Day, ...]) -> list[Text]:
    known = [(day, day.figures[info.name]) for day in days if info.name in day.figures]
    day, figure = next(((d, f) for d, f in reversed(known) if d.complete), known[-1])
    low, high = (shown(value, info.unit) if value is not None else "…" for value in (figure.low, figure.high))
    n = f"{figure.n_judged} judged" if figure.n_judged is not None else f"{figure.n:,.0f}"
    arrow = {"lower": " ↓", "higher": "", "none": ""}[info.better]
    return [
        Text(info.name + arrow),
        Text(sparkline([round(1000 * max(f.value, 0.0)) for _, f in known])),
        Text(shown(figure.value, info.unit)),
        Text(f"{low} – {high}"),
        Text(n),
        Text(day.day),
        Text("" if info.threshold is None else shown(info.threshold, info.unit)),
    ]


def shown(value: float, unit: str) -> str:
    """A figure in its unit.

    >>> shown(0.0213, "share"), shown(812.4, "ms"), shown(0.9, "score")
    ('2.13 %', '812 ms', '0.900')
    """
    if unit == "share":
        return f"{100 * value:.3g} %"
    return f"{value:.0f} ms" if unit == "ms" else f"{value:.3f}"


def alert_lines(standing: Standing) -> Iterator[Text]:
    """The alerts, what could not be judged, and what naive rules would have done."""
    firing = standing.firing
    if not firing:
        yield Text(f"No alert stands; {count(standing.judged, 'rule')} judged.", style="green")
    for alert in firing:
        yield from _alert(alert, "bold red" if alert.severity == "page" else "bold yellow")
    low = next((alert for alert in firing if alert.low), None)
    if low is not None:
        counts = ", ".join(f"{name} {n} of {of}" for name, (n, of) in low.low.items())
        yield Text(f"       answers below a threshold on {low.day}: {counts}", style="dim")
    for alert in standing.alerts:
        if alert.status == "resolved":
            yield Text(
                f"  over   {alert.since} … {alert.resolved}  {alert.rule}: {_line(alert.says, 200)}", style="dim"
            )
    for one in standing.unjudged:
        mark = "learning" if one.learning else "NOT JUDGED"
        yield Text(f"  {mark}  {one.rule}: {one.series}: {one.why}", style="dim" if one.learning else "yellow")
    for why in standing.unwatched:
        yield Text(f"  not watched  {why}", style="dim")
    for rate in standing.naive:
        yield Text(
            f"  naive  {rate.rule} on {rate.series}: rings falsely on {rate.per_day:.1%} of ordinary days, "
            f"within 60 days with probability {rate.per_60_days:.0%}",
            style="dim",
        )


def _alert(alert: Alert, style: str) -> Iterator[Text]:
    yield Text(
        f"{'ALERT' if alert.severity == 'page' else 'alert'}  {alert.rule}: {_line(alert.says, 240)}", style=style
    )
    yield Text(f"       noticed {alert.raised}; {alert.guard}", style="dim")


def topics_table(report: MonitorReport) -> Table:
    """Topics, how much of them the golden set tests, and gaps."""
    table = Table(box=None, pad_edge=False, header_style=_BOLD, padding=(0, 2, 0, 0))
    for name in ("what users ask", "share", "95 % interval", "before", "golden questions", ""):
        table.add_column(name, no_wrap=True)
    for row in report.topics:
        golden = "" if row.golden_share is None else f"{row.n_golden} ({row.golden_share:.0%})"
        table.add_row(
            Text(_line(row.name, 60)), Text(f"{row.share:.1%}"), Text(f"{row.low:.1%} – {row.high:.1%}"),
            Text("" if row.before is None else f"{row.before:.1%}"), Text(golden),
            Text("hardly tested" if row.gap else "", style="yellow"),
        )  # fmt: skip
    return table


def _line(text: str, limit: int) -> str:
    line = " ".join(display(clean(text)).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
