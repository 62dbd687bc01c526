"""Which refusals of an HTTP service are worth another attempt, and after how long."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from ragauge.errors import shortened

#: Statuses after which the same request may succeed.
_AGAIN = frozenset((408, 425, 429, 500, 502, 503, 504, 529))
_LONGEST_BACKOFF = 8.0


class Refused(Exception):
    """One attempt brought no reply. Never leaves the HTTP system."""

    def __init__(self, message: str, *, again: bool, retry_after_s: float | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.message, self.again, self.retry_after_s, self.hint = message, again, retry_after_s, hint


def refusal(status: int, headers: Mapping[str, str], body: str) -> Refused:
    """What a status that is no success means."""
    hint = ""
    if status in (401, 403):
        hint = "The service refused the credentials: check `headers`, and the variable that they name."
    elif status in (404, 405):
        hint = "Check `url` and `method`."
    elif status in (400, 415, 422):
        hint = "The service did not understand the request: check `body`."
    elif 300 <= status < 400:
        hint = f"It points to {headers.get('location', 'another address')}: set `url` to it if that is right."
    said = f": {shortened(' '.join(body.split()), 300)}" if body.strip() else ""
    message = f"answered {status}{said}"
    return Refused(message, again=status in _AGAIN, retry_after_s=_retry_after(headers), hint=hint)


def delay_before(attempt: int, retry_after_s: float | None) -> float:
    """Seconds to wait before the `attempt`-th attempt (from 2): what was asked for, else doubling with jitter."""
    if retry_after_s is not None:
        return retry_after_s
    longest: float = min(_LONGEST_BACKOFF, 0.25 * 2 ** (attempt - 2))
    return longest * (0.5 + random.random() / 2)


def _retry_after(headers: Mapping[str, str]) -> float | None:
    said = headers.get("retry-after")
    if said is None:
        return None
    try:
        return max(0.0, float(said))
    except ValueError:
        pass  # not seconds: a date, or nonsense, which the next lines tell apart
    try:
        return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
    except ValueError:
        return None


async def reached(url: str, timeout_s: float) -> str | None:
    """None when something listens where `url` points to (or a proxy stands between); else what went wrong."""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    if parts.scheme in getproxies() and not proxy_bypass(host):
        return None
    try:
        async with asyncio.timeout(timeout_s):
            _, writer = await asyncio.open_connection(host, port)
    except TimeoutError:
        return f"no connection within {timeout_s:g} s"
    except OSError as error:
        return str(error)
    writer.close()
    return None
