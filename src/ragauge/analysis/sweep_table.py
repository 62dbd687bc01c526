"""A sweep read back: its table."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ragauge.analysis.difference import SMALLEST, Difference
from ragauge.core.model import Model
from ragauge.core.run import Estimate
from ragauge.errors import Reason


class CellMetric(Model):
    """One metric of one cell; `difference` is against the base cell, on the questions that both scored."""

    estimate: Estimate | None = None
    n_asked: int = 0
    unscored: dict[Reason, int] = Field(default_factory=dict)
    difference: Difference | None = None
    why_not_compared: str | None = None


class CellResult(Model):
    """One line of the table. `p_shortlist` is Benjamini and Hochberg's p of the quality metric.

    `cost_usd` and `tokens` are the system's per question, `judge_cost_usd` is what judging the whole cell took;
    None where nothing was told. `rank` counts from 1 among the finished cells, by the quality's difference to the base.
    """

    id: str
    label: str
    knobs: dict[str, Any]
    index: str | None = None
    state: Literal["complete", "partial", "missing"]
    run: str | None = None
    problem: str | None = None
    n_rows: int = 0
    metrics: dict[str, CellMetric] = Field(default_factory=dict)
    latency_p50_ms: float | None = None
    latency_p95_ms: float | None = None
    tokens: float | None = None
    cost_usd: float | None = None
    judge_cost_usd: float | None = None
    rank: int | None = None
    p_shortlist: float | None = None
    is_shortlisted: bool = False
    is_on_front: bool = False


Advice = Literal["switch", "switch to the cheaper", "stay", "nothing to choose"]


class SweepTable(Model):
    """A sweep read back. JSON of `ragauge sweep --json`, and `table.json` in its directory.

    `noise_bar`: how much better than the base the best of so many equal cells looks by luck alone, if each varies as
    much as the best-looking one does. `best` is the cell
    with the best quality, `winner` the one that is better than the base beyond luck (Holm), if any.
    """

    sweep: str
    quality: str
    better: Literal["higher", "lower"]
    metrics: tuple[str, ...]
    knobs: tuple[str, ...]
    base: str
    part: Literal["dev", "test"] | None = None
    n_questions: int
    cells: tuple[CellResult, ...]
    n_complete: int
    n_indexes: int
    n_index_builds: int
    noise_bar: float | None
    best: str | None
    winner: str | None
    shortlist: tuple[str, ...]
    front: tuple[str, ...]
    front_by: tuple[str, ...]
    advice: Advice
    advised: str | None
    smallest: float = SMALLEST
    alpha: float = 0.05
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def cell(self, name: str) -> CellResult:
        """The cell with this id."""
        return next(cell for cell in self.cells if cell.id == name)

    def value(self, cell: CellResult, key: str | None = None) -> float | None:
        """A metric's value in a cell (the quality metric by default)."""
        found = cell.metrics.get(key or self.quality)
        return found.estimate.value if found is not None and found.estimate is not None else None
