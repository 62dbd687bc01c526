"""`ragauge monitor`: what production is asked, how often it is wrong, and whether that changed."""

from __future__ import annotations

import click

from ragauge.cli import monitor_alerts, monitor_feed, monitor_log, monitor_report


@click.group("monitor")
def command() -> None:
    """Follow a service in production: log, sample, judge, report, alert.

    Every night: `ragauge monitor sample`, `ragauge monitor judge`, `ragauge monitor check --notify`. In the morning:
    `ragauge monitor report --days 30`.
    """


for _verb in (*monitor_log.COMMANDS, *monitor_report.COMMANDS, *monitor_alerts.COMMANDS, *monitor_feed.COMMANDS):
    command.add_command(_verb)
