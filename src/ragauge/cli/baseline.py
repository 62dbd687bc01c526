"""`ragauge baseline RUN --out FILE`: the small file for git that `gate` compares with."""

from __future__ import annotations

from pathlib import Path

import click

from ragauge.cli.common import emit_json, json_option


@click.command("baseline")
@click.argument("run", required=False)
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), default=Path("baseline.json"), show_default=True
)
@click.option(
    "--runs", "base", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True,
    help="Where run names are looked up.",
)  # fmt: skip
@click.option("--metric", "metrics", multiple=True, help="Keep only this metric (repeatable).")
@click.option("--force", is_flag=True, help="Also from a run that is not finished or has errors.")
@json_option
def command(run: str | None, out: Path, base: Path, metrics: tuple[str, ...], force: bool, as_json: bool) -> int:
    """Write what RUN (default: the newest) scored on every question to a file that is reviewed and kept in git.

    A run that is not finished, or in which scores are missing through errors, is refused: a baseline is what later
    runs are held to.
    """
    from ragauge.analysis.baseline import BaselineDocument, from_table, write_baseline
    from ragauge.analysis.columns import tabulate
    from ragauge.analysis.summarise import summarise_table
    from ragauge.errors import RunError, UnknownName
    from ragauge.store.rundir import find_run

    opened = find_run(run, base)
    table = tabulate(opened.manifest, opened.records())
    for name in metrics:
        if name not in table.columns:
            raise UnknownName("metric in this run", name, table.columns)
    summary = summarise_table(table)
    kept = {key: result for key, result in summary.metrics.items() if not metrics or key in metrics}
    broken = [f"{key} ({result.n_errors} of {result.n_asked})" for key, result in kept.items() if result.n_errors]
    if not force and (broken or not summary.complete or not table.ids):
        what = "it is not finished" if not summary.complete else f"scores are missing: {', '.join(broken[:5])}"
        raise RunError(
            f"{opened.manifest.run} makes no baseline: {what if table.ids else 'it has no rows'}",
            hint="Finish it with --resume or --retry-errors, or take it as it is with --force.",
        )
    write_baseline(out, from_table(table, metrics))
    if as_json:
        made = BaselineDocument(
            baseline=str(out), run=opened.manifest.run, n_questions=len(table.ids), metrics=tuple(kept)
        )
        emit_json(made.model_dump(mode="json"))
    else:
        click.echo(f"{out}: {len(table.ids)} questions, {len(kept)} metrics, from {opened.manifest.run}")
    return 0
