"""Telling channels of a run: what `report --notify`, `--slack-webhook` and the end of `run` and `score` share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ragauge.outlets.tell import PreviewDocument

LEDGER = "alerts.sqlite"


@dataclass(frozen=True)
class Telling:
    """Who is told, by which rules. `state`: the file that remembers (None: beside the runs, so that a run knows what
    was told of the one before).
    """

    channels: tuple[Any, ...]
    policy: Any
    link: str | None
    state: Path | None

    def tell(self, run: Any, *, again: bool = False) -> list[Any]:
        """Tell every channel that is to be told."""
        from ragauge.outlets.tell import tell

        return tell(alert_of(run, self.link), self.channels, self._ledger(run), self.policy, again=again)

    def preview(self, run: Any, *, again: bool = False) -> tuple[Any, list[Any]]:
        """The alert, and what would be done with it."""
        from ragauge.outlets.tell import preview

        alert = alert_of(run, self.link)
        return alert, preview(alert, self.channels, self._ledger(run), self.policy, again=again)

    def _ledger(self, run: Any) -> Any:
        from ragauge.outlets.ledger import Ledger

        return Ledger(self.state if self.state is not None else run.path.parent / LEDGER)


def telling_of(settings: Any, link: str | None = None) -> Telling:
    """The section `alerts:` of a settings file. Raises `SettingsError` where it names no channel."""
    from ragauge.errors import SettingsError
    from ragauge.outlets.alert_settings import alert_settings, channels_of

    found = alert_settings(settings.alerts)
    if not found.channels:
        raise SettingsError("`alerts:` names no channels", hint="alerts: {channels: [{slack: '${SLACK_WEBHOOK}'}]}")
    state = settings.path(found.state) if found.state else None
    return Telling(tuple(channels_of(found)), found.policy(), link or found.link, state)


def alert_of(run: Any, link: str | None) -> Any:
    """The run as an alert. `{run}` in the link is the run's name."""
    from urllib.parse import quote

    from ragauge.diagnose.counterfactuals import read_counterfactuals
    from ragauge.outlets.run_alert import read_rows, run_alert

    rows = read_rows(run.manifest, run.summary, run.rows, read_counterfactuals(run.path))
    address = link.replace("{run}", quote(run.manifest.run, safe="")) if link is not None else None
    return run_alert(run.manifest, run.summary, rows, address)


def say(deliveries: Iterable[Any]) -> None:
    """A line for each channel on stderr, without secrets."""
    from ragauge.cli.common import printable

    words = {"sent": "message sent", "failed": "NOT sent", "held": "held back"}
    for one in deliveries:
        why = f": {one.why}" if one.why else ""
        if one.outcome == "already sent":
            why = ": told of this run before; --again tells it again"
        tries = f" after {one.n_tries} tries" if one.n_tries > 1 else ""
        click.echo(printable(f"{one.channel}: {words.get(one.outcome, one.outcome)}{tries}{why}"), err=True)


def document(alert: Any, deliveries: Sequence[Any]) -> PreviewDocument:
    """What a dry run prints: the alert, and for each channel what would happen and the message."""
    from ragauge.outlets.tell import PreviewDocument, PreviewedChannel

    channels = tuple(
        PreviewedChannel(channel=one.channel, outcome=one.outcome, why=one.why, message=one.message)
        for one in deliveries
    )
    return PreviewDocument(alert=alert, channels=channels)
