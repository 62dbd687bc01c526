"""`ragauge demo`: the shipped example, evaluated here and now."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ragauge.cli.common import json_option, out_option


@click.command("demo")
@click.option("--limit", type=click.IntRange(1), help="Only the first N questions.")
@out_option
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@json_option
def command(limit: int | None, out: Path | None, quiet: bool, as_json: bool) -> int:
    """Evaluate the shipped example: a documentation corpus, a verified golden set, a pipeline that runs offline."""
    from ragauge import api
    from ragauge.api.shown import shown_settings
    from ragauge.cli.running import carry_out
    from ragauge.engine.settings import load_settings

    overrides: dict[str, Any] = {"run.name": "demo"} | ({"run.limit": limit} if limit else {})
    settings = load_settings(example_folder() / "ragauge.yaml", overrides)
    options = api.make_options(
        settings, out or Path("runs"), "run", settings.run.name, shown_settings=shown_settings(settings)
    )

    def make(watcher: Any) -> Any:
        return api.run(settings.path(settings.golden or "golden.yaml"), None, options, watcher=watcher)

    code = carry_out(make, as_json=as_json, rows=False, quiet=quiet)
    if not quiet and not as_json:
        click.echo(
            "Next: `ragauge show --row ID` for one question with its evidence, `ragauge init` for your own system.",
            err=True,
        )
    return code


def example_folder() -> Path:
    """Where the shipped corpus, golden set and settings are."""
    import ragauge.examples_data

    return Path(ragauge.examples_data.__path__[0])
