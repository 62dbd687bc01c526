"""The list of runs: metrics over time, what the gate says, what each cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragauge.analysis.gate_result import GateResult
from ragauge.errors import RagaugeError
from ragauge.report.html_runs import RunLine, Trends, keys_of, run_line, trends_of
from ragauge.report.html_trend import N_RUNS
from ragauge.web.catalog import Entry
from ragauge.web.rendering import page
from ragauge.web.state import State, state_of

SIZE = 50


def _list(request: Request) -> Response:
    state = state_of(request)
    entries = state.catalog.entries()
    asked = {name: request.query_params.get(name, "")[:200] for name in ("q", "dataset", "gate")}
    fitting = [entry for entry in entries if _fits(entry, asked)]
    gates = {entry.name: gate_of(state, entry) for entry in fitting} if asked["gate"] else {}
    if asked["gate"]:
        fitting = [entry for entry in fitting if (found := gates[entry.name]) and found.verdict == asked["gate"]]
    number = page_number(request)
    shown = fitting[(number - 1) * SIZE : number * SIZE]
    keys = keys_of([entry.summary for entry in shown if entry.summary is not None])
    trends = trends_over(fitting)
    return page(
        request,
        "runs.html.jinja",
        title="Runs",
        here="runs",
        base=str(state.settings.runs),
        asked=asked,
        asked_query={name: value for name, value in asked.items() if value},
        datasets=sorted({entry.manifest.dataset.name for entry in entries if entry.manifest is not None}),
        gated=state.settings.gate is not None,
        keys=keys,
        lines=[line_of(state, entry, keys) for entry in shown],
        sparks=trends.sparks,
        notes=trends.history.notes,
        number=number,
        size=SIZE,
        total=len(fitting),
        total_runs=len(entries),
    )


def trends_over(entries: Sequence[Entry]) -> Trends:
    """Metrics over the last runs; `entries` newest first."""
    known = [(entry.manifest, entry.summary) for entry in entries if entry.manifest and entry.summary][:N_RUNS]
    return trends_of([(manifest, summary) for manifest, summary in reversed(known) if manifest and summary])


def line_of(state: State, entry: Entry, keys: Sequence[str] = ()) -> RunLine:
    """One run as a line of the list."""
    if entry.manifest is None:
        return RunLine(entry.name, "", entry.name, "", "", "", "—", False, 0, 0, "—", "", "", (), entry.problem)
    return run_line(entry.manifest, entry.summary, gate_of(state, entry), keys)


def gate_of(state: State, entry: Entry) -> GateResult | None:
    """What the gate says of a run that is small or was looked at before; None otherwise, and where there is no gate."""
    if state.settings.gate is None or entry.manifest is None:
        return None
    try:
        index = state.indexes.small(entry)
    except RagaugeError:
        return None
    return index.gate() if index is not None else None


def page_number(request: Any) -> int:
    """The page that an address asks for, from 1."""
    return max(1, min(whole_number(request.query_params.get("page", ""), 1), 10_000_000))


def whole_number(text: str, otherwise: int = 0) -> int:
    """What an address or a form says as a number; `otherwise` for what is none, or larger than any that we have."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else otherwise


def _fits(entry: Entry, asked: dict[str, str]) -> bool:
    manifest = entry.manifest
    if manifest is None:
        return not any(asked.values()) or asked["q"].casefold() in entry.name.casefold()
    if asked["dataset"] and manifest.dataset.name != asked["dataset"]:
        return False
    judge = manifest.judge
    parts = [
        manifest.run,
        manifest.dataset.name,
        manifest.system.name,
        judge.name if judge else "",
        manifest.commit or "",
    ]
    text = " ".join(parts).casefold()
    return all(word in text for word in asked["q"].casefold().split())


routes = [Route("/runs", _list)]
