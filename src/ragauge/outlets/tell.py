"""Telling channels of an alert: each of them once, not too often, and of the recovery too.

    told = tell(alert, channels, ledger, policy)          # list[Delivery], one for each channel; raises for no webhook
    preview(alert, channels, ledger, policy)              # the same decisions and the messages, nothing is sent

A channel is anything with `label` (safe to print), `id` (a hash, safe to keep), `render(alert)` and
`send(alert, sleep=…)`: `outlets.channels` has Slack, a signed webhook and everything that apprise knows.

What a channel is told of, in this order:

1. A (key, event, state) that it was told of: not again (unless `again`).
2. `ok`: only when the last message about this key was of trouble (the recovery), or `policy.everything`.
3. Trouble whose last message is younger than `cooldown_s`: held back, unless it is worse or something new is bad.
4. Quiet hours hold back everything below "alert"; what was held back is told afterwards, if it is still so.
5. More than `per_hour` messages in an hour: held back. The next message says how many were.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any, Literal, Protocol

from ragauge.core.model import Model
from ragauge.errors import StoreError
from ragauge.outlets import ledger as book
from ragauge.outlets.alert import RANK, Alert
from ragauge.outlets.http import Sent
from ragauge.outlets.ledger import Ledger, Told
from ragauge.report.words import count

HOUR_S = 3600.0


class Channel(Protocol):
    """Where a message can go."""

    @property
    def label(self) -> str:
        """What it is called in messages of ours: nothing secret."""
        ...

    @property
    def id(self) -> str:
        """Which one it is: a hash of its address."""
        ...

    def render(self, alert: Alert) -> dict[str, Any]:
        """What it would be sent."""
        ...

    def send(self, alert: Alert, *, sleep: Callable[[float], None] = time.sleep) -> Sent:
        """Send it. What goes wrong is an outcome, never an exception."""
        ...


@dataclass(frozen=True)
class Policy:
    """When a channel is told. `quiet`: (from, to) in minutes of the day, in `zone` (None: this machine's)."""

    cooldown_s: float = HOUR_S
    per_hour: int = 30
    recovery: bool = True
    everything: bool = False
    quiet: tuple[int, int] | None = None
    zone: tzinfo | None = None


Outcome = Literal["sent", "would send", "already sent", "held", "nothing to tell", "failed"]


@dataclass(frozen=True)
class Delivery:
    """What became of an alert at one channel. `why` is safe to print. `message`: what would be sent (`preview`)."""

    channel: str
    outcome: Outcome
    why: str = ""
    n_tries: int = 0
    message: dict[str, Any] | None = None


class PreviewedChannel(Model):
    """What would become of an alert at one channel, and the message that would be sent, without secrets."""

    channel: str
    outcome: Outcome
    why: str
    message: dict[str, Any] | None


class PreviewDocument(Model):
    """What `ragauge report --notify --dry-run` prints; the schema in the documentation is this one."""

    alert: Alert
    channels: tuple[PreviewedChannel, ...]


def tell(
    alert: Alert,
    channels: Sequence[Channel],
    ledger: Ledger,
    policy: Policy | None = None,
    *,
    again: bool = False,
    now: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
) -> list[Delivery]:
    """Tell every channel that is to be told. A channel or a ledger that fails is an outcome, never an exception."""
    rules = policy or Policy()
    return [_tell_one(alert, channel, ledger, rules, again, now, sleep) for channel in channels]


def preview(
    alert: Alert,
    channels: Sequence[Channel],
    ledger: Ledger,
    policy: Policy | None = None,
    *,
    again: bool = False,
    now: Callable[[], float] = time.time,
) -> list[Delivery]:
    """What `tell` would do now. Nothing is sent or written down."""
    found = []
    for channel in channels:
        decided: Delivery | Alert = alert
        if ledger.path.exists():
            with ledger.locked() as connection:
                decided = _decide(alert, channel, connection, policy or Policy(), again, now())
        elif alert.state == "ok" and not (policy or Policy()).everything:
            decided = Delivery(channel.label, "nothing to tell")
        if isinstance(decided, Alert):
            decided = Delivery(channel.label, "would send", message=channel.render(decided))
        found.append(decided)
    return found


def _tell_one(
    alert: Alert,
    channel: Channel,
    ledger: Ledger,
    policy: Policy,
    again: bool,
    now: Callable[[], float],
    sleep: Callable[[float], None],
) -> Delivery:
    at = now()
    try:
        with ledger.locked() as connection:
            decided = _decide(alert, channel, connection, policy, again, at)
            if isinstance(decided, Alert):
                book.note(connection, channel.id, alert, "sending", at)
            elif decided.outcome == "held" and not decided.why.startswith("quiet"):
                book.note(connection, channel.id, alert, "held", at)
    except StoreError as error:
        return Delivery(channel.label, "failed", error.message)
    if isinstance(decided, Delivery):
        return decided
    try:
        sent = channel.send(decided, sleep=sleep)
    except Exception as error:  # of a library that sends; what it says may hold the address
        sent = Sent("failed", f"the channel failed with {type(error).__name__}", 1)
    why = sent.why
    try:
        with ledger.locked() as connection:
            if sent.outcome == "sent":
                book.note(connection, channel.id, alert, "sent", at)
            else:
                book.forget(connection, channel.id, alert)
    except StoreError as error:
        why = f"{why + '; ' if why else ''}that could not be noted, so it may be sent again: {error.message}"
    return Delivery(channel.label, sent.outcome, why, sent.n_tries)


def _decide(
    alert: Alert, channel: Channel, connection: Any, policy: Policy, again: bool, now: float
) -> Alert | Delivery:
    """The alert as it is to be sent, or why it is not."""
    if not again and book.already(connection, channel.id, alert.key, alert.event, alert.state, now):
        return Delivery(channel.label, "already sent")
    before = book.last(connection, channel.id, alert.key, now)
    if not again:
        held = _held(alert, before, policy, now)
        if held is not None:
            return Delivery(channel.label, "nothing to tell" if held == "" else "held", held)
        if book.n_since(connection, channel.id, now - HOUR_S) >= policy.per_hour:
            return Delivery(channel.label, "held", f"{policy.per_hour} messages within an hour")
    return _with_news(alert, before)


def _held(alert: Alert, before: Told | None, policy: Policy, now: float) -> str | None:
    """Why it is held back; "": there is nothing to tell; None: it is not."""
    if alert.state == "ok":
        recovered = before is not None and before.state == "firing" and policy.recovery
        if not recovered and not policy.everything:
            return ""
    elif before is not None and before.state == "firing" and now - before.at < policy.cooldown_s:
        worse = RANK[alert.severity] > RANK[before.severity] or set(alert.trouble) - before.names
        if not worse:
            return f"told {_ago(now - before.at)} ago, nothing worse since"
    if alert.severity != "alert" and policy.quiet is not None and _quiet(policy, now):
        return "quiet hours"
    return None


def _quiet(policy: Policy, now: float) -> bool:
    assert policy.quiet is not None
    moment = datetime.fromtimestamp(now, policy.zone)
    minute, (start, end) = moment.hour * 60 + moment.minute, policy.quiet
    return start <= minute < end if start <= end else minute >= start or minute < end


def _with_news(alert: Alert, before: Told | None) -> Alert:
    """With a line on what the channel missed, and "Recovered" where that is so."""
    facts = list(alert.facts)
    if before is not None and before.n_held:
        facts.append(f"{count(before.n_held, 'message')} about this held back since the last one.")
    title = alert.title
    if alert.state == "ok" and before is not None and before.state == "firing":
        title = f"Recovered: {title}"
    return alert.model_copy(update={"facts": tuple(facts), "title": title})


def _ago(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds < HOUR_S else f"{seconds / HOUR_S:.1f} h"
