"""Calibration: how far people agree with a run's judge, what that makes of its rate, and where they differ."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ragauge.errors import RagaugeError
from ragauge.review import open_queue
from ragauge.web.queue import exists
from ragauge.web.rendering import link, page
from ragauge.web.security import form_of
from ragauge.web.state import state_of

if TYPE_CHECKING:
    from ragauge.store.rundir import RunDir


def _all(request: Request) -> Response:
    """Every calibration of every run, newest run first, and whether it holds for the newest run's judge."""
    from ragauge.analysis.calibration import changes
    from ragauge.report.html_calibrate import line
    from ragauge.review.calibrating import stored

    entries = [one for one in state_of(request).catalog.entries() if one.manifest is not None]
    lines, problems = [], []
    newest = entries[0].manifest if entries else None
    for entry in entries:
        try:
            found = stored(entry.open())
        except RagaugeError as problem:
            problems.append(problem.message)
            continue
        lines += [(entry.name, line(one, changes(one.binding, newest) if newest else ())) for one in found.values()]
    return page(
        request, "calibrations.html.jinja", title="Calibration", here="calibration", lines=lines, problems=problems,
        newest=entries[0].name if entries else "",
    )  # fmt: skip


def _one(request: Request) -> Response:
    return _shown(request, state_of(request).catalog.entry(request.path_params["run"]).open())


def _shown(request: Request, run: RunDir, *, problem: RagaugeError | None = None) -> Response:
    from ragauge.report.html_calibrate import view
    from ragauge.review.calibrating import judged_metrics
    from ragauge.review.recalibrating import standing

    state = state_of(request)
    status = 422 if problem is not None else 200
    with ExitStack() as stack:
        there = exists(state.settings.queue)
        try:
            queue = stack.enter_context(open_queue(state.settings.queue)) if there else None
        except RagaugeError as error:  # what is stored with the run is shown all the same
            queue, problem = None, problem or error
        found = standing(run, queue)
    entry = state.catalog.entry(request.path_params["run"])
    return page(
        request,
        "calibration.html.jinja",
        status,
        title=f"Calibration of {entry.name}",
        here="calibration",
        entry=entry,
        views=[view(one, found.stale[one.metric]) for one in found.own],
        standing=found,
        judged=judged_metrics(run.manifest),
        problem=problem.message if problem is not None else "",
        hint=(problem.hint or "") if problem is not None else "",
    )


def _update(request: Request) -> Response:
    """Calibrate with the queue's labels as they are now."""
    from ragauge.review.recalibrating import recalibrate

    state = state_of(request)
    entry = state.catalog.entry(request.path_params["run"])
    run = entry.open()
    try:
        with open_queue(state.settings.queue) as queue:
            recalibrate(run, queue, claims=form_of(request).get("claims") == "1", family=state.services.family)
    except RagaugeError as problem:
        return _shown(request, run, problem=problem)
    return RedirectResponse(link("runs", entry.name, "calibration", said="calibrated"), status_code=303)


routes = [
    Route("/calibration", _all, methods=["GET"]),
    Route("/runs/{run}/calibration", _one, methods=["GET"]),
    Route("/runs/{run}/calibration", _update, methods=["POST"]),
]
