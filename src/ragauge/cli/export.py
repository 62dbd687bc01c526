"""`ragauge export RUN`: a run as a file for other programs and for people."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

#: Suffix → format.
SUFFIXES = {".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet",
            ".md": "markdown", ".markdown": "markdown"}  # fmt: skip


@click.command("export")
@click.argument("run", required=False)
@click.option(
    "--runs", "base", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True,
    help="Where run names are looked up.",
)  # fmt: skip
@click.option(
    "--format", "kind", type=click.Choice(["json", "jsonl", "csv", "parquet", "markdown"]),
    help="Default: by the suffix of --out, else json.",
)  # fmt: skip
@click.option(
    "--to", type=click.Choice(["ragas", "deepeval", "huggingface", "mlflow", "langfuse", "beir", "trec"]),
    help="Questions, answers and chunks in the shape of another tool.",
)  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), help="The file, or folder of --to (default: stdout).")
def command(run: str | None, base: Path, kind: str | None, to: str | None, out: Path | None) -> int:
    """Write a run (default: the newest) as JSON, JSON lines, CSV, Parquet or Markdown.

    json and jsonl hold every row in full, csv and parquet a line for each row and a column for each metric, markdown a
    summary for a pull request. The file appears whole or not at all. CSV cells that a spreadsheet would run as a
    formula are neutralised. --to writes the samples for another tool and says what that cannot hold.
    """
    from ragauge import api
    from ragauge.errors import UsageError

    if to is not None:
        return _to(run, base, kind, to, out)
    if kind is None:
        suffix = out.suffix.lower() if out is not None else ".json"
        if suffix not in SUFFIXES:
            raise UsageError(f"no format has the suffix {suffix!r}", hint="Name one with --format, e.g. --format csv.")
        kind = SUFFIXES[suffix]
    opened = api.open_run(run, base)
    if out is None:
        _print(opened, kind)
        return 0
    n = _write(opened, kind, out)
    click.echo(f"{out}" + (f": {n} rows" if n is not None else ""), err=True)
    return 0


def _to(run: str | None, base: Path, kind: str | None, to: str, out: Path | None) -> int:
    from ragauge.dataset.exporting import cannot_hold, export_samples
    from ragauge.errors import UsageError
    from ragauge.store.rundir import find_run

    if kind is not None:
        raise UsageError("--to has a format of its own: leave out --format")
    if out is None:
        raise UsageError(f"name what to write with --out, e.g. --out {to}.jsonl (a folder for huggingface, beir, trec)")
    samples = [record.sample for record in find_run(run, base).records()]
    export_samples(samples, to, out)
    click.echo(f"{out}: {len(samples)} samples", err=True)
    for name, n in cannot_hold(samples, to).items():
        click.echo(f"  {to} cannot hold: {name} ({n} samples)", err=True)
    return 0


def _write(run: Any, kind: str, out: Path) -> int | None:
    from ragauge.report.export import column_types, table_rows
    from ragauge.store.tables import write_csv, write_parquet, write_whole

    types = column_types(run.manifest)
    if kind == "csv":
        return write_csv(out, table_rows(run.manifest, run.rows()), list(types))
    if kind == "parquet":
        return write_parquet(out, table_rows(run.manifest, run.rows()), types=types)

    def write(handle: Any) -> None:
        for part in _parts(run, kind):
            handle.write(part.encode("utf-8", "replace"))

    write_whole(out, write)
    return None


def _print(run: Any, kind: str) -> None:
    """To stdout. A table goes through a file beside, because it is written whole or not at all."""
    import shutil
    import tempfile

    from ragauge.errors import UsageError

    if kind == "parquet":
        raise UsageError("Parquet is no text: name a file with --out")
    stream = sys.stdout.buffer
    if kind == "csv":
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "rows.csv"
            _write(run, kind, file)
            with file.open("rb") as handle:
                shutil.copyfileobj(handle, stream)
    else:
        for part in _parts(run, kind):
            stream.write(part.encode("utf-8", "replace"))
    stream.flush()


def _parts(run: Any, kind: str) -> Iterable[str]:
    from ragauge.report.export import json_lines, json_parts, run_markdown

    if kind == "jsonl":
        return json_lines(run.rows())
    if kind == "json":
        return json_parts(run.path, run.manifest, run.summary, run.diagnosis, run.rows())
    worst = {item for result in run.summary.metrics.values() for item in result.worst}
    questions = {row.sample.item.id: row.sample.item.question for row in run.rows() if row.sample.item.id in worst}
    return [run_markdown(run.manifest, run.summary, run.diagnosis, questions)]
