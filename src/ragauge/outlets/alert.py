"""What an alert says, before any channel gives it a shape. Whoever watches something builds one; `tell` delivers it.

    alert = Alert(
        key="monitor:faq:faithfulness",         # what is watched; one story of firing … resolved for each key
        event="2026-01-31T10:00",               # this occurrence; a channel is told of a (key, event, state) once
        state="firing", severity="alert",
        title="faq: faithfulness is below its threshold",
        measures=(Measure(name="faithfulness", value="0.71 (0.66 – 0.76)", note="≥ 0.9, n = 240", verdict="below"),),
        groups=(Group(title="Worst rows", entries=(Entry(name="q12", text="How long …?", note="faithfulness"),)),),
        links=(Link(label="Open page", url="https://ragauge.example/monitor"),),
    )
    told = tell(alert, channels, Ledger(Path("runs/alerts.sqlite")), settings.policy())

`channels` and `settings` come from the section `alerts:` (`outlets.alert_settings`); `outlets.tell` says when a channel
is told. Texts may be anybody's: every channel escapes them.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from ragauge.core.model import Model
from ragauge.errors import UsageError
from ragauge.outlets.http import web_address

Severity = Literal["alert", "warning", "info"]
RANK = {"info": 0, "warning": 1, "alert": 2}


class Measure(Model):
    """One number: its value as it is shown, what it is compared with, what that comes to."""

    name: str
    value: str
    note: str = ""
    verdict: Literal["good", "below", "broken", "none"] = "none"


class Entry(Model):
    """A row, a cluster, a query: what it is called, what it says, why it is here."""

    name: str
    text: str = ""
    note: str = ""


class Group(Model):
    """Entries under a title ("Worst rows", "Top failing causes"), the most telling first."""

    title: str
    entries: tuple[Entry, ...]


class Link(Model):
    """A button. `url` must be http(s)."""

    label: str
    url: str

    @field_validator("url")
    @classmethod
    def _can_be_opened(cls, value: str) -> str:
        if not web_address(value):
            raise UsageError(
                f"the link {value[:80]!r} is no address that can be opened", hint="It must start with https://"
            )
        return value


class Alert(Model):
    """See the module. `state` "ok": nothing is wrong (any more); told only to a channel that was told of trouble, or
    where everything is told. `facts`: lines under the title. `at`: ISO 8601 time of what happened.
    """

    key: str = Field(min_length=1)
    event: str = Field(min_length=1)
    title: str = Field(min_length=1)
    state: Literal["firing", "ok"] = "firing"
    severity: Severity = "alert"
    at: str = ""
    facts: tuple[str, ...] = ()
    measures: tuple[Measure, ...] = ()
    groups: tuple[Group, ...] = ()
    links: tuple[Link, ...] = ()

    @property
    def trouble(self) -> tuple[str, ...]:
        """Names of what is low or broken: an alert with a new one is news, whatever was told a moment ago."""
        return tuple(measure.name for measure in self.measures if measure.verdict in ("below", "broken"))
