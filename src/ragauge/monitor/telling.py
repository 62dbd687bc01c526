"""Alerts of production as messages: each once, with numbers, with a link, and once more when it is over."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import quote

from ragauge.core.model import Model
from ragauge.monitor.alerts import Alert, Standing
from ragauge.outlets.alert import Alert as Message
from ragauge.outlets.alert import Link, Measure
from ragauge.outlets.tell import Delivery


def message(alert: Alert, name: str, link: str | None = None) -> Message:
    """One alert for the channels. `name`: what the log is called in the title; `link`: the page to open, where `{day}`
    and `{rule}` may stand.
    """
    ended = alert.status == "resolved"
    measures = [
        Measure(
            name=alert.series,
            value=f"{alert.value:.3g}",
            note=f"expected {alert.expected:.3g}",
            verdict="none" if ended else "broken" if alert.severity == "page" else "below",
        )
    ]
    for metric, (low, judged) in alert.low.items():
        note = f"of {judged} judged answers are below the threshold"
        measures.append(Measure(name=metric, value=str(low), note=note, verdict="below"))
    facts = [f"Since {alert.since}, noticed on {alert.raised}." + (f" Over on {alert.resolved}." if ended else "")]
    facts.append(f"Guard: {alert.guard}. Rule: {alert.rule}.")
    links = (
        (
            Link(
                label="Open monitoring",
                url=link.replace("{day}", alert.day).replace("{rule}", quote(alert.rule, safe="")),
            ),
        )
        if link
        else ()
    )
    return Message(
        key=f"monitor:{name}:{alert.rule}/{alert.series}",
        event=alert.id,
        state="ok" if ended else "firing",
        severity="alert" if alert.severity == "page" else "warning",
        title=f"{name}: {alert.says}",
        at=alert.resolved or alert.raised,
        facts=tuple(facts),
        measures=tuple(measures),
        links=links,
    )


#: An alert that ended longer ago is not told of any more.
REMEMBERED = 14


def messages(standing: Standing, name: str, link: str | None = None) -> Iterator[Message]:
    """What there is to tell after a check, the oldest first: what stands, and what ended lately."""
    recent = [alert for alert in standing.alerts if alert.status == "firing" or _lately(alert, standing.day)]
    for alert in sorted(recent, key=lambda one: (one.resolved or one.raised, one.rule, one.series)):
        yield message(alert, name, link)


def _lately(alert: Alert, day: str | None) -> bool:
    from datetime import date

    if alert.resolved is None or day is None:
        return False
    return (date.fromisoformat(day) - date.fromisoformat(alert.resolved)).days <= REMEMBERED


class Open(Model):
    """The alerts that stood when channels were last told."""

    alerts: tuple[Alert, ...] = ()


def steady(standing: Standing, before: Open | None) -> Standing:
    """An alert that stood when channels were told keeps its id and its dates, also where fewer old days now show it
    a day earlier or later.
    """
    known = {(alert.rule, alert.series): alert for alert in before.alerts} if before is not None else {}

    def kept(alert: Alert) -> Alert:
        old = known.get((alert.rule, alert.series))
        same = old is not None and alert.status == "firing" and old.raised <= alert.day
        return (
            alert.model_copy(update={"id": old.id, "since": old.since, "raised": old.raised}) if old and same else alert
        )

    return standing.model_copy(update={"alerts": tuple(kept(alert) for alert in standing.alerts)})


def withdrawn(before: Open | None, standing: Standing) -> tuple[Alert, ...]:
    """Alerts that were told of and are none any more: accepted, or the day turned out ordinary when it was whole (what
    is known of a day can grow). They end with a message too.
    """
    known = {alert.id for alert in standing.alerts}
    gone = [alert for alert in before.alerts if alert.id not in known] if before is not None else []
    ended: dict[str, object] = {"status": "resolved", "resolved": standing.day, "low": {}}
    return tuple(
        alert.model_copy(update=ended | {"says": f"accepted, or ordinary after all: {alert.says}"}) for alert in gone
    )


class Told(Model):
    """What became of one message at one channel."""

    channel: str
    outcome: str
    why: str = ""


class CheckDocument(Standing):
    """What `ragauge monitor check --json` prints. `exit`: 0 nothing stands, 1 an alert stands, 3 cannot be judged."""

    name: str
    exit: int
    told: tuple[Told, ...] | None = None


def check_document(standing: Standing, name: str, code: int, deliveries: list[Delivery] | None) -> CheckDocument:
    """The document of a check."""
    told = None
    if deliveries is not None:
        told = tuple(Told(channel=one.channel, outcome=one.outcome, why=one.why) for one in deliveries)
    return CheckDocument(**dict(standing), name=name, exit=code, told=told)
