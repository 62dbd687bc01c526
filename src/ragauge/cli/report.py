"""`ragauge report RUN`: a page for people, numbers for Prometheus, a message for Slack."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


@click.command("report")
@click.argument("run", required=False)
@click.option(
    "--runs", "base", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"), show_default=True,
    help="Where run names are looked up.",
)  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="The HTML file.")
def command(run: str | None, base: Path, out: Path | None) -> int:
    """Write a run (default: the newest) as one HTML file that opens from disk and fetches nothing.

    Without any option the page is written into the run directory. Files appear whole or not at all.
    """
    from ragauge import api

    opened = api.open_run(run, base)
    _page(opened, out or opened.path / "report.html")
    return 0


def _page(run: Any, out: Path) -> None:
    from ragauge.diagnose.counterfactuals import read_counterfactuals
    from ragauge.report.html import html_parts
    from ragauge.store.tables import write_whole

    def write(handle: Any) -> None:
        for part in html_parts(run.manifest, run.rows, read_counterfactuals(run.path)):
            handle.write(part.encode("utf-8", "replace"))

    write_whole(out, write)
    click.echo(f"{out}: {out.stat().st_size / 1000:.0f} kB", err=True)
