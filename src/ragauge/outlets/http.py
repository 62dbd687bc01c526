"""POSTing JSON to a webhook: patiently, never following it elsewhere, never showing the secret that its address is."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message as Headers
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from typing import IO, Any, Literal
from urllib.parse import urlsplit

from ragauge.errors import UsageError
from ragauge.text.normalise import clean, display

#: Tries, the longest wait between two of them that is honoured, how long one try may take: all in all a few minutes.
N_TRIES, LONGEST_WAIT_S, TIMEOUT_S = 5, 60.0, 15.0
#: What chat services take as the address of a button.
LONGEST_LINK = 3000
_LOCAL = ("localhost", "127.0.0.1", "::1")

Sleep = Callable[[float], None]


@dataclass(frozen=True)
class Sent:
    """What became of a message. `why` never holds the address."""

    outcome: Literal["sent", "failed"]
    why: str = ""
    n_tries: int = 0


def check_address(url: str) -> None:
    """Raise `UsageError` unless it is an https address (http for this machine only). The address is not repeated."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        _ = parts.port
    except ValueError:
        parts, host = urlsplit(""), ""
    if not (parts.scheme == "https" and host) and not (parts.scheme == "http" and host in _LOCAL):
        raise UsageError(
            "the webhook's address must start with https://",
            hint="Keep it in an environment variable: --slack-webhook '${SLACK_WEBHOOK}'",
        )
    if any(ord(c) <= 32 or ord(c) > 126 for c in url):
        raise UsageError("the webhook's address holds characters that no address may hold", hint="A stray line end?")


def web_address(url: str) -> bool:
    """Whether people can open it: http or https, a host, not longer than buttons take."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc) and len(url) <= LONGEST_LINK


def post(
    url: str, message: Mapping[str, Any], *, headers: Mapping[str, str] | None = None, sleep: Sleep = time.sleep
) -> Sent:
    """POST `message` as JSON."""
    return post_bytes(url, as_json(message), headers=headers, sleep=sleep)


def as_json(message: Mapping[str, Any]) -> bytes:
    """The bytes that are sent, and signed."""
    return json.dumps(message, ensure_ascii=True, allow_nan=False).encode()


def post_bytes(url: str, body: bytes, *, headers: Mapping[str, str] | None = None, sleep: Sleep = time.sleep) -> Sent:
    """POST a JSON text. 429 and 5xx and lost connections are tried again, after `Retry-After` where one is given."""
    opener = urllib.request.build_opener(_NoRedirect())
    sent = {"Content-Type": "application/json; charset=utf-8", **(headers or {})}
    why = ""
    for attempt in range(1, N_TRIES + 1):
        request = urllib.request.Request(url, data=body, headers=sent)
        wait = min(2.0 ** (attempt - 1), LONGEST_WAIT_S)
        try:
            with opener.open(request, timeout=TIMEOUT_S) as reply:
                reply.read(1000)
                return Sent("sent", n_tries=attempt)
        except urllib.error.HTTPError as error:
            with error:
                why = without_secrets(f"{error.code} {_words(error)}", url)
                if error.code != 429 and error.code < 500:
                    return Sent("failed", why, attempt)
                wait = _retry_after(error.headers, wait)
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            told = f"{type(reason).__name__}: {reason}" if isinstance(reason, Exception) else str(reason)
            why = without_secrets(told, url)
        if wait > LONGEST_WAIT_S:
            return Sent("failed", f"{why}: asked to wait {wait:.0f} s", attempt)
        if attempt < N_TRIES:
            sleep(wait)
    return Sent("failed", why, N_TRIES)


def without_secrets(text: str, url: str) -> str:
    """One short line without the address and without any part of it that could be its secret."""
    try:
        parts = urlsplit(url)
    except ValueError:
        parts = urlsplit("")
    pieces = [piece for piece in parts.path.split("/") if len(piece) > 8]
    # In an address of apprise the token of a bot can stand where others have their host.
    hidden = parts.netloc if "@" in parts.netloc or parts.scheme not in ("http", "https") else ""
    for secret in (url, parts.path, parts.query, hidden, *pieces):
        if len(secret) > 3:
            text = text.replace(secret, "…")
    if parts.password:
        text = text.replace(parts.password, "…")
    return " ".join(display(clean(text)).split())[:200]


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A webhook has no business elsewhere: what is sent would go to whoever it points at."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Headers, newurl: str
    ) -> None:
        """Never follow."""
        return


def _words(error: urllib.error.HTTPError) -> str:
    """Slack says what is wrong in the body: `invalid_blocks`, `channel_is_archived`."""
    try:
        body = error.read(500).decode("utf-8", "replace").strip()
    except (OSError, HTTPException):
        body = ""
    return body or str(error.reason)


def _retry_after(headers: Headers | None, otherwise: float) -> float:
    """Seconds, or the time until a date; `otherwise` where there is neither."""
    value = (headers.get("Retry-After") or "").strip() if headers is not None else ""
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time()) if value else otherwise
    except (ValueError, OverflowError):
        return otherwise
