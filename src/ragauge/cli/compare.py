"""`ragauge compare A B [C …]`: is the change real or noise?"""

from __future__ import annotations

from pathlib import Path

import click

from ragauge.cli.common import emit_json, json_option


@click.command("compare")
@click.argument("runs", nargs=-1, required=True, metavar="A B [C …]")
@click.option(
    "--runs", "base", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True,
    help="Where run names are looked up.",
)  # fmt: skip
@click.option("--metric", "metrics", multiple=True, help="Compare only this metric (repeat for more).")
@click.option("--level", type=click.FloatRange(0.5, 0.999), default=0.95, show_default=True, help="Confidence.")
@click.option(
    "--smallest", type=click.FloatRange(0.001, 1.0), default=0.10, show_default=True,
    help="The smallest difference worth telling, as a share of a metric's range.",
)  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True, help="Of the permutation test.")
@click.option("--include-changed", is_flag=True, help="Also compare questions whose golden item changed.")
@click.option(
    "--by-document",
    is_flag=True,
    help="The documents are a sample of many more: questions about one of them count together.",
)
@click.option("--details", is_flag=True, help="Every metric's power and flips, however many metrics there are.")
@click.option("--markdown", "as_markdown", is_flag=True, help="Print Markdown for a pull request.")
@json_option
def command(
    runs: tuple[str, ...],
    base: Path,
    metrics: tuple[str, ...],
    level: float,
    smallest: float,
    seed: int,
    include_changed: bool,
    by_document: bool,
    details: bool,
    as_markdown: bool,
    as_json: bool,
) -> int:
    """Compare runs question by question; the first one is the base.

    RUNS are directories, run names or unique parts of names. Every metric gets a difference with an interval, a
    p-value corrected for all comparisons, and a verdict: better, worse, no measurable difference, or too few
    questions to tell.
    """
    from ragauge.analysis.compare import Options, Source, compare
    from ragauge.core.metric import names_of
    from ragauge.errors import UnknownName, UsageError
    from ragauge.report import compare as report
    from ragauge.store.rundir import find_run

    if len(runs) < 2:
        raise UsageError("compare needs two runs or more", hint="ragauge compare BASE NEW")
    opened = [find_run(name, base) for name in runs]
    known = [spec.key for run in opened for spec in run.manifest.metrics]
    for name in metrics:
        if not any(name in names_of(key) for key in known):
            raise UnknownName("metric in these runs", name, set(known))
    sources = [Source(str(run.path), run.manifest, run.records) for run in opened]
    options = Options(
        level=level,
        alpha=1.0 - level,
        smallest=smallest,
        seed=seed,
        metrics=metrics,
        include_changed=include_changed,
        by_document=by_document,
    )
    comparisons = compare(sources[0], sources[1:], options)
    if as_json:
        emit_json(report.document(comparisons))
    elif as_markdown:
        click.echo(report.as_markdown(comparisons))
    else:
        from ragauge.report.terminal import stdout_console

        console = stdout_console()
        for place, comparison in enumerate(comparisons):
            console.print(*([""] if place else []), report.terminal(comparison, details))
    return 0
