"""What follows a run whose settings ask for it: MLflow (`tracking:`), telling channels (`alerts:`).

Both are checked before the run begins. Nothing that goes wrong afterwards changes the run or its exit code.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

After = Callable[[Any], None]


def afterwards(settings: Any, *, quiet: bool = False) -> After:
    """What to do with the finished run. Raises `SettingsError`, `MissingExtra` now for what could not work then."""
    steps = [step for step in (_tracking(settings, quiet), _alerts(settings)) if step is not None]

    def carry_out(run: Any) -> None:
        for step in steps:
            step(run)

    return carry_out


def tracking_of(settings: Any) -> Any:
    """Where the runs of these settings are logged, or None. Raises `MissingExtra` where MLflow is not installed."""
    import importlib.util

    from ragauge.errors import MissingExtra
    from ragauge.outlets.tracking_settings import tracking_settings

    if not settings.tracking:
        return None
    found = tracking_settings(settings.tracking, settings.base)
    if found is not None and importlib.util.find_spec("mlflow") is None:
        raise MissingExtra("MLflow, which `tracking:` asks for,", "mlflow")
    return found


def _tracking(settings: Any, quiet: bool) -> After | None:
    where = tracking_of(settings)
    if where is None:
        return None

    def track(run: Any) -> None:
        from ragauge.cli.track import say
        from ragauge.outlets.mlflow import track_run

        def progress(text: str) -> None:
            if not quiet:
                click.echo(f"MLflow: {text} …", err=True)

        told = track_run(run.directory, where, progress)
        say([told])
        if told.outcome == "failed":
            click.echo(f"  The run is kept. Log it later: ragauge track {run.path}", err=True)

    return track


def _alerts(settings: Any) -> After | None:
    if not settings.alerts:
        return None
    from ragauge.cli.telling import say, telling_of

    how = telling_of(settings)

    def tell(run: Any) -> None:
        from ragauge.cli.common import printable
        from ragauge.errors import RagaugeError

        if run.ended_early is not None:
            click.echo("No channel is told of it: the run is not finished.", err=True)
            return
        try:
            say(how.tell(run))
        except RagaugeError as error:
            click.echo(printable(f"No channel could be told: {error}"), err=True)

    return tell
