"""A line per run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from ragauge.core.model import Model
from ragauge.core.run import Manifest, Summary
from ragauge.report.words import number
from ragauge.text.normalise import display

#: The metrics that a listing shows, where a run has them.
SHOWN = ("recall", "faithfulness", "correctness", "abstention")


class RunLine(Model):
    """One run. `n_rows` null: it was not summarised (it did not finish). `metrics`: the headline values, null where the
    run has none.
    """

    run: str
    path: str
    created: str
    command: str
    dataset: str
    system: str
    judge: str | None
    n_rows: int | None
    metrics: dict[str, float | None]


class RunsDocument(Model):
    """What `ragauge show --list --json` prints, newest last; the schema in the documentation is this one."""

    runs: tuple[RunLine, ...]


def run_lines(runs: Iterable[tuple[Path, Manifest, Summary | None]]) -> list[RunLine]:
    """Name, system, judge, size and the headline values of each run (as last summarised)."""
    return [_line(path, manifest, summary) for path, manifest, summary in runs]


def listing(lines: Sequence[RunLine]) -> Table:
    """The lines as a table."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("run", "questions", "system", "judge", *SHOWN):
        table.add_column(title, justify="right" if title in SHOWN or title == "questions" else "left")
    for line in lines:
        shown = [number(line.metrics.get(name)) for name in SHOWN]
        rows = "not finished" if line.n_rows is None else str(line.n_rows)
        texts = (display(line.run), rows, display(line.system), display(line.judge or "none"))
        table.add_row(*map(Text, texts), *map(Text, shown))
    return table


def _line(path: Path, manifest: Manifest, summary: Summary | None) -> RunLine:
    results = summary.metrics if summary is not None else {}
    headline = {
        name: next((r.value for key, r in results.items() if key.split("@")[0].split(":")[0] == name), None)
        for name in SHOWN
    }
    return RunLine(
        run=path.name,
        path=str(path),
        created=manifest.created,
        command=manifest.command,
        dataset=manifest.dataset.name,
        system=manifest.system.name,
        judge=manifest.judge.name if manifest.judge else None,
        n_rows=summary.n_rows if summary is not None else None,
        metrics=headline,
    )
