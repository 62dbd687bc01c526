"""One row: what was asked, answered and retrieved, every verdict with its evidence, the same question elsewhere."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ragauge.core.metric import Need
from ragauge.core.run import Manifest
from ragauge.diagnose.causes import CAUSES
from ragauge.diagnose.fixes import FIXES
from ragauge.errors import UnknownName
from ragauge.report.html_detail import row_detail
from ragauge.web import queue
from ragauge.web.catalog import Entry
from ragauge.web.index import Line, filter_of
from ragauge.web.pages.run import opened
from ragauge.web.pages.runs import whole_number
from ragauge.web.rendering import link, page
from ragauge.web.security import form_of
from ragauge.web.state import State

#: Runs in which the same question is looked up.
N_PAST = 20


def _row(request: Request) -> Response:
    state, entry, index = opened(request)
    asked = request.query_params
    line = index.find(asked.get("id", ""), whole_number(asked.get("repeat", "0")))
    wanted = filter_of(asked)
    record, cause = index.record(line), index.cause(line)
    before, after, at, total = index.neighbours(wanted, line)
    reviewed, queue_problem = queue.of_row(state.settings.queue, entry.name, line.id, line.repeat)
    past, not_read = _past(state, entry, line)
    known = CAUSES.get(cause.cause) if cause is not None else None
    fix = FIXES.get(cause.fix) if cause is not None else None
    row = row_detail(record, asked.get("by", ""), whole=asked.get("whole") == "1")
    values = [value for _, one in past for value in one.values]
    return page(
        request,
        "row_page.html.jinja",
        title=f"{line.id[:60]} in {entry.name}",
        here="runs",
        entry=entry,
        line=line,
        row=row,
        query=wanted.query(),
        narrows=wanted.narrows,
        before=before,
        after=after,
        at=at,
        total=total,
        cause=cause,
        cause_title=known.title if known else (cause.cause if cause else ""),
        cause_meaning=known.meaning if known else "",
        cause_fix=fix.do if fix else (cause.fix if cause else ""),
        metrics=_judged(entry.manifest),
        reviewed=reviewed,
        queue_problem=queue_problem,
        past=past,
        past_keys=list(dict.fromkeys(key for key in index.keys if key in values))[:6],
        not_read=not_read,
        back=request.url.query[:4_000],
    )


def _past(state: State, entry: Entry, line: Line) -> tuple[list[tuple[str, Line]], int]:
    """The same item in the newest runs that were read already, newest first; how many were not."""
    found, not_read = [], 0
    for other in state.catalog.entries()[: 3 * N_PAST]:
        if other.manifest is None or line.id not in (other.manifest.dataset.items or {line.id: ""}):
            continue
        index = state.indexes.small(other)
        if index is None:
            not_read += 1
            continue
        same = [one for one in index.lines(line.id) if one.repeat == line.repeat]
        found += [(other.name, one) for one in same]
        if len(found) >= N_PAST:
            break
    return found, not_read


def _judged(manifest: Manifest | None) -> list[str]:
    """Metrics that a judge decides: what a person can be asked about."""
    return [spec.key for spec in manifest.metrics if Need.JUDGE in spec.info.needs] if manifest else []


def _review(request: Request) -> Response:
    """Put the row into the review queue; then back to it, or on to its label."""
    state, entry, index = opened(request)
    form = form_of(request)
    metric = form.get("metric", "")
    if metric not in _judged(entry.manifest):
        raise UnknownName("judged metric in this run", metric, _judged(entry.manifest))
    line = index.find(form.get("id", ""), whole_number(form.get("repeat", "0")))
    item, new = queue.add_row(state.settings.queue, index.run, index.record(line), metric)
    if form.get("then") == "label":
        return RedirectResponse(link("review", "items", item), status_code=303)
    back: dict[str, Any] = dict(parse_qsl(form.get("query", ""))[:30]) | {"said": "queued" if new else "queued-before"}
    back |= {"id": line.id, "repeat": line.repeat or None}
    return RedirectResponse(link("runs", entry.name, "row", **back), status_code=303)


routes = [
    Route("/runs/{run}/row", _row),
    Route("/runs/{run}/row/review", _review, methods=["POST"]),
]
