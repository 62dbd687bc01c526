"""What verbs share: printing, progress, options that mean the same everywhere."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ragauge.store.rundir import RunDir

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON document on stdout and nothing else."
)
out_option = click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    help="Where run directories go (default runs/).",
)


def printable(text: str) -> str:
    """A message with control characters made visible, line ends kept."""
    from ragauge.text.normalise import display

    return "\n".join(display(line) for line in text.split("\n"))


def emit_json(document: Mapping[str, Any], rows: Iterable[Mapping[str, Any]] | None = None) -> None:
    """One JSON document on stdout. `rows` are streamed into its key "rows", so that they need not fit in memory."""
    out = sys.stdout
    text = _as_json(document, indent=2)
    if rows is None:
        out.write(text + "\n")
        return
    out.write(text[: text.rindex("\n}")] + ',\n  "rows": [')
    for place, row in enumerate(rows):
        out.write("," if place else "")
        out.write("\n    " + _as_json(row))
    out.write("\n  ]\n}\n")


def _as_json(value: Any, indent: int | None = None) -> str:
    """JSON that can be written: half of a surrogate pair, which no file can hold, is written out."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return re.sub(r"[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)


def readable_runs(base: Path) -> list[RunDir]:
    """Every run of a folder; one that cannot be read is told of on stderr, and the others are there."""
    from ragauge.errors import RagaugeError
    from ragauge.store.rundir import RunDir, list_runs

    found = []
    for path in list_runs(base):
        try:
            found.append(RunDir.open(path))
        except RagaugeError as error:
            click.echo(printable(f"left out: {error.message}"), err=True)
    return found


def parse_overrides(pairs: Iterable[str]) -> dict[str, Any]:
    """`--set system.reference.k=5 …` → dotted keys with YAML values."""
    import yaml

    from ragauge.errors import SettingsError

    found: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise SettingsError(f"--set {pair!r}: write it as KEY=VALUE", hint="--set system.reference.k=10")
        try:
            found[key.strip()] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise SettingsError(f"--set {pair!r}: the value is no YAML: {error}") from None
    return found
