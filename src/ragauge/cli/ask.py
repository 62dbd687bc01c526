"""`ragauge ask "question"`: one question to the system under test, and what was made of its reply."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ragauge.cli.common import emit_json, json_option, parse_overrides, printable

_DEFAULT = Path("ragauge.yaml")
#: Characters of a passage that are shown.
_SHOWN = 160


@click.command("ask")
@click.argument("question", required=False)
@click.option(
    "--config", "--settings", "settings", type=click.Path(path_type=Path),
    help="Settings file (default: ragauge.yaml, if there).",
)  # fmt: skip
@click.option("--id", "item_id", metavar="ID", help="Ask the golden item with this id instead.")
@click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help="Any setting: --set system.http.retries=0")
@json_option
def command(
    question: str | None, settings: Path | None, item_id: str | None, overrides: tuple[str, ...], as_json: bool
) -> int:
    """Ask the system under test one QUESTION and show what ragauge reads in its reply.

    Without QUESTION the first one of the golden set is asked. Nothing is judged and nothing is written. Exits with 3
    when the system failed.
    """
    from ragauge.engine.ask import ask_once
    from ragauge.engine.run import run_blocking

    read = _settings(settings, overrides)
    asked = _question(read, question, item_id)
    told = run_blocking(ask_once(read, asked))
    if as_json:
        emit_json(told.document().model_dump(mode="json"))
    else:
        _print(told)
    return 3 if told.error is not None else 0


def _settings(path: Path | None, overrides: tuple[str, ...]) -> Any:
    from ragauge.engine.settings import load_settings
    from ragauge.errors import SettingsError

    path = path or (_DEFAULT if _DEFAULT.is_file() else None)
    if path is None:
        raise SettingsError(
            "there is no ragauge.yaml here", hint="Write one with `ragauge init`, or name it: --config."
        )
    return load_settings(path, parse_overrides(overrides))


def _question(settings: Any, text: str | None, item_id: str | None) -> Any:
    from ragauge.core.sample import Question
    from ragauge.dataset.golden import load_golden
    from ragauge.errors import SettingsError, UnknownName

    if text is not None and item_id is not None:
        raise SettingsError("give a question or --id, not both")
    if text is not None:
        if not text.strip():
            raise SettingsError("the question is blank")
        return Question(id="ask", text=text)
    if settings.golden is None:
        raise SettingsError("no question", hint='ragauge ask "How do I …?"')
    items = {item.id: item for item in load_golden(settings.path(settings.golden))}
    if item_id is not None and item_id not in items:
        raise UnknownName("golden item", item_id, items)
    return (items[item_id] if item_id is not None else next(iter(items.values()))).ask()


def _print(told: Any) -> None:
    echo = _echo
    echo(f"system     {told.system.kind}: {told.system.name}")
    echo(f"question   {told.question.text}")
    if told.error is not None:
        echo("", f"✗ {told.error}", *([f"  {told.hint}"] if told.hint else []))
        if told.raw:
            echo("", "the reply:", told.raw)
        return
    response = told.response
    echo(f"answer     {'(none: a bare retriever)' if response.answer is None else response.answer}")
    if response.context is None:
        echo("contexts   (not said: retrieval cannot be scored)")
    else:
        echo(f"contexts   {len(response.context)}")
    for chunk in response.context or ():
        score = "" if chunk.score is None else f"  {chunk.score:.3f}"
        text = " ".join(chunk.text.split())
        text = text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
        echo(f"  {chunk.rank}. {chunk.id}  ({chunk.document or 'no document'}){score}", f"     {text or '(no text)'}")
    for step in response.steps:
        found = ", ".join(chunk.id for chunk in step.chunks[:5]) or "nothing"
        echo(f"step       {step.name}{f': {step.query}' if step.query else ''} → {found}")
    parts = (("retrieval", response.retrieval_ms), ("generation", response.generation_ms), ("total", response.total_ms))
    timing = [f"{name} {value:.0f} ms" for name, value in parts if value is not None]
    first = response.metadata.get("http", {}).get("first_token_ms")
    echo("time       " + ", ".join([*timing, *([f"first piece {first:.0f} ms"] if first is not None else [])]))
    if response.usage.tokens_in or response.usage.tokens_out:
        used = response.usage
        echo(f"tokens     {used.tokens_in} in, {used.tokens_out} out  {response.model or ''}".rstrip())
    for missing in told.not_found:
        echo(f"not found  {missing}")
    for warning in told.warnings:
        echo(f"note       {warning}")


def _echo(*lines: str) -> None:
    for line in lines:
        click.echo(printable(line))
