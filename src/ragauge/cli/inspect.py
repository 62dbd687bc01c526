"""`ragauge inspect "question"`: what retrieval does with one question, and what would bring the answer in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ragauge.cli.common import emit_json, json_option, parse_overrides, printable

_DEFAULT = Path("ragauge.yaml")


@click.command("inspect")
@click.argument("question", required=False)
@click.option(
    "--config", "--settings", "settings", type=click.Path(path_type=Path),
    help="Settings file (default: ragauge.yaml, if there).",
)  # fmt: skip
@click.option("--gold", multiple=True, metavar="QUOTE|ID", help="What should be found: words, or an id.")
@click.option("--run", "run_name", metavar="RUN", help="Take settings, question and gold from this run …")
@click.option("--id", "item_id", metavar="ID", help="… and this row of it.")
@click.option(
    "--runs", "base", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True
)
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Any setting: --set system.reference.k=10")
@json_option
def command(question: str | None, as_json: bool, **flags: Any) -> int:
    """Show the 20 nearest chunks for QUESTION, where the gold chunks stand in every list, and what would help.

    The question is QUESTION, or that of row ID of RUN, whose golden evidence is then looked for; so is that of the
    golden item that asks QUESTION.
    """
    from ragauge.diagnose.inspection import report as read
    from ragauge.engine.inspect import golden_item, inspect_question
    from ragauge.engine.parts import make_system
    from ragauge.engine.run import run_blocking
    from ragauge.report import inspect as report

    settings, item = _settings(flags)
    asked = question if question is not None else item.question if item is not None else None
    if asked is None or not asked.strip():
        from ragauge.errors import SettingsError

        raise SettingsError("no question", hint='ragauge inspect "How do I …?", or --run RUN --id ID')
    own = item if question is None else None
    if question is not None and not flags["gold"] and (own := golden_item(settings, question)) is not None:
        click.echo(printable(f"golden item {own.id} asks this: its evidence is looked for"), err=True)
    found = run_blocking(inspect_question(make_system(settings), asked, gold=flags["gold"], item=own))
    result = read(found)
    if as_json:
        emit_json(report.document(found, result).model_dump(mode="json"))
    else:
        from ragauge.report.terminal import stdout_console

        stdout_console().print(report.terminal(found, result))
    return 0


def _settings(flags: dict[str, Any]) -> tuple[Any, Any]:
    """The settings and, with --run and --id, the golden item."""
    from ragauge.cli.running import restored_settings
    from ragauge.engine.settings import load_settings
    from ragauge.errors import SettingsError, UnknownName
    from ragauge.store.rundir import find_run

    if flags["item_id"] is not None and flags["run_name"] is None:
        raise SettingsError("--id goes with --run RUN")
    if flags["run_name"] is not None:
        opened = find_run(flags["run_name"], flags["base"])
        if opened.manifest.command != "run":
            raise SettingsError(
                f"{opened.path.name} scored recorded outputs: there is no system to ask",
                hint='Inspect the system itself: ragauge inspect "QUESTION" --config ragauge.yaml',
            )
        item = None
        if flags["item_id"] is not None:
            items = {record.sample.item.id: record.sample.item for record in opened.records()}
            if flags["item_id"] not in items:
                raise UnknownName("row in this run", flags["item_id"], items)
            item = items[flags["item_id"]]
        return restored_settings(opened.manifest), item
    path: Path | None = flags["settings"] or (_DEFAULT if _DEFAULT.is_file() else None)
    if path is None:
        raise SettingsError("there is no ragauge.yaml here", hint="Name one with --config, or a run with --run.")
    return load_settings(path, parse_overrides(flags["overrides"])), None
