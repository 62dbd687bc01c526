"""`ragauge diagnose [RUN]`: why questions fail, and what to try first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ragauge.cli.common import emit_json, json_option

if TYPE_CHECKING:
    from ragauge.diagnose.clusters import Clusters
    from ragauge.diagnose.diagnosis import Diagnosis
    from ragauge.store.rundir import RunDir


@click.command("diagnose")
@click.argument("run", required=False)
@click.option(
    "--runs", "base", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True
)
@click.option("--counterfactual", is_flag=True, help="Ask the system again about failing rows, under other conditions.")
@click.option("--rows", is_flag=True, help="Show every failing row with its evidence.")
@click.option("--clusters", "with_clusters", is_flag=True, help="Show failures that belong together.")
@click.option("--against", metavar="RUN", help="An earlier run: which clusters are new, grown, gone.")
@click.option("--scores", is_flag=True, help="Show the distribution of the retrieval scores.")
@click.option(
    "--svg", type=click.Path(path_type=Path, file_okay=False), help="Write the score distributions into this folder."
)
@click.option("--concurrency", type=click.IntRange(1), default=8, show_default=True, help="Questions at once.")
@json_option
def command(run: str | None, base: Path, as_json: bool, **flags: Any) -> int:
    """Find the root cause of every failing row of RUN (default: the newest), and rank what to try.

    --counterfactual makes the run's own system answer failing questions again: from the gold passages alone, with more
    chunks, with the same chunks in another order. The answers are kept in the run's directory and not paid for twice.
    """
    from ragauge.analysis.summarise import summarise
    from ragauge.diagnose.counterfactuals import read_counterfactuals
    from ragauge.diagnose.diagnosis import diagnose_rows
    from ragauge.diagnose.matrix import diagnose
    from ragauge.report import diagnosis as report
    from ragauge.store.rundir import find_run

    opened = find_run(run, base)
    found = diagnose_rows(opened.manifest, opened.records, read_counterfactuals(opened.path))
    if flags["counterfactual"]:
        _try(opened, found, flags["concurrency"])
        found = diagnose_rows(opened.manifest, opened.records, read_counterfactuals(opened.path))
    findings = diagnose(summarise(opened.manifest, opened.records()))
    clusters = _clusters(opened, found, flags["against"], base) if flags["with_clusters"] or flags["against"] else None
    scores = _scores(opened) if flags["scores"] or flags["svg"] is not None else None
    if flags["svg"] is not None:
        _write_svg(flags["svg"], scores)
    moved = None
    if scores is not None and flags["against"] is not None:
        from ragauge.diagnose.distributions import drift

        moved = drift(opened.records(), find_run(flags["against"], base).records())
    if as_json:
        emit_json(report.document(opened.path, found, findings, clusters, scores, moved).model_dump(mode="json"))
        return 0
    from ragauge.report.distributions import drift_line
    from ragauge.report.distributions import terminal as show_scores
    from ragauge.report.terminal import stdout_console

    console = stdout_console()
    console.print(report.terminal(found, findings, rows=flags["rows"]))
    if clusters is not None:
        console.print()
        console.print(report.clusters_table(clusters))
    if scores is not None:
        console.print()
        console.print(show_scores(scores))
        if flags["against"] is not None:
            console.print(drift_line(moved))
    return 0


def _try(opened: RunDir, found: Diagnosis, concurrency: int) -> None:
    from ragauge.cli.running import restored_settings
    from ragauge.engine.counterfactual import deeper_settings, try_conditions
    from ragauge.engine.parts import make_judge, make_system
    from ragauge.engine.run import run_blocking
    from ragauge.errors import SettingsError

    if opened.manifest.command != "run":
        raise SettingsError(
            f"{opened.path.name} scored recorded outputs: there is no system to ask again",
            hint="Counterfactuals need a run made by `ragauge run`.",
        )
    settings = restored_settings(opened.manifest)
    deeper = deeper_settings(settings)

    def told(line: Any, n_done: int, n_total: int) -> None:
        state = f"not possible: {line.error}" if line.error else "done"
        click.echo(f"{n_done} of {n_total}: {line.id} {line.condition}: {state}", err=True)

    run_blocking(
        try_conditions(
            opened,
            [(row.id, row.repeat) for row in found.rows],
            make_system(settings),
            make_judge(settings),
            deeper=make_system(deeper) if deeper is not None else None,
            concurrency=concurrency,
            timeout_s=settings.run.timeout_s,
            told=told,
        )
    )


def _clusters(opened: RunDir, found: Diagnosis, against: str | None, base: Path) -> Clusters:
    from ragauge.diagnose.clusters import match
    from ragauge.diagnose.counterfactuals import read_counterfactuals
    from ragauge.diagnose.diagnosis import diagnose_rows
    from ragauge.diagnose.failures import group_failures
    from ragauge.store.rundir import find_run

    now = group_failures(found)
    if against is None:
        return now
    other = find_run(against, base)
    earlier = diagnose_rows(other.manifest, other.records, read_counterfactuals(other.path))
    return match(now, group_failures(earlier))


def _scores(opened: RunDir) -> Any:
    from ragauge.diagnose.distributions import distributions
    from ragauge.embeddings import load
    from ragauge.errors import RagaugeError

    name = opened.manifest.system.settings.get("embedder")
    truncates = None
    if isinstance(name, str):
        try:
            truncates = load(name).truncated
        except RagaugeError as error:
            click.echo(f"The embedder {name!r} is not here, so truncation was not checked: {error.message}", err=True)
    return distributions(opened.records(), truncates)


def _write_svg(folder: Path, scores: Any) -> None:
    from ragauge.errors import StoreError
    from ragauge.report.distributions import svg

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for one in scores.lists:
            safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in one.name)
            (folder / f"scores-{safe}.svg").write_text(svg(one), encoding="utf-8", newline="\n")
    except OSError as error:
        raise StoreError(f"cannot write to {folder}: {error.strerror or error}") from error
