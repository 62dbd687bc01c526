"""One run: its numbers, and its rows filtered, sorted and paged by the index; exports of what is shown."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from ragauge.core.metric import base_name
from ragauge.diagnose.causes import CAUSES
from ragauge.diagnose.matrix import diagnose
from ragauge.report.export import column_types, json_lines, run_markdown, table_rows
from ragauge.report.svg import inline_plot
from ragauge.store.tables import safe_cell
from ragauge.web.catalog import Entry
from ragauge.web.index import PAGE_SIZES, Index, filter_of
from ragauge.web.pages.runs import page_number
from ragauge.web.rendering import page
from ragauge.web.state import State, state_of

#: Metrics that stand in the table of rows, those with a threshold first.
N_KEYS = 6
_TITLES = {name: cause.title for name, cause in CAUSES.items()}


def opened(request: Any) -> tuple[State, Entry, Index]:
    """The run that the address names, and its index."""
    state = state_of(request)
    entry = state.catalog.entry(request.path_params["run"])
    return state, entry, state.indexes.get(entry)


def _run(request: Request) -> Response:
    from markupsafe import Markup

    state, entry, index = opened(request)
    view = index.view()
    plot = Markup(inline_plot(view.latency, "latency", 640, 320)) if view.latency is not None else ""
    return page(
        request,
        "run.html.jinja",
        title=entry.name,
        here="runs",
        entry=entry,
        tab="run",
        stale=index.stale,
        before=_before(state, entry),
        page=view,
        found=index.gate(),
        gate_problem=index.gate_problem,
        latency=plot,
        rows_of=entry.name,
    )


def _rows(request: Request) -> Response:
    state, entry, index = opened(request)
    wanted, number, size = filter_of(request.query_params), page_number(request), _size(request)
    lines, total = index.page(wanted, number, size)
    view = index.view()
    keys = _keys(index)
    query: dict[str, Any] = wanted.query() | ({"size": size} if size != PAGE_SIZES[1] else {})
    return page(
        request,
        "rows.html.jinja",
        title=f"Rows of {entry.name}",
        here="runs",
        entry=entry,
        tab="rows",
        stale=index.stale,
        before=_before(state, entry),
        wanted=wanted,
        query=query,
        lines=lines,
        total=total,
        n_rows=view.n_rows,
        number=number,
        size=size,
        keys=keys,
        index_keys=index.keys,
        first_down={
            "ms": "1",
            "cost": "1",
            **{line.key: "1" for _, g in view.groups for line in g if line.better == "lower"},
        },
        tags={tag.name: tag.n for tag in view.tags},
        causes=[(name, _TITLES.get(name, name), n) for name, n in index.n_by_cause()],
        titles=_TITLES,
    )


def _keys(index: Index) -> list[str]:
    view = index.view()
    lines = [line for _, group in view.groups for line in group]
    first: dict[str, str] = {}  # of recall@5:chunk and recall@5:doc, one
    for line in sorted(lines, key=lambda line: not line.threshold):
        first.setdefault(base_name(line.key), line.key)
    return list(first.values())[:N_KEYS]


def _size(request: Any) -> int:
    text = request.query_params.get("size", "")
    return int(text) if text in {str(size) for size in PAGE_SIZES} else PAGE_SIZES[1]


def _before(state: State, entry: Entry) -> str | None:
    """The run before this one with the same golden set."""
    entries = state.catalog.entries()
    place = next((n for n, one in enumerate(entries) if one.name == entry.name), len(entries))
    dataset = entry.manifest.dataset.name if entry.manifest else None
    older = (one.name for one in entries[place + 1 :] if one.manifest and one.manifest.dataset.name == dataset)
    return next(older, None)


def _export(request: Request) -> Response:
    _, entry, index = opened(request)
    kind = request.path_params["kind"]
    records = index.run.records_at(index.offsets(filter_of(request.query_params)))
    manifest = index.run.manifest
    name = f"{entry.name.encode('ascii', 'ignore').decode()}.{kind}".translate({ord(c): "_" for c in '"\\\r\n/;'})
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    if kind == "jsonl":
        return StreamingResponse(json_lines(records), media_type="application/x-ndjson", headers=headers)
    if kind == "csv":
        rows = table_rows(manifest, records)
        return StreamingResponse(_csv(list(column_types(manifest)), rows), media_type="text/csv", headers=headers)
    if kind != "md":
        raise HTTPException(404)
    summary = entry.summary
    if summary is None:
        from ragauge.analysis.summarise import summarise

        summary = summarise(manifest, records)
    return PlainTextResponse(run_markdown(manifest, summary, diagnose(summary)), headers=headers)


def _csv(names: list[str], rows: Iterator[dict[str, Any]]) -> Iterator[bytes]:
    """Lines of CSV that no spreadsheet runs."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([safe_cell(name) for name in names])
    for row in rows:
        writer.writerow([safe_cell(row.get(name)) for name in names])
        if buffer.tell() > 50_000:
            yield buffer.getvalue().encode("utf-8", "replace")
            buffer.seek(0)
            buffer.truncate()
    yield buffer.getvalue().encode("utf-8", "replace")


routes = [
    Route("/runs/{run}", _run),
    Route("/runs/{run}/rows", _rows),
    Route("/runs/{run}/export.{kind}", _export),
]
