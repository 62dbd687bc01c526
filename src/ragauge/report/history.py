"""Metrics over runs, for a person."""

from __future__ import annotations

from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ragauge.diagnose.history import History, Trend
from ragauge.report.distributions import sparkline
from ragauge.report.words import interval, number
from ragauge.text.normalise import display

_STYLE = {"better": "green", "worse": "red"}


def terminal(found: History) -> Group:
    """A line per metric with its course, and the bottleneck."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("metric", no_wrap=True)
    table.add_column("course")
    table.add_column("first", justify="right")
    table.add_column("now", justify="right")
    table.add_column("95 % interval", no_wrap=True)
    table.add_column("change since the first comparable run")
    for trend in found.trends:
        table.add_row(*_cells(trend))
    parts: list[Any] = [
        Text(f"{len(found.runs)} runs, newest: {display(found.runs[-1]) if found.runs else '—'}"),
        table,
    ]
    worst = found.bottleneck
    if worst is None:
        parts.append(Text("Bottleneck: none; nothing is clearly below its threshold.", style="bold"))
    else:
        parts.append(
            Text(
                f"Bottleneck now ({worst.sure}): {worst.key} = {worst.value:.3f}, threshold {worst.threshold:g} "
                f"[{worst.half}]: {worst.why}.",
                style="bold",
            )
        )
    parts += [Text(f"Note: {note}.", style="dim") for note in found.notes]
    return Group(*parts)


def _cells(trend: Trend) -> list[Text]:
    values = [moment.estimate.value for moment in trend.moments if moment.estimate is not None]
    last = trend.moments[-1].estimate
    arrow = " ↓" if trend.better == "lower" else ""
    change = trend.says
    if trend.change is not None:
        change += f": {trend.change.value:+.3f} ({interval(trend.change)})"
    return [
        Text(trend.key + arrow),
        Text(sparkline([round(1000 * max(value, 0.0)) for value in values][-30:])),
        Text(number(values[0] if values else None)),
        Text(number(last.value if last is not None else None)),
        Text(interval(last)),
        Text(change, style=_STYLE.get(trend.says, "dim")),
    ]
