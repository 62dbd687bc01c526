"""The table of retrieval steps, for the terminal."""

from __future__ import annotations

from typing import Any

from ragauge.analysis.steps import Steps
from ragauge.core.run import Estimate


def steps_table(steps: Steps) -> Any:
    """One line for each step, one for all of them together, one for what reached the generator."""
    from rich.table import Table
    from rich.text import Text

    if not steps.n:
        return Text(
            f"None of the {steps.n_rows} answered questions recorded retrieval steps: the system gave its context only."
        )
    what = {"chunk": "chunks", "doc": "documents", None: "nothing labelled"}[steps.level]
    table = Table(
        title=f"Retrieval steps of {steps.n} questions (of {steps.n_rows}); recall of {what}",
        title_justify="left", box=None, pad_edge=False, header_style="bold",
    )  # fmt: skip
    for name, justify in (
        ("step", "left"), ("questions", "right"), ("recall", "right"), ("95 %", "left"), ("any", "right"),
        ("only here", "right"), ("returned", "right"), ("ms", "right"),
    ):  # fmt: skip
        table.add_column(name, justify=justify)  # type: ignore[arg-type]
    last = "step"
    for one in steps.steps:
        if one.kind != last and last == "step":
            table.add_section()
        last = one.kind
        recall = None if one.recall is None else one.recall.value
        table.add_row(
            Text(one.name), str(one.n), _number(recall), _interval(one.recall),
            _number(one.hit_rate), _number(one.only_here), f"{one.mean_chunks:.1f}",
            "" if one.mean_ms is None else f"{one.mean_ms:.0f}",
        )  # fmt: skip
    return table


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def _interval(estimate: Estimate | None) -> str:
    if estimate is None or estimate.low is None or estimate.high is None:
        return ""
    return f"{estimate.low:.3f} to {estimate.high:.3f}"
