"""Monitor: production day by day with intervals, alerts, topics and what tests them, sampled answers."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragauge.web.rendering import page
from ragauge.web.state import State, state_of

if TYPE_CHECKING:
    from ragauge.monitor.report import MonitorReport

WINDOWS = (7, 30, 90)
#: A report is kept this long: queries come in all the time.
KEPT_S = 60.0
#: Sampled answers of a day that are shown.
N_ROWS = 100
_lock = threading.Lock()
_known: dict[tuple[Any, ...], tuple[float, Any]] = {}


def _monitor(request: Request) -> Response:
    state = state_of(request)
    wanted = request.query_params.get("days", "")
    days = int(wanted) if wanted in {str(one) for one in WINDOWS} else 30
    if state.settings.log is None:
        return page(request, "monitor_page.html.jinja", title="Monitor", here="monitor", report=None, days=days)
    from ragauge.monitor.report_html import bottleneck_sentence, newest_rows, plots_of

    report = _report(state, days)
    plots = [(name, replace(plot, ribbon=True)) for name, plot in plots_of(report)]
    where = {"p50_ms": "latency", "p95_ms": "latency", "p99_ms": "latency"}
    drawn = {name for name, _ in plots}
    places = {name: where.get(name, name) for alert in report.standing.alerts for name in [alert.series]}
    return page(
        request, "monitor_page.html.jinja", title="Monitor", here="monitor", report=report, days=days, windows=WINDOWS,
        plots=plots, rows=list(newest_rows(report)), bottleneck=bottleneck_sentence(report),
        anchors={name: place for name, place in places.items() if place in drawn},
    )  # fmt: skip


def _report(state: State, days: int) -> MonitorReport:
    """The report of now, or of a minute ago; one at a time, because each reads the whole window of the log."""
    from ragauge.embeddings import load
    from ragauge.monitor.report import build_report

    key = (id(state), state.settings.log, days)
    with _lock:
        known = _known.get(key)
        if known is None or time.monotonic() - known[0] > KEPT_S:
            assert state.settings.log is not None
            made = build_report(
                state.settings.log, days, settings=state.settings.monitor,
                encode=lambda texts: load().encode(list(texts)),
            )  # fmt: skip
            _known[key] = known = (time.monotonic(), made)
    found: MonitorReport = known[1]
    return found


def _day(request: Request) -> Response:
    """The sampled answers of one day, those with the most low scores first."""
    from datetime import date

    from ragauge.monitor.report import sampled_rows

    settings = state_of(request).settings
    try:
        day = date.fromisoformat(request.path_params["day"]).isoformat()
    except ValueError:
        raise HTTPException(404) from None
    if settings.log is None:
        raise HTTPException(404)
    rows = sampled_rows(settings.log, day, settings=settings.monitor, limit=N_ROWS)
    keys = list(dict.fromkeys(key for row in rows for key in row.scores))
    return page(
        request, "monitor_day.html.jinja", title=f"Sampled answers of {day}", here="monitor", day=day, rows=rows,
        keys=keys, limit=N_ROWS,
    )  # fmt: skip


routes = [Route("/monitor", _monitor), Route("/monitor/days/{day}", _day)]
