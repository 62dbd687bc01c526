"""The application: screens, static files, errors as pages, security around everything."""

from __future__ import annotations

import importlib
import mimetypes
from importlib.resources import files
from typing import Any

from ragauge.errors import MissingExtra, RagaugeError, UnknownName, UsageError
from ragauge.web.settings import Services, WebSettings

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route
    from starlette.types import ASGIApp
except ImportError as error:
    raise MissingExtra("Starlette, which serves the page,", "web") from error

#: The modules of `ragauge.web.pages`; each has `routes`. A screen is added here and in `navigation.ITEMS`.
SCREENS = (
    "session", "overview", "runs", "run", "row", "compare", "debugger", "review", "calibration", "clusters", "sweeps",
    "golden", "monitor",
)  # fmt: skip


def create_app(settings: WebSettings | None = None, services: Services | None = None) -> ASGIApp:
    """The ASGI application. `services`: what pages may call of the making half (see `Services`)."""
    from ragauge.web.catalog import Catalog
    from ragauge.web.comparing import Comparisons
    from ragauge.web.index import Indexes
    from ragauge.web.jobs import Jobs, Waiting
    from ragauge.web.security import Security
    from ragauge.web.state import State

    given = settings or WebSettings()
    routes = [Route("/static/{name}", _static), Route("/healthz", _health)]
    for name in SCREENS:
        routes += importlib.import_module(f"ragauge.web.pages.{name}").routes
    app = Starlette(
        routes=routes,
        exception_handlers={RagaugeError: _told, Waiting: _waiting, HTTPException: _missing, Exception: _bug},
    )
    app.router.redirect_slashes = False
    jobs = Jobs()
    app.state.ragauge = State(
        given, services or Services(), Catalog(given), Indexes(given, jobs), jobs, Comparisons(given, jobs)
    )
    return Security(app, given)


def _health(request: Request) -> Response:
    return PlainTextResponse("ok\n")


def _static(request: Request) -> Response:
    """A file of ours, by its plain name."""
    name = request.path_params["name"]
    folder = files("ragauge.web").joinpath("static")
    known = {entry.name: entry for entry in folder.iterdir() if entry.is_file()}
    if name not in known:
        raise HTTPException(404)
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return Response(
        known[name].read_bytes(), media_type=kind, headers={"cache-control": "public, max-age=31536000, immutable"}
    )


def _told(request: Request, error: Any) -> Response:
    """What was asked for is impossible, or what is on disk cannot be read: said as the command line says it."""
    from ragauge.web.rendering import page

    status = 404 if isinstance(error, UnknownName) else 400 if isinstance(error, UsageError) else 500
    return page(request, "error.html.jinja", status, title="Problem", message=error.message, hint=error.hint)


def _waiting(request: Request, waiting: Any) -> Response:
    """It is being worked out: the page looks again by itself."""
    from ragauge.web.rendering import page

    return page(request, "waiting.html.jinja", 202, title=waiting.job.title, job=waiting.job)


def _missing(request: Request, error: Any) -> Response:
    from ragauge.web.rendering import page

    known = {404: "There is no such page.", 405: "That cannot be done here."}
    message = known.get(error.status_code, error.detail or "That did not work.")
    return page(request, "error.html.jinja", error.status_code, title="Not found", message=message, hint="")


def _bug(request: Request, error: Exception) -> Response:
    """A bug of ours: told in the log with its traceback, and to the reader without one."""
    return PlainTextResponse("Something went wrong in ragauge itself: the log says what.\n", status_code=500)
