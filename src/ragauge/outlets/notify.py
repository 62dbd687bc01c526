"""Sending a message to a webhook: once for each run and channel, patiently, without ever showing the secret."""

from __future__ import annotations

import hashlib
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.message import Message as Headers
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any, Literal
from urllib.parse import urlsplit

from ragauge.errors import StoreError, UsageError
from ragauge.store.rundir import write_json
from ragauge.text.normalise import clean, display

#: Tries, the longest wait between two of them that is honoured, how long one try may take: all in all a few minutes.
N_TRIES, LONGEST_WAIT_S, TIMEOUT_S = 5, 60.0, 15.0
#: The file beside a run that remembers which channels were told of it.
STATE = "notified.json"
_LOCAL = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True)
class Sent:
    """What became of a message. `why` never holds the address."""

    outcome: Literal["sent", "already sent", "failed"]
    why: str = ""
    n_tries: int = 0


def notify(
    url: str,
    message: Mapping[str, Any],
    folder: Path,
    run: str,
    *,
    again: bool = False,
    sleep: Callable[[float], None] = time.sleep,
) -> Sent:
    """Send `message`, unless this channel was told of `run` before (then only with `again`).

    A refused or unreachable webhook is an outcome, not an exception. Raises `UsageError` for an address that is none.
    """
    check_address(url)
    channel = hashlib.sha256(url.encode()).hexdigest()[:16]
    told = _read(folder / STATE)
    if run in told.get(channel, []) and not again:
        return Sent("already sent")
    sent = post(url, message, sleep=sleep)
    if sent.outcome == "sent":
        told[channel] = sorted({*told.get(channel, []), run})
        try:
            write_json(folder / STATE, told)
        except StoreError as error:
            return Sent("sent", f"but that could not be noted, so it may be sent again: {error.message}", sent.n_tries)
    return sent


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


def post(url: str, message: Mapping[str, Any], *, sleep: Callable[[float], None] = time.sleep) -> Sent:
    """POST it as JSON. 429 and 5xx and lost connections are tried again, after `Retry-After` where one is given."""
    body = json.dumps(message, ensure_ascii=True, allow_nan=False).encode()
    opener = urllib.request.build_opener(_NoRedirect())
    why = ""
    for attempt in range(1, N_TRIES + 1):
        request = urllib.request.Request(url, data=body, headers={"Content-Type": "application/json; charset=utf-8"})
        wait = min(2.0 ** (attempt - 1), LONGEST_WAIT_S)
        try:
            with opener.open(request, timeout=TIMEOUT_S) as reply:
                reply.read(1000)
                return Sent("sent", n_tries=attempt)
        except urllib.error.HTTPError as error:
            with error:
                why = _shown(f"{error.code} {_words(error)}", url)
                if error.code != 429 and error.code < 500:
                    return Sent("failed", why, attempt)
                wait = _retry_after(error.headers, wait)
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            why = _shown(f"{type(reason).__name__}: {reason}" if isinstance(reason, Exception) else str(reason), url)
        if wait > LONGEST_WAIT_S:
            return Sent("failed", f"{why}: asked to wait {wait:.0f} s", attempt)
        if attempt < N_TRIES:
            sleep(wait)
    return Sent("failed", why, N_TRIES)


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


def _shown(text: str, url: str) -> str:
    """One short line without the address and without its secret part."""
    parts = urlsplit(url)
    for secret in (url, parts.path, parts.query, *(piece for piece in parts.path.split("/") if len(piece) > 8)):
        if len(secret) > 3:
            text = text.replace(secret, "…")
    return " ".join(display(clean(text)).split())[:200]


def _retry_after(headers: Headers | None, otherwise: float) -> float:
    """Seconds, or the time until a date; `otherwise` where there is neither."""
    value = (headers.get("Retry-After") or "").strip() if headers is not None else ""
    if value.isascii() and value.isdigit():
        return float(value[:9])
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time()) if value else otherwise
    except (ValueError, OverflowError):
        return otherwise


def _read(file: Path) -> dict[str, list[str]]:
    """Channel → runs. A file that cannot be read tells of nothing: rather a message twice than never."""
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(data, dict):
        return {}
    return {k: [run for run in v if isinstance(run, str)] for k, v in data.items() if isinstance(v, list)}
