"""What can go wrong with a call, sorted into what is worth another try and what is not; secrets never in a message."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from email.utils import parsedate_to_datetime
from types import ModuleType
from typing import Any, Literal

from ragauge.core.provider import Endpoint
from ragauge.errors import EndpointUnusable, JudgeUnavailable, TimedOut

Kind = Literal["throttled", "server", "connection", "dialect", "key", "model", "quota", "request"]

#: Kinds that may go away by themselves.
TRANSIENT: frozenset[Kind] = frozenset({"throttled", "server", "connection", "dialect"})
#: Kinds that no later call on the same endpoint will escape.
FATAL: frozenset[Kind] = frozenset({"key", "model", "quota"})

_LONGEST_MESSAGE = 300
_KEYS = re.compile(r"\b(?:sk|pk|key|xai|gsk)-[\w-]{6,}|(?i:bearer\s+)[\w.~+/=-]{6,}")
_QUOTA = ("insufficient_quota", "billing", "exceeded your current quota", "credit balance")
_THROTTLED = {429, 529}
_SERVER = {408, 409, 425, 500, 502, 503, 504}


class CallFailed(JudgeUnavailable):
    """One call brought no reply. `kind` says why, `retry_after_s` what the endpoint asked to be waited."""

    def __init__(
        self,
        message: str,
        *,
        kind: Kind,
        status: int | None = None,
        retry_after_s: float | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind: Kind = kind
        self.status, self.retry_after_s = status, retry_after_s

    @property
    def transient(self) -> bool:
        """Whether another try may succeed."""
        return self.kind in TRANSIENT


class CallTimedOut(TimedOut):
    """One call took longer than its time-out; worth another try."""


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` with `secrets`, and whatever looks like an API key, replaced by `***`, and cut to a readable length.

    >>> redact("Incorrect API key provided: sk-abcdef123456")
    'Incorrect API key provided: ***'
    """
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "***")
    text = _KEYS.sub("***", text[: 20 * _LONGEST_MESSAGE])
    return text if len(text) <= _LONGEST_MESSAGE else f"{text[: _LONGEST_MESSAGE - 1]}…"


def failure_of_status(
    endpoint: Endpoint, status: int, body: str, headers: Mapping[str, str], secrets: Iterable[str]
) -> CallFailed:
    """The failure that an HTTP status and its body stand for."""
    kind: Kind
    lowered = body[:20_000].casefold()
    hint = ""
    if status in (401, 403):
        kind, hint = "key", "The key was refused: check the variable that holds it, and what it may use."
    elif status == 404:
        kind, hint = "model", "Check the model's name and the base URL."
    elif status == 402 or (status == 429 and any(mark in lowered for mark in _QUOTA)):
        kind, hint = "quota", "The account has no credit left."
    elif status in _THROTTLED:
        kind = "throttled"
    elif status in _SERVER or status > 504:
        kind = "server"
    else:
        kind = "request"
    text = redact(f"{endpoint.label} answered {status}: {' '.join(body.split())}", secrets)
    return CallFailed(text, kind=kind, status=status, retry_after_s=retry_after(headers), hint=hint)


def as_dict(reply: Any) -> dict[str, Any]:
    """What an SDK made of a reply, as plain data; empty for what it could make nothing of (it passes odd shapes on)."""
    make = getattr(reply, "to_dict", None)
    return make() if make is not None else {}


def refuse_unusable(failure: CallFailed | CallTimedOut) -> None:
    """Raise `EndpointUnusable` if asking for the list of models failed in a way that dooms every real call.

    A server that has no such list (404 and the like) is not unusable for that.
    """
    if isinstance(failure, CallTimedOut) or failure.kind in ("key", "quota", "connection"):
        raise EndpointUnusable(failure.message, hint=failure.hint) from None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as the headers `retry-after-ms` or `retry-after` (seconds or a date) say, or None.

    >>> retry_after({"retry-after": "6"})
    6.0
    """
    milliseconds, plain = headers.get("retry-after-ms"), headers.get("retry-after")
    try:
        if milliseconds is not None:
            return _sane(float(milliseconds) / 1000)
        if plain is not None:
            return _sane(float(plain))
    except ValueError:
        pass  # not a number: a date, or nonsense, which the next lines tell apart
    try:
        return None if plain is None else _sane(parsedate_to_datetime(plain).timestamp() - time.time())
    except ValueError:
        return None


def _sane(seconds: float) -> float | None:
    return max(0.0, seconds) if seconds == seconds and seconds < 86_400 else None


def failure_of_sdk(
    problem: Exception, sdk: ModuleType, endpoint: Endpoint, *, timeout_s: float, api_key: str, default_url: str
) -> CallFailed | CallTimedOut:
    """What an exception of a vendor's client means. `sdk`: its module, which names exceptions as OpenAI's and
    Anthropic's do (both are generated by one tool). Anything that is neither the client's nor a `ValueError` is a bug
    and is raised again.
    """
    if isinstance(problem, sdk.APITimeoutError):
        return CallTimedOut(f"{endpoint.label} did not answer within {timeout_s:g} s")
    if isinstance(problem, sdk.APIStatusError):
        response = problem.response
        return failure_of_status(endpoint, problem.status_code, response.text, response.headers, (api_key,))
    if isinstance(problem, sdk.APIConnectionError):
        cause = problem.__cause__ or problem
        return CallFailed(
            redact(f"{endpoint.label} cannot be reached: {cause}", (api_key,)),
            kind="connection",
            hint=f"Is something listening at {endpoint.base_url or default_url}?",
        )
    root: type[Exception] = getattr(sdk, "OpenAIError", None) or sdk.AnthropicError
    if isinstance(problem, (root, ValueError)):
        text = redact(f"{endpoint.label} sent no usable reply: {problem}", (api_key,))
        return CallFailed(text, kind="server")
    raise problem
