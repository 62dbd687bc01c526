"""Sweeps: which of many configurations to take, with intervals, and quality against what it costs."""

from __future__ import annotations

from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragauge.errors import RagaugeError, UnknownName
from ragauge.web.rendering import page
from ragauge.web.state import state_of


@dataclass(frozen=True)
class Line:
    """One sweep of the list. `problem`: why it cannot be read."""

    name: str
    created: str
    n_cells: int
    n_questions: int
    problem: str = ""


def _all(request: Request) -> Response:
    from ragauge.analysis.sweep_files import list_sweeps
    from ragauge.store.sweepdir import SweepDir

    lines = []
    for path in list_sweeps(state_of(request).settings.runs):
        try:
            found = SweepDir.open(path).manifest
        except RagaugeError as problem:
            lines.append(Line(path.name, "", 0, 0, problem.message))
            continue
        lines.append(Line(path.name, found.created, len(found.cells), found.n_questions))
    return page(request, "sweeps.html.jinja", title="Sweeps", here="sweeps", lines=lines)


def _one(request: Request) -> Response:
    from ragauge.analysis.sweep_files import list_sweeps, saved_table
    from ragauge.report.html_sweep import view
    from ragauge.store.sweepdir import SweepDir

    wanted = request.path_params["sweep"]
    known = {path.name: path for path in list_sweeps(state_of(request).settings.runs)}
    if wanted not in known:
        raise UnknownName("sweep", wanted, known)
    table, confirmation = saved_table(SweepDir.open(known[wanted]))
    shown = view(table, confirmation)
    return page(request, "sweep.html.jinja", title=f"Sweep {wanted}", here="sweeps", view=shown, name=wanted)


routes = [Route("/sweeps", _all), Route("/sweeps/{sweep}", _one)]
