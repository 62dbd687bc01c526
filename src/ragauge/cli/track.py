"""`ragauge track RUN …`: log runs and sweeps in MLflow that are on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from ragauge.cli.common import emit_json, json_option


@click.command("track")
@click.argument("runs", nargs=-1)
@click.option(
    "--runs", "base", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True,
    help="Where names are looked up.",
)  # fmt: skip
@click.option("--all", "everything", is_flag=True, help="Every run in the runs folder; what is there is left alone.")
@click.option("--uri", help="MLflow's address (over the settings file; default sqlite:///mlflow.db).")
@click.option("--experiment", help="The experiment (over the settings file; default ragauge).")
@click.option("--traces", help="Which rows become traces: auto, all, failures, sample:N, none.")
@click.option(
    "--config", type=click.Path(path_type=Path, dir_okay=False), help="A settings file (default ragauge.yaml)."
)
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@json_option
def command(runs: tuple[str, ...], base: Path, everything: bool, quiet: bool, as_json: bool, **flags: Any) -> int:
    """Log RUNS (default: the newest) and sweeps in MLflow: metrics, rows, report, traces.

    What is there already is not logged again, an upload that was interrupted goes on. Exit 3 where one failed.
    """
    from ragauge.errors import UsageError

    if everything and runs:
        raise UsageError("--all takes every run: name none beside it")
    settings = _settings(flags)
    found: list[Any] = []
    for target in _targets(runs, base, everything):
        told = _track(target, settings, quiet=quiet or as_json)
        found += told
        if not as_json:
            say(told)
    if as_json:
        from ragauge.outlets.mlflow import TrackDocument

        emit_json(TrackDocument(tracked=tuple(found)).model_dump(mode="json"))
    return 3 if any(one.outcome == "failed" for one in found) else 0


def _settings(flags: dict[str, Any]) -> Any:
    from ragauge.cli.run import DEFAULT_FILE
    from ragauge.engine.settings import Settings, load_settings
    from ragauge.outlets.tracking_settings import tracking_settings

    file = flags["config"] or (DEFAULT_FILE if DEFAULT_FILE.exists() else None)
    settings = load_settings(file) if file is not None else Settings()
    given = {name: flags[name] for name in ("uri", "experiment", "traces")}
    # A relative file named on the command line is one here, not beside the settings file.
    base = Path() if flags["uri"] is not None else settings.base
    return tracking_settings(settings.tracking or {"mlflow": {}}, base, **given)


def _targets(names: Sequence[str], base: Path, everything: bool) -> list[Any]:
    """Run directories and sweep directories; of everything that is there, what cannot be read is told as failed."""
    from ragauge.errors import RagaugeError, StoreError
    from ragauge.outlets.mlflow import Tracked
    from ragauge.store.rundir import RunDir, find_run, list_runs
    from ragauge.store.sweepdir import MANIFEST, SweepDir, find_sweep

    found: list[Any] = []
    if everything:
        paths: list[tuple[Any, Path]] = [(RunDir, path) for path in list_runs(base)]
        paths += [(SweepDir, path.parent) for path in sorted(base.glob(f"*/{MANIFEST}"))]
        for kind, path in paths:
            try:
                found.append(kind.open(path))
            except RagaugeError as error:
                found.append(Tracked(path.name, "failed", error.message))
        return found
    for name in names or (None,):
        try:
            is_sweep = name is not None and (Path(name) / MANIFEST).is_file()
            found.append(find_sweep(name, base) if is_sweep and name is not None else find_run(name, base))
        except StoreError:
            if name is None or not any(name in path.parent.name for path in base.glob(f"*/{MANIFEST}")):
                raise
            found.append(find_sweep(name, base))
    return found


def _track(target: Any, settings: Any, *, quiet: bool) -> list[Any]:
    from ragauge.outlets.mlflow import Tracked, track_run, track_sweep
    from ragauge.store.sweepdir import SweepDir

    if isinstance(target, Tracked):
        return [target]

    def progress(text: str) -> None:
        if not quiet:
            click.echo(f"MLflow: {text} …", err=True)

    if isinstance(target, SweepDir):
        return track_sweep(target, settings, progress)
    return [track_run(target, settings, progress)]


def say(tracked: Sequence[Any]) -> None:
    """A line for each on stderr."""
    from ragauge.cli.common import printable

    for one in tracked:
        traces = f", {one.n_traces} traces" if one.n_traces else ""
        where = f": {one.url}" if one.url else ""
        if one.outcome == "failed":
            click.echo(printable(f"MLflow: {one.run} NOT logged: {one.why}"), err=True)
        else:
            click.echo(printable(f"MLflow: {one.run} {one.outcome}{traces}{where}"), err=True)
