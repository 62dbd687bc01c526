"""Who may ask for what: host names, tokens, forged forms, sizes, and the headers on every answer.

One ASGI wrapper around the whole application, so that no page can forget it:

- **Host.** Only names that are ours are answered; a page elsewhere whose name is made to point here (DNS rebinding)
  is not.
- **Token.** When one is set, nothing but the login form and the static files is shown without it. It is compared in
  constant time; a wrong one costs time. A session is a signed cookie; it ends when the token changes.
- **POST.** Needs this session's CSRF token (form field `csrf` or header `X-CSRF-Token`) and an Origin that is ours.
- **Size.** Addresses longer than `MAX_URL` and bodies larger than `max_body` are refused before they are read.
- **Headers.** A Content-Security-Policy without inline script or style, nothing from elsewhere, no frames.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import ipaddress
import secrets
import time
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ragauge.web.settings import MAX_URL, WebSettings

COOKIE = "ragauge_session"
#: How long a session lasts.
SESSION_S = 14 * 24 * 3600
LOGIN = "/login"
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_SAFE = {"GET", "HEAD", "OPTIONS"}
#: Form fields of one POST.
_MAX_FIELDS = 2_000

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
#: `same-origin` and not `no-referrer`: with the latter, browsers send `Origin: null` with our own forms.
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), payment=(), usb=()",
    "x-robots-tag": "noindex, nofollow",
}


class Sessions:
    """Signed session cookies: `nonce.expiry.signature`. The key follows from the token, or is new with each start."""

    def __init__(self, token: str | None) -> None:
        material = token.encode() if token is not None else secrets.token_bytes(32)
        self._key = hmac.new(b"ragauge page session", material, hashlib.sha256).digest()
        self._token = token

    def new(self) -> str:
        """A cookie for somebody who may see the page."""
        body = f"{secrets.token_urlsafe(18)}.{int(time.time()) + SESSION_S}"
        return f"{body}.{self._sign(body)}"

    def valid(self, cookie: str | None) -> bool:
        """Whether we made this cookie and it has not ended."""
        if not cookie or len(cookie) > 200 or not cookie.isascii():
            return False
        body, _, signature = cookie.rpartition(".")
        if not hmac.compare_digest(self._sign(body), signature):
            return False
        expiry = body.rpartition(".")[2]
        return expiry.isdigit() and int(expiry) > time.time()

    def csrf(self, cookie: str) -> str:
        """The CSRF token that goes with a session."""
        return self._sign("csrf " + cookie)

    def token_fits(self, given: str) -> bool:
        """Whether this is the token; takes as long for a wrong one as for a right one."""
        wanted = (self._token or "").encode()
        fits = hmac.compare_digest(
            hashlib.sha256(given.encode("utf-8", "replace")).digest(), hashlib.sha256(wanted).digest()
        )
        return fits and self._token is not None

    def _sign(self, text: str) -> str:
        digest = hmac.new(self._key, text.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(digest).decode().rstrip("=")


class Security:
    """The wrapper. Sets `scope["ragauge.session"]`, `["ragauge.csrf"]` and, for a POST, `["ragauge.form"]`."""

    def __init__(self, app: ASGIApp, settings: WebSettings) -> None:
        self.app, self.settings = app, settings
        self.sessions = Sessions(settings.token)
        self.hosts = _LOOPBACK | {host.casefold() for host in settings.hosts}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no websockets here
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)
        cookie = cookie_parser(headers.get("cookie", "")).get(cookie_name(headers.get("host", "")))
        known = self.sessions.valid(cookie)
        fresh = None
        if not known and self.settings.token is None:
            fresh = cookie = self.sessions.new()
        scope["ragauge.csrf"] = self.sessions.csrf(cookie) if cookie and (known or fresh) else ""
        scope["ragauge.sessions"] = self.sessions
        send = _with_headers(send, scope, fresh)
        refusal = self._refusal(scope, headers, known)
        if refusal is None and scope["method"] not in _SAFE:
            try:
                body = await _read(receive, self.settings.max_body)
            except _HungUp:  # half of a form is no form: nothing of it is carried out
                return
            refusal = self._forged(scope, headers, body)
            receive = _again(body or b"")
        await (refusal or self.app)(scope, receive, send)

    def _refusal(self, scope: Scope, headers: Headers, known: bool) -> Response | None:
        if not self.host_is_ours(headers.get("host", "")):
            return _plain("This page is not served under that name. Start it with --allow-host NAME.", 421)
        if len(scope.get("raw_path") or b"") + len(scope.get("query_string") or b"") > MAX_URL:
            return _plain("The address is too long.", 414)
        if scope["method"] not in {*_SAFE, "POST"}:
            return _plain("Only GET and POST.", 405)
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit() and len(length) < 20) or int(length) > self.settings.max_body:
            return _plain(f"Too large: at most {self.settings.max_body} bytes.", 413)
        path = scope["path"]
        if self.settings.token is None or known or path == LOGIN or path.startswith("/static/"):
            return None
        if self._bearer(headers):
            scope["ragauge.bearer"] = True
            return None
        if scope["method"] in _SAFE and "text/html" in headers.get("accept", ""):
            return RedirectResponse(LOGIN, status_code=303)
        return _plain("A token is needed: sign in, or send it as `Authorization: Bearer TOKEN`.", 401)

    def _bearer(self, headers: Headers) -> bool:
        kind, _, given = headers.get("authorization", "").partition(" ")
        return kind.casefold() == "bearer" and self.sessions.token_fits(given.strip())

    def _forged(self, scope: Scope, headers: Headers, body: bytes | None) -> Response | None:
        """Why a POST is not to be believed; else its fields are put into the scope."""
        if body is None:
            return _plain(f"Too large: at most {self.settings.max_body} bytes.", 413)
        kind = headers.get("content-type", "").partition(";")[0].strip().casefold()
        form: list[tuple[str, str]] = []
        if kind == "application/x-www-form-urlencoded":
            try:
                form = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MAX_FIELDS)
            except ValueError:
                return _plain("Too many fields.", 413)
        elif kind not in {"application/json", ""}:
            return _plain("Send a form or JSON.", 415)
        scope["ragauge.form"] = form
        scope["ragauge.body"] = body
        if scope.get("ragauge.bearer"):  # no browser sends this header by itself
            return None
        origin = headers.get("origin")
        ours = f"{scope['scheme']}://{headers.get('host', '')}".casefold()
        site = headers.get("sec-fetch-site", "same-origin")
        if (origin is not None and origin.casefold() != ours) or site not in {"same-origin", "none"}:
            return _plain("This form was not sent from this page.", 403)
        if scope["path"] == LOGIN:
            return None
        given = headers.get("x-csrf-token") or dict(form).get("csrf", "")
        wanted = scope["ragauge.csrf"]
        if not wanted or not hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode()):
            return _plain("This form is too old: go back, load the page again and send it once more.", 403)
        return None

    def host_is_ours(self, header: str) -> bool:
        """Whether a Host header names us. Where every address is listened on, any literal address does."""
        if not header or any(letter in header for letter in "/\\@ ,"):
            return False
        try:
            name = urlsplit(f"//{header}").hostname or ""
        except ValueError:
            return False
        if name.casefold() in self.hosts:
            return True
        return self.settings.any_address and _is_address(name)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def cookie_name(host: str) -> str:
    """Cookies do not know ports: two pages on this machine would take each other's session away.

    >>> cookie_name("127.0.0.1:8517"), cookie_name("eval.example")
    ('ragauge_session_8517', 'ragauge_session')
    """
    port = host.rpartition(":")[2] if not host.endswith("]") else ""
    return f"{COOKIE}_{port}" if port.isascii() and port.isdigit() else COOKIE


def session_cookie(response: Response, value: str, host: str, *, secure: bool) -> None:
    """Hand out a session to who asked for `host`."""
    response.set_cookie(
        cookie_name(host), value, max_age=SESSION_S, httponly=True, samesite="lax", secure=secure, path="/"
    )


def _with_headers(send: Send, scope: Scope, fresh: str | None) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            if not scope["path"].startswith("/static/"):
                headers.setdefault("cache-control", "no-store")
            if fresh is not None and "text/html" in headers.get("content-type", ""):
                holder = Response()
                session_cookie(holder, fresh, Headers(scope=scope).get("host", ""), secure=scope["scheme"] == "https")
                headers.append("set-cookie", holder.headers["set-cookie"])
        await send(message)

    return sending


class _HungUp(Exception):
    """The other side went away before its body had arrived."""


async def _read(receive: Receive, limit: int) -> bytes | None:
    """The whole body; None when it is larger than `limit`. Raises `_HungUp`."""
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _HungUp
        part: bytes = message.get("body", b"")
        size += len(part)
        if size > limit:
            return None
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


def _again(body: bytes) -> Receive:
    """The body once more, for whoever reads it next."""
    given = False

    async def receive() -> Message:
        nonlocal given
        if given:
            return {"type": "http.disconnect"}
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def _plain(text: str, status: int) -> Response:
    return PlainTextResponse(text + "\n", status_code=status)


def form_of(request: Any) -> dict[str, str]:
    """The fields of a POST; of a field that comes twice, the last."""
    return dict(request.scope.get("ragauge.form", ()))


def fields_of(request: Any, name: str) -> list[str]:
    """Every value of one field of a POST (check boxes)."""
    return [value for key, value in request.scope.get("ragauge.form", ()) if key == name]
