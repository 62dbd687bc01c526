"""Signing in with the token, and out."""

from __future__ import annotations

import time

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from ragauge.web.rendering import page
from ragauge.web.security import LOGIN, cookie_name, form_of, session_cookie
from ragauge.web.state import state_of

#: A wrong token costs this long.
WRONG_S = 0.5


def _form(request: Request) -> Response:
    if state_of(request).settings.token is None:
        return RedirectResponse("/", status_code=303)
    return page(request, "login.html.jinja", title="Sign in", wrong=False)


def _enter(request: Request) -> Response:
    sessions = request.scope["ragauge.sessions"]
    if not sessions.token_fits(form_of(request).get("token", "").strip()):
        time.sleep(WRONG_S)
        return page(request, "login.html.jinja", 401, title="Sign in", wrong=True)
    response = RedirectResponse("/", status_code=303)
    host = request.headers.get("host", "")
    session_cookie(response, sessions.new(), host, secure=request.url.scheme == "https")
    return response


def _leave(request: Request) -> Response:
    response = RedirectResponse(LOGIN, status_code=303)
    response.delete_cookie(cookie_name(request.headers.get("host", "")), path="/")
    return response


routes = [
    Route(LOGIN, _form, methods=["GET"]),
    Route(LOGIN, _enter, methods=["POST"]),
    Route("/logout", _leave, methods=["POST"]),
]
