"""The flags that say who judges and what that may cost, the same for `run` and `score`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_FLAGS = (
    click.option("--judge", help="Who judges: embedded[:encoder], none, a model (openai:NAME), or a jury (a,b,c)."),
    click.option("--no-judges", is_flag=True, help="Only metrics that need no judge."),
    click.option("--dry-run", is_flag=True, help="Say what it would cost, per metric, and stop. No model is asked."),
    click.option("--budget-usd", type=click.FloatRange(0, min_open=True), help="End cleanly before more is spent."),
    click.option("--budget-calls", type=click.IntRange(1), help="End cleanly before more calls are made."),
    click.option("--cache", metavar="PATH|URL", help="Where replies of models are kept (.ragauge/replies.sqlite)."),
    click.option("--prompts", type=click.Path(file_okay=False), help="A folder of your own prompts."),
    click.option("--prices", type=click.Path(dir_okay=False), help="A YAML or JSON table of prices of models."),
)


def judge_options(command: F) -> F:
    """Add the flags to a command."""
    for flag in reversed(_FLAGS):
        command = flag(command)
    return command


def judge_overrides(file: Path | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """The setting `judge` as the flags change it; nothing where none of them is given."""
    given = _shared(options)
    if not given and not options["judge"] and not options["no_judges"]:
        return {}
    from ragauge.engine.settings import load_settings

    return {"judge": changed(load_settings(file).judge, options)}


def with_shared(settings: Any, options: Mapping[str, Any]) -> Any:
    """Settings of a run that is resumed, with another budget, cache … where flags say so; the judge stays."""
    if not _shared(options):
        return settings
    stays = {**options, "judge": None, "no_judges": False}
    return settings.model_copy(update={"judge": changed(settings.judge, stays)})


def changed(setting: Any, options: Mapping[str, Any]) -> Any:
    """`judge:` of a settings file with the flags laid over it. What all models share stays when the judge changes."""
    from ragauge.judges.surroundings import join_spec, split_spec

    who, shared = split_spec(setting)
    if options["no_judges"]:
        who = None
    elif options["judge"]:
        who, _ = split_spec(options["judge"])
    flags = _shared(options)
    if "budget" in flags:
        flags["budget"] = {**(shared.get("budget") or {}), **flags["budget"]}
    return join_spec(who, {**shared, **flags})


def _shared(options: Mapping[str, Any]) -> dict[str, Any]:
    given: dict[str, Any] = {}
    cache = options.get("cache")
    if cache:
        given["cache"] = cache if "://" in cache else str(Path(cache).resolve())
    for name in ("prompts", "prices"):
        if options.get(name):
            given[name] = str(Path(options[name]).resolve())
    budget = {name: options[f"budget_{name}"] for name in ("usd", "calls") if options.get(f"budget_{name}")}
    return given | ({"budget": budget} if budget else {})


def print_forecast(forecast: Any, *, as_json: bool) -> int:
    """The table of a dry run, or its JSON."""
    from ragauge.cli.common import emit_json
    from ragauge.core.forecast import ForecastDocument
    from ragauge.report.forecast import forecast_report
    from ragauge.report.terminal import stdout_console

    if as_json:
        emit_json(ForecastDocument(forecast=forecast.figures()).model_dump(mode="json"))
    else:
        stdout_console().print(forecast_report(forecast.figures()))
    return 0
