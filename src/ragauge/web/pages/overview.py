"""The first page: how the newest run stands, what to work on, what waits for people."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragauge.web.pages.runs import line_of, trends_over
from ragauge.web.queue import backlog
from ragauge.web.rendering import page
from ragauge.web.state import state_of

#: Runs that are named here.
N_LINES = 6


def _overview(request: Request) -> Response:
    state = state_of(request)
    entries = state.catalog.entries()
    readable = [entry for entry in entries if entry.manifest is not None]
    trends = trends_over(readable)
    lines = [line_of(state, entry) for entry in readable[:N_LINES]]
    more: dict[str, Any] = {
        "newest": lines[0] if lines else None,
        "before": lines[1] if len(lines) > 1 else None,
        "lines": lines,
        "bottleneck": trends.history.bottleneck,
        "sparks": trends.sparks,
        "notes": trends.history.notes,
        "queue": backlog(state.settings.queue),
        "base": str(state.settings.runs),
    }
    return page(request, "overview.html.jinja", title="Overview", here="overview", **more)


routes = [Route("/", _overview)]
