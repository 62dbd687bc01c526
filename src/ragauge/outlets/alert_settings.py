"""The section `alerts:` of `ragauge.yaml`: who is told, of what, how often.

    alerts:
      channels:
        - slack: ${SLACK_WEBHOOK}
          mention: <!subteam^S0123>
        - webhook: ${HOOK}
          secret: ${HOOK_SECRET}
        - apprise: ${MAIL_URL}
      cooldown: 1h
      link: https://ci.example/runs/{run}/report.html

`channels_of(settings)` makes the channels (variables filled in), `settings.policy()` the rules for `outlets.tell`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, ValidationError, field_validator, model_validator

from ragauge.core.model import Model
from ragauge.engine.settings import fill_variables
from ragauge.outlets.channels import AppriseChannel, SlackChannel, WebhookChannel
from ragauge.outlets.settings_errors import explained
from ragauge.outlets.tell import Channel, Policy

KINDS = ("slack", "webhook", "apprise")
_MENTION = re.compile(r"<(@[UW][A-Z0-9]+|!subteam\^S[A-Z0-9]+|!here|!channel)>")
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)-([01]?\d|2[0-3]):([0-5]\d)")
_SPAN = re.compile(r"(\d+(?:\.\d+)?) ?(s|min|m|h|d)")
_SECONDS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


class ChannelSettings(Model):
    """One channel: exactly one of `slack`, `webhook`, `apprise`, an address (better: `${NAME}` of a variable)."""

    slack: str | None = None
    webhook: str | None = None
    apprise: str | None = None
    secret: str | None = None
    mention: str | None = None
    name: str | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> ChannelSettings:
        given = [kind for kind in KINDS if getattr(self, kind)]
        if len(given) != 1:
            raise ValueError(f"give exactly one of {', '.join(KINDS)}")
        if self.secret is not None and self.webhook is None:
            raise ValueError("`secret` signs the messages of a `webhook`")
        if self.mention is not None and self.slack is None:
            raise ValueError("`mention` is for `slack`")
        return self

    @field_validator("mention")
    @classmethod
    def _slacks_code(cls, value: str | None) -> str | None:
        if value is not None and not _MENTION.fullmatch(value):
            raise ValueError("write it as Slack does: <@U0123>, <!subteam^S0123>, <!here> or <!channel>")
        return value


class AlertSettings(Model):
    """All of the section. `on`: tell of trouble and recovery, or of every run. `state`: the file that remembers."""

    channels: tuple[ChannelSettings, ...] = ()
    on: Literal["trouble", "everything"] = "trouble"
    cooldown: float = Field(default=3600.0, ge=0)
    per_hour: int = Field(default=30, ge=1)
    recovery: bool = True
    quiet_hours: tuple[int, int] | None = None
    timezone: str | None = None
    link: str | None = None
    state: str | None = None

    @field_validator("cooldown", mode="before")
    @classmethod
    def _a_span(cls, value: Any) -> Any:
        found = _SPAN.fullmatch(value.strip()) if isinstance(value, str) else None
        if isinstance(value, str) and found is None:
            raise ValueError("write it as 30min, 1h or 2d")
        return float(found[1]) * _SECONDS[found[2]] if found is not None else value

    @field_validator("quiet_hours", mode="before")
    @classmethod
    def _two_clocks(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        found = _CLOCK.fullmatch(value.replace(" ", ""))
        if found is None:
            raise ValueError("write it as 22:00-07:00")
        start_h, start_m, end_h, end_m = map(int, found.groups())
        return 60 * start_h + start_m, 60 * end_h + end_m

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str | None) -> str | None:
        if value is not None:
            try:
                ZoneInfo(value)
            except (ZoneInfoNotFoundError, ValueError, OSError):
                raise ValueError("no such time zone; write it as Europe/Berlin") from None
        return value

    def policy(self) -> Policy:
        """The rules for `outlets.tell`."""
        return Policy(
            cooldown_s=self.cooldown,
            per_hour=self.per_hour,
            recovery=self.recovery,
            everything=self.on == "everything",
            quiet=self.quiet_hours,
            zone=ZoneInfo(self.timezone) if self.timezone else None,
        )


def alert_settings(section: Mapping[str, Any]) -> AlertSettings:
    """The section, checked. Raises `SettingsError`; an address is never repeated in it."""
    try:
        return AlertSettings.model_validate(dict(section))
    except ValidationError as error:
        raise explained(error, "alerts", AlertSettings, ChannelSettings) from None


def channels_of(settings: AlertSettings) -> list[Channel]:
    """The channels, variables filled in. Raises `SettingsError` for one that is not set, `UsageError` for an address
    that is none, `MissingExtra` where apprise is not installed.
    """
    return [_channel(one, place) for place, one in enumerate(settings.channels, start=1)]


def _channel(one: ChannelSettings, place: int) -> Channel:
    url = str(fill_variables(one.slack or one.webhook or one.apprise)).strip()
    if one.slack:
        return SlackChannel(url, one.mention, one.name or f"Slack ({place})")
    if one.webhook:
        secret = str(fill_variables(one.secret)) if one.secret is not None else None
        return WebhookChannel(url, secret, one.name or f"webhook ({place})")
    return AppriseChannel(url, one.name or "")
