"""Where alerts go: Slack's incoming webhooks, a signed webhook of your own, and whatever apprise can reach."""

from __future__ import annotations

import hashlib
import hmac
import logging
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from ragauge.errors import MissingExtra, UsageError
from ragauge.outlets import slack
from ragauge.outlets.alert import Alert
from ragauge.outlets.http import (
    N_TRIES,
    TIMEOUT_S,
    Sent,
    Sleep,
    as_json,
    check_address,
    post,
    post_bytes,
    without_secrets,
)
from ragauge.text.normalise import clean, display

#: The header that holds `t=SECONDS,v1=HEX`: HMAC-SHA256 of "SECONDS.BODY" with the secret that both sides know.
SIGNATURE = "X-Ragauge-Signature"
#: The same for every try of one message: a receiver that sees it twice has seen one message.
DELIVERY = "X-Ragauge-Delivery"
#: How old a signed message may be.
TOLERANCE_S = 300.0


@dataclass(frozen=True)
class SlackChannel:
    """An incoming webhook. `mention`: Slack's code of whom to call when something is broken (`<!subteam^S12>`)."""

    url: str = field(repr=False)
    mention: str | None = None
    label: str = "Slack"

    def __post_init__(self) -> None:
        check_address(self.url)

    @property
    def id(self) -> str:
        """A hash of the address."""
        return _hash(self.url)

    def render(self, alert: Alert) -> dict[str, Any]:
        """`{"text", "blocks"}`."""
        called = alert.state == "firing" and alert.severity == "alert"
        return slack.message(alert, self.mention if called else None)

    def send(self, alert: Alert, *, sleep: Sleep = time.sleep) -> Sent:
        """POST it."""
        return post(self.url, self.render(alert), sleep=sleep)


@dataclass(frozen=True)
class WebhookChannel:
    """Any address that takes JSON: the alert as it is (docs/reference/schemas/alert.schema.json).

    With `secret`, the body is signed; `verify_signature` is the other side.
    """

    url: str = field(repr=False)
    secret: str | None = field(default=None, repr=False)
    label: str = "webhook"

    def __post_init__(self) -> None:
        check_address(self.url)

    @property
    def id(self) -> str:
        """A hash of the address."""
        return _hash(self.url)

    def render(self, alert: Alert) -> dict[str, Any]:
        """The alert, with the number of this shape."""
        return {"version": 1, **alert.model_dump(mode="json")}

    def send(self, alert: Alert, *, sleep: Sleep = time.sleep) -> Sent:
        """POST it, signed."""
        body = as_json(self.render(alert))
        headers = {DELIVERY: _hash(f"{alert.key}\n{alert.event}\n{alert.state}")}
        if self.secret is not None:
            headers[SIGNATURE] = sign(self.secret, body, time.time())
        return post_bytes(self.url, body, headers=headers, sleep=sleep)


@dataclass(frozen=True)
class AppriseChannel:
    """Mail, Teams, Discord, Telegram, PagerDuty …: any address that apprise knows (extra `alerts`)."""

    url: str = field(repr=False)
    label: str = ""

    def __post_init__(self) -> None:
        with _quiet():
            if _apprise().Apprise.instantiate(self.url) is None:
                raise UsageError(
                    "apprise cannot make a channel of that address (it is not repeated here)",
                    hint="What it knows: https://github.com/caronc/apprise/wiki. Look at the part before ://.",
                )
        if not self.label:
            object.__setattr__(self, "label", f"apprise {urlsplit(self.url).scheme}")

    @property
    def id(self) -> str:
        """A hash of the address."""
        return _hash(self.url)

    def render(self, alert: Alert) -> dict[str, Any]:
        """`{"title", "body", "type"}`, plain text."""
        kind = (
            "success" if alert.state == "ok" else {"alert": "failure", "warning": "warning"}.get(alert.severity, "info")
        )
        return {"title": _line(f"{slack.sign(alert)} {alert.title}", 150), "body": plain_text(alert), "type": kind}

    def send(self, alert: Alert, *, sleep: Sleep = time.sleep) -> Sent:
        """Tried again as often as a webhook; apprise does not say after how long it should be."""
        said = self.render(alert)
        why = ""
        for attempt in range(1, N_TRIES + 1):
            problem = self._try(said)
            if problem is None:
                return Sent("sent", n_tries=attempt)
            why = without_secrets(problem, self.url)
            if attempt < N_TRIES:
                sleep(2.0 ** (attempt - 1))
        return Sent("failed", why, N_TRIES)

    def _try(self, said: dict[str, Any]) -> str | None:
        """What went wrong, or None."""
        apprise = _apprise()
        logs: list[str] = []
        with _quiet():
            sender = apprise.Apprise(asset=apprise.AppriseAsset(storage_mode="memory", secure_logging=True))
            sender.add(self.url)
            done = sender.notify(
                body=said["body"],
                title=said["title"],
                notify_type=said["type"],
                body_format="text",
                timeout=2 * TIMEOUT_S,
                log_callback=lambda entry, _: logs.append(entry.message),
                log_level=logging.WARNING,
            )
        return None if done else "; ".join(logs) or "apprise could not deliver it"


def sign(secret: str, body: bytes, now: float) -> str:
    """The signature header's value.

    >>> sign("s", b"{}", 0.0)[:12]
    't=0,v1=55dd9'
    """
    seconds = str(int(now))
    mark = hmac.new(secret.encode(), f"{seconds}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={mark}"


def verify_signature(secret: str, body: bytes, header: str, now: float, tolerance_s: float = TOLERANCE_S) -> bool:
    """Whether a message comes from who knows the secret, unchanged and not long ago. For receivers."""
    seconds = header.partition(",")[0].removeprefix("t=")
    if not (seconds.isascii() and seconds.isdigit()) or abs(now - int(seconds)) > tolerance_s:
        return False
    return hmac.compare_digest(sign(secret, body, float(seconds)), header)


def plain_text(alert: Alert) -> str:
    """The alert as lines of text, for whatever shows text."""
    lines = [_line(fact, 300) for fact in alert.facts]
    marks = {"broken": "✗", "good": "✓"}
    lines += [_line(f"{marks.get(m.verdict, '·')} {m.name} {m.value} {m.note}", 300) for m in alert.measures[:10]]
    for group in alert.groups:
        lines += ["", _line(group.title, 80)]
        for entry in group.entries[: slack.N_ENTRIES]:
            lines.append(_line(f"• {entry.name} {entry.text[:160]}" + (f" ({entry.note})" if entry.note else ""), 320))
    lines += [""] * bool(alert.links) + [f"{_line(link.label, 75)}: {link.url}" for link in alert.links]
    return "\n".join(lines) or _line(alert.title, 150)


def _line(text: str, limit: int) -> str:
    line = " ".join(display(clean(text[: 8 * limit])).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _apprise() -> Any:
    try:
        with _quiet():
            import apprise
    except ImportError as error:
        raise MissingExtra("apprise, which sends to everything that is not Slack,", "alerts") from error
    return apprise


@contextmanager
def _quiet() -> Iterator[None]:
    """Its log holds addresses: nothing of it goes to our handlers. It loads old modules when it is first used."""
    logger = logging.getLogger("apprise")
    before = logger.propagate
    logger.propagate = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            yield
    finally:
        logger.propagate = before
