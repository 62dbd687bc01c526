"""`ragauge monitor check | rules | accept`: is anything wrong, by which rules, and what is the new normal."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import click

from ragauge.cli.common import emit_json, json_option
from ragauge.cli.monitoring import Monitored, log_options, open_monitored, parse_day, today

_rules = click.option(
    "--rules", "file", type=click.Path(path_type=Path, dir_okay=False), help="Rules (over `monitor.alerts`)."
)


@click.command("check")
@log_options
@_rules
@click.option("--until", metavar="DAY", help="The newest day that is judged (default: yesterday).")
@click.option("--today", "with_today", is_flag=True, help="Also what there is of today, by the rules of a single day.")
@click.option("--naive", is_flag=True, help="Also the naive rules, with their false-alarm rate. They never decide.")
@click.option("--notify", is_flag=True, help="Tell the channels of `alerts:`, each alert once, and when it is over.")
@click.option("--dry-run", is_flag=True, help="With --notify: say what would be sent, send nothing.")
@click.option("--link", metavar="URL", help="The page that messages link to ({day} and {rule} are filled in).")
@json_option
def check(file: Path | None, until: str | None, **options: Any) -> int:
    """Judge every alert rule: exit 0 nothing stands, 1 an alert stands, 3 it could not be judged. For cron.

    An alert is raised once, keeps its reference while it stands, and ends by itself after good days. `ragauge monitor
    accept` ends it on purpose.
    """
    from ragauge.monitor.report import history_of, standing_of
    from ragauge.monitor.rules import NAIVE, load_rules
    from ragauge.monitor.telling import Open, check_document, steady

    opened = open_monitored(options)
    monitor = opened.monitor
    if file is not None:
        monitor = _with(monitor, rules=load_rules(file))
    if options["naive"]:
        monitor = _with(monitor, rules=(*monitor.rules, *(r.model_copy(update={"enabled": True}) for r in NAIVE)))
    last = parse_day(until) if until else today() - timedelta(0 if options["with_today"] else 1)
    history = history_of(opened.log, opened.space, monitor, last - timedelta(29), last, today())
    standing = steady(standing_of(history, monitor, opened.space), opened.space.read(Open, "open.json"))
    deliveries = _notify(opened, standing, options) if options["notify"] else None
    if options["as_json"]:
        emit_json(check_document(standing, opened.name, _exit(standing), deliveries).model_dump(mode="json"))
    else:
        _print(standing)
    return _exit(standing)


def _with(monitor: Any, **changes: Any) -> Any:
    from dataclasses import replace

    return replace(monitor, **changes)


def _exit(standing: Any) -> int:
    if any(alert.kind != "naive" for alert in standing.firing):
        return 1
    return 3 if standing.cannot_be_judged else 0


def _print(standing: Any) -> None:
    from ragauge.monitor.report_terminal import alert_lines
    from ragauge.report.terminal import stdout_console

    console = stdout_console()
    for line in alert_lines(standing):
        console.print(line)
    if standing.cannot_be_judged and not standing.firing:
        if standing.day is None:
            click.echo("Cannot be judged: the log has no query in these days.", err=True)
        else:
            click.echo(f"Cannot be judged as of {standing.day}: see the lines above.", err=True)


def _notify(opened: Monitored, standing: Any, options: dict[str, Any]) -> list[Any]:
    from ragauge.cli.telling import LEDGER, say, telling_of
    from ragauge.monitor.telling import Open, messages, withdrawn
    from ragauge.outlets.ledger import Ledger
    from ragauge.outlets.tell import preview, tell

    how = telling_of(opened.settings, options["link"] or opened.section.get("link"))
    ledger = Ledger(how.state if how.state is not None else opened.space.root / LEDGER)
    gone = withdrawn(opened.space.read(Open, "open.json"), standing)
    real = tuple(alert for alert in (*standing.alerts, *gone) if alert.kind != "naive")
    deliveries = []
    for message in messages(standing.model_copy(update={"alerts": real}), opened.name, how.link):
        act = preview if options["dry_run"] else tell
        deliveries += act(message, how.channels, ledger, how.policy)
    if not options["dry_run"]:
        opened.space.write(Open(alerts=tuple(alert for alert in real if alert.status == "firing")), "open.json")
    say(one for one in deliveries if one.outcome in ("sent", "failed", "held", "would send"))
    return deliveries


@click.command("rules")
@_rules
@click.option("--naive", is_flag=True, help="Also what people write first; see `monitor check --naive`.")
def rules(file: Path | None, naive: bool) -> int:
    """Print the alert rules as YAML, every setting written out: a start for `monitor: {alerts: …}`."""
    from ragauge.monitor.rules import DEFAULTS, NAIVE, as_yaml, load_rules

    shown = load_rules(file) if file is not None else DEFAULTS
    click.echo(as_yaml([*shown, *(NAIVE if naive else ())]), nl=False)
    return 0


@click.command("accept")
@click.argument("rule")
@log_options
@click.option("--series", help="Only this series of the rule.")
@click.option("--from", "since", metavar="DAY", help="The first day of the new normal (default: since it began).")
@json_option
def accept(rule: str, series: str | None, since: str | None, **options: Any) -> int:
    """End an alert on purpose: from its first day on, what it shows is the new normal, and is learned anew."""
    from ragauge.errors import InputError
    from ragauge.monitor.documents import AcceptDocument
    from ragauge.monitor.report import history_of, standing_of

    opened = open_monitored(options)
    last = today()
    history = history_of(opened.log, opened.space, opened.monitor, last - timedelta(29), last, last)
    standing = standing_of(history, opened.monitor, opened.space)
    found = [a for a in standing.firing if a.rule == rule and series in (None, a.series)]
    if not found:
        firing = ", ".join(f"{a.rule} ({a.series})" for a in standing.firing) or "none"
        raise InputError(f"no alert of {rule!r} stands", found=firing, hint="`ragauge monitor check` lists them.")
    accepted = {f"{a.rule}/{a.series}": parse_day(since).isoformat() if since else a.since for a in found}
    for key, day in accepted.items():
        opened.space.accept(key, day)
    if options["as_json"]:
        emit_json(AcceptDocument(accepted=accepted).model_dump(mode="json"))
    else:
        for key, day in accepted.items():
            click.echo(f"{key}: what is there from {day} on is the new normal; it is learned for some days")
    return 0


COMMANDS = (check, rules, accept)
