"""`ragauge sweep FILE`: many configurations on the same questions, one table, one recommendation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ragauge.cli.common import emit_json, json_option, out_option, parse_overrides


@click.command("sweep")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), required=False)
@click.option("--resume", metavar="SWEEP", help="Go on with a sweep: its cells, only what is missing.")
@click.option("--retry-errors", is_flag=True, help="With --resume: also ask again where there was an error.")
@click.option("--limit", type=click.IntRange(1), help="Only the first N questions.")
@click.option("--tags", help="Only questions with any of these comma-separated tags.")
@click.option("--metrics", help="Comma-separated metric names: what is computed, and the columns of the table.")
@click.option("--quality", metavar="METRIC", help="The metric that decides (default: correctness, composite …).")
@click.option("--judge", help="Who judges: embedded[:encoder], none, or a model (openai:NAME …).")
@click.option("--no-judges", is_flag=True, help="Only metrics that need no judge.")
@click.option("--split", type=click.Choice(["dev", "test"]), help="Ask only this half of the golden set.")
@click.option(
    "--confirm-split", type=click.Choice(["dev", "test"]),
    help="Choose on the other half, then compare the winner with the base on this one.",
)  # fmt: skip
@click.option("--workers", type=click.IntRange(1, 256), help="Cells at a time (default: one for each core).")
@click.option(
    "--executor", type=click.Choice(["auto", "processes", "tasks"]),
    help="Processes for judges that compute here, tasks in one process for judges behind an API.",
)  # fmt: skip
@click.option(
    "--smallest", type=click.FloatRange(0.001, 1.0), default=0.10, show_default=True,
    help="The smallest difference worth telling, as a share of a metric's range.",
)  # fmt: skip
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Any setting, for every cell.")
@click.option("--name", help="A name for the sweep's directory.")
@out_option
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@click.option("--markdown", "markdown", is_flag=True, help="Print the table as Markdown.")
@json_option
def command(file: Path | None, resume: str | None, **options: Any) -> int:
    """Run a grid of settings over the golden set and say which cell to take.

    FILE is a settings file with a section `sweep:`, or a file of its own with `base: ragauge.yaml` and `grid:`.
    Cells that need the same index share it. A killed sweep goes on with --resume and pays only for what is missing.
    """
    from ragauge.analysis.sweep import Options
    from ragauge.api.sweeping import how_of, sweep_new, sweep_on
    from ragauge.cli.watch_sweep import TerminalSweep
    from ragauge.errors import SettingsError
    from ragauge.store.sweepdir import find_sweep

    flags = {"workers": options["workers"], "executor": options["executor"], "retry_errors": options["retry_errors"]}
    watcher = TerminalSweep(quiet=options["quiet"])
    reading = Options(smallest=options["smallest"], quality=options["quality"])
    try:
        if resume is not None:
            _refuse(options, file)
            directory = find_sweep(resume, options["out"] or Path("runs"))
            base = directory.manifest.cell(directory.manifest.base).settings
            tracking = _tracking(_restored(base))
            how = how_of(None, **flags)
            swept = sweep_on(directory, how, watcher, reading, options["confirm_split"])
        else:
            if options["retry_errors"]:
                raise SettingsError("--retry-errors goes with --resume SWEEP")
            plan = _plan(file, options)
            tracking = _tracking(plan.cells[0].settings)
            out = options["out"] or Path(plan.cells[0].settings.run.out)
            swept = sweep_new(plan, out, how_of(plan, **flags), watcher, reading)
    finally:
        watcher.close()
    _print(swept, options)
    _track(swept, tracking, quiet=options["quiet"])
    click.echo(str(swept.directory.path), err=True)
    if swept.table.best is None:
        click.echo(f"{swept.table.quality} could not be scored in any finished cell.", err=True)
        return max(3, swept.outcome.exit_code)
    return swept.outcome.exit_code


def _refuse(options: dict[str, Any], file: Path | None) -> None:
    """A sweep that goes on is the one that began: nothing of it can be set anew."""
    from ragauge.errors import SettingsError

    fixed = ("limit", "tags", "metrics", "judge", "split", "name")
    given = [f"--{name}" for name in fixed if options[name]] + (["--set"] if options["overrides"] else [])
    given += ["--no-judges"] if options["no_judges"] else []
    given += [str(file)] if file is not None else []
    if given:
        raise SettingsError(
            f"--resume goes on with a sweep as it began: {', '.join(given)} cannot change it",
            hint="Start a new sweep, or leave it out.",
        )


def _plan(file: Path | None, options: dict[str, Any]) -> Any:
    from ragauge.cli.run import split
    from ragauge.engine.grid import plan_sweep
    from ragauge.errors import SettingsError

    if file is None:
        raise SettingsError(
            "name a sweep file, or --resume SWEEP", hint="ragauge sweep sweep.yaml   (docs/how-to/sweep.md)"
        )
    overrides: dict[str, Any] = {}
    if options["limit"]:
        overrides["run.limit"] = options["limit"]
    if options["tags"]:
        overrides["run.tags"] = split(options["tags"])
    if options["metrics"]:
        overrides["metrics"] = split(options["metrics"])
    if options["judge"] or options["no_judges"]:
        overrides["judge"] = None if options["no_judges"] else options["judge"]
    named = {name: options[name] for name in ("name", "quality", "split", "confirm_split", "workers", "executor")}
    return plan_sweep(file, overrides | parse_overrides(options["overrides"]), **named)


def _print(swept: Any, options: dict[str, Any]) -> None:
    from ragauge.report.sweep import as_markdown, document, terminal

    path = swept.directory.path
    if options["as_json"]:
        emit_json(document(swept.table, str(path), swept.confirmation))
    elif options["markdown"]:
        click.echo(as_markdown(swept.table, swept.confirmation), nl=False)
    else:
        from ragauge.report.terminal import stdout_console

        stdout_console().print(terminal(swept.table, swept.confirmation))
    for cell, why in swept.outcome.ended_early.items():
        click.echo(f"{cell} ended early: {why}. Continue with --resume {path}", err=True)


def _restored(stored: dict[str, Any]) -> Any:
    """The settings of a cell as far as tracking needs them: secrets were struck out of the rest."""
    from ragauge.engine.settings import Settings

    return Settings(tracking=stored.get("tracking") or {}, base=Path(stored.get("base", ".")))


def _tracking(settings: Any) -> Any:
    from ragauge.cli.afterwards import tracking_of

    return tracking_of(settings)


def _track(swept: Any, where: Any, *, quiet: bool) -> None:
    """Log the sweep and its cells in MLflow where the settings say so; nothing that goes wrong changes the sweep."""
    if where is None:
        return
    from ragauge.cli.track import say
    from ragauge.outlets.mlflow import track_sweep

    told = track_sweep(
        swept.directory, where, lambda text: None if quiet else click.echo(f"MLflow: {text} …", err=True)
    )
    say(told)
    if any(one.outcome == "failed" for one in told):
        click.echo(f"  The sweep is kept. Log it later: ragauge track {swept.directory.path}", err=True)
