"""Failure clusters: failing questions of a run that are about the same thing, against those of another run."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ragauge.errors import UsageError
from ragauge.review import open_queue
from ragauge.web.rendering import link, page
from ragauge.web.security import fields_of, form_of
from ragauge.web.state import state_of

#: Members of a cluster that are listed.
N_MEMBERS = 200


def _clusters(request: Request) -> Response:
    from ragauge.diagnose.causes import CAUSES
    from ragauge.diagnose.clusters import match
    from ragauge.review.calibrating import judged_metrics
    from ragauge.web.grouping import clusters_of

    state = state_of(request)
    entry = state.catalog.entry(request.path_params["run"])
    found = clusters_of(state, entry)
    against = request.query_params.get("against", "")
    if against:
        found = match(found, clusters_of(state, state.catalog.entry(against)))
    others = [one.name for one in state.catalog.entries() if one.manifest is not None and one.name != entry.name]
    return page(
        request, "clusters.html.jinja", title=f"Failure clusters of {entry.name}", here="runs", entry=entry,
        found=found, against=against, others=others[:50], titles={name: one.title for name, one in CAUSES.items()},
        metrics=judged_metrics(entry.open().manifest), n_members=N_MEMBERS,
    )  # fmt: skip


def _queue(request: Request) -> Response:
    """Put the examples of a cluster before people."""
    from ragauge.review.sources import asked

    form, names = form_of(request), fields_of(request, "id")[:50]
    run = state_of(request).catalog.entry(request.path_params["run"]).open()
    metric = form.get("metric", "")
    if metric not in {spec.key for spec in run.manifest.metrics}:
        raise UsageError(f"the run has no metric {metric[:60]!r}")
    with open_queue(state_of(request).settings.queue) as queue:
        n_new = queue.add(asked(run, metric, names))
    said = "queued" if n_new else "queued-before"
    return RedirectResponse(link("runs", request.path_params["run"], "clusters", said=said), status_code=303)


routes = [
    Route("/runs/{run}/clusters", _clusters, methods=["GET"]),
    Route("/runs/{run}/clusters", _queue, methods=["POST"]),
]
