"""The list of runs."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ragauge.web.rendering import page


def _list(request: Request) -> Response:
    return page(request, "error.html.jinja", title="Runs", here="runs", message="Being built.", hint="")


routes = [Route("/runs", _list)]
