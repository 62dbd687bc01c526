"""A sweep as a page shows it: what to do, a line for each cell, pictures."""

from __future__ import annotations

from dataclasses import dataclass

from ragauge.analysis.sweep import Confirmation
from ragauge.analysis.sweep_table import CellResult, SweepTable
from ragauge.report.compare import p_value, signed
from ragauge.report.sweep import marks, measured, notes_under, ordered, recommendation
from ragauge.report.sweep_plots import pictures
from ragauge.report.words import duration_ms, number
from ragauge.store.sweepdir import short_names, shown_value


@dataclass(frozen=True)
class CellView:
    """One line. `tone`: better or worse than the base beyond luck."""

    id: str
    run: str | None
    marks: str
    base: bool
    winner: bool
    knobs: tuple[str, ...]
    values: tuple[str, ...]
    to_base: str
    p: str
    verdict: str
    tone: str
    latency: str
    tokens: str
    cost: str


@dataclass(frozen=True)
class SweepView:
    """Everything of one sweep. `pictures`: SVG documents by name."""

    name: str
    advice: tuple[str, ...]
    knobs: tuple[str, ...]
    metrics: tuple[str, ...]
    cells: tuple[CellView, ...]
    n_complete: int
    n_questions: int
    half: str
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    pictures: tuple[tuple[str, str], ...]


def view(table: SweepTable, confirmation: Confirmation | None = None) -> SweepView:
    """Best cell first, unfinished ones last."""
    names = short_names(table.knobs)
    return SweepView(
        name=table.sweep,
        advice=tuple(recommendation(table, confirmation)),
        knobs=tuple(names.values()),
        metrics=table.metrics,
        cells=tuple(_cell(table, cell, tuple(names)) for cell in ordered(table)),
        n_complete=table.n_complete,
        n_questions=table.n_questions,
        half=f"{table.part} half" if table.part else "all questions",
        warnings=table.warnings,
        notes=tuple(notes_under(table)),
        pictures=tuple(pictures(table)),
    )


def _cell(table: SweepTable, cell: CellResult, knobs: tuple[str, ...]) -> CellView:
    found = cell.metrics.get(table.quality)
    one = found.difference if found is not None else None
    base = cell.id == table.base
    latency = "—"
    if cell.latency_p50_ms is not None and cell.latency_p95_ms is not None:
        latency = f"{duration_ms(cell.latency_p50_ms)} / {duration_ms(cell.latency_p95_ms)}"
    missing = "failed" if cell.problem else "not run"
    return CellView(
        id=cell.id,
        run=cell.run,
        marks=marks(table, cell),
        base=base,
        winner=cell.id == table.winner,
        knobs=tuple(shown_value(cell.knobs.get(key)) for key in knobs),
        values=tuple(missing if cell.state == "missing" else measured(cell.metrics.get(key)) for key in table.metrics),
        to_base="base" if base else signed(one.difference) if one is not None else "—",
        p="" if one is None else p_value(one.p_adjusted),
        verdict="" if one is None else one.verdict,
        tone={"better": "good", "worse": "broken"}.get(one.verdict, "") if one is not None else "",
        latency=latency,
        tokens=number(cell.tokens, 0),
        cost="—" if cell.cost_usd is None else f"${cell.cost_usd:.4f}",
    )
