"""What the verbs of `monitor` share: which log, which settings, which days."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_FLAGS = (
    click.option("--log", "log", metavar="DIR|URL", envvar="RAGAUGE_LOG", help="The log (over `monitor.log`)."),
    click.option("--config", type=click.Path(path_type=Path, dir_okay=False), help="Settings (default: ragauge.yaml)."),
    click.option(
        "--state", type=click.Path(path_type=Path, file_okay=False),
        help="Where samples and judgements are kept, each project by itself (default: LOG/monitor).",
    ),
    click.option("--project", help="Only queries of this project."),
)  # fmt: skip


def log_options(command: F) -> F:
    """Add the flags that say which log."""
    for flag in reversed(_FLAGS):
        command = flag(command)
    return command


@dataclass(frozen=True)
class Monitored:
    """An opened log with all that the settings say of it."""

    log: Any
    name: str
    space: Any
    settings: Any
    monitor: Any
    section: Mapping[str, Any]
    place: str = ""


def open_monitored(options: Mapping[str, Any], overrides: Mapping[str, Any] | None = None) -> Monitored:
    """Settings, log and workspace. Raises `InputError` where there is no such log."""
    from ragauge.analysis.thresholds import resolve_thresholds
    from ragauge.cli.run import DEFAULT_FILE
    from ragauge.engine.settings import load_settings
    from ragauge.monitor.report import MonitorSettings
    from ragauge.monitor.settings import log_settings
    from ragauge.monitor.store import open_log
    from ragauge.monitor.workspace import Workspace

    file = options.get("config") or (DEFAULT_FILE if DEFAULT_FILE.exists() else None)
    settings = load_settings(file, overrides)
    log_settings(settings.monitor)  # unknown keys are errors
    section = dict(settings.monitor)
    if options.get("project"):
        section["project"] = options["project"]
    place = options.get("log") or log_settings(section).log
    if not options.get("log") and "://" not in str(place):
        place = str(settings.path(str(place)))
    if options.get("state"):
        section["state"] = str(options["state"])
    elif section.get("state"):
        section["state"] = str(settings.path(str(section["state"])))
    monitor = MonitorSettings.of(section, resolve_thresholds(settings.thresholds))
    space = Workspace.beside(str(place), monitor.state, monitor.project)
    name = str(section.get("name") or section.get("project") or Path(str(place)).name)
    return Monitored(open_log(str(place)), name, space, settings, monitor, section, str(place))


def today() -> date:
    """The day it is, UTC."""
    return datetime.now(UTC).date()


def chosen_days(monitored: Monitored, day: str | None, n_days: int) -> list[date]:
    """One named day, or those of the last `n_days` complete days that have queries."""
    if day is not None:
        return [parse_day(day)]
    last = today() - timedelta(1)
    first = last - timedelta(n_days - 1)
    return [one for one in monitored.log.days() if first <= one <= last]


def parse_day(text: str) -> date:
    """`2026-01-31`, `today` or `yesterday`. Raises `SettingsError`."""
    from ragauge.errors import SettingsError

    if text in ("today", "yesterday"):
        return today() - timedelta(text == "yesterday")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise SettingsError(f"{text!r} is no day", hint="Write it as 2026-01-31, today or yesterday.") from None


def golden_questions(monitored: Monitored, given: Path | None) -> list[str]:
    """The questions of the golden set that was named, or that the settings name; none when there is none."""
    from ragauge.dataset.golden import load_golden

    named = monitored.section.get("golden") or monitored.settings.golden
    path = given or (monitored.settings.path(named) if named else None)
    return [item.question for item in load_golden(path)] if path is not None else []
