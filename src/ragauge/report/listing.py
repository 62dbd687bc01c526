"""A line per run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from ragauge.core.run import Manifest, Summary
from ragauge.report.words import number
from ragauge.text.normalise import display

#: The metrics that a listing shows, where a run has them.
SHOWN = ("recall", "faithfulness", "correctness", "abstention")


def run_lines(runs: Iterable[tuple[Path, Manifest, Summary | None]]) -> list[dict[str, Any]]:
    """Name, system, judge, size and the headline values of each run (as last summarised)."""
    return [_line(path, manifest, summary) for path, manifest, summary in runs]


def listing(lines: Sequence[dict[str, Any]]) -> Table:
    """The lines as a table."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for title in ("run", "questions", "system", "judge", *SHOWN):
        table.add_column(title, justify="right" if title in SHOWN or title == "questions" else "left")
    for line in lines:
        shown = [number(line["metrics"].get(name)) for name in SHOWN]
        texts = (line["run"], line["n_rows"], line["system"], line["judge"] or "none")
        rows = "not finished" if line["n_rows"] is None else str(line["n_rows"])
        table.add_row(
            Text(display(texts[0])), Text(rows), Text(display(texts[2])), Text(display(texts[3])), *map(Text, shown)
        )
    return table


def _line(path: Path, manifest: Manifest, summary: Summary | None) -> dict[str, Any]:
    results = summary.metrics if summary is not None else {}
    headline = {
        name: next((r.value for key, r in results.items() if key.split("@")[0].split(":")[0] == name), None)
        for name in SHOWN
    }
    return {
        "run": path.name,
        "path": str(path),
        "created": manifest.created,
        "command": manifest.command,
        "dataset": manifest.dataset.name,
        "system": manifest.system.name,
        "judge": manifest.judge.name if manifest.judge else None,
        "n_rows": summary.n_rows if summary is not None else None,
        "metrics": headline,
    }
