"""What a dry run found, for people."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ragauge.core.forecast import ForecastFigures
from ragauge.core.sample import Usage
from ragauge.text.normalise import display


def forecast_report(figures: ForecastFigures) -> Group:
    """One line for each metric, the system and the index, and their sum."""
    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("what", no_wrap=True)
    for name in ("calls", "from the cache", "tokens in", "tokens out", "US dollars"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, usage in _lines(figures):
        table.add_row(Text(display(name)), *map(Text, _cells(usage)))
    total = figures.total
    table.add_row(Text("all", style="bold"), *(Text(cell, style="bold") for cell in _cells(total)))
    said = [f"{figures.n_samples} samples. Nothing was sent and no run was made."]
    if total.calls or total.cached_calls:
        said.append("Tokens are guessed from characters; retries and re-asks come on top.")
    else:
        said.append("No language model would be asked.")
    said += [f"Note: {display(note)}." for note in figures.notes]
    said += [f"Not computed: {display(key)}: {display(why)}." for key, why in figures.not_computed.items()]
    return Group(table, Text(), *(Text(line, style="dim") for line in said))


def _lines(figures: ForecastFigures) -> Iterator[tuple[str, Usage]]:
    yield from figures.metrics.items()
    for usage, title in ((figures.system, "the system's answers"), (figures.index, "the index's prefixes")):
        if usage.calls or usage.cached_calls:
            yield title, usage


def _cells(usage: Usage) -> tuple[str, ...]:
    cost = usage.cost_usd
    dollars = "–" if not usage.calls else "unknown" if cost is None else f"{cost:.4f}"
    return (
        f"{usage.calls:,}", f"{usage.cached_calls:,}", f"{usage.tokens_in:,}", f"{usage.tokens_out:,}",
        dollars,
    )  # fmt: skip
