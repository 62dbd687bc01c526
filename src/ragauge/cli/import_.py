"""`ragauge import FILE…`: other tools' data sets, test cases, traces and TREC files as ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ragauge.cli.common import emit_json, json_option

_TOOLS = (
    "ragas", "deepeval", "trulens", "phoenix", "langfuse", "langsmith", "mlflow", "promptfoo", "beir", "trec",
    "autorag",
)  # fmt: skip


@click.command("import")
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True)
@click.option("--from", "tool", type=click.Choice(_TOOLS), help="Whose files these are (default: told from the files).")
@click.option(
    "--as",
    "role",
    type=click.Choice(["golden", "recorded"]),
    help="Default: recorded where there are answers or contexts.",
)
@click.option(
    "--map", "mapping", multiple=True, metavar="THEIRS=OURS", help="A field name of yours: --map prompt=question"
)
@click.option(
    "--out", type=click.Path(path_type=Path, dir_okay=False), help="The file to write (default: only the report)."
)
@json_option
def command(
    files: tuple[Path, ...], tool: str | None, role: Any, mapping: tuple[str, ...], out: Path | None, as_json: bool
) -> int:
    """Read other tools' files, say what became of each field, and write ours.

    FILES: a file or folder of one tool; for TREC qrels, a run and queries (`qid<TAB>text`). Nothing is written unless
    all of it could be read.
    """
    from ragauge.cli.score import _mapping
    from ragauge.dataset.importing import import_document, read_foreign, write_imported

    found = read_foreign(files, tool, role, _mapping(mapping))
    if out is not None:
        write_imported(found, out)
    if as_json:
        emit_json(import_document(found, tool is None, out).model_dump(mode="json"))
        return 0
    _print(found, tool is None, out)
    return 0


def _print(found: Any, sniffed: bool, out: Path | None) -> None:
    from ragauge.cli.common import printable

    kind = "golden questions" if found.role == "golden" else "recorded outputs"
    click.echo(
        printable(f"{len(found.samples)} {kind}; {'taken for' if sniffed else 'read as'} {found.tool} ({found.why})")
    )
    for theirs, ours, n in found.mapped:
        name = "reference answer" if ours == "reference" else ours
        click.echo(printable(f"  {theirs:<32} → {name} ({n})"))
    for name, n in found.kept:
        click.echo(printable(f"  {name:<32} not understood, kept as metadata ({n})"))
    for what in found.lost:
        click.echo(printable(f"  not kept: {what}"))
    for note in found.notes:
        click.echo(printable(f"  note: {note}"))
    if out is None:
        click.echo("nothing written: name a file with --out")
    else:
        click.echo(f"{out}: next, `ragauge {'golden validate' if found.role == 'golden' else 'score'} {out}`")
