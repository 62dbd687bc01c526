"""`ragauge ab TABLE`: what people did with each variant, next to the offline metrics."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import click

from ragauge.cli.common import emit_json, json_option


@click.command("ab")
@click.argument("table", type=click.Path(path_type=Path))
@click.option("--variant", help="The column that says which variant was shown (default: variant, arm, group …).")
@click.option("--outcome", help="The column that says what came of it (default: outcome, converted, success …).")
@click.option("--control", help="The variant that the others are compared with (default: control, A, baseline …).")
@click.option("--score", "scores", multiple=True, help="A column with an offline score to show beside (repeatable).")
@click.option("--stratum", help="A column to compare within (country, language …); shares weigh the strata.")
@click.option("--unit", help="The column of what was randomised (user): each counts once, with its mean outcome.")
@click.option("--kind", type=click.Choice(["auto", "rate", "mean"]), default="auto", show_default=True)
@click.option("--lower-is-better", is_flag=True, help="A smaller outcome is the better one (time, complaints).")
@click.option("--ratio", multiple=True, metavar="VARIANT=SHARE", help="The meant split, if it is not equal.")
@click.option(
    "--planned", type=click.IntRange(10), default=1000, show_default=True,
    help="Expected observations per variant: there the interval is tightest. Decide before looking.",
)  # fmt: skip
@click.option("--smallest", type=click.FloatRange(0, min_open=True), help="A difference that is not worth telling.")
@click.option("--level", type=click.FloatRange(0.5, 0.999), default=0.95, show_default=True, help="Confidence.")
@click.option("--run", "runs", multiple=True, metavar="VARIANT=RUN", help="That variant's offline run, shown beside.")
@click.option(
    "--runs", "base", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True,
    help="Where run names are looked up.",
)  # fmt: skip
@click.option("--markdown", "markdown", is_flag=True, help="Print Markdown.")
@json_option
def command(table: Path, **options: Any) -> int:
    """Judge an A/B test: TABLE is a CSV, JSONL, JSON or Parquet file with a row for each observation.

    The intervals hold at every look, so the test may be read every day and stopped when it is settled. A split that is
    not the meant one (sample-ratio mismatch) is found first: such a test is not to be trusted, and exits with 3.
    """
    from ragauge.analysis.ab import Options, analyse
    from ragauge.analysis.ab_tally import Columns, find_columns
    from ragauge.report import ab as report

    rows = _rows(table)
    names, rows = _names(rows, table)
    variant, outcome = find_columns(names, {"variant": options["variant"], "outcome": options["outcome"]}, str(table))
    columns = Columns(
        variant,
        outcome,
        tuple(_column(name, names, table, "--score") for name in options["scores"]),
        _column(options["stratum"], names, table, "--stratum") if options["stratum"] else None,
        _column(options["unit"], names, table, "--unit") if options["unit"] else None,
    )
    settings = Options(
        alpha=round(1.0 - options["level"], 10),
        control=options["control"],
        better="lower" if options["lower_is_better"] else "higher",
        kind=options["kind"],
        planned=options["planned"],
        smallest=options["smallest"],
        ratio=_ratios(options["ratio"]),
    )
    result = analyse(rows, columns, str(table), settings)
    runs, comparisons = _offline(result, options["runs"], options["base"])
    if options["as_json"]:
        emit_json(report.document(result, runs, comparisons))
    elif options["markdown"]:
        click.echo(report.as_markdown(result, runs, comparisons), nl=False)
    else:
        from ragauge.report.terminal import stdout_console

        stdout_console().print(report.terminal(result, runs, comparisons))
    return 3 if result.sample_ratio.mismatch else 0


def _rows(table: Path) -> Iterator[tuple[int | None, Any]]:
    """(line, row) of each record; a row that cannot be read comes as the error that it is."""
    from ragauge.dataset.sources import open_source
    from ragauge.errors import InputError

    for row in open_source(table).read():
        yield (None, row) if isinstance(row, InputError) else (row.line, row.data)


def _names(rows: Iterator[tuple[int | None, Any]], table: Path) -> tuple[list[str], Iterator[tuple[int | None, Any]]]:
    from ragauge.errors import InputError

    first = next(rows, None)
    if first is None:
        raise InputError("there are no rows", file=str(table))
    if isinstance(first[1], InputError):
        raise first[1]
    return [str(name) for name in first[1]], chain([first], rows)


def _column(name: str, names: list[str], table: Path, option: str) -> str:
    from ragauge.errors import InputError

    if name not in names:
        raise InputError(f"{option}: there is no column {name!r}", file=str(table), accepted=", ".join(names))
    return name


def _ratios(pairs: tuple[str, ...]) -> dict[str, float]:
    from ragauge.errors import SettingsError

    found: dict[str, float] = {}
    for pair in pairs:
        name, equals, value = pair.rpartition("=")
        try:
            found[name] = float(value)
        except ValueError:
            equals = ""
        if not equals or not name or not 0 < found[name] < float("inf"):
            raise SettingsError(f"--ratio {pair!r}: write it as VARIANT=SHARE", hint="--ratio A=1 --ratio B=1")
    return found


def _offline(result: Any, pairs: tuple[str, ...], base: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Each variant's run, summarised, and compared with the control's, question by question."""
    from ragauge.analysis.compare import Source, compare
    from ragauge.analysis.summarise import summarise
    from ragauge.errors import SettingsError, UnknownName
    from ragauge.store.rundir import find_run

    known = [arm.name for arm in result.arms]
    opened = {}
    for pair in pairs:
        name, equals, reference = pair.partition("=")
        if not equals or not reference:
            raise SettingsError(f"--run {pair!r}: write it as VARIANT=RUN", hint="--run A=runs/2026-01-31T10-12-03-a")
        if name not in known:
            raise UnknownName("variant", name, known)
        opened[name] = find_run(reference, base)
    summaries = {name: summarise(run.manifest, run.records()) for name, run in opened.items()}
    if result.control not in opened or len(opened) < 2:
        return summaries, {}
    sources = {name: Source(name, run.manifest, run.records) for name, run in opened.items()}
    others = [name for name in sources if name != result.control]
    compared = compare(sources[result.control], [sources[name] for name in others])
    return summaries, dict(zip(others, compared, strict=True))
