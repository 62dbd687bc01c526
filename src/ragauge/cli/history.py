"""`ragauge history`: every metric over the runs, and which one is the bottleneck now."""

from __future__ import annotations

from pathlib import Path

import click

from ragauge.cli.common import emit_json, json_option, readable_runs


@click.command("history")
@click.argument("runs", nargs=-1)
@click.option(
    "--runs", "base", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True
)
@click.option("--last", type=click.IntRange(1), default=20, show_default=True, help="Only the newest N runs.")
@json_option
def command(runs: tuple[str, ...], base: Path, last: int, as_json: bool) -> int:
    """Show the course of every metric over RUNS (default: all in the runs folder), with intervals.

    Coverage, answers without relevant context, and the metric that holds the system back now.
    """
    from ragauge.analysis.summarise import summarise
    from ragauge.diagnose.history import history
    from ragauge.errors import StoreError
    from ragauge.store.rundir import find_run

    opened = [find_run(name, base) for name in runs] if runs else readable_runs(base)
    if not opened:
        raise StoreError(f"there are no runs in {base}", hint="Make one with `ragauge demo` or `ragauge run`.")
    opened = sorted(opened, key=lambda one: (one.manifest.created, one.manifest.run))[-last:]
    found = history([(one.manifest, summarise(one.manifest, one.records())) for one in opened])
    if as_json:
        emit_json(found.model_dump(mode="json"))
    else:
        from ragauge.report import history as report
        from ragauge.report.terminal import stdout_console

        stdout_console().print(report.terminal(found))
    return 0
