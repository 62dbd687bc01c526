"""`ragauge show [RUN]`: a run again, rebuilt from its rows; without a name, the newest; `--list` lists them."""

from __future__ import annotations

from pathlib import Path

import click

from ragauge.cli.common import emit_json, json_option, readable_runs


@click.command("show")
@click.argument("run", required=False)
@click.option(
    "--runs", "base", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True
)
@click.option("--list", "listed", is_flag=True, help="List the runs.")
@click.option("--rows", is_flag=True, help="Show every row.")
@click.option("--row", "row_id", help="Show one row in full, with every claim and its evidence.")
@click.option(
    "--steps", is_flag=True, help="Score every retrieval step (rewrite, hop, route), and all of them together."
)
@json_option
def command(
    run: str | None, base: Path, listed: bool, rows: bool, row_id: str | None, steps: bool, as_json: bool
) -> int:
    """Show a run: its directory, its name, a part of its name, or (without RUN) the newest."""
    if listed:
        return _list(base, as_json)
    from ragauge import api
    from ragauge.cli.running import print_run

    opened = api.open_run(run, base)
    if row_id is not None:
        return _row(opened, row_id, as_json)
    if steps:
        return _steps(opened, as_json)
    print_run(opened, as_json=as_json, rows=rows)
    return 0


def _list(base: Path, as_json: bool) -> int:
    from ragauge.errors import StoreError
    from ragauge.report.listing import RunsDocument, listing, run_lines
    from ragauge.report.terminal import stdout_console

    runs = readable_runs(base)
    if not runs and not as_json:
        raise StoreError(f"there are no runs in {base}", hint="Make one with `ragauge demo` or `ragauge run`.")
    lines = run_lines((run.path, run.manifest, run.saved_summary()) for run in runs)
    if as_json:
        emit_json(RunsDocument(runs=tuple(lines)).model_dump(mode="json"))
    else:
        stdout_console().print(listing(lines))
    return 0


def _row(opened: object, row_id: str, as_json: bool) -> int:
    from ragauge.api import Run
    from ragauge.errors import UnknownName
    from ragauge.report.row import row_report
    from ragauge.report.row_document import rows_document
    from ragauge.report.terminal import stdout_console

    assert isinstance(opened, Run)
    found = [record for record in opened.rows() if record.sample.item.id == row_id]
    if not found:
        raise UnknownName("row in this run", row_id, (record.sample.item.id for record in opened.rows()))
    if as_json:
        emit_json(rows_document(opened.path, found))
    else:
        console = stdout_console()
        for record in found:
            console.print(row_report(record))
    return 0


def _steps(opened: object, as_json: bool) -> int:
    from ragauge.analysis.steps import StepsDocument, score_steps
    from ragauge.api import Run
    from ragauge.report.steps import steps_table
    from ragauge.report.terminal import stdout_console

    assert isinstance(opened, Run)
    found = score_steps(opened.rows())
    if as_json:
        emit_json(StepsDocument(run=str(opened.path), **dict(found)).model_dump(mode="json"))
    else:
        stdout_console().print(steps_table(found))
    return 0
